package app

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// Of a member that comes twice the last one counts, as it does for those who pass the body on and for most parsers: what
// looks at requests on their way must not see another question than the one that is asked.
func TestMembersThatComeTwice(t *testing.T) {
	for _, tt := range []struct{ name, path, body string }{
		{"chat", "/v1/chat/completions", `{"model":"TARGET","messages":[{"role":"system","content":"FIRST"},{"role":"user","content":"FIRST"}],"messages":[{"role":"system","content":"LAST1"},{"role":"user","content":"LAST2"}],
			"tools":[{"type":"function","function":{"name":"FIRST","parameters":{"type":"object"}}}],"tools":[{"type":"function","function":{"name":"LAST3","parameters":{"type":"object"}}}],"stop":["FIRST"],"stop":["LAST4"]}`},
		{"messages", "/v1/messages", `{"model":"TARGET","max_tokens":50,"system":"FIRST","system":[{"type":"text","text":"LAST1"}],"messages":[{"role":"user","content":"FIRST"}],"messages":[{"role":"user","content":"LAST2"}],
			"tools":[{"name":"FIRST","input_schema":{"type":"object"}}],"tools":[{"name":"LAST3","input_schema":{"type":"object"}}],"stop_sequences":["FIRST"],"stop_sequences":["LAST4"]}`},
		{"messages, the prompt last", "/v1/messages", `{"model":"TARGET","max_tokens":50,"messages":[{"role":"user","content":"FIRST"}],"messages":[{"role":"user","content":"LAST2"}],"system":"FIRST","system":"LAST1",
			"tools":[{"name":"FIRST","input_schema":{"type":"object"}}],"tools":[{"name":"LAST3","input_schema":{"type":"object"}}],"stop_sequences":["FIRST"],"stop_sequences":["LAST4"]}`},
		{"responses", "/v1/responses", `{"model":"TARGET","instructions":"FIRST","instructions":"LAST1","input":[{"role":"user","content":"FIRST"}],"input":"LAST2 LAST4",
			"tools":[{"type":"function","name":"FIRST","parameters":{"type":"object"}}],"tools":[{"type":"function","name":"LAST3","parameters":{"type":"object"}}]}`},
		{"gemini", "/v1beta/models/TARGET:generateContent", `{"systemInstruction":{"parts":[{"text":"FIRST"}]},"systemInstruction":{"parts":[{"text":"LAST1"}]},"contents":[{"role":"user","parts":[{"text":"FIRST"}]}],"contents":[{"role":"user","parts":[{"text":"LAST2"}]}],
			"tools":[{"functionDeclarations":[{"name":"FIRST"}]}],"tools":[{"functionDeclarations":[{"name":"LAST3"}]}],"generationConfig":{"stopSequences":["FIRST"]},"generationConfig":{"stopSequences":["LAST4"]}}`},
	} {
		for _, vendor := range []string{"chat", "anthropic", "bedrock", "gemini"} {
			if vendor == tt.name || vendor == "anthropic" && strings.HasPrefix(tt.name, "messages") {
				continue // the bytes go through
			}
			t.Run(tt.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {Lenient: true}})
					swap := strings.NewReplacer("TARGET", vendor+"/m")
					if a := s.post(t.Context(), swap.Replace(tt.path), swap.Replace(tt.body)); a.status != http.StatusOK {
						t.Fatalf("%d %s", a.status, a.body)
					}
					seen := s.chats("a")
					got := string(seen[len(seen)-1].Body)
					if strings.Contains(got, "FIRST") {
						t.Errorf("what counts no more was sent: %s", got)
					}
					for _, last := range []string{"LAST1", "LAST2", "LAST3", "LAST4"} {
						if !strings.Contains(got, last) {
							t.Errorf("%s is missing: %s", last, got)
						}
					}
				})
			})
		}
	}
}
