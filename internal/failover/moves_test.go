package failover

import (
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
)

// R51: where the upstream named a later time, one request at a time tries early; the others are told that time.
func TestEarlyTryTaken(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{block(resilience.RateLimited, 40*time.Second, true)}}, failures: []int{0}}
	s := New(Params{Targets: targets([]string{"a"})}, w)
	m := s.Next(t0, w, 0.5)
	if m.Kind != Try || !m.Force {
		t.Fatalf("move %+v, want a forced try", m)
	}
	s.Denied(m)
	if m = s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop", m)
	}
	if f := s.Final(t0, w); f.Ending != AllLimited || f.RetryAfter != 40*time.Second {
		t.Fatalf("final %+v, want all limited for 40s", f)
	}
}

// R54: while an untried, unblocked candidate remains the move says so.
func TestUntried(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {block(resilience.CircuitOpen, time.Minute, false)}, {{}}}, failures: []int{0, 0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b", "c"}, retries(0))}, w)
	for i, want := range []bool{true, false} {
		m := s.Next(t0, w, 0.5)
		if m.Untried != want {
			t.Fatalf("move %d: untried %v, want %v", i, m.Untried, want)
		}
		s.Failed(t0, w, m, &fault.Fault{Class: fault.Timeout}, 0, 0.5)
	}
}

// A permit refused between plan and admission costs no attempt: the next candidate is tried.
func TestDeniedOnTheWay(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {{}}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"})}, w)
	m := s.Next(t0, w, 0.5)
	w.blocks[0][0] = block(resilience.CircuitOpen, time.Minute, false)
	s.Denied(m)
	if m = s.Next(t0, w, 0.5); m.Kind != Try || m.Target != 1 || s.Attempts() != 0 {
		t.Fatalf("move %+v after %d attempts, want target 1 after none", m, s.Attempts())
	}
}

// R51: candidates that were all denied a permit on the way (the only probe slot was taken) are blocked, and tried all the same.
func TestAllDeniedIsAllBlocked(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {{}}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"})}, w)
	for want := range 2 {
		m := s.Next(t0, w, 0.5)
		if m.Kind != Try || m.Target != want || m.Force {
			t.Fatalf("move %+v, want a try of %d", m, want)
		}
		w.blocks[want][0] = block(resilience.CircuitOpen, time.Minute, false)
		s.Denied(m)
	}
	for want := range 2 {
		m := s.Next(t0, w, 0.5)
		if m.Kind != Try || m.Target != want || !m.Force {
			t.Fatalf("move %+v, want a forced try of %d", m, want)
		}
		s.Failed(t0, w, m, status(503).f, 1, 0.5)
	}
	if m := s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop", m)
	}
}

// R50: a candidate that was denied a permit is asked again when something else was tried since and it is free.
func TestDeniedAndFreeAgain(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {{}}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"}, retries(0))}, w)
	m := s.Next(t0, w, 0.5)
	s.Denied(m) // although it is free: the guards changed twice
	if m = s.Next(t0, w, 0.5); m.Target != 1 {
		t.Fatalf("move %+v, want target 1", m)
	}
	s.Failed(t0, w, m, class(fault.Timeout).f, 0, 0.5)
	if m = s.Next(t0, w, 0.5); m.Kind != Try || m.Target != 0 || m.Draw {
		t.Fatalf("move %+v, want a free try of target 0", m)
	}
	s.Denied(m)
	if m = s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop: nothing was tried since", m)
	}
}

