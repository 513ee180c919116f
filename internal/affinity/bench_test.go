package affinity

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"evergate/internal/route"
	"evergate/internal/wire/openaichat"
)

// conversation is a request of about size bytes, as an SDK writes it: the tools come after the messages.
func conversation(tb testing.TB, size int) *Asked {
	tb.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	text := strings.Repeat("The log says \"no pattern\".\nThe breaker opened after five — café. ", 15)
	messages := []message{{"system", "You are a terse assistant."}}
	for n := 0; n < size; n += 2 * len(text) {
		messages = append(messages, message{"user", text}, message{"assistant", text})
	}
	messages = append(messages, message{"user", "And now?"})
	body, err := json.Marshal(struct {
		Messages []message `json:"messages"`
		Model    string    `json:"model"`
		Tools    []any     `json:"tools"`
	}{messages, "demo", []any{map[string]any{"type": "function", "function": map[string]any{"name": "f", "description": text}}}})
	if err != nil {
		tb.Fatal(err)
	}
	a := chat("")
	q, err := openaichat.Chat{}.ReadRequest(body)
	if err != nil {
		tb.Fatal(err)
	}
	a.Request = &q
	return a
}

// What a request costs more with affinity than without: finding its conversation, and keeping who answered.
func BenchmarkRequest(b *testing.B) {
	for name, a := range map[string]*Asked{"header": chat(`{}`), "opening1K": conversation(b, 1000), "opening50K": conversation(b, 50_000)} {
		if name == "header" {
			a.Header.Set(Header, "s1")
		}
		b.Run(name, func(b *testing.B) {
			table, by := New(), byAll()
			b.ReportAllocs()
			for b.Loop() {
				v := table.Recall(start, a, by)
				table.Is(&v, "a", "m")
				table.Answered(start, &v, "a", "m", 0, "")
			}
		})
	}
}

// The memory alone, from many goroutines.
func BenchmarkTable(b *testing.B) {
	table, by := New(), &route.Affinity{By: []route.Trait{route.ByHeader}, TTL: byAll().TTL}
	asked := make([]*Asked, 1000)
	for i := range asked {
		asked[i] = chat(`{}`)
		asked[i].Header.Set(Header, strconv.Itoa(i))
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			v := table.Recall(start, asked[i%len(asked)], by)
			table.Answered(start, &v, "a", "m", 0, "")
		}
	})
}
