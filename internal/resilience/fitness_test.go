package resilience

import (
	"reflect"
	"testing"
	"time"

	"evergate/internal/fault"
)

// R50: what strategy auto is told of a provider, and that telling it moves nothing.
func TestFitness(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := Defaults()
	m := New(s, RoundRobin, []Credential{{Name: "a", Identity: 1}, {Name: "b", Identity: 2}, {Name: "c", Identity: 3, Models: []string{"other"}}})
	settle := func(now time.Time, credential int, o Outcome) {
		p, _, _ := m.Admit(now, credential, "m", now.Add(time.Minute), true, nil)
		m.Settle(now, p, o, 0.5, nil)
	}
	expect := func(what string, now time.Time, health, headroom float64) {
		t.Helper()
		before := m.Copy()
		h, r := m.Fitness(now, "m")
		if h != health || r != headroom {
			t.Errorf("%s: health %v, headroom %v, want %v, %v", what, h, r, health, headroom)
		}
		if !reflect.DeepEqual(before, m.Copy()) {
			t.Errorf("%s: looking moved the machine", what)
		}
	}
	expect("at the start", t0, 1, 1)
	for range 2 {
		settle(t0, 0, Outcome{Success: true})
	}
	settle(t0, 0, Outcome{Class: fault.Upstream})
	expect("one of three failed", t0, 0.75, 1)
	settle(t0, 1, Outcome{Class: fault.RateLimited, Wait: fault.Wait{Named: true, For: 30 * time.Second}})
	if _, headroom := m.Fitness(t0, "m"); headroom != 0.5 {
		t.Errorf("one of two keys rests: headroom %v", headroom)
	}
	expect("all is long ago", t0.Add(time.Hour), 1, 1)
	for range s.Breaker.FailureThreshold {
		settle(t0.Add(time.Hour), 0, Outcome{Class: fault.Upstream})
	}
	expect("the breaker is open", t0.Add(time.Hour), 0, 1)
	if _, headroom := m.Fitness(t0.Add(time.Hour), "other"); headroom != 1 {
		t.Errorf("all keys are for the other model: headroom %v", headroom)
	}
}

// R35: where every model has a breaker, a model is judged by its own results, and by what holds for all.
func TestFitnessOfAModel(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := Defaults()
	s.Breaker.Scope = PerModel
	m := New(s, RoundRobin, nil)
	for model, o := range map[string]Outcome{"good": {Success: true}, "bad": {Class: fault.Upstream}} {
		p, _, _ := m.Admit(now, 0, model, now.Add(time.Minute), false, nil)
		m.Settle(now, p, o, 0.5, nil)
	}
	good, _ := m.Fitness(now, "good")
	bad, _ := m.Fitness(now, "bad")
	if good != 1 || bad != 0.5 {
		t.Errorf("%v and %v, want 1 and 0.5", good, bad)
	}
	if _, err := m.Operate(now, Order{Action: ForceOpen}, nil); err != nil {
		t.Fatal(err)
	}
	if good, _ = m.Fitness(now, "good"); good != 0 {
		t.Errorf("an operator holds the provider open: %v", good)
	}
}
