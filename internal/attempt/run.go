package attempt

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/drill/running"
	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/wire"
)

// ErrShutdown is the cause of a context that ended because the gateway stops and the grace period is over.
var ErrShutdown = errors.New("gateway is shutting down")

// Runner runs failover sessions. Safe for concurrent use.
type Runner struct {
	Health  *health.Health
	Journal journal.Sink
	// Drills are the fault rules that run (R74); nil: there are none.
	Drills *running.Drills
	// Random gives numbers in [0, 1) for what guards decide by chance; nil: the usual ones.
	Random  func() float64
	waiting atomic.Int64
}

// run is one request on its way.
type run struct {
	r        *Runner
	c        *Call
	sink     Sink
	now      time.Time // the moment of the decision at hand
	rnd      float64   // the request's own number: what guards decide by chance stays decided (R34)
	move     failover.Move
	deadline time.Time // of timeouts.total; zero: none
	res      Result
	session  failover.Session
	covered  time.Duration // since the request began: so far the time in upstreams is counted
	gate     atomic.Uint32
	mu       sync.Mutex   // of race, and of what a hedge's start changes: session, trail and the canonical request
	race     *race        // nil: there was no hedge
	seam     *wire.Seam   // of a stream that has begun and can be resumed; nil: there is none
	broke    *fault.Fault // what broke it first; nil: nothing did
	space    [4]failover.Target
	steps    [1]journal.Step
	first    exchange // most requests make one attempt
	// lost is the last failed attempt, for failover metrics.
	lostProvider, lostReason string
}

// Run tries the call's legs until one answers or nothing is left (RESILIENCE §5). It returns when the answer was handed to the sink
// whole, or was cut, or nobody answered; what the client hears of a failure is the caller's to say.
func (r *Runner) Run(ctx context.Context, c *Call, sink Sink) *Result {
	x := r.begin(c, sink)
	for !x.step(ctx) {
		x.now = time.Now()
	}
	return &x.res
}

// begin opens the session and notes what is blocked (R50). An attempt begins now and not with the call: the time that the client took to send its body, and
// others to look at it, is no silence of a provider (R13).
func (r *Runner) begin(c *Call, sink Sink) *run {
	x := &run{r: r, c: c, sink: sink, now: time.Now(), rnd: r.random()}
	x.res.Steps = x.steps[:0]
	params := c.params(x.space[:0])
	x.deadline = params.Deadline
	x.session.Begin(params, x)
	x.noteSkips()
	r.Health.CountRequest(x.now)
	return x
}

// newSpan draws the id of an attempt that is traced.
func newSpan() [8]byte { return journal.NewSpan(rand.Uint64()) } //nolint:gosec // an id, not a secret

// random is a request's own number.
func (r *Runner) random() float64 {
	if r.Random != nil {
		return r.Random()
	}
	return rand.Float64() //nolint:gosec // load spreading, not secrets
}

// params are what the call's session is about; targets is a place for the list of them.
func (c *Call) params(targets []failover.Target) failover.Params {
	p := failover.Params{Stream: c.Request.Stream}
	p.Deadline = c.deadline()
	if c.Timeout > 0 {
		if own := c.Start.Add(c.Timeout); p.Deadline.IsZero() || own.Before(p.Deadline) {
			p.Deadline = own
		}
	}
	for i := range c.Legs {
		targets = append(targets, failover.Target{Target: &c.Legs[i].Target, Settings: c.Legs[i].Settings})
	}
	p.Targets = targets
	return p
}

// deadline is when timeouts.total ends (R54); zero: there is none.
func (c *Call) deadline() time.Time {
	if total := c.Legs[0].Target.Timeouts.Total; total > 0 {
		return c.Start.Add(total)
	}
	return time.Time{}
}

// step makes the session's next move; true: the request has ended.
func (x *run) step(ctx context.Context) (ended bool) {
	switch x.next() {
	case failover.Try:
		return x.try(ctx)
	case failover.Wait:
		return x.wait(ctx, x.move.For)
	case failover.Stop:
		x.stop()
	}
	return true
}

// next asks the session for its next move that the retry budget allows.
func (x *run) next() failover.Kind {
	for {
		x.move = x.session.Next(x.now, x, rand.Float64()) //nolint:gosec // jitter, not secrets
		x.noteSkips()
		if !x.move.Draw || x.r.Health.DrawRetry(x.now, x.c.Legs[x.move.Target].Settings.Retry.Budget) {
			return x.move.Kind
		}
		x.session.Refused()
	}
}

// stop says how a request ends that got no answer (R55), or not the whole of it.
func (x *run) stop() {
	x.res.Final = x.session.Final(x.now, x)
	if x.broke != nil && x.res.Final.Ending != failover.ClientLeft {
		x.res.Final = failover.Final{Ending: failover.CutShort, Fault: x.broke}
	}
}

// wait sleeps between attempts; true: the client went away, and the request has ended. With too many sleepers it tells
// the session and does not.
func (x *run) wait(ctx context.Context, d time.Duration) (ended bool) {
	if x.r.waiting.Add(1) > failover.MaxWaiting {
		x.r.waiting.Add(-1)
		x.session.Refused()
		return false
	}
	defer x.r.waiting.Add(-1)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		x.res.Waits += d
		return false
	case <-ctx.Done():
		x.res.Final = failover.Final{Ending: failover.ClientLeft, Fault: &fault.Fault{Class: fault.ClientGone}}
		return true
	}
}

