package openaichat

import (
	"testing"

	"evergate/internal/wire"
)

const chunk = `{"id":"chatcmpl-B1x0sM2vXk","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-2024-08-06",` +
	`"service_tier":"default","system_fingerprint":"fp_f5bdcc3276","choices":[{"index":0,"delta":{"content":" Hello"},` +
	`"logprobs":null,"finish_reason":null}],"usage":null}`

func BenchmarkReadRequest(b *testing.B) {
	for name, size := range map[string]int{"small": 300, "50KB": 50_000} {
		body := chatBody(b, size)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Chat{}).ReadRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	w := wire.Rewrite{Model: "gpt-4o-mini-2024-07-18", AskUsage: true}
	withParams := w
	withParams.Params = []wire.Param{{Name: "temperature", Value: []byte("0.2")}}
	for name, size := range map[string]int{"small": 300, "50KB": 50_000} {
		q, err := Chat{}.ReadRequest(chatBody(b, size))
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]byte, 0, 2*size+1000)
		for how, w := range map[string]wire.Rewrite{"model and usage": w, "and a parameter": withParams} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Chat{}.AppendRequest(dst, &q, w)
				}
			})
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	body := files(b, "replies")["openai-text-gpt-4o.json"]
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, f := (Chat{}).Judge(body); f != nil {
			b.Fatal(f)
		}
	}
}

func BenchmarkJudgeEvent(b *testing.B) {
	data := []byte(chunk)
	p := wire.Progress{ID: "x", Reply: wire.Reply{Model: "m"}}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if e := (Chat{}).JudgeEvent(data, &p); !e.Content {
			b.Fatal(e)
		}
	}
}
