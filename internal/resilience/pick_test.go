package resilience

import (
	"slices"
	"testing"
	"time"

	"evergate/internal/fault"
)

func pool(names ...string) []Credential {
	var all []Credential
	for _, n := range names {
		all = append(all, Credential{Name: n})
	}
	return all
}

// pickN picks and admits n times.
func pickN(r *rig, n int, model string, settle bool) []int {
	r.t.Helper()
	var got []int
	for range n {
		i, b, ok, eff := r.m.Pick(r.now, model, nil, 0, r.eff)
		if r.eff = eff; !ok {
			r.t.Fatalf("no pick: %+v", b)
		}
		p := r.admit(i, model)
		if settle {
			r.settle(p, good)
		}
		got = append(got, i)
	}
	return got
}

// R44
func TestRoundRobin(t *testing.T) {
	t.Run("in turn", func(t *testing.T) {
		r := newRig(t, nil, pool("a", "b", "c")...)
		if got := pickN(r, 7, "m", false); !slices.Equal(got, []int{0, 1, 2, 0, 1, 2, 0}) {
			t.Error(got)
		}
	})
	t.Run("a pick that is not admitted takes no turn", func(t *testing.T) {
		r := newRig(t, nil, pool("a", "b", "c")...)
		for range 5 {
			if i, _, ok, _ := r.m.Pick(r.now, "m", nil, 0, nil); i != 0 || !ok {
				t.Fatal(i)
			}
		}
	})
	t.Run("fair over the rest when one is blocked", func(t *testing.T) {
		r := newRig(t, nil, pool("a", "b", "c")...)
		r.settle(r.admit(1, "m"), of(fault.Quota))
		if got := pickN(r, 6, "m", true); !slices.Equal(got, []int{0, 2, 0, 2, 0, 2}) {
			t.Error(got)
		}
		r.pass(time.Hour)
		if got := pickN(r, 4, "m", true); !slices.Equal(got, []int{1, 0, 2, 1}) {
			t.Error(got)
		}
	})
	t.Run("fair when some are for some models only", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"}, Credential{Name: "c", Models: []string{"x"}})
		var n [3]int
		for range 100 {
			for _, model := range []string{"m", "x"} {
				i := pickN(r, 1, model, true)[0]
				if i == 2 && model == "m" {
					t.Fatal("picked for a model it is not for")
				}
				n[i]++
			}
		}
		if n != [3]int{75, 75, 50} {
			t.Errorf("uneven: %v", n)
		}
	})
	t.Run("skip", func(t *testing.T) {
		r := newRig(t, nil, pool("a", "b", "c")...)
		i, _, ok, _ := r.m.Pick(r.now, "m", func(i int) bool { return i < 2 }, 0, nil)
		if i != 2 || !ok {
			t.Errorf("%d %v", i, ok)
		}
	})
}

// R44
func TestFillFirst(t *testing.T) {
	r := newRig(t, nil, pool("a", "b")...)
	r.m.Configure(Defaults(), FillFirst, pool("a", "b"))
	if got := pickN(r, 3, "m", true); !slices.Equal(got, []int{0, 0, 0}) {
		t.Error(got)
	}
	r.settle(r.admit(0, "m"), of(fault.RateLimited))
	if got := pickN(r, 2, "m", true); !slices.Equal(got, []int{1, 1}) {
		t.Error(got)
	}
	r.pass(time.Second)
	if got := pickN(r, 1, "m", true); !slices.Equal(got, []int{0}) {
		t.Error(got)
	}
}

// R44
func TestWeighted(t *testing.T) {
	credentials := []Credential{{Name: "a", Weight: 3}, {Name: "b"}, {Name: "c", Weight: 4}} // b: 1
	r := newRig(t, nil, credentials...)
	r.m.Configure(Defaults(), Weighted, credentials)
	share := func() (n [3]int) {
		for k := range 8 {
			i, _, ok, _ := r.m.Pick(r.now, "m", nil, (float64(k)+0.5)/8, nil)
			if !ok {
				t.Fatal("no pick")
			}
			n[i]++
		}
		return n
	}
	if got := share(); got != [3]int{3, 1, 4} {
		t.Error(got)
	}
	r.settle(r.admit(2, "m"), of(fault.Quota))
	if got := share(); got != [3]int{6, 2, 0} {
		t.Error(got)
	}
	for rnd, want := range map[float64]int{0: 0, 0.75: 1, 0.9999999999999999: 1} {
		if i, _, _, _ := r.m.Pick(r.now, "m", nil, rnd, nil); i != want {
			t.Errorf("%v: %d, want %d", rnd, i, want)
		}
	}
}

// R44
func TestLeastUsed(t *testing.T) {
	r := newRig(t, nil, pool("a", "b", "c")...)
	r.m.Configure(Defaults(), LeastUsed, pool("a", "b", "c"))
	p := r.admit(0, "m")
	if got := pickN(r, 2, "m", false); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	r.settle(p, good) // in flight 0, 1, 1
	if got := pickN(r, 1, "m", true); !slices.Equal(got, []int{0}) {
		t.Error(got)
	}
	// in flight 0, 1, 1: used more often, but idle
	if got := pickN(r, 2, "m", true); !slices.Equal(got, []int{0, 0}) {
		t.Error(got)
	}
	// A newcomer is not flooded for having been used by nobody.
	r = newRig(t, nil, pool("a", "b")...)
	r.m.Configure(Defaults(), LeastUsed, pool("a", "b"))
	pickN(r, 100, "m", true)
	r.m.Configure(Defaults(), LeastUsed, pool("a", "b", "c"))
	if got := pickN(r, 6, "m", true); !slices.Equal(got, []int{0, 1, 2, 0, 1, 2}) {
		t.Error(got)
	}
}

