package wiretest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// R70: the beginning of an answer goes to the end of the conversation, and everything else stays byte for byte.
func TestAppendPrefilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		d          wire.Prefiller
		body, want string // empty: no place for it
	}{
		{"chat", openaichat.Chat{}, `{"x": 1 , "messages": [ {"role":"user","content":"q"} ], "model":"m"}`, `{"x": 1 , "messages": [ {"role":"user","content":"q"} ,{"role":"assistant","content":"a\"b"}], "model":"m"}`},
		{"messages", anthropic.Messages{}, `{"messages":[{"role":"user","content":"q"}],"max_tokens":5}`, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a\"b"}],"max_tokens":5}`},
		{"gemini", gemini.Generate{}, `{"contents":[{"parts":[{"text":"q"}]}]}`, `{"contents":[{"parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a\"b"}]}]}`},
		{"responses", responses.Responses{}, `{"input":[{"role":"user","content":"q"}],"store":false}`, `{"input":[{"role":"user","content":"q"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a\"b"}]}],"store":false}`},
		{"responses, text alone", responses.Responses{}, `{"input":"q"}`, `{"input":[{"type":"message","role":"user","content":"q"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a\"b"}]}]}`},
		{"the last of two counts", openaichat.Chat{}, `{"messages":[1],"messages":[2]}`, `{"messages":[1],"messages":[2,{"role":"assistant","content":"a\"b"}]}`},
		{"an empty list", openaichat.Chat{}, `{"messages":[ ]}`, `{"messages":[ {"role":"assistant","content":"a\"b"}]}`},
		{"no list", openaichat.Chat{}, `{"messages":"q"}`, ""},
		{"none", openaichat.Chat{}, `{"model":"m"}`, ""},
		{"broken", openaichat.Chat{}, `{"messages":[1]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := c.d.AppendPrefilled([]byte("before "), []byte(c.body), `a"b`)
			if ok != (c.want != "") || string(got) != "before "+c.want {
				t.Errorf("%t\n%s", ok, cmp.Diff("before "+c.want, string(got)))
			}
			if ok && !json.Valid(got[len("before "):]) {
				t.Error("no JSON")
			}
		})
	}
}

// R70: models that are known to refuse the beginning of an answer are not asked in vain.
func TestTakesPrefill(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"claude-opus-4-6": false, "claude-sonnet-4-6": false, "us.anthropic.claude-opus-4-6-v1": false, "claude-opus-5": false,
		"claude-sonnet-4-5-20250929": true, "claude-haiku-4-5": true, "claude-3-7-sonnet-20250219": true, "my-deployment": true,
	} {
		if got := (anthropic.Messages{}).TakesPrefill(model); got != want {
			t.Errorf("%s: %t", model, got)
		}
	}
}
