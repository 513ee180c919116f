package failover

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// R71 over drawn scripts: whatever is started beside an attempt is untried, unblocked, at another target, and of the same model
// where that is asked for; nothing that runs is given again; and however all of it ends, the request goes on by the rules and
// ends, with nothing left that is free and was not asked.
func TestHedgesByTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &place{now: t0, machines: map[string]*resilience.Machine{}}
		settings := map[string]*resilience.Settings{}
		for _, p := range []string{"p", "q", "r"} {
			settings[p] = drawSettings(t)
			settings[p].Retry.MaxRetries = rapid.IntRange(0, 1).Draw(t, "retries")
			keys := make([]resilience.Credential, rapid.IntRange(1, 2).Draw(t, "keys"))
			for i := range keys {
				keys[i].Name = string(rune('0' + i))
			}
			w.machines[p] = resilience.New(*settings[p], resilience.RoundRobin, keys)
		}
		c := &client{t: t, place: w}
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"pm", "pn", "qm", "qn", "rm", "rn"}), 1, 5, rapid.ID).Draw(t, "targets") {
			c.p.Targets = append(c.p.Targets, Target{&route.Target{Provider: id[:1], Model: id[1:]}, settings[id[:1]]})
		}
		s := New(c.p, c)
		tried := map[[2]int]int{}
		admit := func(m Move) (resilience.Permit, bool) {
			target := c.p.Targets[m.Target]
			permit, b, _ := w.machines[target.Provider].Admit(w.now, m.Credential, target.Model, w.now.Add(time.Minute), m.Force, nil)
			if b.Blocked() {
				s.Denied(m)
			}
			return permit, !b.Blocked()
		}
		type flight struct {
			m Move
			p resilience.Permit
		}
		for moves := 0; ; moves++ {
			if moves > 200 {
				t.Fatal("endless")
			}
			m := s.Next(w.now, c, 0.5)
			if m.Kind == Stop {
				break
			}
			if m.Kind == Wait {
				w.now = w.now.Add(m.For)
				continue
			}
			permit, ok := admit(m)
			if !ok {
				continue
			}
			tried[[2]int{m.Target, m.Credential}]++
			flying := []flight{{m, permit}}
			for range rapid.IntRange(0, 2).Draw(t, "hedges") {
				same := rapid.Bool().Draw(t, "same")
				beside := flying[len(flying)-1].m
				h, ok := s.Hedge(c, beside, same)
				if !ok {
					continue
				}
				switch {
				case slices.ContainsFunc(flying, func(f flight) bool { return f.m.Target == h.Target }):
					t.Fatalf("%d has an attempt under way", h.Target)
				case tried[[2]int{h.Target, h.Credential}] > 0 || h.Force || h.Draw || h.Why != Hedged:
					t.Fatalf("no hedge: %+v", h)
				case same && c.p.Targets[h.Target].Model != c.p.Targets[beside.Target].Model:
					t.Fatalf("%d has another model than %d", h.Target, beside.Target)
				}
				if rapid.IntRange(0, 4).Draw(t, "budget") == 0 {
					s.Abandoned(h, false)
					continue
				}
				if p, ok := admit(h); ok {
					tried[[2]int{h.Target, h.Credential}]++
					flying = append(flying, flight{h, p})
				}
			}
			for i, f := range flying {
				w.now = w.now.Add(time.Second)
				out := outcomes().Filter(func(f *fault.Fault) bool { return f != nil && f.Class.Retryable() }).Draw(t, "outcome")
				machine := w.machines[c.p.Targets[f.m.Target].Provider]
				before := machine.ConsecutiveFailures()
				machine.Settle(w.now, f.p, resilience.Outcome{Class: out.Class, Wait: out.Wait}, 0.5, nil)
				s.Failed(w.now, c, f.m, out, before, 0.5)
				if i < len(flying)-1 && len(s.plan) > 0 {
					t.Fatalf("planned %+v while another attempt is under way", s.plan)
				}
			}
			if len(s.flying) > 0 {
				t.Fatalf("%v still fly", s.flying)
			}
		}
		if n := s.Attempts(); n == 0 && len(tried) > 0 {
			t.Fatal("attempts were not counted")
		}
		for i := range c.p.Targets {
			if s.fresh(i, c) {
				t.Fatalf("%d is free and was not asked", i)
			}
		}
	})
}

// R70: after a stream broke, untried candidates come first, then the same again, once, on the budget, and never after a silence.
func TestResume(t *testing.T) {
	set := resilience.Defaults()
	for _, c := range []struct {
		name   string
		broke  fault.Class
		change func(*resilience.Settings)
		want   string
	}{
		{"cut", fault.Reset, nil, "1 0"},
		{"silent", fault.Timeout, nil, "1"},
		{"no retries", fault.Reset, func(s *resilience.Settings) { s.Retry.MaxRetries = 0 }, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := set
			if c.change != nil {
				c.change(&own)
			}
			g := &place{now: t0, machines: map[string]*resilience.Machine{"p": resilience.New(own, resilience.RoundRobin, nil), "q": resilience.New(own, resilience.RoundRobin, nil)}}
			cl := &client{place: g, p: Params{Stream: true, Targets: []Target{{&route.Target{Provider: "p", Model: "m"}, &own}, {&route.Target{Provider: "q", Model: "n"}, &own}}, Deadline: t0.Add(time.Second)}}
			s := New(cl.p, cl)
			m := s.Next(t0, cl, 0.5)
			now := t0.Add(time.Minute) // long after timeouts.total, which ended with the commit
			g.now = now
			s.Resume(m, &fault.Fault{Class: fault.Cut, Broke: c.broke}, time.Time{})
			got := ""
			for m = s.Next(now, cl, 0.5); m.Kind == Try; m = s.Next(now, cl, 0.5) {
				if m.Why != Resumed || m.Draw != (m.Target == 0) {
					t.Errorf("%+v", m)
				}
				if got != "" {
					got += " "
				}
				got += string(rune('0' + m.Target))
				s.Resume(m, &fault.Fault{Class: fault.Cut, Broke: fault.Timeout}, time.Time{})
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// R50, R71: a hedge that was denied its permit changes nothing of the order of the rest.
func TestDeniedHedgeLeavesTheOrder(t *testing.T) {
	w := &world{now: t0, blocks: [][]resilience.Block{{{}}, {{}}, {{}}}, failures: []int{0, 0, 0}}
	s := New(Params{Targets: targets([]string{"m", "n", "m"}, retries(0))}, w)
	m := s.Next(t0, w, 0.5)
	h, ok := s.Hedge(w, m, true)
	if !ok || h.Target != 2 {
		t.Fatalf("hedge %+v, want target 2", h)
	}
	s.Denied(h)
	s.Failed(t0, w, m, status(500).f, 1, 0.5)
	for _, want := range []int{1, 2} {
		if m = s.Next(t0, w, 0.5); m.Kind != Try || m.Target != want || m.Why != NextCandidate {
			t.Fatalf("move %+v, want target %d as the next candidate", m, want)
		}
		s.Failed(t0, w, m, status(500).f, 1, 0.5)
	}
}
