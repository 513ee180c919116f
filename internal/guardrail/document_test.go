package guardrail

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every text of a request is looked at, whichever member has it; what it must stay is left alone.
func TestRequest(t *testing.T) {
	t.Parallel()
	coded := strings.Repeat("QUtJQUlPU0ZPRE5ON0VYQU1QTEU", 40)
	for _, c := range []struct{ name, body, want string }{
		{
			"chat", `{"model":"ada@example.com","messages":[{"role":"user","content":"ada@example.com"},{"role":"tool","content":[{"type":"text","text":"x ada@example.com"}]}]}`,
			`{"model":"ada@example.com","messages":[{"role":"user","content":"[EMAIL]"},{"role":"tool","content":[{"type":"text","text":"x [EMAIL]"}]}]}`,
		},
		{"escapes", `{"input":"\u0061da\u0040example.com \ud83d\ude00"}`, `{"input":"[EMAIL] 😀"}`},
		{
			"arguments stay JSON", `{"messages":[{"tool_calls":[{"function":{"name":"f","arguments":"{\"to\":\"ada\\u0040example.com\",\"card\":4111111111111111}"}}]}]}`,
			`{"messages":[{"tool_calls":[{"function":{"name":"f","arguments":"{\"to\":\"[EMAIL]\",\"card\":\"[CARD]\"}"}}]}]}`,
		},
		{
			"an object of arguments", `{"messages":[{"content":[{"type":"tool_use","input":{"card":4111111111111111,"ada@example.com":1}}]}]}`,
			`{"messages":[{"content":[{"type":"tool_use","input":{"card":"[CARD]","[EMAIL]":1}}]}]}`,
		},
		{"settings are numbers", `{"seed":4111111111111111,"generationConfig":{"seed":4111111111111111}}`, `{"seed":4111111111111111,"generationConfig":{"seed":4111111111111111}}`},
		{"coded bytes", `{"source":{"data":"` + coded + `"},"image_url":{"url":"data:image/png;base64,` + coded + `"}}`, `{"source":{"data":"` + coded + `"},"image_url":{"url":"data:image/png;base64,` + coded + `"}}`},
		{"short bytes are text", `{"data":"AKIAIOSFODNN7EXAMPLE"}`, `{"data":"[SECRET]"}`},
		{"metadata and user", `{"user":"ada@example.com","metadata":{"k":"ada@example.com"}}`, `{"user":"[EMAIL]","metadata":{"k":"[EMAIL]"}}`},
		{"tools", `{"tools":[{"function":{"description":"mail ada@example.com"}}]}`, `{"tools":[{"function":{"description":"mail [EMAIL]"}}]}`},
		{"nothing to find", `{"input" : "x" }`, `{"input" : "x" }`},
	} {
		got, err := watch(t, redactorSet(false), "pii").Request(t.Context(), []byte(c.body))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nnot\n%s", c.name, err, got, c.want)
		}
	}
}

// A body that nothing is found in costs no copy.
func TestRequestUnchanged(t *testing.T) {
	t.Parallel()
	body := []byte(`{"input":"hello"}`)
	got, err := watch(t, redactorSet(false), "pii").Request(t.Context(), body)
	if err != nil || &got[0] != &body[0] {
		t.Errorf("%v: another body", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":"ada\u0040example.com","tool_calls":[{"function":{"arguments":"{\"a\":4111111111111111}"}}]}]}`))
	s := redactorSet(false)
	rules := allRules()
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 4096 || !json.Valid(body) {
			return
		}
		out, err := watch(t, s, "pii").Request(t.Context(), body)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%v %q -> %q", err, body, out)
		}
		for _, x := range read(out).texts {
			if v, found := redact(nil, x.Value, rules); found != "" && !strings.Contains(string(v), "]") {
				t.Fatalf("%q has %s left", x.Value, found)
			}
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	turn := `{"role":"user","content":"` + strings.Repeat("some words of a conversation, 12 of them; ", 25) + `"},`
	body := []byte(`{"model":"m","messages":[` + strings.Repeat(turn, 48) + `{}]}`) // 50 KB
	s := redactorSet(false)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := watch(b, s, "pii").Request(b.Context(), body); err != nil {
			b.Fatal(err)
		}
	}
}
