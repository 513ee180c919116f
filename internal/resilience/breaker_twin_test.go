package resilience

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evergate/internal/fault"
)

// The twin is the breaker's rules told the slow way: it remembers everything that ever happened and works out each
// number by walking back through that. It shares no code with the breaker.

type twinFact struct {
	at   time.Time
	what string // ok, fail (of attempts that count while closed), proof, disproof, and closed, open, half_open
	// of ok and fail: whether it counts for the window
	window bool
	// of open
	trip  string
	until time.Time
	named bool
}

type twinAttempt struct {
	permit   Permit
	at       int // facts before it was admitted
	probe    bool
	forced   bool
	early    bool // forced past an end that the upstream named (R51)
	ordinary bool // admitted while closed
	deadline time.Time
	slotBack bool
	settled  bool
	sounded  bool
	judged   int // facts before it was judged sound, -1 if it was not
}

type breakerTwin struct {
	s        Settings
	facts    []twinFact
	attempts []*twinAttempt
	failures uint64
}

func (w *breakerTwin) last(what ...string) (int, *twinFact) {
	for i, f := range slices.Backward(w.facts) {
		if slices.Contains(what, f.what) {
			return i, &w.facts[i]
		}
	}
	return -1, &twinFact{what: "closed"}
}

// state moves on lazily (R22).
func (w *breakerTwin) state(now time.Time) string {
	_, f := w.last("closed", "open", "half_open")
	if f.what == "open" && !now.Before(f.until) {
		w.facts = append(w.facts, twinFact{at: now, what: "half_open"})
		return "half_open"
	}
	return f.what
}

// count is R20's and R24's: failures and disproofs since the last success or closing.
func (w *breakerTwin) count() int {
	n := 0
	for _, f := range slices.Backward(w.facts) {
		switch f.what {
		case "ok", "closed":
			return n
		case "fail", "disproof":
			n++
		}
	}
	return n
}

// proofs are those since it opened (R24).
func (w *breakerTwin) proofs() int {
	n := 0
	for _, f := range slices.Backward(w.facts) {
		switch f.what {
		case "open":
			return n
		case "proof":
			n++
		}
	}
	return n
}

// offences are the cooldowns since it was last closed for max at a stretch (R29).
func (w *breakerTwin) offences(now time.Time) int {
	n := 0
	var closed time.Time
	for _, f := range append(slices.Clone(w.facts), twinFact{at: now, what: "now"}) {
		switch f.what {
		case "closed":
			closed = f.at
		case "open", "now":
			if !closed.IsZero() && !f.at.Before(closed.Add(w.s.Cooldown.Max)) {
				n = 0
			}
			closed = time.Time{}
			if f.trip == "cooldown" && f.what == "open" && !f.named && f.window {
				n++
			}
		}
	}
	return n
}

// slots are the probes that hold one (R23, R26, R33).
func (w *breakerTwin) slots(now time.Time) []*twinAttempt {
	var live []*twinAttempt
	for _, a := range w.attempts {
		if a.probe && !a.slotBack && !a.settled && now.Before(a.deadline) {
			live = append(live, a)
		}
	}
	return live
}

// early says whether an early try is under way (R51).
func (w *breakerTwin) early(now time.Time) bool {
	return slices.ContainsFunc(w.attempts, func(a *twinAttempt) bool { return a.early && !a.settled && now.Before(a.deadline) })
}

func (w *breakerTwin) block(now time.Time) Block {
	switch w.state(now) {
	case "open":
		_, f := w.last("open")
		return Block{Guard: CircuitBreaker, Reason: CircuitOpen, Until: f.until, Named: f.named, Early: f.named && w.early(now)}
	case "half_open":
		live := w.slots(now)
		if limit := w.s.Breaker.HalfOpenMaxProbes; limit > 0 && len(live) >= limit {
			ends := live[0].deadline
			for _, a := range live {
				if a.deadline.Before(ends) {
					ends = a.deadline
				}
			}
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: ends}
		}
	}
	return Block{}
}

func (w *breakerTwin) admit(now time.Time, p Permit, deadline time.Time, force bool) *twinAttempt {
	a := &twinAttempt{permit: p, deadline: deadline, judged: -1}
	switch {
	case w.state(now) == "closed":
		a.ordinary = true
	case force:
		a.forced = true
		a.early = w.block(now).Named
	default:
		a.probe = true
	}
	a.at = len(w.facts)
	w.attempts = append(w.attempts, a)
	return a
}

// counts says whether a result of it counts as a probe's (R24, R27).
func (w *breakerTwin) counts(now time.Time, a *twinAttempt) bool {
	w.state(now)
	if a.sounded {
		return false
	}
	change, _ := w.last("closed", "open", "half_open")
	closing, _ := w.last("closed")
	return a.probe && a.at > change || a.forced && a.at > closing
}

