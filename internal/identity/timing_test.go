package identity

import (
	"os"
	"slices"
	"testing"
	"time"
)

// A stopwatch says what the structure promises (TestFindDoesTheSameWhateverIsPresented). It is no proof, and runs by hand on a quiet machine:
// EVERGATE_STOPWATCH=1.
func TestStopwatch(t *testing.T) {
	if os.Getenv("EVERGATE_STOPWATCH") == "" {
		t.Skip("set EVERGATE_STOPWATCH=1")
	}
	b, _, key := desk(t)
	for range 2000 {
		r, _ := newRecord(Principal{Name: draw(12)}, "", start)
		b.Hear(r)
	}
	id, secret, _ := split(key)
	other := func(s string, i int) string {
		c := "x"
		if s[i] == 'x' {
			c = "y"
		}
		return s[:i] + c + s[i+1:]
	}
	cases := map[string]string{
		"the first letter of the secret is wrong": summed(keyPrefix + id + "_" + other(secret, 0)),
		"its last letter is wrong":                summed(keyPrefix + id + "_" + other(secret, secretSize-1)),
		"an unknown id":                           summed(keyPrefix + other(id, 9) + "_" + secret),
	}
	const rounds, times = 400, 500
	took := map[string][]time.Duration{}
	for range rounds {
		for name, k := range cases {
			began := time.Now()
			for range times {
				b.Find(k, start)
			}
			took[name] = append(took[name], time.Since(began)/times)
		}
	}
	for name, all := range took {
		slices.Sort(all)
		t.Logf("%s: median %s, a tenth below %s", name, all[len(all)/2], all[len(all)/10])
	}
}
