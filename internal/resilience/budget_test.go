package resilience

import (
	"testing"
	"time"
)

// drain draws until it is refused.
func drain(b *Budget, at time.Duration, share float64, requests int64) int {
	n := 0
	for b.Draw(epoch.Add(at), share, requests) {
		n++
	}
	return n
}

// R53
func TestBudget(t *testing.T) {
	const s = time.Second
	t.Run("100 in a process's first 10 s", func(t *testing.T) {
		b := NewBudget(epoch)
		if n := drain(b, 0, 0.2, 1_000_000); n != 100 {
			t.Errorf("%d", n)
		}
		if n := drain(b, 10*s-1, 0.2, 1_000_000); n != 0 {
			t.Errorf("%d more", n)
		}
	})
	t.Run("then the share and 10/s", func(t *testing.T) {
		b := NewBudget(epoch)
		if n := drain(b, 10*s, 0.2, 1000); n != 300 {
			t.Errorf("%d, want 300", n)
		}
		if n := drain(b, 10*s, 0.2, 1004); n != 0 {
			t.Errorf("%d for less than a whole one more", n)
		}
		if n := drain(b, 10*s, 0.2, 1005); n != 1 {
			t.Errorf("%d, want 1", n)
		}
	})
	t.Run("without traffic or share 10/s", func(t *testing.T) {
		if n := drain(NewBudget(epoch), 20*s, 0.2, 0); n != 100 {
			t.Errorf("%d", n)
		}
		if n := drain(NewBudget(epoch), 20*s, 0, 5000); n != 100 {
			t.Errorf("%d", n)
		}
	})
	t.Run("draws come back after 10 s", func(t *testing.T) {
		b := NewBudget(epoch)
		for range 60 {
			b.Draw(epoch.Add(20*s), 0, 0)
		}
		if n := drain(b, 25*s, 0, 0); n != 40 {
			t.Errorf("%d, want 40", n)
		}
		if n := drain(b, 30*s-1, 0, 0); n != 0 {
			t.Errorf("%d too early", n)
		}
		if n := drain(b, 30*s, 0, 0); n != 60 {
			t.Errorf("%d, want 60", n)
		}
		if n := drain(b, 35*s, 0, 0); n != 40 {
			t.Errorf("%d, want 40", n)
		}
		if n := drain(b, 1000*s, 0, 0); n != 100 {
			t.Errorf("%d after a silence", n)
		}
	})
	t.Run("a clock that goes backwards gives nothing away", func(t *testing.T) {
		b := NewBudget(epoch)
		drain(b, 20*s, 0, 0)
		if n := drain(b, -5*s, 0, 0); n != 0 {
			t.Errorf("%d", n)
		}
		b = NewBudget(epoch)
		b.Draw(epoch.Add(20*s), 0, 0)
		if n := drain(b, -5*s, 0, 0); n != 99 {
			t.Errorf("%d, want 99", n)
		}
		if n := drain(b, 29*s, 0, 0); n != 0 {
			t.Errorf("%d came back early", n)
		}
	})
}

// R71: the budget of hedges is a share of the last minute's requests and 1/s.
func TestHedgeBudget(t *testing.T) {
	const s = time.Second
	b := NewHedgeBudget(epoch)
	if n := drain(b, 0, 0.05, 1_000_000); n != 60 {
		t.Errorf("%d in a process's first minute", n)
	}
	if n := drain(b, 59*s, 0.05, 1_000_000); n != 0 {
		t.Errorf("%d more", n)
	}
	if n := drain(b, 60*s, 0.05, 1000); n != 110 {
		t.Errorf("%d, want 110", n)
	}
	if n := drain(b, 119*s, 0.05, 1000); n != 0 {
		t.Errorf("%d too early", n)
	}
	if n := drain(b, 120*s, 0, 1000); n != 60 {
		t.Errorf("%d, want 60", n)
	}
}