// Pick implements failover.Guards.
func (x *run) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	leg := &x.c.Legs[t]
	if leg.Limit != nil {
		return x.pickLimited(leg, skip)
	}
	return x.pick(leg, skip)
}

func (x *run) pick(leg *Leg, skip func(int) bool) (int, resilience.Block, bool) {
	if leg.Key != "" {
		return leg.Guards.PickCallers(x.now, leg.Target.Model, x.rnd, skip)
	}
	if leg.Near != 0 {
		return leg.Guards.PickNear(x.now, leg.Target.Model, int(leg.Near)-1, x.rnd, skip)
	}
	return leg.Guards.Pick(x.now, leg.Target.Model, x.rnd, skip)
}

// noteSkips puts what was passed over into the trail (R50).
func (x *run) noteSkips() {
	for _, k := range x.session.Skips() {
		x.noteSkip(&x.c.Legs[k.Target], "", k.Block)
	}
}

func (x *run) noteSkip(leg *Leg, credential string, b resilience.Block) {
	x.res.Steps = append(x.res.Steps, journal.Step{
		Provider: leg.Target.Provider, Model: leg.Target.Model, Credential: credential, Skipped: true,
		Reason: string(b.Reason), Until: b.Until, Start: x.now,
	})
}

// try makes one attempt; true: the request has ended (answered, or cut after its commit). What comes before and after
// the exchange is apart from it, so that the stack of an open stream stays small.
func (x *run) try(ctx context.Context) (ended bool) {
	e := &x.first
	if e.x != nil {
		e = new(exchange)
	}
	defer x.over(e)
	if !x.ready(e, x.move) || !x.admit(e) {
		return false
	}
	e.parent = ctx
	x.arm(e)
	f := e.do()
	if x.raced(e) {
		return x.concludeRace(e, f)
	}
	return x.conclude(e, f)
}

// busy counts the time of an attempt that is over; of several at a time it counts once.
func (x *run) busy(e *exchange) {
	from := e.start.Sub(x.c.Start)
	if to := from + e.took; to > x.covered {
		x.res.Upstream += to - max(from, x.covered)
		x.covered = to
	}
}

// ready writes the request for the move's target; false: its API cannot say it (R46), and that is in the trail. It
// comes before the permit, so that it costs no guard anything.
func (x *run) ready(e *exchange, m failover.Move) bool {
	e.x, e.leg, e.move, e.settled = x, &x.c.Legs[m.Target], m, true // there is no permit yet
	f := e.write()
	if f == nil {
		return true
	}
	x.res.Steps = append(x.res.Steps, journal.Step{
		Provider: e.leg.Target.Provider, Model: e.leg.Target.Model, Skipped: true, Reason: f.Class.String(), Message: f.Message, Start: x.now,
	})
	x.session.Unable(m, f)
	return false
}

// admit asks for the permit and prepares the exchange; false: it was refused, and that is in the trail.
func (x *run) admit(e *exchange) bool {
	m := &e.move
	leg := &x.c.Legs[m.Target]
	e.limits = failover.Cut(leg.Target.Timeouts, x.now, x.deadline, m.Untried)
	if x.c.Timeout > 0 {
		own := failover.Cut(leg.Target.Timeouts, x.now, x.c.deadline(), m.Untried)
		e.hurried = x.c.Request.Stream && own.FirstChunk != e.limits.FirstChunk || !x.c.Request.Stream && own.Attempt != e.limits.Attempt
	}
	block := e.reserve()
	if block.Blocked() {
		x.noteSkip(leg, "", block)
		x.session.Denied(*m)
		return false
	}
	e.permit, block = leg.Guards.Admit(x.now, m.Credential, leg.Target.Model, x.now.Add(failover.Lease(e.limits, x.c.Request.Stream)), m.Force)
	if block.Blocked() {
		e.limit.Return(x.now)
		x.noteSkip(leg, leg.credentialName(m.Credential), block)
		x.session.Denied(*m)
		return false
	}
	e.permit.For(x.c.ID)
	e.start, e.credential, e.settled = x.now, leg.credentialName(m.Credential), false
	if x.c.Trace != nil {
		e.span = newSpan()
	}
	e.progress.Choices = x.c.Request.Choices
	e.strike()
	return true
}

// conclude takes the exchange's outcome to the guards, the trail and the session.
func (x *run) conclude(e *exchange, f *fault.Fault) (ended bool) {
	x.now = time.Now()
	before := e.finish(f)
	if f == nil {
		x.res.OK = true
		return true
	}
	x.lostProvider, x.lostReason = e.leg.Target.Provider, f.Class.String()
	if x.resume(e, f) {
		return false
	}
	x.session.Failed(x.now, x, e.move, x.asWhileResuming(f), before, rand.Float64()) //nolint:gosec // jitter, not secrets
	if e.answering || f.Class == fault.ClientGone {
		x.stop()
		return true
	}
	return false
}