// R50, R51: who was denied a permit is asked again after a wait, if it is free then: no request ends while a candidate is
// unblocked and untried.
func TestDeniedAndFreeAfterAWait(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{block(resilience.RateLimited, time.Minute, true)}, {block(resilience.RateLimited, time.Second, true)}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"})}, w)
	m := s.Next(t0, w, 0.5)
	if m.Kind != Try || m.Target != 0 || !m.Force {
		t.Fatalf("move %+v, want a forced try of target 0", m)
	}
	s.Denied(m) // another request tries it early
	if m = s.Next(t0, w, 0.5); m.Kind != Wait || m.Target != 1 {
		t.Fatalf("move %+v, want a wait for target 1", m)
	}
	now := t0.Add(m.For)
	w.now = now
	w.blocks[0][0] = resilience.Block{} // the early try was answered
	w.blocks[1][0] = block(resilience.RateLimited, time.Minute, true)
	if m = s.Next(now, w, 0.5); m.Kind != Try || m.Target != 1 {
		t.Fatalf("move %+v, want a try of target 1", m)
	}
	s.Denied(m)
	if m = s.Next(now, w, 0.5); m.Kind != Try || m.Target != 0 || m.Force || m.Draw {
		t.Fatalf("move %+v, want a free try of target 0", m)
	}
}

// R54: in a forced walk, too, the attempt shares its time with those that are left.
func TestUntriedInForcedWalk(t *testing.T) {
	b := block(resilience.CircuitOpen, time.Minute, false)
	w := &world{now: t0, blocks: [][]resilience.Block{{b}, {b}, {}}, failures: []int{0, 0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b", "c"}, retries(0))}, w)
	for i, want := range []bool{true, false} {
		m := s.Next(t0, w, 0.5)
		if !m.Force || m.Untried != want {
			t.Fatalf("move %d: %+v, want untried %v", i, m, want)
		}
		s.Failed(t0, w, m, class(fault.Timeout).f, 0, 0.5)
	}
}

// R52: with 1,000 others waiting, one that should wait for a block to clear does not; it asks whom it need not wait for.
func TestWaitRefusedInForcedWalk(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{block(resilience.RateLimited, 2*time.Second, true)}, {block(resilience.CircuitOpen, time.Minute, false)}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"})}, w)
	m := s.Next(t0, w, 0.5)
	if m.Kind != Wait || m.Draw {
		t.Fatalf("move %+v, want a free wait", m)
	}
	s.Refused()
	if m = s.Next(t0, w, 0.5); m.Kind != Try || m.Target != 1 || !m.Force || m.Draw {
		t.Fatalf("move %+v, want a free forced try of 1", m)
	}
	s.Failed(t0, w, m, status(503).f, 1, 0.5)
	if m = s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop", m)
	}
}

// R46: a candidate that cannot do what the request asks is passed over without an attempt; the next one is tried.
func TestUnablePassedOver(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {{}}}, failures: []int{0, 0}}
	s := New(Params{Targets: targets([]string{"a", "b"}, retries(0))}, w)
	m := s.Next(t0, w, 0.5)
	s.Unable(m, &fault.Fault{Class: fault.Unable})
	if m = s.Next(t0, w, 0.5); m.Kind != Try || m.Target != 1 || m.Why != First {
		t.Fatalf("move %+v, want a first try of 1", m)
	}
	s.Failed(t0, w, m, status(503).f, 1, 0.5)
	if m = s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop", m)
	}
	if f := s.Final(t0, w); f.Ending != AllFailed {
		t.Fatalf("ending %v, want all failed: it was tried and failed", f.Ending)
	}
}

// R46: if nobody can do it, the reason goes back, and not a word of breakers.
func TestAllUnable(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {block(resilience.CircuitOpen, time.Minute, false)}}, failures: []int{0, 5}}
	s := New(Params{Targets: targets([]string{"a", "b"})}, w)
	why := &fault.Fault{Class: fault.Unable, Param: "n"}
	for want := range 2 {
		m := s.Next(t0, w, 0.5)
		if m.Kind != Try || m.Target != want {
			t.Fatalf("move %+v, want a try of %d", m, want)
		}
		s.Unable(m, why)
	}
	if m := s.Next(t0, w, 0.5); m.Kind != Stop {
		t.Fatalf("move %+v, want stop", m)
	}
	if f := s.Final(t0, w); f.Ending != PassBack || f.Fault != why {
		t.Fatalf("final %+v, want the reason", f)
	}
}
