package meters

import (
	"testing"
	"time"

	"evergate/internal/quota"
)

// What one instance writes another reads as it was, but for half a second; what is held is forgotten when it is old.
func TestBodies(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{RequestsPerMinute: 100, TokensPerMinute: 1000, Concurrent: 10}, quota.Budget{Nano: 1e9, Per: quota.Day})
	let(t, m, noon, Amount{Tokens: 10, Nano: 5}, b).Settle(noon, Amount{Tokens: 30, Nano: 7})
	let(t, m, noon.Add(20*time.Second), Amount{Tokens: 40, Nano: 11}, b)
	s := m.find(Key, "ci")
	now := noon.Add(21 * time.Second)
	minute, day := s.appendMinute(nil, now), appendPeriod(nil, s.periods[0])
	for _, c := range []struct {
		name                                   string
		age                                    time.Duration
		requests, tokens, flight, held, budget int64
	}{
		{"fresh", 0, 2, 30, 1, 40, 11},
		{"a little later", 25 * time.Second, 2, 30, 1, 40, 11},
		{"when held is old", 35 * time.Second, 2, 30, 0, 0, 0},
		{"when the first has left", 41 * time.Second, 1, 0, 0, 0, 0},
		{"when all has", 2 * time.Minute, 0, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h heardMinute
			var p heardPeriod
			at := now.Add(c.age)
			if err := h.add(at, minute, c.age); err != nil {
				t.Fatal(err)
			}
			if err := p.add(day, c.age); err != nil {
				t.Fatal(err)
			}
			if got := h.used[ofRequests].Sum(at); got != c.requests || h.used[ofTokens].Sum(at) != c.tokens || h.flight != c.flight || h.held[ofTokens] != c.held {
				t.Errorf("%d requests, %d tokens, %d in flight, %d held", got, h.used[ofTokens].Sum(at), h.flight, h.held[ofTokens])
			}
			if p.nano != 7 || p.tokens != 30 || p.heldNano != c.budget {
				t.Errorf("a budget of %+v", p)
			}
		})
	}
}

// FuzzBody: what anybody may have laid down is read without harm.
func FuzzBody(f *testing.F) {
	m, b := New(Options{}), key(quota.Limits{RequestsPerMinute: 100, TokensPerMinute: 1000}, quota.Budget{Nano: 1e9})
	let(f, m, noon, Amount{Tokens: 10, Nano: 5}, b).Settle(noon, Amount{Tokens: 30, Nano: 7})
	s := m.find(Key, "ci")
	f.Add(s.appendMinute(nil, noon), int64(0))
	f.Add(appendPeriod(nil, s.periods[0]), int64(time.Minute))
	f.Add([]byte{1, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, int64(1))
	f.Fuzz(func(t *testing.T, body []byte, age int64) {
		age &= 1<<62 - 1
		var h heardMinute
		_ = h.add(noon, body, time.Duration(age))
		for i := range h.used {
			if h.used[i].Sum(noon) < 0 || h.held[i] < 0 || h.flight < 0 {
				t.Fatalf("it reads %+v", h)
			}
		}
		var p heardPeriod
		if err := p.add(body, time.Duration(age)); err == nil && (p.nano < 0 || p.tokens < 0 || p.heldNano < 0 || p.heldTokens < 0) {
			t.Fatalf("it reads %+v", p)
		}
	})
}