func (w *breakerTwin) prove(now time.Time) {
	w.facts = append(w.facts, twinFact{at: now, what: "proof"})
	if w.proofs() >= max(1, w.s.Breaker.SuccessThreshold) {
		w.facts = append(w.facts, twinFact{at: now, what: "closed"})
	}
}

func (w *breakerTwin) sound(now time.Time, a *twinAttempt) {
	if w.counts(now, a) {
		w.prove(now)
		a.sounded, a.judged = true, len(w.facts)
	}
	a.slotBack = true
}

func (w *breakerTwin) open(now time.Time, trip string, d time.Duration, named, offence bool) {
	w.facts = append(w.facts, twinFact{at: now, what: "open", trip: trip, until: now.Add(d), named: named, window: offence})
}

func (w *breakerTwin) openCooldown(now time.Time) {
	d := w.s.Cooldown.Base
	for range w.offences(now) {
		d = min(d*time.Duration(w.s.Cooldown.Factor), w.s.Cooldown.Max)
	}
	w.open(now, "cooldown", d, false, true)
}

func (w *breakerTwin) settle(now time.Time, a *twinAttempt, o Outcome, alone bool) {
	defer func() { a.settled = true }()
	failure := !o.Success && slices.Contains(failing, o.Class)
	if failure {
		w.failures++
	}
	if w.counts(now, a) {
		_, opened := w.last("open")
		switch {
		case !o.Success && slices.Contains(undecided, o.Class):
		case !o.Success && o.Class == fault.RateLimited:
			if a.probe && alone {
				named := o.Wait.Named && o.Wait.For > w.s.Breaker.Timeout
				d := w.s.Breaker.Timeout
				if named {
					d = o.Wait.For
				}
				w.open(now, opened.trip, d, named, false)
			}
		case !failure:
			w.prove(now)
		case a.probe:
			w.facts = append(w.facts, twinFact{at: now, what: "disproof"})
			if opened.trip == "cooldown" && w.s.Cooldown.Failures > 0 {
				w.openCooldown(now)
			} else {
				w.open(now, "failures", w.s.Breaker.Timeout, false, false)
			}
		}
		return
	}
	change, f := w.last("closed", "open", "half_open")
	old := a.at <= change
	if a.sounded {
		old = a.judged <= change
	}
	if old || f.what != "closed" || !o.Success && !failure {
		return
	}
	what := "ok"
	if failure {
		what = "fail"
	}
	w.facts = append(w.facts, twinFact{at: now, what: what, window: a.ordinary})
	var ok, bad int
	for _, f := range w.facts {
		if f.window && f.at.After(now.Add(-w.s.Cooldown.Window)) {
			switch f.what {
			case "ok":
				ok++
			case "fail":
				bad++
			}
		}
	}
	switch {
	case !failure:
	case w.s.Breaker.FailureThreshold > 0 && w.count() >= w.s.Breaker.FailureThreshold:
		w.open(now, "failures", w.s.Breaker.Timeout, false, false)
	case a.ordinary && w.s.Cooldown.Failures > 0 && bad >= w.s.Cooldown.Failures &&
		float64(bad)/float64(ok+bad) >= w.s.Cooldown.MinFailureRatio:
		w.openCooldown(now)
	}
}

func (w *breakerTwin) view(now time.Time) BreakerView {
	v := BreakerView{FailuresTotal: w.failures}
	switch w.state(now) {
	case "open":
		v.State = Open
	case "half_open":
		v.State = HalfOpen
	}
	v.ConsecutiveFailures = w.count()
	v.Offences = w.offences(now)
	if v.State != Closed {
		_, f := w.last("open")
		v.Trip, v.OpenedAt, v.RetryAt = f.trip, f.at, f.until
	}
	return v
}

// R20-R29, R33: the breaker and its twin agree on every number after every step of any history.
func TestBreakerAgreesWithItsTwin(t *testing.T) {
	seen := make(map[string]int)
	for range 2 { // times rapid's 100 histories
		rapid.Check(t, func(t *rapid.T) { breakerHistory(t, seen) })
	}
	for _, what := range []string{"failures", "cooldown", "half_open", "closed", "lease taken back", "proof", "sound", "all slots taken"} {
		if seen[what] == 0 {
			t.Errorf("no history had: %s", what)
		}
	}
}

