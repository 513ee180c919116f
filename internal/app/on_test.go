package app

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

const withOn = twoProviders + `
  smart:
    targets: [a/model-a]
    on: { context_length: [b/long], content_filter: [b/free] }
` + oneTry

// R11, R12: a model's own targets for refusals, through the whole gateway.
func TestTargetsForRefusals(t *testing.T) {
	long := mock.Behaviour{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens."}
	filtered := mock.Behaviour{Status: 400, Code: "content_filter", Message: "The response was filtered."}
	for _, tt := range []struct {
		name         string
		a, b         mock.Script
		status       int
		trail, model string // model asked at b
		says         string
	}{
		{"nothing refused", answers(), answers(), 200, "a/model-a=200", "", ""},
		{"too long", do(long), answers(), 200, "a/model-a=400, b/long=200", "long", ""},
		{"too long for both", do(long), do(long), 400, "a/model-a=400, b/long=400", "long", "8192 tokens"},
		{"filtered", do(filtered), answers(), 200, "a/model-a=400, b/free=200", "free", ""},
		{"a plain mistake", do(mock.Behaviour{Status: 400, Message: "bad temperature"}), answers(), 400, "a/model-a=400", "", "bad temperature"},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(tt.name+", stream "+stream, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, withOn, map[string]mock.Script{"a": tt.a, "b": tt.b})
					a := s.post(t.Context(), "/v1/chat/completions", `{"model":"smart","stream":`+stream+`,"messages":[{"role":"user","content":"hi"}]}`)
					if a.status != tt.status || a.header.Get("X-Evergate-Trail") != tt.trail || !strings.Contains(a.body, tt.says) {
						t.Errorf("%d [%s] %s", a.status, a.header.Get("X-Evergate-Trail"), a.body)
					}
					asked := ""
					for _, q := range s.chats("b") {
						asked = q.Model
					}
					if asked != tt.model {
						t.Errorf("b was asked for %q, want %q", asked, tt.model)
					}
					if tt.status == http.StatusOK && a.header.Get("X-Evergate-Provider") == "" {
						t.Error("it does not say who answered")
					}
				})
			})
		}
	}
}

// R34: with hold_down the first target stays second for a while after its breaker closed.
func TestHoldDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, strings.Replace(twoProviders, "targets: [a/m, b/m2]", "targets: [a/m, b/m2], hold_down: 1m", 1)+oneTry,
			map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		for range 5 {
			s.ask("demo", false)
		}
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: steady()})
		time.Sleep(30 * time.Second)
		trail := func() string { a := s.ask("demo", false); return trailOf(s, &a) }
		if got := trail(); got != "a/m=200" {
			t.Fatalf("the probe: %s", got)
		}
		if got := trail(); got != "b/m2=200" {
			t.Errorf("just back: %s", got)
		}
		time.Sleep(time.Minute)
		if got := trail(); got != "a/m=200" {
			t.Errorf("a minute later: %s", got)
		}
	})
}

// R46: an embedding never moves to another model, whose vectors mean something else; it does to the same one elsewhere.
func TestEmbeddingsStayWithTheirModel(t *testing.T) {
	const text = `
  vectors:
    targets: [a/text-embedding-3-small, b/embed-other, { target: b/my-deployment, base_model: text-embedding-3-small }, b/openai/Text-Embedding-3-Small]
`
	for _, tt := range []struct {
		name   string
		b      mock.Script
		trail  string
		status int
	}{
		{"the same model answers elsewhere", answers(), "a/text-embedding-3-small=500, b/embed-other=unable, b/my-deployment=200", 200},
		{"nobody else does", do(mock.Behaviour{Status: 500}), "a/text-embedding-3-small=500, b/embed-other=unable, b/my-deployment=500, b/openai/Text-Embedding-3-Small=500", 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders+text+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": tt.b})
				a := s.post(t.Context(), "/v1/embeddings", `{"model":"vectors","input":"hi"}`)
				if got := a.header.Get("X-Evergate-Trail"); a.status != tt.status || got != tt.trail {
					t.Errorf("%d [%s] %s", a.status, got, a.body)
				}
			})
		})
	}
}