// R44, R51: nothing usable.
func TestPickOfTheBlocked(t *testing.T) {
	type blocks map[int]Outcome
	cases := []struct {
		name        string
		credentials []Credential
		blocks      blocks
		open        bool
		skip        func(int) bool
		want        int
		reason      Reason
	}{
		{"soonest to clear", pool("a", "b", "c"), blocks{
			0: named(fault.RateLimited, time.Minute), 1: named(fault.RateLimited, time.Second), 2: named(fault.RateLimited, time.Hour),
		}, false, nil, 1, RateLimited},
		{"ties: lowest index", pool("a", "b"), blocks{
			0: named(fault.RateLimited, time.Minute), 1: named(fault.RateLimited, time.Minute),
		}, false, nil, 0, RateLimited},
		{"rate limits before quota and auth", pool("a", "b", "c"), blocks{
			0: of(fault.Auth), 1: named(fault.Quota, time.Second), 2: named(fault.RateLimited, 5*time.Minute),
		}, false, nil, 2, RateLimited},
		{"quota and auth last", pool("a", "b"), blocks{0: of(fault.Quota), 1: of(fault.Auth)}, false, nil, 1, AuthFailed},
		{"skipped", pool("a", "b"), blocks{
			0: named(fault.RateLimited, time.Second), 1: named(fault.RateLimited, time.Minute),
		}, false, func(i int) bool { return i == 0 }, 1, RateLimited},
		{"model limited", pool("a", "b"), blocks{
			0: of(fault.ModelLimited), 1: named(fault.ModelLimited, time.Second),
		}, false, nil, 1, ModelLimited},
		{"breaker open, the first that is free", pool("a", "b", "c"), blocks{0: of(fault.RateLimited)}, true, nil, 1, CircuitOpen},
		{"breaker open, all blocked", pool("a", "b"), blocks{
			0: named(fault.RateLimited, time.Minute), 1: named(fault.RateLimited, time.Second),
		}, true, nil, 1, CircuitOpen},
		{"none eligible", []Credential{{Name: "a", Models: []string{"x"}}}, nil, false, nil, -1, ""},
		{"all skipped", pool("a"), nil, false, func(int) bool { return true }, -1, ""},
		{"not for the model even if soonest", []Credential{{Name: "a", Models: []string{"x"}}, {Name: "b"}}, blocks{
			0: named(fault.RateLimited, time.Second), 1: named(fault.RateLimited, time.Minute),
		}, false, nil, 1, RateLimited},
	}
	for _, c := range cases {
		for _, strategy := range []KeyStrategy{RoundRobin, FillFirst, Weighted, LeastUsed} {
			r := newRig(t, nil, c.credentials...)
			r.m.Configure(Defaults(), strategy, c.credentials)
			var failing []Permit
			for range 5 {
				failing = append(failing, r.admit(0, "m"))
			}
			for i, o := range c.blocks {
				r.settle(r.admit(i, "m"), o)
			}
			for _, p := range failing {
				if c.open {
					r.settle(p, bad)
				}
			}
			i, b, ok, _ := r.m.Pick(r.now, "m", c.skip, 0.5, nil)
			if i != c.want || b.Reason != c.reason || ok {
				t.Errorf("%s: %d, %+v, %v", c.name, i, b, ok)
			}
			if want, _ := r.m.Check(r.now, i, "m", nil); i >= 0 && b != want {
				t.Errorf("%s: %+v, but Check says %+v", c.name, b, want)
			}
		}
	}
}

// R51: a credential is clear when the last of its blocks is.
func TestPickWaitsForTheLastBlock(t *testing.T) {
	r := newRig(t, nil, pool("a", "b")...)
	p := r.admit(0, "m")
	r.settle(r.admit(1, "m"), named(fault.RateLimited, 30*time.Second))
	r.settle(r.admit(0, "m"), named(fault.RateLimited, time.Second))
	r.settle(p, of(fault.ModelLimited))
	if i, _, ok, _ := r.m.Pick(r.now, "m", nil, 0, nil); i != 1 || ok {
		t.Errorf("%d, %v", i, ok)
	}
	if i, _, ok, _ := r.m.Pick(r.now, "x", nil, 0, nil); i != 0 || ok {
		t.Errorf("%d, %v", i, ok)
	}
}

// A probe slot that is taken blocks Pick too.
func TestPickHalfOpen(t *testing.T) {
	r := halfOpen(t, nil, pool("a", "b")...)
	i, _, ok, _ := r.m.Pick(r.now, "m", nil, 0, nil)
	if !ok {
		t.Fatal("no pick")
	}
	r.admit(i, "m")
	if _, b, ok, _ := r.m.Pick(r.now, "m", nil, 0, nil); ok || b.Reason != ProbeInFlight {
		t.Errorf("%v %+v", ok, b)
	}
}
