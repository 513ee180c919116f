package probing

import (
	"testing"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }

func openUntil(s int) resilience.BreakerView {
	return resilience.BreakerView{State: resilience.Open, RetryAt: at(s)}
}

func halfOpenSince(s int) resilience.BreakerView {
	return resilience.BreakerView{State: resilience.HalfOpen, RetryAt: at(s)}
}

func heldUntil(s int) resilience.BreakerView {
	b := resilience.BreakerView{State: resilience.Open, Order: resilience.Order{Action: resilience.ForceOpen}}
	if s > 0 {
		b.RetryAt, b.Order.Until = at(s), at(s)
	}
	return b
}

// view is of a provider's breaker, and those of models a, b, …
func view(scope resilience.Scope, wide resilience.BreakerView, models ...resilience.BreakerView) resilience.View {
	v := resilience.View{Scope: scope, Breaker: wide}
	for i, m := range models {
		v.Models = append(v.Models, resilience.ModelBreakerView{Model: string(rune('a' + i)), BreakerView: m})
	}
	return v
}

// R75: which breaker is probed next, and when. Now is at 100 s, and the interval is 10 s.
func TestNext(t *testing.T) {
	t.Parallel()
	var closed resilience.BreakerView
	const provider, model, auto = resilience.PerProvider, resilience.PerModel, resilience.Auto
	for _, c := range []struct {
		name  string
		kind  Kind
		view  resilience.View
		asked int // 0: never
		last  string
		model string
		at    int // -1: none
	}{
		{"nothing is open", Models, view(provider, closed), 0, "", "", -1},
		{"nothing is open, asked before", Completion, view(auto, closed, closed), 95, "a", "", -1},
		{"at the end of the open time", Models, view(provider, openUntil(130)), 0, "", "", 130},
		{"whatever was before", Models, view(provider, openUntil(130)), 99, "", "", 130},
		{"but an interval after the last one", Models, view(provider, openUntil(102)), 99, "", "", 109},
		{"half-open, never asked", Completion, view(provider, halfOpenSince(90)), 0, "", "", 90},
		{"half-open, asked", Completion, view(provider, halfOpenSince(90)), 95, "", "", 105},
		{"held open until further notice", Models, view(provider, heldUntil(0)), 0, "", "", -1},
		{"held open for a time", Models, view(provider, heldUntil(500)), 0, "", "", 500},

		{"of a model", Completion, view(model, closed, openUntil(130)), 0, "", "a", 130},
		{"the soonest of several", Completion, view(model, closed, openUntil(130), closed, openUntil(120)), 0, "", "c", 120},
		{"one that is due before one that is not", Completion, view(model, closed, openUntil(130), halfOpenSince(99)), 0, "", "b", 99},
		{"of several that are due the next in turn", Completion, view(model, closed, halfOpenSince(80), halfOpenSince(70), halfOpenSince(90)), 50, "b", "c", 90},
		{"and then the first", Completion, view(model, closed, halfOpenSince(80), halfOpenSince(70)), 50, "b", "a", 80},
		{"not one that is held open", Completion, view(model, closed, heldUntil(0), halfOpenSince(90)), 0, "", "b", 90},
		{"with all of them held", Completion, view(model, heldUntil(0), halfOpenSince(90)), 0, "", "", -1},
		{"with all of them held for a time", Completion, view(model, heldUntil(500), halfOpenSince(90)), 0, "", "a", 500},

		{"the provider's before its models'", Completion, view(auto, halfOpenSince(99), halfOpenSince(80)), 0, "", "", 99},
		{"a model's not before its provider's lets it through", Completion, view(auto, openUntil(130), halfOpenSince(80)), 0, "", "", 130},
		{"the provider's by a model that is blocked itself", Completion, view(auto, halfOpenSince(99), closed, closed, openUntil(120)), 0, "", "", 120},
		{"not by one that is held open", Completion, view(auto, halfOpenSince(90), closed, closed, heldUntil(0)), 0, "", "", -1},
		{"so that another one goes first", Completion, view(auto, halfOpenSince(90), halfOpenSince(90), closed, openUntil(120)), 0, "", "a", 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked time.Time
			if c.asked > 0 {
				asked = at(c.asked)
			}
			s := Settings{Kind: c.kind, Interval: 10 * time.Second, Model: "c"}
			d, ok := next(&c.view, &s, at(100), asked, c.last)
			if want := c.at >= 0; ok != want {
				t.Fatalf("%+v, %t", d, ok)
			}
			if ok && (d.model != c.model || !d.at.Equal(at(c.at))) {
				t.Errorf("%q at %s, want %q at %ds", d.model, d.at.Sub(epoch), c.model, c.at)
			}
		})
	}
}

// R75: a probe has the shorter of the provider's own limits.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempt, first, want time.Duration
	}{{0, 0, time.Minute}, {5, 0, 5}, {0, 6, 6}, {5, 6, 5}, {6, 5, 5}} {
		if got := limit(route.Timeouts{Attempt: c.attempt, FirstChunk: c.first}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// R75: a breaker is kept for probes only where there are any, and where a request that has no other place to go is tried all the same.
func TestKeepFor(t *testing.T) {
	t.Parallel()
	on := Settings{Kind: Models, Interval: time.Second}
	if got := on.KeepFor(resilience.TryAll); got != 2*time.Second {
		t.Error(got)
	}
	if on.KeepFor(resilience.FailFast) != 0 || (Settings{Interval: time.Second}).KeepFor(resilience.TryAll) != 0 {
		t.Error("kept for nobody")
	}
}
