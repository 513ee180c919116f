package wiretest

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// unknown are so many members that nobody knows.
func unknown(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"x%d":1`, i)
	}
	return b.String()
}

// R71: what must not be asked twice at a time: answers that are kept, and tools that act where the vendor runs them.
func TestActs(t *testing.T) {
	t.Parallel()
	const chat, messages, google, items = `"messages":[{"role":"user","content":"q"}]`, `"max_tokens":9,"messages":[{"role":"user","content":"q"}]`, `"contents":[{"parts":[{"text":"q"}]}]`, `"input":"q"`
	for _, c := range []struct {
		name string
		d    wire.Dialect
		body string
		acts bool
	}{
		{"plain", openaichat.Chat{}, chat, false},
		{"the caller's own tools", openaichat.Chat{}, chat + `,"tools":[{"type":"function","function":{"name":"pay"}}]`, false},
		{"stored", openaichat.Chat{}, chat + `,"store":true`, true},
		{"not stored", openaichat.Chat{}, chat + `,"store":false`, false},
		{"a search", anthropic.Messages{}, messages + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`, false},
		{"a shell at the client", anthropic.Messages{}, messages + `,"tools":[{"type":"bash_20250124","name":"bash"}]`, false},
		{"code at the vendor", anthropic.Messages{}, messages + `,"tools":[{"type":"code_execution_20250522","name":"code_execution"}]`, true},
		{"other servers", anthropic.Messages{}, messages + `,"mcp_servers":[{"type":"url","url":"https://x","name":"x"}]`, true},
		{"other servers behind more names than are kept", anthropic.Messages{}, messages + unknown(40) + `,"mcp_servers":[{"type":"url","url":"https://x","name":"x"}]`, true},
		{"Google's search", gemini.Generate{}, google + `,"tools":[{"googleSearch":{}}]`, false},
		{"Google's code", gemini.Generate{}, google + `,"tools":[{"codeExecution":{}}]`, true},
		{"a file search", responses.Responses{}, items + `,"tools":[{"type":"file_search","vector_store_ids":["v"]}]`, false},
		{"a remote server", responses.Responses{}, items + `,"tools":[{"type":"mcp","server_label":"x","server_url":"https://x"}]`, true},
		{"a code interpreter", responses.Responses{}, items + `,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := c.d.ReadRequest([]byte(`{"model":"m",` + c.body + `}`))
			if err != nil {
				t.Fatal(err)
			}
			q, err := wire.Decode(c.d, &r)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Acts(); got != c.acts {
				t.Errorf("acts %t", got)
			}
		})
	}
}
