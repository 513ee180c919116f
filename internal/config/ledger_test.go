package config

import (
	"strings"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Ledger
		say  string
	}{
		{text: "", want: Ledger{30 * 24 * time.Hour, 1_000_000}},
		{text: `state: {url: "redis://localhost"}`, want: Ledger{30 * 24 * time.Hour, 100_000}},
		{text: `state: {url: "memory:"}`, want: Ledger{30 * 24 * time.Hour, 10_000}},
		{text: "ledger: {retention: 90d, max_requests: 5000}", want: Ledger{90 * 24 * time.Hour, 5000}},
		{text: "ledger: {retention: 1h30m}", want: Ledger{90 * time.Minute, 1_000_000}},
		{text: "ledger: {retention: 366d}", say: "longer than a year"},
		{text: "ledger: {retention: 9000h}", say: "longer than a year"},
		{text: "ledger: {retention: 0d}", say: "too short"},
		{text: "ledger: {retention: -1d}", say: "too short"},
		{text: "ledger: {retention: 1.5d}", say: "must be a time such as 30d"},
		{text: "ledger: {retention: d}", say: "must be a time such as 30d"},
		{text: "ledger: {retention: 30}", say: "must be a time such as 30d"},
		{text: "ledger: {max_requests: 1}", say: "must be a whole number from 100"},
		{text: "ledger: {max_request: 1000}", say: "did you mean max_requests"},
	} {
		got, err := Parse("test.yaml", []byte(c.text+"\nproviders: {a: {type: openai, api_key: sk-0123456789}}"), func(string) (string, bool) { return "", false })
		switch {
		case c.say != "" && (err == nil || !strings.Contains(err.Error(), c.say)):
			t.Errorf("%s: %v, want %q", c.text, err, c.say)
		case c.say == "" && (err != nil || got.Ledger != c.want):
			t.Errorf("%s: %v", c.text, err)
		}
	}
}
