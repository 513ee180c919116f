package resilience

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// subject is a machine as its owner uses it, or a broken one (see mutants_test.go).
type subject interface {
	Check(time.Time, int, string, []Effect) (Block, []Effect)
	Pick(time.Time, string, func(int) bool, float64, []Effect) (int, Block, bool, []Effect)
	Admit(time.Time, int, string, time.Time, bool, []Effect) (Permit, Block, []Effect)
	FirstContent(time.Time, *Permit, []Effect) []Effect
	Sound(time.Time, *Permit, []Effect) []Effect
	Settle(time.Time, Permit, Outcome, float64, []Effect) []Effect
	Operate(time.Time, Order, []Effect) ([]Effect, error)
	Absorb(time.Time, []Row, []Effect) []Effect
	Rows(time.Time, []Row) []Row
	Yield(now time.Time, model string, openedAt, until time.Time) bool
	View(time.Time, []Effect) (View, []Effect)
}

// dice draw a number from 0 to n-1: rapid's, which shrink what fails, or cheap ones by the million.
type dice func(label string, n int) int

func cheapDice(seed uint64) dice {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(_ string, n int) int { return r.IntN(n) }
}

func pick[T any](roll dice, label string, from ...T) T { return from[roll(label, len(from))] }

// story is one history of a machine beside its twins.
type story struct {
	roll   dice
	s      Settings
	m      subject
	wide   *breakerTwin
	narrow map[string]*breakerTwin
	models []string
	alone  bool // there is one credential
	now    time.Time
	live   []*told
	state  map[string]string // what the effects said last, by model
	seen   map[string]int
	steps  int
}

// told is a permit with its twins' tickets.
type told struct {
	permit       Permit
	model        string
	wide, narrow *twinTicket // narrow is nil where models have no breakers
	early        bool        // forced past an end that the upstream named (R51)
	deadline     time.Time
}

// mismatch ends a history.
type mismatch string

func (y *story) fail(format string, args ...any) {
	panic(mismatch(fmt.Sprintf("step %d, %v: ", y.steps, y.now.Sub(epoch)) + fmt.Sprintf(format, args...)))
}

// tell runs a history and gives what was wrong, "" if nothing was.
func (y *story) tell(steps int) (wrong string) {
	defer func() {
		if r := recover(); r != nil {
			m, ok := r.(mismatch)
			if !ok {
				panic(r)
			}
			wrong = string(m)
		}
	}()
	for range steps {
		y.steps++
		y.compare(y.step())
	}
	y.finish()
	return ""
}

func newStory(roll dice, seen map[string]int, make func(Settings, []Credential) subject) *story {
	s := Defaults()
	s.CredentialCooldown.Base, s.ModelLockout.Base = 0, 0
	s.Breaker = Breaker{
		FailureThreshold:  roll("failure_threshold", 5),
		SuccessThreshold:  roll("success_threshold", 4),
		Timeout:           30 * time.Second,
		HalfOpenMaxProbes: roll("half_open_max_probes", 4),
		Scope:             pick(roll, "scope", PerProvider, PerModel, Auto, Auto),
		Ramp:              pick(roll, "ramp", 0, 0, 40*time.Second),
	}
	s.Cooldown = Cooldown{
		Failures: roll("cooldown.failures", 6), Explicit: true, Window: time.Minute,
		MinFailureRatio: pick(roll, "ratio", 0, 0.5, 0.75), Base: 20 * time.Second, Factor: 2, Max: 90 * time.Second,
	}
	if s.Breaker.FailureThreshold == 0 && s.Cooldown.Failures == 0 {
		s.Cooldown.Failures = 3
	}
	credentials := pool("a", "b")[:1+roll("credentials", 2)]
	y := &story{
		roll: roll, s: s, m: make(s, credentials), models: []string{"m", "x"}, alone: len(credentials) == 1, now: epoch,
		state: map[string]string{}, seen: seen, wide: &breakerTwin{s: s},
	}
	connection := func(c fault.Class) bool { return c == fault.Connect || c == fault.Reset }
	y.wide.counts = func(c fault.Class) bool { return s.Breaker.Scope != Auto || connection(c) }
	y.wide.spectator = s.Breaker.Scope == PerModel
	if s.Breaker.Scope != PerProvider {
		y.narrow = map[string]*breakerTwin{}
		for _, name := range y.models {
			y.narrow[name] = &breakerTwin{s: s, model: name, counts: func(c fault.Class) bool { return s.Breaker.Scope != Auto || !connection(c) }}
		}
	}
	return y
}

func (y *story) held() bool { return y.wide.order(y.now).Action == ForceClosed }

