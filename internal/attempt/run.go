package attempt

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// ErrShutdown is the cause of a context that ended because the gateway stops and the grace period is over.
var ErrShutdown = errors.New("gateway is shutting down")

// maxWaiting bounds the requests of one process that sleep between attempts (R52).
const maxWaiting = 1000

// Runner runs failover sessions. Safe for concurrent use.
type Runner struct {
	Health  *health.Health
	Journal journal.Sink
	waiting atomic.Int64
}

// run is one request on its way.
type run struct {
	r       *Runner
	c       *Call
	sink    Sink
	now     time.Time // the moment of the decision at hand
	res     Result
	session failover.Session
	space   [4]failover.Target
	steps   [2]journal.Step
	first   exchange // most requests make one attempt
	// lost is the last failed attempt, for failover metrics.
	lostProvider, lostReason string
}

// Run tries the call's legs until one answers or nothing is left (RESILIENCE §5). It returns when the answer was handed to the sink
// whole, or was cut, or nobody answered; what the client hears of a failure is the caller's to say.
func (r *Runner) Run(ctx context.Context, c *Call, sink Sink) *Result {
	x := &run{r: r, c: c, sink: sink, now: c.Start}
	x.res.Steps = x.steps[:0]
	first := &c.Legs[0]
	var deadline time.Time
	if total := first.Target.Timeouts.Total; total > 0 {
		deadline = c.Start.Add(total)
	}
	targets := x.space[:0]
	for i := range c.Legs {
		targets = append(targets, failover.Target{Target: &c.Legs[i].Target, Settings: c.Legs[i].Settings})
	}
	x.session.Begin(failover.Params{Targets: targets, Stream: c.Request.Stream, Deadline: deadline}, x)
	x.noteBlocked()
	r.Health.CountRequest(x.now)
	for {
		m := x.session.Next(x.now, x, rand.Float64()) //nolint:gosec // jitter, not secrets
		if m.Draw && !r.Health.DrawRetry(x.now, first.Settings.Retry.Budget) {
			x.session.Refused()
			continue
		}
		switch m.Kind {
		case failover.Stop:
			x.res.Final = x.session.Final(x.now, x)
			return &x.res
		case failover.Wait:
			if !x.wait(ctx, m.For) {
				x.res.Final = failover.Final{Ending: failover.ClientLeft, Fault: &fault.Fault{Class: fault.ClientGone}}
				return &x.res
			}
		case failover.Try:
			if x.try(ctx, m, deadline) {
				return &x.res
			}
		}
		x.now = time.Now()
	}
}

// wait sleeps between attempts; false: the client went away. With too many sleepers it tells the session and does not.
func (x *run) wait(ctx context.Context, d time.Duration) bool {
	if x.r.waiting.Add(1) > maxWaiting {
		x.r.waiting.Add(-1)
		x.session.Refused()
		return true
	}
	defer x.r.waiting.Add(-1)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		x.res.Waits += d
		return true
	case <-ctx.Done():
		return false
	}
}

// Pick implements failover.Guards.
func (x *run) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	leg := &x.c.Legs[t]
	return leg.Guards.Pick(x.now, leg.Target.Model, skip)
}

// ConsecutiveFailures implements failover.Guards.
func (x *run) ConsecutiveFailures(t int) int { return x.c.Legs[t].Guards.ConsecutiveFailures() }

// noteBlocked puts what was blocked when the request began into the trail (R50).
func (x *run) noteBlocked() {
	for i := range x.c.Legs {
		if b := x.session.Blocked(i); b.Blocked() {
			x.noteSkip(&x.c.Legs[i], "", b)
		}
	}
}

func (x *run) noteSkip(leg *Leg, credential string, b resilience.Block) {
	x.res.Steps = append(x.res.Steps, journal.Step{
		Provider: leg.Target.Provider, Model: leg.Target.Model, Credential: credential, Skipped: true,
		Reason: string(b.Reason), Until: b.Until, Start: x.now,
	})
}

// try makes one attempt; true: the request has ended (answered, or cut after its commit).
func (x *run) try(ctx context.Context, m failover.Move, deadline time.Time) (ended bool) {
	leg := &x.c.Legs[m.Target]
	limits := cut(leg.Target.Timeouts, x.now, deadline, m.Untried)
	permit, block := leg.Guards.Admit(x.now, m.Credential, leg.Target.Model, x.now.Add(lease(limits, x.c.Request.Stream)), m.Force)
	if block.Blocked() {
		x.noteSkip(leg, leg.Guards.CredentialName(m.Credential), block)
		x.session.Denied(m)
		return false
	}
	e := &x.first
	if e.x != nil {
		e = new(exchange)
	}
	*e = exchange{x: x, leg: leg, move: m, permit: permit, limits: limits, start: x.now, parent: ctx}
	f := e.do()
	x.now = time.Now()
	before := e.finish(f)
	if f == nil {
		x.res.OK = true
		return true
	}
	x.session.Failed(x.now, x, m, f, before, rand.Float64()) //nolint:gosec // jitter, not secrets
	x.lostProvider, x.lostReason = leg.Target.Provider, f.Class.String()
	if x.res.Committed || f.Class == fault.ClientGone {
		x.res.Final = x.session.Final(x.now, x)
		return true
	}
	return false
}

// cut shortens an attempt's limits to the time left, and to half of it while an untried candidate remains (R54).
func cut(t route.Timeouts, now, deadline time.Time, untried bool) route.Timeouts {
	if deadline.IsZero() {
		return t
	}
	left := max(deadline.Sub(now), time.Millisecond)
	if untried {
		left /= 2
	}
	shorten := func(d *time.Duration) {
		if *d == 0 || *d > left {
			*d = left
		}
	}
	shorten(&t.Attempt)
	shorten(&t.FirstChunk)
	return t
}

// lease is how long a probe slot is kept for an attempt that never settles (R33).
func lease(t route.Timeouts, stream bool) time.Duration {
	d := t.Attempt
	if stream {
		d = t.FirstChunk
	}
	if d == 0 {
		d = 10 * time.Minute
	}
	return d + time.Second // its own timeout comes first
}
