package gemini

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

const oneChunk = `{"candidates": [{"content": {"parts": [{"text": "The lighthouse keeper stood by the lantern, "}],"role": "model"},"index": 0}],"usageMetadata": ` +
	`{"promptTokenCount": 46,"candidatesTokenCount": 57,"totalTokenCount": 170,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 46}],"thoughtsTokenCount": 67},` +
	`"modelVersion": "gemini-3-flash-preview","responseId": "n1P6abvRFaKdz7IPkcuQ2Aw"}`

func BenchmarkJudgeEvent(b *testing.B) {
	data := []byte(oneChunk)
	var p wire.Progress
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if e := (Generate{}).JudgeEvent(data, &p); !e.Content {
			b.Fatal(e)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(oneChunk)
	d := Generate{}.NewDecoder()
	var order llm.Order
	put := func(e *llm.Event) { order.Put(e, func(*llm.Event) {}) }
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(data, put); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := Generate{}.NewEncoder(&llm.Request{Model: "m"})
	e.Append(nil, &llm.Event{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}})
	delta := &llm.Event{Kind: llm.Delta, Text: []byte("The lighthouse keeper stood by the lantern, ")}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = e.Append(out[:0], delta)
	}
}

func BenchmarkRequest(b *testing.B) {
	var turns []string
	for i := range 50 {
		turns = append(turns, fmt.Sprintf(`{"role":%q,"parts":[{"text":%q}]}`, []string{"user", "model"}[i%2], strings.Repeat("The log says \"no pattern\". ", 36)))
	}
	body := []byte(`{"contents":[` + strings.Join(turns, ",") + `],"generationConfig":{"temperature":0.5}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Generate{}.ReadRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		q, err := Generate{}.DecodeRequest(&r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (Generate{}).EncodeRequest(nil, q, &wire.Target{Model: "gemini-2.5-flash"}); err != nil {
			b.Fatal(err)
		}
	}
}
