package converse

import (
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// What goes with a seal or a cache point is lost with it, and said.
func TestLostWithOthers(t *testing.T) {
	t.Parallel()
	text := llm.Part{Kind: llm.Text, Text: "Hi"}
	for name, c := range map[string]struct {
		vendor llm.Vendor
		part   llm.Part
		want   []string
	}{
		"another vendor's thought":   {llm.Amazon, llm.Part{Kind: llm.Reasoning, Text: "Hm.", Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "s"}}, []string{llm.DropSignatures, llm.DropReasoning}},
		"another's redacted thought": {llm.Amazon, llm.Part{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "s"}}, []string{llm.DropSignatures}},
		"an hour in Nova's cache":    {llm.Amazon, llm.Part{Kind: llm.Text, Text: "x", Cache: &llm.Cache{TTL: "1h"}}, []string{"cache_control.ttl"}},
		"an hour in Claude's cache":  {llm.Anthropic, llm.Part{Kind: llm.Text, Text: "x", Cache: &llm.Cache{TTL: "1h"}}, nil},
		"the usual time":             {llm.Amazon, llm.Part{Kind: llm.Text, Text: "x", Cache: &llm.Cache{TTL: "5m"}}, nil},
	} {
		model := "us.amazon.nova-pro-v1:0"
		if c.vendor == llm.Anthropic {
			model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
		}
		q := &llm.Request{
			Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{text}}, {Role: llm.Assistant, Content: []llm.Part{c.part, text}}, {Role: llm.User, Content: []llm.Part{text}}},
			Dropped:  &llm.Dropped{},
		}
		if _, err := (Converse{}).EncodeRequest(nil, q, &wire.Target{Model: model, Vendor: c.vendor}); err != nil {
			t.Fatal(err)
		}
		if got := q.Dropped.Names(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
