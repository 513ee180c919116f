package meters

import (
	"testing"
	"time"
)

// Whatever lies in a store under the name of another instance: what is read of it is bounded, counts nothing below zero, and leaves room for more.
func FuzzTally(f *testing.F) {
	now := time.Unix(1_900_000_000, 0)
	s := &scope{}
	f.Add(s.appendMinute(nil, now), int64(0))
	f.Add(appendPeriod(nil, &period{nano: count{total: 5, held: 1}, tokens: count{total: maxTotal}}), int64(time.Second))
	f.Add([]byte{form, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, int64(heldFor))
	f.Add([]byte{}, int64(-1))
	f.Fuzz(func(t *testing.T, body []byte, age int64) {
		body = body[:min(len(body), MaxTally)]
		for range 3 { // those of three instances
			var m heardMinute
			var p heardPeriod
			_, _ = m.add(now, body, time.Duration(age)), p.add(body, time.Duration(age))
			amounts := []int64{m.flight, m.held[0], m.held[1], p.nano, p.tokens, p.heldNano, p.heldTokens}
			for _, w := range m.used {
				if w != nil {
					amounts = append(amounts, w.Sum(now))
				}
			}
			for _, n := range amounts {
				if n < 0 || n > maxTotal {
					t.Fatalf("%x at %d counts %d", body, age, amounts)
				}
			}
		}
	})
}
