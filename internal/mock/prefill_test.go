package mock_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"evergate/internal/mock"
)

// What is said when the conversation ends in the model's own words.
func TestPrefill(t *testing.T) {
	const text = "one two three four five"
	bodies := map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"?"},{"role":"assistant","content":"one two"}]}`,
		"/v1/messages":         `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"one two"}]}`,
		"/v1/responses":        `{"model":"m","input":[{"role":"user","content":"?"},{"role":"assistant","content":"one two"}]}`,
	}
	for _, tt := range []struct {
		name     string
		prefill  mock.Prefill
		text     string
		status   int
		want, no string
	}{
		{"restart", mock.Restart, text, 200, text, ""},
		{"continue", mock.Continue, text, 200, `" three four five"`, "two"},
		{"not how it begins", mock.Continue, "another text", 200, `"another text"`, ""},
		{"refuse", mock.Refuse, text, 400, "must end with a user message", "one"},
	} {
		for path, body := range bodies {
			t.Run(tt.name+path, func(t *testing.T) {
				run(t, mock.Script{Defaults: mock.Behaviour{Prefill: tt.prefill, Text: tt.text}}, func(t *testing.T, b *bench) {
					req := post(t.Context(), t, path, body)
					req.Header.Set("Anthropic-Version", "2023-06-01")
					status, got, _ := b.whole(t, req)
					if status != tt.status || !strings.Contains(string(got), tt.want) || tt.no != "" && strings.Contains(string(got), tt.no) {
						t.Errorf("%d %s", status, got)
					}
				})
			})
		}
	}
}

// Noise is an event more: without it the stream is whole.
func TestNoise(t *testing.T) {
	run(t, mock.Script{Defaults: mock.Behaviour{Noise: 2, Text: "one two three"}}, func(t *testing.T, b *bench) {
		_, got, _ := b.whole(t, post(t.Context(), t, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"?"}]}`))
		broken, text := 0, ""
		for _, event := range strings.Split(strings.TrimSpace(string(got)), "\n\n") {
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			data := strings.TrimPrefix(event, "data: ")
			if data == "[DONE]" {
				continue
			}
			if json.Unmarshal([]byte(data), &chunk) != nil {
				broken++
				continue
			}
			for _, c := range chunk.Choices {
				text += c.Delta.Content
			}
		}
		if broken != 1 || text != "one two three" {
			t.Errorf("%d broken events, %q:\n%s", broken, text, got)
		}
	})
}

// The log over HTTP tells what came, and itself does not count.
func TestLog(t *testing.T) {
	run(t, mock.Script{Rules: []mock.Rule{{Name: "first", Nth: mock.Nth{From: 1, To: 1}, Do: mock.Behaviour{Status: 503}}}}, func(t *testing.T, b *bench) {
		for range 2 {
			req := post(t.Context(), t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"?"}]}`)
			req.Header.Set("Authorization", "Bearer sk-secret-1234")
			b.whole(t, req)
		}
		var body []byte
		for range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock/mock/requests", http.NoBody)
			_, body, _ = b.whole(t, req)
		}
		var log []struct {
			N, Status         int
			Model, Rule, Path string
			Done              bool
		}
		if err := json.Unmarshal(body, &log); err != nil || len(log) != 2 {
			t.Fatalf("%v: %s", err, body)
		}
		if l := log[0]; l.N != 1 || l.Status != 503 || l.Model != "m" || l.Rule != "first" || !l.Done {
			t.Errorf("%+v", l)
		}
		if l := log[1]; l.Status != 200 || l.Rule != "" || l.Path != "/v1/chat/completions" {
			t.Errorf("%+v", l)
		}
		if strings.Contains(string(body), "secret") {
			t.Errorf("the log tells a key: %s", body)
		}
	})
}
