package resilience

import (
	"slices"
	"time"
)

// What the twin knows of other instances (R62, R66).

// excused says whether another's probe was good after the last of the open periods began that run (R66).
func (w *breakerTwin) excused() bool {
	at := w.vouched()
	return !at.IsZero() && w.youngest().Before(at)
}

// youngest is when the last of them began. They run as long as the one of them that runs longest.
func (w *breakerTwin) youngest() time.Time {
	var begun, end time.Time
	closing, _ := w.last("closed")
	for i := closing + 1; i < len(w.facts); i++ {
		f := &w.facts[i]
		switch f.what {
		case "open", "extend", "beside":
			if !f.at.Before(end) {
				begun = time.Time{}
			}
			if f.opened.After(begun) || !f.foreign {
				begun = f.opened
			}
			if f.what != "beside" {
				end = f.until
			}
		}
	}
	return begun
}

func (w *breakerTwin) vouched() (latest time.Time) {
	for i := range w.facts {
		if f := &w.facts[i]; f.what == "vouched" && f.opened.After(latest) {
			latest = f.opened
		}
	}
	return latest
}

// hearProof takes a good probe of another instance (R66).
func (w *breakerTwin) hearProof(now, at time.Time) {
	w.state(now)
	if at.After(now) {
		at = now
	}
	w.add(twinFact{at: now, what: "vouched", opened: at})
	w.state(now)
}

// yield takes word that another instance probes (R66).
func (w *breakerTwin) yield(now, of, until time.Time) bool {
	_, f := w.last("open", "extend")
	if w.state(now) == "closed" || w.order(now).Action != NoAction || !of.Equal(f.opened) || !now.Before(until) {
		return false
	}
	w.add(twinFact{at: now, what: "yields", opened: of, until: until})
	return true
}

// yielding is the last such word since it closed or an operator opened it, as long as it holds.
func (w *breakerTwin) yielding(now time.Time) *twinFact {
	_, present := w.last("open", "extend")
	for _, f := range slices.Backward(w.facts) {
		switch {
		case f.what == "closed" || f.what == "open" && f.order.Action == ForceOpen:
			return nil
		case f.what == "yields":
			if now.Before(f.until) && f.opened.Equal(present.opened) && w.proofs() == 0 && !w.excused() {
				return &f
			}
			return nil
		}
	}
	return nil
}

// hear takes what another instance saw (R62).
func (w *breakerTwin) hear(now time.Time, r Row, held bool) {
	state := w.state(now)
	if r.Failures > w.count(false) && r.FailedAt.After(w.success()) {
		w.add(twinFact{at: now, what: "heard", n: r.Failures})
	}
	_, closing := w.last("closed")
	if r.Since.IsZero() || !r.Since.After(closing.at) || held || w.spectator || w.order(now).Action != NoAction {
		return
	}
	f := twinFact{at: now, what: "extend", trip: r.Trip, opened: r.Since, until: r.Until, named: r.Named, foreign: true}
	runs := now.Before(f.until)
	_, mine := w.last("open", "extend")
	if state == "closed" {
		f.what = "open"
		w.add(f)
		if !runs {
			w.add(twinFact{at: now, what: "half_open"})
		}
		w.state(now)
		return
	}
	younger, before := runs && f.opened.After(w.youngest()), *mine
	if !f.later(mine) {
		if !younger {
			return
		}
		f.what = "beside"
	}
	w.add(f)
	if runs {
		w.add(twinFact{at: now, what: "doubt"})
	}
	if f.what == "extend" {
		before = f
	}
	if state == "half_open" && now.Before(before.until) && !w.excused() {
		before.at, before.what, before.foreign, before.window = now, "open", true, false
		w.add(before)
	}
}

// later says whether an open period takes the place of another: the one that ends later does, and of equal ones always the same.
func (f *twinFact) later(g *twinFact) bool {
	for _, d := range []int{f.until.Compare(g.until), f.opened.Compare(g.opened), compareWords(f.trip, g.trip)} {
		if d != 0 {
			return d > 0
		}
	}
	return f.named && !g.named
}

func compareWords(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// sawItOpen says whether an open period runs that it saw itself begin (R62).
func (w *breakerTwin) sawItOpen(now time.Time) bool {
	for _, f := range slices.Backward(w.facts) {
		switch {
		case f.what == "closed":
			return false
		case f.what == "open" && !f.foreign:
			return now.Before(f.until)
		}
	}
	return false
}

// rows are what it saw itself (R62).
func (w *breakerTwin) rows(now time.Time) []Row {
	r := Row{Guard: CircuitBreaker, Model: w.model, Failures: w.count(true), Level: w.offences(now)}
	for _, f := range w.facts {
		switch {
		case f.what == "fail" || f.what == "disproof":
			r.FailedAt = f.at
		case f.what == "reset":
			r.FailedAt, r.ProvedAt = time.Time{}, time.Time{}
		case f.what == "proof":
			r.ProvedAt = f.at
		case f.what == "closed":
			r.Since, r.Until, r.Trip, r.Named = time.Time{}, time.Time{}, "", false
		case f.what == "open" && !f.foreign:
			r.Since, r.Until, r.Trip, r.Named = f.opened, f.until, f.trip, f.named
			r.ProvedAt = time.Time{}
		}
	}
	if now.Sub(r.ProvedAt) >= 10*time.Minute { // no open period lasts longer
		r.ProvedAt = time.Time{}
	}
	if w.spectator || r.Failures == 0 && r.Since.IsZero() && r.ProvedAt.IsZero() {
		return nil
	}
	return []Row{r}
}
