package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
)

// chatBody is a request of about size bytes as clients send them: turns with quotes, line ends and letters beyond ASCII.
func chatBody(tb testing.TB, size int) []byte {
	tb.Helper()
	const prose = "At 02:00 the primary answered 503 to every call; the log says \"no pattern\".\n" +
		"The breaker opened after five of them and latency fell back — café, naïve, 東京. "
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", "You are a terse assistant."}}
	for n := 0; n < size-300; n += 960 {
		messages = append(messages, message{"user", strings.Repeat(prose, 6)[:min(930, size-n)]})
	}
	body, err := json.Marshal(map[string]any{
		"model": "gpt-4o-mini", "messages": messages, "temperature": 0.7, "max_tokens": 256, "stream": true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

const chunk = `{"id":"chatcmpl-B1x0sM2vXk","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-2024-08-06",` +
	`"service_tier":"default","system_fingerprint":"fp_f5bdcc3276","choices":[{"index":0,"delta":{"content":" Hello"},` +
	`"logprobs":null,"finish_reason":null}],"usage":null}`

func BenchmarkValid(b *testing.B) {
	for _, c := range []struct {
		name string
		text []byte
	}{
		{"chunk", []byte(chunk)},
		{"body300", chatBody(b, 300)},
		{"body50K", chatBody(b, 50_000)},
		{"plain50K", []byte(`"` + strings.Repeat("a", 50_000) + `"`)},
		{"numbers50K", []byte("[" + strings.Repeat("-0.0123456,", 4_500) + "1]")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if Valid(c.text) != nil {
					b.Fatal("not valid")
				}
			}
		})
		b.Run(c.name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if !json.Valid(c.text) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkWalkChunk(b *testing.B) {
	text := []byte(chunk)
	b.ReportAllocs()
	for b.Loop() {
		r := New(text)
		members := 0
		if r.Object() {
			for _, ok := r.Key(); ok; _, ok = r.Key() {
				r.Skip()
				members++
			}
		}
		if !r.End() || members != 8 {
			b.Fatal(members, r.Err())
		}
	}
}

// Texts there and back: the words of a stream, a conversation's turns, and a page without anything to escape.
func BenchmarkText(b *testing.B) {
	prose := strings.Repeat("the log says \"no pattern\".\nThe breaker opened after five of them — café, naïve, 東京. ", 10)
	for name, text := range map[string]string{"word": " breaker", "prose": prose, "plain": strings.Repeat("the log says no ", 60), "Japanese": strings.Repeat("東京の夜は明るい。", 35)} {
		quoted := AppendString(nil, text)
		b.Run(name+"/quote", func(b *testing.B) {
			dst := make([]byte, 0, 2*len(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				AppendString(dst, text)
			}
		})
		b.Run(name+"/read", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			r := New(quoted)
			for b.Loop() {
				r.pos = 0
				if got, _ := r.Text(); len(got) != len(text) {
					b.Fatal(got)
				}
			}
		})
	}
}
