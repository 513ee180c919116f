package openaichat

import (
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// One event through decoder, order and encoder, as a translated stream's hot path has it.
func BenchmarkTranslateEvent(b *testing.B) {
	for name, data := range map[string]string{
		"text":      chunk,
		"thought":   oneChoice(`{"reasoning_content":"Hello\n"}`),
		"arguments": oneChoice(`{"tool_calls":[{"index":0,"function":{"arguments":" \"a\","}}]}`),
	} {
		b.Run(name, func(b *testing.B) {
			d := Chat{}.NewDecoder()
			e := Chat{}.NewEncoder(&llm.Request{StreamUsage: true})
			var order llm.Order
			var dst []byte
			say := func(v *llm.Event) { dst = e.Append(dst, v) }
			put := func(v *llm.Event) { order.Put(v, say) }
			if name == "arguments" {
				if err := d.Decode([]byte(oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`)), put); err != nil {
					b.Fatal(err)
				}
			}
			event := []byte(data)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				dst = dst[:0]
				if err := d.Decode(event, put); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	r, err := Chat{}.ReadRequest(chatBody(b, 50_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Chat{}).DecodeRequest(&r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRequest(b *testing.B) {
	q := read(b, string(chatBody(b, 50_000)))
	t := &wire.Target{Model: "m"}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = (Chat{}).EncodeRequest(dst[:0], q, t); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkReply(b *testing.B) {
	body := files(b, "replies")["openai-tool-empty-args-gpt-4o.json"]
	q := &llm.Request{}
	var dst []byte
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		a, err := Chat{}.DecodeReply(body)
		if err != nil {
			b.Fatal(err)
		}
		dst = Chat{}.AppendReply(dst[:0], a, q)
	}
}
