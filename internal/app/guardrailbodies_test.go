package app

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// What log.bodies keeps of a request that guardrails hold for has been through them: also where it is refused before they are asked.
func TestGuardrailsAndKeptBodies(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		status           int
	}{
		{"redacted", "/v1/chat/completions", `{"model":"chat/m","messages":[{"role":"user","content":"` + plantedMail + `"}]}`, 200},
		{"blocked", "/v1/chat/completions", `{"model":"chat/m","messages":[{"role":"user","content":"` + plantedMail + ` ` + account + `"}]}`, 400},
		{"no such model", "/v1/chat/completions", `{"model":"nobody","messages":[{"role":"user","content":"` + plantedMail + `"}]}`, 404},
		{"not JSON", "/v1/chat/completions", `{"model":"chat/m","messages":[{"role":"user","content":"` + plantedMail + `"}]`, 400},
		{"what cannot be judged", "/v1/responses", `{"model":"responses/m","input":"` + plantedMail + `","background":true}`, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, keeps+guards, map[string]mock.Script{"a": {}})
				a := s.raw(c.path, c.body)
				b := s.keptBodies()
				if a.status != c.status || b == nil || b.Request == "" || strings.Contains(b.Request, plantedMail) {
					t.Errorf("%d, kept %+v\n%s", a.status, b, a.body)
				}
			})
		})
	}
}

// Vectors have no words: base64 that looks like a telephone number stays what it is.
func TestGuardrailsLeaveVectorsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const vector = "AAAAAAAA+1234567890/AAAAAAAAAAAAAAAAAAAA"
		const config = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers: {a: {type: openai, base_url: "http://up/v1", api_key: sk-key-of-a, models: [m]}}
guardrails: {pii: {find: [email, phone]}}
guardrail_defaults: [pii]
`
		asked := ""
		s := newStackWith(t, parse(t, config), nil, slog.New(slog.DiscardHandler), func(s *stack) {
			s.net.Serve(t, "up:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = string(body)
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "m", "data": []any{map[string]any{"object": "embedding", "index": 0, "embedding": vector}}, "usage": map[string]any{"prompt_tokens": 1, "total_tokens": 1}})
			}))
		})
		a := s.raw("/v1/embeddings", `{"model":"m","input":"I am `+plantedMail+`","encoding_format":"base64"}`)
		if a.status != 200 || !strings.Contains(a.body, vector) || !strings.Contains(asked, "I am [EMAIL]") {
			t.Errorf("%d %s, asked %s", a.status, a.body, asked)
		}
	})
}
