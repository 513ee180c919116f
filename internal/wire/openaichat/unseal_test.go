package openaichat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"evergate/internal/jsonscan"
)

// R10: the repair of a request whose seals were refused.
func TestAppendUnsealed(t *testing.T) {
	t.Parallel()
	message := func(m string) string {
		return `{"model": "m", "messages": [ {"role":"user","content":"x"} , ` + m + ` ], "temperature": 1.0}`
	}
	for _, c := range []struct {
		name, body, want, dropped string
	}{
		{"nothing", message(`{"role":"assistant","content":"a","reasoning_content":"hm"}`), "", ""},
		{"thoughts without seals", message(`{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}`), "", ""},
		{"signed, said elsewhere", message(`{"role":"assistant","reasoning": "hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}],"content":"a"}`), message(`{"role":"assistant","reasoning":"hm","content":"a"}`), "reasoning_signature"},
		{"signed, said nowhere else", message(`{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}],"content":"a"}`), message(`{"role":"assistant","content":"a"}`), "reasoning_signature reasoning"},
		{"thinking blocks", message(`{"role":"assistant","content":"a","thinking_blocks":[{"type":"redacted_thinking","data":"d"}]}`), message(`{"role":"assistant","content":"a"}`), "reasoning_signature"},
		{"signed call", message(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"s"}}},{"id":"b"},7]}`), message(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ }"}},{"id":"b"},7]}`), "reasoning_signature"},
		{"signed text", message(`{"role":"assistant","content":"a","extra_content":{"google":{"thought_signature":"s"}}}`), message(`{"role":"assistant","content":"a"}`), "reasoning_signature"},
		{"no messages", `{"model":"m"}`, "", ""},
		{"no object", `[1]`, "", ""},
		{"broken", `{"messages":[{"reasoning_details":[{"signature":"s"}]}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, dropped := Chat{}.AppendUnsealed([]byte("kept"), []byte(c.body))
			if got := strings.Join(dropped, " "); got != c.dropped {
				t.Errorf("dropped %q", got)
			}
			if string(out) != "kept"+c.want {
				t.Errorf("got  %s\nwant %s", out[len("kept"):], c.want)
			}
		})
	}
}

func FuzzAppendUnsealed(f *testing.F) {
	for _, body := range files(f, "requests") {
		f.Add(body)
	}
	f.Add([]byte(`{"messages":[{"role":"assistant","reasoning_details":[{"text":"t","signature":"s"}],"tool_calls":[{"extra_content":{"google":{"thought_signature":"s"}}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		out, dropped := Chat{}.AppendUnsealed(nil, body)
		if len(dropped) == 0 {
			if len(out) > 0 {
				t.Fatalf("nothing dropped, but %q", out)
			}
			return
		}
		if err := jsonscan.Valid(out); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if again, more := (Chat{}).AppendUnsealed(nil, out); len(more) > 0 {
			t.Fatalf("more to drop: %q\n%s\n%s", more, out, again)
		}
		var was, is map[string]json.RawMessage
		if json.Unmarshal(body, &was) == nil && json.Unmarshal(out, &is) == nil {
			for name, value := range was {
				if !strings.EqualFold(name, "messages") && !bytes.Equal(is[name], value) {
					t.Fatalf("%s was changed", name)
				}
			}
		}
	})
}
