package wiretest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// longConversation is a request of about 50 KB in a dialect of whose members the names are given: turns of prose with line
// ends, quotes and letters beyond ASCII, as people send them.
func longConversation(tb testing.TB, system, turns, limit string) []byte {
	tb.Helper()
	const prose = "Between 02:00 and 02:40 the primary returned 503 for every call; the team's notes say \"no pattern\".\n" +
		"The breaker opened after five failures, traffic moved on, and p99 fell back to normal — café, naïve, 東京. "
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	said := make([]turn, 0, 51)
	for i := range cap(said) {
		said = append(said, turn{[]string{"user", "assistant"}[i%2], strings.Repeat(prose, 4)})
	}
	const prompt = "You are a terse assistant."
	members := map[string]any{"model": "m", limit: 256, turns: said}
	if system == turns {
		members[turns] = append([]turn{{"system", prompt}}, said...)
	} else {
		members[system] = prompt
	}
	body, err := json.Marshal(members)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// BenchmarkTranslateRequest is what a request to another dialect costs: it was scanned before (BenchmarkReadRequest of each
// dialect), and is decoded once and written once.
func BenchmarkTranslateRequest(b *testing.B) {
	for _, c := range []struct {
		name     string
		from, to wire.Dialect
		body     []byte
	}{
		{"messages-chat", anthropic.Messages{}, openaichat.Chat{}, longConversation(b, "system", "messages", "max_tokens")},
		{"chat-messages", openaichat.Chat{}, anthropic.Messages{}, longConversation(b, "messages", "messages", "max_tokens")},
		{"responses-chat", responses.Responses{}, openaichat.Chat{}, longConversation(b, "instructions", "input", "max_output_tokens")},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, err := c.from.ReadRequest(c.body)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, 0, 2*len(c.body))
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				q, err := wire.Decode(c.from, &r)
				if err != nil {
					b.Fatal(err)
				}
				t := wire.NewTranslation(c.from, c.to, q, wire.Target{})
				if _, err := t.AppendRequest(dst, wire.Rewrite{Model: "m"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
