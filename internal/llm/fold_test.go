package llm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func anySeal(t *rapid.T) *Seal {
	if rapid.Bool().Draw(t, "no seal") {
		return nil
	}
	return &Seal{
		Vendor: rapid.SampledFrom([]Vendor{OpenAI, Anthropic, Google}).Draw(t, "vendor"),
		Kind:   rapid.SampledFrom([]SealKind{Signed, Redacted, Encrypted}).Draw(t, "seal kind"),
		Data:   rapid.String().Draw(t, "data"), ID: rapid.String().Draw(t, "id"),
	}
}

// anyPart is a part as answers have them.
func anyPart(t *rapid.T) Part {
	p := Part{Kind: rapid.SampledFrom([]PartKind{Text, Reasoning, Refusal, ToolCall, Audio, Image, Opaque}).Draw(t, "kind")}
	text := rapid.String().Draw(t, "text")
	switch p.Kind {
	case Text:
		p.Text, p.Signature = text, anySeal(t)
		for range rapid.IntRange(0, 2).Draw(t, "citations") {
			p.Citations = append(p.Citations, Citation{URL: rapid.String().Draw(t, "url"), Quote: "q", End: 3})
		}
	case Reasoning:
		p.Text, p.Seal = text, anySeal(t)
	case ToolCall:
		p.Call = &Call{ID: "c", Name: rapid.String().Draw(t, "name"), Arguments: text, Custom: rapid.Bool().Draw(t, "custom")}
		p.Signature = anySeal(t)
	case Audio, Image, Document, Video:
		p.Media = &Media{Type: "x/y", Data: text, Transcript: "t"}
	case Opaque:
		p.Opaque = &Block{Vendor: Anthropic, Type: "t", Raw: []byte(`{}`)}
	case Refusal, ToolResult:
		p.Text = text
	}
	return p
}

func anyReply(t *rapid.T) *Reply {
	r := &Reply{ID: rapid.String().Draw(t, "id"), Model: "m", Created: 7, ServiceTier: rapid.SampledFrom([]string{"", "flex"}).Draw(t, "tier")}
	for range rapid.IntRange(1, 3).Draw(t, "choices") {
		c := Choice{Content: rapid.SliceOfN(rapid.Custom(anyPart), 0, 4).Draw(t, "content"), Stop: StopSequence, StopText: "END"}
		for i := range c.Content {
			if c.Content[i].Kind == Text && c.LogProbs == nil && rapid.Bool().Draw(t, "probabilities") {
				c.LogProbs = []byte(`[{"token":"a"}]`)
			}
		}
		r.Choices = append(r.Choices, c)
	}
	if rapid.Bool().Draw(t, "used") {
		r.Usage = Usage{Known: true, Input: 5, Output: 6, Reasoning: 2}
	}
	return r
}

// A reply told as events, put in order, and folded is the same reply; the events are strict as they are.
func TestFoldUnfold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyReply(t)
		var s strict
		var f, ordered Fold
		var o Order
		Unfold(want, func(e *Event) {
			s.put(e)
			f.Put(e)
			o.Put(e, ordered.Put)
		})
		o.End(func(e *Event) { t.Fatalf("something was left: %+v", e) })
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.Reply(), cmpopts.EquateEmpty()) + cmp.Diff(want, ordered.Reply(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What an event points to is kept as it was, though its owner uses it again.
func TestFoldKeepsNothingOfEvents(t *testing.T) {
	t.Parallel()
	var f Fold
	call, text, probs := &Call{ID: "a", Name: "f"}, []byte("{}"), []byte("[1]")
	seal := &Seal{Vendor: Google, Kind: Signed, Data: "s"}
	f.Put(&Event{Kind: PartStart, Head: &Part{Kind: ToolCall, Call: call}})
	f.Put(&Event{Kind: Delta, Text: text})
	f.Put(&Event{Kind: Probs, LogProbs: probs})
	f.Put(&Event{Kind: Probs, LogProbs: []byte("[2]")})
	f.Put(&Event{Kind: Sealing, Seal: seal})
	call.ID, seal.Data = "b", "t"
	copy(text, "xx")
	copy(probs, "xxx")
	want := []Choice{{
		Content:  []Part{{Kind: ToolCall, Call: &Call{ID: "a", Name: "f", Arguments: "{}"}, Signature: &Seal{Vendor: Google, Kind: Signed, Data: "s"}}},
		LogProbs: []byte("[1,2]"),
	}}
	if diff := cmp.Diff(want, f.Reply().Choices); diff != "" {
		t.Error(diff)
	}
}
