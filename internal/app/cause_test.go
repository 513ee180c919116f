package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// causing is a gateway whose breaker opens at the first failure, and closes at the first success.
const causing = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m]}
resilience:
  retry: {same_target: 0}
  circuit_breaker: {failure_threshold: 1}
models:
  two: {strategy: ordered, targets: [a/m, b/m]}
  raced: {targets: [b/m, a/m], strategy: ordered, hedge: {after: 1s}}
  copied: {targets: [b/m], mirror: {target: a/m, share: 1}}
`

// Every way of asking an upstream leaves the request's id with its attempts and with what they did to the guards, so that an incident
// leads to the requests that caused it.
func TestGuardsNameTheRequestThatMovedThem(t *testing.T) {
	chat := func(model string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}]}`
	}
	broken := mock.Behaviour{Status: 500}
	cases := []struct {
		name, path, body string
		a, b             mock.Behaviour
		attempts         int
	}{
		{name: "chat", path: "/v1/chat/completions", body: chat("two"), a: broken, attempts: 2},
		{name: "translated", path: "/v1/messages", body: `{"model":"two","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, a: broken, attempts: 2},
		{name: "stream", path: "/v1/chat/completions", body: `{"stream":true,` + chat("two")[1:], a: broken, attempts: 2},
		{name: "hedge", path: "/v1/chat/completions", body: chat("raced"), a: broken, b: mock.Behaviour{FirstToken: 3 * time.Second}, attempts: 2},
		{name: "mirror", path: "/v1/chat/completions", body: chat("copied"), a: broken, attempts: 2},
		{name: "passthrough", path: "/passthrough/a/v1/chat/completions", body: chat("m"), a: broken, attempts: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, causing, map[string]mock.Script{"a": {Defaults: c.a}, "b": {Defaults: c.b}})
				s.post(context.Background(), c.path, c.body, "X-Request-Id", "the-cause")
				time.Sleep(5 * time.Second)
				s.facts.mu.Lock()
				defer s.facts.mu.Unlock()
				if len(s.facts.guards) != 1 || s.facts.guards[0].Provider != "a" || s.facts.guards[0].To != "open" || s.facts.guards[0].RequestID != "the-cause" {
					t.Errorf("guards %+v", s.facts.guards)
				}
				if len(s.facts.attempts) != c.attempts {
					t.Errorf("%d attempts, want %d", len(s.facts.attempts), c.attempts)
				}
				for _, a := range s.facts.attempts {
					if a.RequestID != "the-cause" {
						t.Errorf("attempt %+v", a)
					}
				}
			})
		})
	}
}
