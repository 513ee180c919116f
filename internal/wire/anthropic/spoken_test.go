package anthropic

import (
	"bytes"
	"testing"

	"evergate/internal/llm"
)

// What a model spoke can be read, where it is known: this dialect has no sound.
func TestSpokenAnswer(t *testing.T) {
	t.Parallel()
	a := &llm.Reply{ID: "a", Model: "m", Choices: []llm.Choice{{Stop: llm.EndTurn, Content: []llm.Part{
		{Kind: llm.Audio, Media: &llm.Media{Data: "AAAA", Transcript: "beep"}}, {Kind: llm.Audio, Media: &llm.Media{Data: "BBBB"}},
	}}}}
	for _, form := range []string{"whole", "streamed"} {
		q := &llm.Request{Dropped: &llm.Dropped{}}
		out := Messages{}.AppendReply(nil, a, q)
		if form == "streamed" {
			e := Messages{}.NewEncoder(q)
			out = nil
			llm.Unfold(a, func(ev *llm.Event) { out = e.Append(out, ev) })
			out = e.AppendEnd(out)
		}
		if bytes.Count(out, []byte(`"text":"beep"`)) != 1 || bytes.Contains(out, []byte("AAAA")) || bytes.Contains(out, []byte("BBBB")) {
			t.Errorf("%s: %s", form, out)
		}
		if names := q.Dropped.Names(); len(names) != 1 || names[0] != llm.DropAudio {
			t.Errorf("%s: dropped %v", form, names)
		}
	}
}