// heard follows the effects.
func (y *story) heard(effects []Effect) {
	for _, e := range effects {
		was := y.state[e.Model]
		if was == "" {
			was = "closed"
		}
		if e.From != was || e.To == was {
			y.fail("effect %+v, but it was %s", e, was)
		}
		y.state[e.Model] = e.To
		y.seen[e.To]++
		y.seen["trip "+e.Trip]++
	}
}

// block is what stands in the way of a model but for the ramp.
func (y *story) block(model string) (b Block, named bool) {
	b = y.wide.block(y.now)
	named = b.Named
	if n := y.narrow[model]; n != nil {
		nb := n.block(y.now)
		named = named || nb.Named
		if !b.Blocked() || nb.Forbids() && !b.Forbids() {
			b = nb
		}
	}
	if named && slices.ContainsFunc(y.live, func(a *told) bool { return a.early && y.now.Before(a.deadline) }) {
		b.Early = true
	}
	return b, named
}

func (y *story) compare(what string) {
	v, eff := y.m.View(y.now, nil)
	y.heard(eff)
	y.same(what, v.Breaker, y.wide.view(y.now))
	known := map[string]bool{}
	for _, m := range v.Models {
		known[m.Model] = true
		y.same(what+": "+m.Model, m.BreakerView, y.narrow[m.Model].view(y.now))
	}
	for _, name := range y.models {
		if n := y.narrow[name]; n != nil && !known[name] {
			y.same(what+": "+name, BreakerView{}, n.view(y.now))
		}
		b, eff := y.m.Check(y.now, 0, name, nil)
		y.heard(eff)
		if want, _ := y.block(name); b != want {
			y.fail("after %s: %s is blocked by %+v, want %+v", what, name, b, want)
		}
	}
	if got := v.Breaker.State.String(); y.state[""] != got && (y.state[""] != "" || got != "closed") {
		y.fail("effects say %s, the view %s", y.state[""], got)
	}
	y.limits()
}

func (y *story) same(what string, got, want BreakerView) {
	if got != want {
		y.fail("after %s: %s", what, cmp.Diff(want, got))
	}
}

// limits holds R23, told by the permits alone.
func (y *story) limits() {
	limit := y.s.Breaker.HalfOpenMaxProbes
	if limit == 0 {
		return
	}
	n := map[string]int{}
	for _, a := range y.live {
		if !y.now.Before(a.deadline) {
			continue
		}
		if a.permit.wide.holds() {
			n[""]++
		}
		if a.permit.narrow.holds() {
			n[a.model]++
		}
	}
	for model, n := range n {
		if n > limit {
			y.fail("%d probes of %q at a time, at most %d", n, model, limit)
		} else if limit > 1 && n == limit {
			y.seen["all slots taken"]++
		}
	}
}

var storyOutcomes = []Outcome{
	good, good, good, good, bad, bad, bad, of(fault.Connect), of(fault.Connect), of(fault.Reset), of(fault.Cut), of(fault.Timeout), of(fault.ClientGone),
	of(fault.Rejected), of(fault.Unknown), of(fault.RateLimited), named(fault.RateLimited, 50*time.Second), named(fault.RateLimited, time.Second),
}

var storySteps = []string{
	"admit", "admit", "admit", "settle", "settle", "settle", "settle", "pass", "pass", "force", "content", "sound", "run", "run", "run", "run", "pick", "seldom",
}

func (y *story) step() string {
	step := pick(y.roll, "step", storySteps...)
	switch step {
	case "pass":
		y.now = y.now.Add(pick[time.Duration](y.roll, "seconds", 1, 5, 10, 20, 30, 31, 60, 90, 600) * time.Second)
	case "admit", "force":
		if a := y.admit(step == "force"); a != nil {
			y.live = append(y.live, a)
		}
	case "run":
		if a := y.admit(false); a != nil {
			y.settle(a)
		}
	case "settle":
		if i, a := y.choose(); a != nil {
			y.settle(a)
			y.live = slices.Delete(y.live, i, i+1)
		}
	case "content":
		if _, a := y.choose(); a != nil {
			y.wide.state(y.now)
			y.heard(y.m.FirstContent(y.now, &a.permit, nil))
			a.wide.slotBack = true
			if a.narrow != nil {
				y.narrow[a.model].state(y.now)
				a.narrow.slotBack = true
			}
		}
	case "sound":
		if _, a := y.choose(); a != nil {
			y.sound(a)
		}
	case "pick":
		y.pick()
	case "seldom":
		return y.seldom()
	}
	return step
}

// seldom are the steps that would drown the others if they came as often.
func (y *story) seldom() string {
	step := pick(y.roll, "seldom", "nothing", "nothing", "operate", "absorb", "absorb", "rows", "yield", "yield")
	switch step {
	case "operate":
		y.operate()
	case "absorb":
		y.absorb()
	case "rows":
		y.rows()
	case "yield":
		y.yield()
	}
	return step
}

