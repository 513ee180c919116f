package converse

import (
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// A conversation of 50 KB in 40 turns.
func BenchmarkEncodeRequest(b *testing.B) {
	q := llm.Request{Tools: []llm.Tool{weather}, System: []llm.Part{text("be brief")}, MaxTokens: 1000, Dropped: &llm.Dropped{}}
	for range 20 {
		q.Messages = append(q.Messages, says(llm.User, strings.Repeat("some words ", 120)), says(llm.Assistant, strings.Repeat("an answer\n", 120)))
	}
	t := wire.Target{Model: claude45, Vendor: llm.Anthropic}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = Converse{}.EncodeRequest(out[:0], &q, &t)
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkStreamEvent(b *testing.B) {
	e := []byte(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":" Whether you have a"},"p":"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL"}}`)
	emit := func(*llm.Event) {}
	b.Run("judge", func(b *testing.B) {
		var p wire.Progress
		b.ReportAllocs()
		for b.Loop() {
			Converse{}.JudgeEvent(e, &p)
		}
	})
	b.Run("decode", func(b *testing.B) {
		d := Converse{}.NewDecoder()
		b.ReportAllocs()
		for b.Loop() {
			_ = d.Decode(e, emit)
		}
	})
}
