package resilience

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/fault"
)

// fleet is some instances with a provider in common, and a network between them that loses, repeats, delays and swaps what they
// tell each other.
type fleet struct {
	roll  dice
	now   time.Time
	all   []*member
	post  []letter
	sound bool           // the network, and nothing is late
	lease bool           // probes are one member's (R66)
	holds map[string]int // leases
	// proofs are when somebody's probe was last good, by model.
	proofs map[string]time.Time
	// holdFor is how long the others wait for the holder, from retryAt on.
	holdFor time.Duration
	seen    map[string]int
	wrong   string
}

type member struct {
	instance
	gone    bool
	reaches bool // it reaches the provider; that may be its own trouble alone
	flights []flight
	told    []Row // all open periods that it ever told of
}

type flight struct {
	permit Permit
	lands  time.Time
}

type letter struct {
	to    int
	due   time.Time
	rows  []Row
	twice bool
}

func newFleet(roll dice, seen map[string]int) *fleet {
	f := &fleet{roll: roll, now: epoch, holds: map[string]int{}, proofs: map[string]time.Time{}, holdFor: 10 * time.Second, seen: seen}
	scope := pick(roll, "scope", PerProvider, PerModel, Auto)
	s := Defaults()
	s.Breaker.Scope, s.Breaker.FailureThreshold = scope, 3
	s.Breaker.SuccessThreshold = 1 + roll("success_threshold", 2)
	s.Breaker.HalfOpenMaxProbes = 1 + roll("half_open_max_probes", 2)
	s.Cooldown.Failures, s.Cooldown.Base, s.Cooldown.Max = 4, 20*time.Second, 80*time.Second
	s.CredentialCooldown.Max, s.ModelLockout = 40*time.Second, ModelLockout{Base: 10 * time.Second, Max: 40 * time.Second}
	for range 2 + roll("members", 4) {
		f.all = append(f.all, &member{instance: instance{New(s, RoundRobin, pool("a", "b")), &f.now}, reaches: true})
	}
	return f
}

func (f *fleet) fail(format string, args ...any) {
	if f.wrong == "" {
		f.wrong = fmt.Sprintf("at %v: ", f.now.Sub(epoch)) + fmt.Sprintf(format, args...)
	}
}

func (f *fleet) Fatalf(format string, args ...any) { f.fail(format, args...) }

// outcome is what an attempt comes to.
func (f *fleet) outcome(i *member) Outcome {
	if !i.reaches {
		return pick(f.roll, "failure", bad, bad, bad, of(fault.Connect), of(fault.Timeout))
	}
	return pick(f.roll, "answer", good, good, good, good, good, good, of(fault.RateLimited), of(fault.ModelMissing), named(fault.ModelLimited, 5*time.Second))
}

// second lets a second pass: attempts end and begin, and what was told arrives.
func (f *fleet) second() {
	f.now = f.now.Add(time.Second)
	for n, i := range f.all {
		if i.gone {
			continue
		}
		i.flights = slices.DeleteFunc(i.flights, func(p flight) bool {
			if p.lands.After(f.now) {
				return false
			}
			f.land(i, p)
			return true
		})
		for range f.roll("requests", 3) {
			f.request(n, i)
		}
	}
	f.tell()
	f.arrive()
	if f.lease {
		f.claim()
	}
}

func (f *fleet) request(n int, i *member) {
	model, key := pick(f.roll, "model", "m", "x"), f.roll("credential", 2)
	p, b, _ := i.m.Admit(f.now, key, model, f.now.Add(30*time.Second), !f.lease && f.roll("forced", 12) == 0, nil)
	if b.Blocked() {
		f.seen["blocked: "+string(b.Reason)]++
		return
	}
	if p.Probe() {
		f.probes(n, i, &p)
	}
	i.flights = append(i.flights, flight{p, f.now.Add(time.Duration(f.roll("takes", 4)) * time.Second)})
}

