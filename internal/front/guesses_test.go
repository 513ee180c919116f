package front

import (
	"fmt"
	"testing"
	"time"
)

func TestGuesses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := NewGuesses()
	fail := func(remote string, n int) {
		for range n {
			g.Failed(remote, now)
		}
	}
	wait := func(remote string, want time.Duration) {
		t.Helper()
		if got := g.Wait(remote, now); got != want {
			t.Errorf("%s waits for %s, want %s", remote, got, want)
		}
	}
	const a, b = "203.0.113.1:1000", "203.0.113.2:1000"
	fail(a, 100)
	wait(a, 0) // nobody set a limit
	g.Limit(6)
	fail(a, 5)
	wait(a, 0)
	fail(a, 1)
	wait(a, 10*time.Second)
	wait("203.0.113.1:2000", 10*time.Second) // another connection
	wait(b, 0)
	fail("203.0.113.3:1000", 100) // side by side, before it was held off
	wait("203.0.113.3:1000", 10*time.Second)
	now = now.Add(10*time.Second - 1)
	wait(a, 1)
	now = now.Add(1)
	wait(a, 0)
	fail(a, 1)
	wait(a, 10*time.Second)
	now = now.Add(time.Minute)
	wait(a, 0)
	fail(a, 5)
	wait(a, 0)

	fail("[2001:db8:1:2:3::4]:1000", 6)
	wait("[2001:db8:1:2:9::9]:1000", 10*time.Second) // the same network
	wait("[2001:db8:1:3::1]:1000", 0)
	fail("[::ffff:203.0.113.7]:1", 6)
	wait("203.0.113.7:1", 10*time.Second)
	for _, self := range []string{"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "@"} {
		fail(self, 100)
		wait(self, 0)
	}
	g.Limit(0)
	wait("203.0.113.7:1", 0)
	var none *Guesses
	none.Failed(a, now)
	if none.Wait(a, now) != 0 {
		t.Error("nobody counts, and somebody waits")
	}
}

// However many addresses guess, no more than so many are remembered, and those who guessed most are.
func TestGuessesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := NewGuesses()
	g.Limit(60)
	for range 60 {
		g.Failed("198.51.100.1:1", now)
	}
	for i := range guessShards * guessesOfEach * 11 / 10 {
		g.Failed(fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), now)
	}
	kept := 0
	for i := range g.shards {
		kept += len(g.shards[i].paid)
	}
	if kept > guessShards*guessesOfEach || int64(kept) != g.known.Load() {
		t.Errorf("%d are remembered, and %d counted", kept, g.known.Load())
	}
	if g.Wait("198.51.100.1:1", now) == 0 {
		t.Error("who guessed most was forgotten")
	}
	now = now.Add(2 * time.Minute)
	for i := range g.shards { // those that have nothing to pay go first
		g.makeRoom(&g.shards[i], now)
	}
	if n := g.known.Load(); n >= guessShards*guessesOfEach/2 {
		t.Errorf("%d are still remembered", n)
	}
}

func BenchmarkGuesses(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, known := range []int{0, 1000} {
		b.Run(fmt.Sprint(known), func(b *testing.B) {
			g := NewGuesses()
			g.Limit(60)
			for i := range known {
				g.Failed(fmt.Sprintf("10.0.%d.%d:1", i>>8&255, i&255), now)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.Wait("203.0.113.9:4711", now)
			}
		})
	}
}