func breakerHistory(t *rapid.T, seen map[string]int) {
	s := Defaults()
	s.CredentialCooldown.Base, s.ModelLockout.Base = 0, 0
	s.Breaker = Breaker{
		FailureThreshold:  rapid.IntRange(0, 4).Draw(t, "failure_threshold"),
		SuccessThreshold:  rapid.IntRange(0, 3).Draw(t, "success_threshold"),
		Timeout:           30 * time.Second,
		HalfOpenMaxProbes: rapid.IntRange(0, 3).Draw(t, "half_open_max_probes"),
	}
	s.Cooldown = Cooldown{
		Failures: rapid.IntRange(0, 5).Draw(t, "cooldown.failures"), Explicit: true, Window: time.Minute,
		MinFailureRatio: rapid.SampledFrom([]float64{0, 0.5, 0.75}).Draw(t, "ratio"),
		Base:            20 * time.Second, Factor: 2, Max: 90 * time.Second,
	}
	if s.Breaker.FailureThreshold == 0 && s.Cooldown.Failures == 0 {
		s.Cooldown.Failures = 3
	}
	credentials := pool("a", "b")[:rapid.IntRange(1, 2).Draw(t, "credentials")]
	m, twin, now := New(s, RoundRobin, credentials), &breakerTwin{s: s}, epoch
	var live []*twinAttempt
	state := "closed"
	heard := func(effects []Effect) {
		t.Helper()
		for _, e := range effects {
			if e.From != state {
				t.Fatalf("effect from %s, but it was %s", e.From, state)
			}
			state = e.To
			seen[e.To]++
			seen[e.Trip]++
		}
	}
	compare := func(what string) {
		t.Helper()
		v, eff := m.View(now, nil)
		heard(eff)
		if d := cmp.Diff(twin.view(now), v.Breaker); d != "" {
			t.Fatalf("%v, after %s: %s", now.Sub(epoch), what, d)
		}
		b, _ := m.Check(now, 0, "m", nil)
		if d := cmp.Diff(twin.block(now), b); d != "" {
			t.Fatalf("%v, after %s: %s", now.Sub(epoch), what, d)
		}
		if v.Breaker.State.String() != state {
			t.Fatalf("effects say %s, the view %s", state, v.Breaker.State)
		}
		// R23, told by the permits alone.
		n := 0
		for _, a := range live {
			if a.permit.Probe() && now.Before(a.deadline) {
				n++
			}
		}
		if limit := s.Breaker.HalfOpenMaxProbes; limit > 0 && n > limit {
			t.Fatalf("%d probes at a time, at most %d", n, limit)
		} else if limit > 1 && n == limit {
			seen["all slots taken"]++
		}
	}
	outcomes := []Outcome{
		good, good, good, bad, bad, bad, bad, of(fault.Cut), of(fault.Timeout), of(fault.ClientGone), of(fault.Rejected), of(fault.Unknown),
		of(fault.RateLimited), named(fault.RateLimited, 50*time.Second), named(fault.RateLimited, time.Second),
	}
	steps := []string{"admit", "admit", "admit", "settle", "settle", "settle", "settle", "pass", "force", "content", "sound", "run", "run", "run"}
	for range rapid.IntRange(30, 250).Draw(t, "steps") {
		step := rapid.SampledFrom(steps).Draw(t, "step")
		choose := func() (int, *twinAttempt) {
			if len(live) == 0 {
				return -1, nil
			}
			i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
			return i, live[i]
		}
		admit := func(force bool) *twinAttempt {
			deadline := now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "deadline")) * time.Second)
			want := twin.block(now)
			p, b, eff := m.Admit(now, 0, "m", deadline, force, nil)
			heard(eff)
			if force && !want.Early {
				want = Block{}
			}
			if b != want {
				t.Fatalf("%v: admission says %+v, want %+v", now.Sub(epoch), b, want)
			}
			if b.Blocked() {
				return nil
			}
			a := twin.admit(now, p, deadline, force)
			if p.Probe() != a.probe {
				t.Fatalf("probe: %v", p.Probe())
			}
			return a
		}
		settle := func(a *twinAttempt) {
			o := rapid.SampledFrom(outcomes).Draw(t, "outcome")
			if a.permit.Probe() && !now.Before(a.deadline) {
				seen["lease taken back"]++
			}
			heard(m.Settle(now, a.permit, o, 0.5, nil))
			twin.settle(now, a, o, len(credentials) == 1)
		}
		switch step {
		case "pass":
			now = now.Add(rapid.SampledFrom([]time.Duration{1, 5, 10, 20, 30, 31, 60, 90, 600}).Draw(t, "seconds") * time.Second)
		case "admit", "force":
			if a := admit(step == "force"); a != nil {
				live = append(live, a)
			}
		case "run":
			if a := admit(false); a != nil {
				settle(a)
			}
		case "settle":
			if i, a := choose(); a != nil {
				settle(a)
				live = slices.Delete(live, i, i+1)
			}
		case "content":
			if _, a := choose(); a != nil {
				twin.state(now)
				heard(m.FirstContent(now, &a.permit, nil))
				a.slotBack = true
			}
		case "sound":
			if _, a := choose(); a != nil {
				if twin.counts(now, a) {
					seen["sound"]++
				}
				heard(m.Sound(now, &a.permit, nil))
				twin.sound(now, a)
			}
		}
		compare(step)
	}
	for _, f := range twin.facts {
		seen[f.what]++
	}
	// R33: whatever was never settled, it is not stuck.
	now = now.Add(10 * time.Minute)
	if b, _ := m.Check(now, 0, "m", nil); b.Blocked() {
		t.Fatalf("stuck: %+v", b)
	}
}