// probes: before the first good one of an open period only the holder makes any, and never more than it may (R66).
func (f *fleet) probes(n int, i *member, p *Permit) {
	f.seen["probe"]++
	if !f.lease {
		return
	}
	each(i.m, func(b *breaker) {
		if b.state != HalfOpen || b.model != "" && b.model != p.Model || b.reach == spectator {
			return
		}
		lease := b.model + b.openedAt.String()
		holder, held := f.holds[lease]
		if held && holder != n && !f.proofs[b.model].After(b.openedAt) && f.now.Before(b.retryAt.Add(f.holdFor)) {
			f.fail("instance %d probes %q, whose lease %d has", n, b.model, holder)
		}
		if limit := i.m.settings.Breaker.HalfOpenMaxProbes; len(b.slots) > limit {
			f.fail("instance %d has %d probes under way", n, len(b.slots))
		}
	})
}

// land settles. A breaker closes here, by what came of this very attempt, or nowhere.
func (f *fleet) land(i *member, p flight) {
	o := f.outcome(i)
	i.m.View(f.now, nil)
	eff := i.m.Settle(f.now, p.permit, o, 0.5, nil)
	each(i.m, func(b *breaker) { f.proofs[b.model] = later(f.proofs[b.model], b.own.provedAt) })
	for _, e := range eff {
		if e.Guard == CircuitBreaker && e.To == "closed" {
			f.seen["closed"]++
			if judge(o) == failed || judge(o) == nothing {
				f.fail("%+v closed a breaker", o)
			}
			f.deaf(i)
		}
	}
}

// deaf: what has just closed does not take up again what anybody said of before (R62).
func (f *fleet) deaf(i *member) {
	m := i.m.Copy()
	for _, other := range f.all {
		m.Absorb(f.now, other.told, nil)
	}
	each(m, func(b *breaker) {
		if b.closedAt.Equal(f.now) && b.state != Closed {
			if own := i.m.narrow(b.model); b.model == "" && i.m.breaker.state == Closed || own != nil && own.state == Closed {
				f.fail("stale rows opened %q again", b.model)
			}
		}
	})
}

// tell posts what each one knows to all others.
func (f *fleet) tell() {
	for n, i := range f.all {
		if i.gone || !f.sound && f.roll("tell", 3) > 0 {
			continue
		}
		rows := i.rows()
		for _, r := range rows {
			if r.Guard == CircuitBreaker && !r.Since.IsZero() && !slices.ContainsFunc(i.told, func(t Row) bool { return t.Since.Equal(r.Since) && t.Model == r.Model }) {
				i.told = append(i.told, r)
			}
		}
		for to := range f.all {
			l := letter{to: to, due: f.now, rows: rows}
			if !f.sound {
				if f.roll("lost", 4) == 0 {
					continue
				}
				l.due, l.twice = f.now.Add(time.Duration(f.roll("late", 15))*time.Second), f.roll("twice", 4) == 0
			}
			if to != n {
				f.post = append(f.post, l)
			}
		}
	}
}

// arrive delivers what is due, in any order.
func (f *fleet) arrive() {
	var due []letter
	f.post = slices.DeleteFunc(f.post, func(l letter) bool {
		if l.due.After(f.now) {
			return false
		}
		due = append(due, l)
		return true
	})
	for len(due) > 0 {
		k := f.roll("next", len(due))
		l := due[k]
		due = slices.Delete(due, k, k+1)
		if l.twice {
			l.twice, l.due = false, f.now.Add(5*time.Second)
			f.post = append(f.post, l)
		}
		if !f.all[l.to].gone {
			f.absorb(f.all[l.to], l.rows)
		}
	}
}

// absorb: nobody becomes less blocked by hearing, nobody's breaker closes by it, what is told on stays the same, and who has nothing
// bad to say changes nothing.
func (f *fleet) absorb(i *member, rows []Row) {
	before, told := i.view(), i.rows()
	eff := i.m.Absorb(f.now, rows, nil)
	after := i.view()
	noLess(f, before, after, rows)
	if rows := i.rows(); !slices.Equal(told, rows) {
		f.fail("it tells on what it heard: %+v, and before %+v", rows, told)
	}
	for _, e := range eff {
		f.seen["heard: "+e.To]++
		if e.To == "closed" || e.To == "ok" {
			f.fail("others' words did this: %+v", e)
		}
	}
	if len(rows) == 0 && len(eff) > 0 {
		f.fail("nothing was said, and did this: %+v", eff)
	}
}

