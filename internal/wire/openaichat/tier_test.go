package openaichat

import (
	"bytes"
	"testing"

	"evergate/internal/llm"
)

// Anthropic's and Google's standard tier is OpenAI's default one; SDKs with closed lists of words know no other, and none of another vendor is
// said.
func TestTierWords(t *testing.T) {
	t.Parallel()
	for tier, want := range map[string]string{"standard": "default", "default": "default", "priority": "priority", "flex": "flex", "on_demand": ""} {
		a := &llm.Reply{ID: "a", Model: "m", ServiceTier: tier, Choices: []llm.Choice{{Content: []llm.Part{{Kind: llm.Text, Text: "x"}}, Stop: llm.EndTurn}}}
		q := &llm.Request{}
		plain := Chat{}.AppendReply(nil, a, q)
		var stream []byte
		e := Chat{}.NewEncoder(q)
		llm.Unfold(a, func(ev *llm.Event) { stream = e.Append(stream, ev) })
		member := []byte(`"service_tier":"` + want + `"`)
		if want == "" {
			if bytes.Contains(plain, []byte("service_tier")) || bytes.Contains(stream, []byte("service_tier")) {
				t.Errorf("%s is said in\n%s\n%s", tier, plain, stream)
			}
			continue
		}
		if !bytes.Contains(plain, member) || !bytes.Contains(stream, member) {
			t.Errorf("%s: want %s in\n%s\n%s", tier, member, plain, stream)
		}
	}
}