func (y *story) choose() (int, *told) {
	if len(y.live) == 0 {
		return -1, nil
	}
	i := y.roll("which", len(y.live))
	return i, y.live[i]
}

func (y *story) admit(force bool) *told {
	model := pick(y.roll, "model", y.models...)
	deadline := y.now.Add(time.Duration(1+y.roll("deadline", 40)) * time.Second)
	want, namedEnd := y.block(model)
	p, b, eff := y.m.Admit(y.now, 0, model, deadline, force, nil)
	y.heard(eff)
	if force && !want.Early && !want.Forbids() {
		want = Block{}
	}
	if force && want.Early && !want.Forbids() { // the one whose end is named says so
		want = b
		if !b.Early || !b.Named {
			y.fail("a forced permit is refused with %+v", b)
		}
		y.seen["early refused"]++
	}
	if b != want {
		y.fail("admission says %+v, want %+v", b, want)
	}
	if b.Blocked() {
		return nil
	}
	a := &told{permit: p, model: model, deadline: deadline, wide: y.wide.admit(y.now, deadline, force), early: force && namedEnd}
	if n := y.narrow[model]; n != nil {
		a.narrow = n.admit(y.now, deadline, force)
	}
	if p.Probe() != (a.wide.probe || a.narrow != nil && a.narrow.probe) {
		y.fail("probe: %v", p.Probe())
	}
	return a
}

func (y *story) settle(a *told) {
	o := pick(y.roll, "outcome", storyOutcomes...)
	if a.permit.Probe() && !y.now.Before(a.deadline) {
		y.seen["lease taken back"]++
	}
	y.heard(y.m.Settle(y.now, a.permit, o, 0.5, nil))
	held := y.held()
	y.wide.state(y.now)
	if n := y.narrow[a.model]; n != nil && n.settle(y.now, a.narrow, o, y.alone, held) && y.s.Breaker.Scope == Auto {
		y.spread()
	}
	y.wide.settle(y.now, a.wide, o, y.alone, held)
}

// spread is R35's: two models open at once open the provider.
func (y *story) spread() {
	if y.wide.state(y.now) == "open" || y.wide.order(y.now).Action != NoAction {
		return
	}
	open, own := 0, 0
	for _, n := range y.narrow {
		if n.state(y.now) == "open" && n.order(y.now).Action == NoAction {
			open++
			if n.sawItOpen(y.now) {
				own++
			}
		}
	}
	if open >= 2 {
		y.wide.open(y.now, "failures", y.s.Breaker.Timeout, false, false)
		y.wide.facts[len(y.wide.facts)-1].foreign = own < 2
		y.seen["two models"]++
		if own < 2 {
			y.seen["two models, one heard"]++
		}
	}
}

func (y *story) sound(a *told) {
	y.heard(y.m.Sound(y.now, &a.permit, nil))
	if n := y.narrow[a.model]; n != nil {
		if n.awaits(y.now, a.narrow) {
			y.seen["sound"]++
		}
		n.sound(y.now, a.narrow)
	}
	if y.wide.awaits(y.now, a.wide) {
		y.seen["sound"]++
	}
	y.wide.sound(y.now, a.wide)
}

func (y *story) pick() {
	model := pick(y.roll, "model", y.models...)
	rnd := float64(y.roll("draw", 1<<20)) / (1 << 20)
	want, _ := y.block(model)
	if !want.Blocked() && !y.held() {
		want = y.wide.away(y.now, rnd)
		if n := y.narrow[model]; n != nil && !want.Blocked() {
			want = n.away(y.now, rnd)
		}
		if want.Blocked() {
			y.seen["turned away"]++
		}
	}
	i, b, ok, eff := y.m.Pick(y.now, model, nil, rnd, nil)
	y.heard(eff)
	if i < 0 || b.Reason != want.Reason || b.Until != want.Until || ok == want.Blocked() {
		y.fail("pick says %v %+v, want %+v", ok, b, want)
	}
}

func (y *story) operate() {
	o := Order{Action: pick(y.roll, "action", Reset, ForceOpen, ForceClosed), Reason: "why"}
	if o.Action != Reset && y.roll("for", 3) > 0 {
		o.Until = y.now.Add(time.Duration(1+y.roll("minutes", 3)) * time.Minute)
	}
	if y.narrow != nil && y.roll("of a model", 2) == 0 {
		o.Model = pick(y.roll, "model", y.models...)
	}
	eff, err := y.m.Operate(y.now, o, nil)
	if y.heard(eff); err != nil {
		y.fail("%v", err)
	}
	y.seen["order "+o.Action.String()]++
	if o.Model != "" {
		y.wide.state(y.now)
		y.narrow[o.Model].operate(y.now, o)
		return
	}
	y.wide.operate(y.now, o)
	for _, n := range y.narrow {
		switch o.Action {
		case Reset:
			n.operate(y.now, o)
		case ForceClosed:
			n.obey(y.now)
		case ForceOpen, NoAction:
		}
	}
}