// claim gives the leases of what is due soon, and has the others yield, as replication does (R66).
func (f *fleet) claim() {
	for _, n := range permutation(f.roll, len(f.all)) {
		i := f.all[n]
		if i.gone {
			continue
		}
		for _, d := range i.m.Due(f.now, 5*time.Second, nil) {
			lease := d.Model + d.OpenedAt.String()
			holder, held := f.holds[lease]
			if !held {
				f.holds[lease] = n
			} else if holder != n && i.m.Yield(f.now, d.Model, d.OpenedAt, d.RetryAt.Add(f.holdFor)) {
				f.seen["yields"]++
			}
		}
	}
}

func permutation(roll dice, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := roll("place", i+1)
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// weather changes who reaches the provider.
func (f *fleet) weather() {
	switch f.roll("weather", 20) {
	case 0, 1: // it is down
		for _, i := range f.all {
			i.reaches = false
		}
	case 2, 3, 4:
		for _, i := range f.all {
			i.reaches = true
		}
	case 5:
		i := f.all[f.roll("who", len(f.all))]
		i.reaches = !i.reaches
	}
}

// R62, R66: a fleet with a bad network. What holds of each hearing is checked at each.
func fleetHistory(roll dice, seen map[string]int) string {
	f := newFleet(roll, seen)
	for range 120 {
		f.weather()
		f.second()
	}
	f.alone()
	return f.wrong
}

// alone: all but one fall silent, and the provider is well. What the last one does then is its own affair within an open period: nothing
// that it heard comes back to it, from whomever.
func (f *fleet) alone() {
	last := f.all[f.roll("last", len(f.all))]
	for _, i := range f.all {
		i.gone, i.reaches = i != last, true
	}
	f.post = nil
	for range 90 { // the longest open period, and the probes after it
		f.second()
		f.post = nil
		for _, model := range []string{"m", "x"} {
			for key := range 2 {
				if p, b, _ := last.m.Admit(f.now, key, model, f.now.Add(time.Second), false, nil); !b.Blocked() {
					last.m.Settle(f.now, p, good, 0.5, nil)
				}
			}
		}
	}
	v := last.view()
	if v.Worst() != Closed || v.Breaker.State != Closed || slices.ContainsFunc(v.Models, func(b ModelBreakerView) bool { return b.State != Closed }) {
		f.fail("alone and well, and not closed: %+v", v)
	}
	each(last.m, func(b *breaker) {
		if !b.own.openedAt.IsZero() {
			f.fail("alone and well, and tells of %+v", b.own)
		}
	})
}

// R66: with a lease, and a network that works, the probes before the first good one are the holder's.
func leaseHistory(roll dice, seen map[string]int) string {
	f := newFleet(roll, seen)
	f.sound, f.lease = true, true
	for range 150 {
		f.weather()
		f.second()
	}
	return f.wrong
}

func TestFleet(t *testing.T) {
	for name, history := range map[string]func(dice, map[string]int) string{"bad network": fleetHistory, "leases": leaseHistory} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			rapid.Check(t, func(t *rapid.T) {
				if wrong := history(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }, seen); wrong != "" {
					t.Fatal(wrong)
				}
			})
			histories := 300
			if slow || testing.Short() {
				histories /= 20
			}
			for seed := range histories {
				if wrong := history(cheapDice(uint64(seed)), seen); wrong != "" {
					t.Fatalf("seed %d: %s", seed, wrong)
				}
			}
			must := []string{"probe", "closed", "heard: open", "heard: half_open", "heard: blocked", "blocked: half_open"}
			if name == "leases" {
				must = append(must, "yields")
			}
			for _, what := range must {
				if seen[what] == 0 {
					t.Errorf("no history had: %s", what)
				}
			}
			t.Log(seen)
		})
	}
}
