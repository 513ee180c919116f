package gemini

import (
	"bytes"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// What a model spoke is there to hear and, where it is known, to read.
func TestSpokenAnswer(t *testing.T) {
	t.Parallel()
	a := &llm.Reply{ID: "a", Model: "m", Choices: []llm.Choice{{Stop: llm.EndTurn, Content: []llm.Part{
		{Kind: llm.Audio, Media: &llm.Media{Type: "audio/wav", Data: "AAAA", Transcript: "beep"}}, {Kind: llm.Text, Text: "boop"},
	}}}}
	q := &llm.Request{Dropped: &llm.Dropped{}}
	for form, out := range map[string][]byte{"whole": Generate{}.AppendReply(nil, a, q), "streamed": bytes.Join(events(t, encodeStream(a, q)), nil)} {
		for _, part := range []string{`{"text":"beep"}`, `{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}`, `{"text":"boop"}`} {
			if bytes.Count(out, []byte(part)) != 1 {
				t.Errorf("%s: %s is not in %s", form, part, out)
			}
		}
	}
}

// Instructions alone are asked as a turn: Gemini answers none without one.
func TestInstructionsAlone(t *testing.T) {
	t.Parallel()
	q := &llm.Request{System: []llm.Part{{Kind: llm.Text, Text: "Greet."}}, Dropped: &llm.Dropped{}}
	out, err := Generate{}.EncodeRequest(nil, q, &wire.Target{Model: "gemini-2.5-flash"})
	if want := `{"contents":[{"role":"user","parts":[{"text":"Greet."}]}]`; err != nil || !bytes.HasPrefix(out, []byte(want)) {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := (Generate{}).EncodeRequest(nil, &llm.Request{Dropped: &llm.Dropped{}}, &wire.Target{}); err == nil {
		t.Fatalf("nothing at all became %s", out)
	}
}