// absorb takes rows of other instances, some twice.
func (y *story) absorb() {
	var rows []Row
	for range 1 + y.roll("rows", 3) {
		r := Row{Guard: CircuitBreaker, Failures: y.roll("failures", 5), FailedAt: y.ago(60)}
		if y.narrow != nil && y.roll("of a model", 2) == 0 {
			r.Model = pick(y.roll, "model", y.models...)
		}
		if y.roll("open", 2) == 0 {
			r.Since, r.Trip, r.Named = y.ago(60), pick(y.roll, "trip", "failures", "cooldown"), y.roll("named", 4) == 0
			r.Until = r.Since.Add(time.Duration(1+y.roll("length", 90)) * time.Second)
		}
		if y.roll("proved", 4) == 0 {
			r.ProvedAt = y.ago(60)
		}
		rows = append(rows, r)
		if y.roll("again", 4) == 0 {
			rows = append(rows, r)
		}
	}
	y.heard(y.m.Absorb(y.now, rows, nil))
	for _, r := range rows {
		if r.ProvedAt.IsZero() {
			continue
		}
		if r.Model != "" {
			y.narrow[r.Model].hearProof(y.now, r.ProvedAt)
		} else {
			y.wide.hearProof(y.now, r.ProvedAt)
		}
	}
	for _, r := range rows {
		held := y.held()
		if r.Model != "" {
			y.narrow[r.Model].hear(y.now, r, held)
		} else {
			y.wide.hear(y.now, r, held)
		}
	}
	y.seen["absorbed"]++
}

func (y *story) ago(seconds int) time.Time {
	return y.now.Add(-time.Duration(y.roll("ago", seconds)) * time.Second)
}

// yield leaves the probes of a breaker to another instance, or of an open period that is not (R66).
func (y *story) yield() {
	y.compare("before it yields")
	w := y.wide
	if y.narrow != nil && y.roll("of a model", 2) == 0 {
		w = y.narrow[pick(y.roll, "model", y.models...)]
	}
	of, until := w.view(y.now).OpenedAt, y.now.Add(time.Duration(y.roll("until", 60))*time.Second)
	if y.roll("of another", 4) == 0 {
		of = y.ago(60)
	}
	if got, want := y.m.Yield(y.now, w.model, of, until), w.yield(y.now, of, until); got != want {
		y.fail("it yields: %t, want %t", got, want)
	} else if want {
		y.seen["yields"]++
	}
}

func (y *story) rows() {
	y.compare("before rows")
	want := y.wide.rows(y.now)
	for _, name := range y.models {
		if n := y.narrow[name]; n != nil {
			want = append(want, n.rows(y.now)...)
		}
	}
	if d := cmp.Diff(want, y.m.Rows(y.now, nil)); d != "" {
		y.fail("rows: %s", d)
	}
}

// finish: whatever was never settled and nobody ordered, nothing is stuck half-open (R33), and each permit still settles.
func (y *story) finish() {
	for _, f := range append(slices.Clone(y.wide.facts), y.narrowFacts()...) {
		y.seen[f.what]++
	}
	late := y.live
	y.now = y.now.Add(20 * time.Minute)
	for _, name := range y.models {
		b, eff := y.m.Check(y.now, 0, name, nil)
		if y.heard(eff); b.Blocked() && !b.Forbids() {
			y.fail("stuck: %+v", b)
		}
	}
	for _, a := range late {
		y.settle(a)
	}
	y.live = nil
	y.compare("the end")
	if m, ok := y.m.(*Machine); ok {
		y.nothingHeld(m)
	}
}

// nothingHeld: once every permit is settled, no lease and no count of what is under way is left.
func (y *story) nothingHeld(m *Machine) {
	for _, c := range m.credentials {
		if c.inFlight != 0 || c.early != (lease{}) && y.now.Before(c.early.ends) {
			y.fail("unsettled: %+v", c)
		}
	}
	each(m, func(b *breaker) {
		if len(b.slots) > 0 || b.lone.held(y.now) {
			y.fail("unsettled at %q: %+v %+v", b.model, b.slots, b.lone)
		}
	})
}

func (y *story) narrowFacts() []twinFact {
	var all []twinFact
	for _, n := range y.narrow {
		all = append(all, n.facts...)
	}
	return all
}
