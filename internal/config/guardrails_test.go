package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/provider"
)

func TestGuardrails(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers: { a: { type: openai, api_key: sk-1, models: [m] } }
guardrails:
  pii: { find: [email, card], patterns: [{ name: staff, pattern: 'EMP-[0-9]+', mask: '[S]' }], mask: X, action: block, on: [request], window: 64 }
  judge: { kind: webhook, url: "https://judge/", secret: "${S}", fail: open, timeout: 1s, every: 0, max_concurrent: 2, private: true }
guardrail_defaults: [pii]
models:
  inner: { targets: [a/m], guardrails: [judge] }
  outer: { targets: [inner], guardrails: [pii] }
  plain: { targets: [a/m] }
`, map[string]string{"S": "s3cret"})
	want := Guardrails{
		List: []Guardrail{
			{Name: "pii", OnRequest: true, Find: []string{"email", "card"}, Patterns: []GuardrailPattern{{"staff", "EMP-[0-9]+", "[S]"}}, Mask: "X", Block: true, Window: 64, Timeout: defaultHookTimeout, Every: defaultEvery, Concurrent: defaultHookConcurrent},
			{Name: "judge", OnRequest: true, OnResponse: true, Webhook: true, URL: "https://judge/", Secret: "s3cret", Private: true, FailOpen: true, Timeout: time.Second, Concurrent: 2},
		},
		Defaults: []string{"pii"}, Models: map[string][]string{"inner": {"judge"}, "outer": {"pii", "judge"}},
	}
	if diff := cmp.Diff(want, c.Guardrails, cmp.Comparer(func(a, b provider.Secret) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(c.Text, "s3cret") || strings.Contains(c.Text, "judge/") {
		t.Errorf("the text of the file shows a secret:\n%s", c.Text)
	}
}

// Models that are within each other in many ways are looked at once each.
func TestGuardrailsOfManyWays(t *testing.T) {
	t.Parallel()
	text := "providers: { a: { type: openai, api_key: sk-1, models: [m] } }\nguardrails: { pii: { find: [email] } }\nmodels:\n  m0: { targets: [a/m], guardrails: [pii] }\n"
	for i := 1; i <= 4; i++ {
		n, before := string(rune('0'+i)), string(rune('0'+i-1))
		text += "  l" + n + ": { targets: [m" + before + "] }\n  r" + n + ": { targets: [m" + before + "] }\n  m" + n + ": { targets: [l" + n + ", r" + n + "] }\n"
	}
	c := mustParse(t, text, nil)
	if len(c.Guardrails.Models) != 13 {
		t.Errorf("%d models have it", len(c.Guardrails.Models))
	}
}
