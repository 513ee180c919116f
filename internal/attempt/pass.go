package attempt

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"evergate/internal/drill"
	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/quota/meters"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// Passage is one request that a client makes of one provider by name (passthrough). It has no model: nobody reads it.
type Passage struct {
	ID       string // the request's
	Provider string
	Guards   *health.Provider
	Upstream RawUpstream
	// Caller is the client's key by name, and Dialect the one in whose words the client is told of errors.
	Caller   string
	Dialect  wire.Dialect
	Settings *resilience.Settings
	Timeouts route.Timeouts
	// Limit is as in Leg.
	Limit *meters.Gate
	// Request is what is sent; the credential is filled in. Its Release is not used: Body holds the bytes.
	Request Raw
	Body    *Buffer // owns Request.Body; nil: there is none
	// Again says that the request may be sent more than once (R57).
	Again bool
	Start time.Time
	// Trace is as in Call.
	Trace *journal.Trace
}

// PassHead is what a PassSink may tell its client before the first byte.
type PassHead struct {
	Status int
	Header http.Header // the upstream's; read only
	Length int64       // of the body; -1: unknown
	// Whole: the request's body was read to its end.
	Whole    bool
	Steps    []journal.Step
	Attempts int
}

// PassSink takes an answer below 400. Begin commits: after it nothing is tried again. An error means that the client is gone.
type PassSink interface {
	Begin(h *PassHead) error
	Write(p []byte) error
	Flush() error
	// Switch takes over a connection that became a WebSocket, and returns when it is over.
	Switch(h *PassHead, upstream io.ReadWriteCloser)
}

// passBuffer is how much of an answer is passed on at a time.
const passBuffer = 32 << 10

// passing is one Passage on its way: the session of a run that has one target, and what its attempt at hand knows.
type passing struct {
	*run
	p    *Passage
	sink PassSink

	ctx        context.Context //nolint:containedctx // of the attempt at hand, inside one call of try
	permit     health.Permit
	credential string
	span       [8]byte
	start      time.Time
	watch      *passWatch
	answered   bool // the client has the head
	firstByte  time.Time
	drill      *drill.Rule // whose fault the attempt at hand met (R74); nil: none
}

// Pass asks the provider, more than once only if the request may be sent again (R57), and then by the rules of R52 for a
// request with one candidate. An answer below 400 goes to the sink; any other is the Result's: its Final has the answer that came
// last, or says why there is none.
func (r *Runner) Pass(ctx context.Context, p *Passage, sink PassSink) *Result {
	if p.Request.Upload != nil {
		p.Timeouts.Total = 0 // nobody knows how long it takes
	}
	call := &Call{ID: p.ID, Start: p.Start, Trace: p.Trace, Legs: []Leg{{
		Target: route.Target{Provider: p.Provider, Timeouts: p.Timeouts}, Guards: p.Guards, Settings: p.Settings, Key: p.Request.Key, Limit: p.Limit,
	}}}
	x := &passing{run: r.begin(call, nil), p: p, sink: sink}
	for ended := false; !ended; x.now = time.Now() {
		switch x.next() {
		case failover.Try:
			ended = x.try(ctx)
		case failover.Wait:
			ended = x.wait(ctx, x.move.For)
		case failover.Stop:
			x.stop()
			ended = true
		}
	}
	if f := x.res.Final.Fault; !x.res.OK && f != nil && f.Status >= http.StatusBadRequest && x.res.Final.Ending != failover.ClientLeft && x.res.Final.Ending != failover.CutShort {
		x.res.Final.Ending = failover.PassBack // as the provider speaks: its last word, whatever it was
	}
	return &x.res
}

// try makes one attempt; true: the request has ended.
func (x *passing) try(parent context.Context) (ended bool) {
	limits := x.p.Timeouts
	if x.p.Request.Upload == nil {
		limits = failover.Cut(limits, x.now, x.deadline, x.move.Untried)
	}
	var hold *meters.Hold
	if x.p.Limit != nil {
		var full *meters.Refusal
		if hold, full = x.p.Limit.Reserve(x.now, meters.Amount{}); full != nil {
			x.noteSkip(&x.c.Legs[0], "", limitBlock(x.now, full))
			x.session.Denied(x.move)
			return false
		}
	}
	var block resilience.Block
	x.permit, block = x.p.Guards.Admit(x.now, x.move.Credential, "", x.now.Add(failover.Lease(limits, true)), x.move.Force)
	if block.Blocked() {
		hold.Return(x.now)
		x.noteSkip(&x.c.Legs[0], x.c.Legs[0].credentialName(x.move.Credential), block)
		x.session.Denied(x.move)
		return false
	}
	x.permit.For(x.p.ID)
	x.credential, x.start = x.c.Legs[0].credentialName(x.move.Credential), x.now
	if x.p.Trace != nil {
		x.span = newSpan()
	}
	settled := false
	defer func() {
		hold.Settle(time.Now(), meters.Amount{}) // nobody knows what it used
		if !settled {                            // a panic on the way says nothing about the provider, and a probe slot must not stay taken (R33)
			x.permit.Settle(time.Now(), health.OutcomeOf(&fault.Fault{}), health.Measured{})
		}
	}()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	x.ctx, x.firstByte = ctx, time.Time{}
	x.watch = &passWatch{cancel: cancel, first: limits.FirstChunk, idle: limits.Idle}
	x.watch.begin(x.start)
	defer x.watch.stop()
	resp, f := x.ask()
	var up io.ReadWriteCloser
	var h *PassHead
	outcome := health.OutcomeOf(f)
	if f == nil {
		h = x.head(resp)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			up, _ = resp.Body.(io.ReadWriteCloser)
			x.watch.stop() // it lives until one of the two ends it
		} else {
			f = x.relay(h, resp)
			outcome = health.OutcomeOf(f)
		}
		if f == nil && resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode != http.StatusNotModified {
			outcome.Success, outcome.Class = false, fault.Rejected // it answered, and no more
		}
	}
	if f = x.own(parent, f); f != nil {
		outcome = x.outcome(f)
	}
	x.now = time.Now()
	before := x.permit.Settle(x.now, outcome, health.Measured{})
	settled = true
	x.finish(resp, f)
	if up != nil {
		x.sink.Switch(h, up)
		x.covered += time.Since(x.now)
		x.res.Upstream += time.Since(x.now)
	}
	if f == nil {
		x.res.OK = true
		return true
	}
	return x.failed(f, before)
}

// ask sends the request and gives an answer below 400, whose body is to be closed.
func (x *passing) ask() (*http.Response, *fault.Fault) {
	out := x.p.Request
	out.Credential = x.credential
	out.Trace, out.Span = x.p.Trace, x.span
	if x.p.Body != nil {
		x.p.Body.Retain()
		out.Release = x.p.Body.Release
	}
	if out.Upload != nil {
		out.Upload.watched(x.watch)
	}
	resp, f := x.send(&out)
	if f != nil {
		return nil, f
	}
	x.firstByte = time.Now()
	x.watch.answer(x.firstByte)
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	x.res.Header = resp.Header
	return nil, x.refused(resp)
}

// refused reads and classifies an answer of 400 or more. No model is known here, so none is locked: a 404 is one of the route or the thing
// (R9).
func (x *passing) refused(resp *http.Response) *fault.Fault {
	buf := GetBuffer(4096)
	defer buf.Release()
	timer := time.AfterFunc(errorBodyTimeout, func() { _ = resp.Body.Close() }) // the status decides already
	defer timer.Stop()
	_ = readAll(resp.Body, buf, maxErrorBody)
	f := x.p.Upstream.Classify(resp.StatusCode, resp.Header, buf.B, "", "")
	switch {
	case f.Class == fault.ModelMissing, f.Class == fault.ContextLength, f.Class == fault.ContentFilter, routeMissing(f, ""):
		said := *f
		said.Class = fault.Rejected
		return &said
	}
	return f
}

// outcome is what the guards hear of a fault: the limit of one model is nothing to any of them, as it is not known which.
func (x *passing) outcome(f *fault.Fault) resilience.Outcome {
	o := health.OutcomeOf(f)
	if x.p.Request.Key != "" {
		o = health.CallersOutcome(f)
	}
	switch {
	case f.Class == fault.ModelLimited, f.Class == fault.Auth && beyond(f):
		o.Class = fault.Next
	case f.Class == fault.ClientGone && x.firstByte.IsZero() && x.p.Request.Upload.whole() &&
		x.watch.silent(time.Now()) > x.p.Guards.SilentTooLong("", x.p.Timeouts.FirstChunk):
		o.Class = fault.Timeout // R13
	}
	return o
}

// beyond says whether a key was refused for what was asked alone. A caller can ask for anything here, so that such a refusal
// must not take the key from all others.
func beyond(f *fault.Fault) bool {
	return f.Status == http.StatusForbidden || strings.Contains(strings.ToLower(f.Message), "missing scopes")
}

// own says whose doing a fault was: what ended because the client left, or sent no more, is nobody's fault (R13).
func (x *passing) own(parent context.Context, f *fault.Fault) *fault.Fault {
	if f == nil {
		return nil
	}
	cause := x.p.Request.Upload.broke()
	if cause == nil && parent.Err() != nil {
		cause = context.Cause(parent)
	}
	if cause != nil {
		return &fault.Fault{Class: fault.ClientGone, Cause: cause, Unasked: f.Unasked}
	}
	if x.p.Request.Key != "" {
		return x.c.Legs[0].callers(f)
	}
	return f
}

func (x *passing) head(resp *http.Response) *PassHead {
	h := &PassHead{
		Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength, Whole: x.p.Request.Upload.whole(),
		Attempts: x.res.Attempts + 1,
	}
	h.Steps = append(h.Steps, x.res.Steps...)
	h.Steps = append(h.Steps, x.step(resp.StatusCode, "ok", ""))
	return h
}

// relay passes an answer on as it comes: each read is one write and one flush.
func (x *passing) relay(h *PassHead, resp *http.Response) *fault.Fault {
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	x.permit.FirstContent(x.firstByte)
	x.answered, x.res.Committed = true, true
	x.watch.pause()
	err := x.sink.Begin(h)
	x.watch.resume(time.Now())
	if err != nil {
		return gone(err)
	}
	buf := GetBuffer(passBuffer)
	defer buf.Release()
	sound := !x.permit.Probing()
	for {
		n, err := resp.Body.Read(buf.B[:passBuffer])
		now := time.Now()
		x.watch.alive(now)
		if !sound && now.Sub(x.firstByte) >= failover.SoundAfter { // R26
			x.permit.Sound(now)
			sound = true
		}
		if n > 0 {
			if f := x.pass(buf.B[:n]); f != nil {
				return f
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			f := *x.p.Upstream.ReadFault(x.ctx, err)
			f.Broke, f.Class = f.Class, fault.Cut
			return &f
		}
	}
}

// pass writes to the client; the time that it takes is not the upstream's.
func (x *passing) pass(p []byte) *fault.Fault {
	x.watch.pause()
	defer func() { x.watch.resume(time.Now()) }()
	if err := x.sink.Write(p); err != nil {
		return gone(err)
	}
	if err := x.sink.Flush(); err != nil {
		return gone(err)
	}
	return nil
}

// finish completes the trail and states the attempt.
func (x *passing) finish(resp *http.Response, f *fault.Fault) {
	took := x.now.Sub(x.start)
	x.res.Upstream += took
	x.covered = x.now.Sub(x.p.Start)
	status, reason, message := 0, "ok", ""
	if resp != nil {
		status, x.res.Header, x.res.Leg = resp.StatusCode, resp.Header, &x.c.Legs[0]
	}
	if f != nil {
		reason, message = f.Class.String(), x.unquoted(f.Message)
		if f.Status != 0 {
			status = f.Status
		}
	}
	s := x.step(status, reason, message)
	s.Duration = took
	x.res.Attempts++
	x.res.Steps = append(x.res.Steps, s)
	fact := journal.Attempt{
		RequestID: x.p.ID, Provider: x.p.Provider, Credential: x.credential, Outcome: reason, Why: string(x.move.Why), Status: status, Duration: took,
		FromProvider: x.lostProvider, FromReason: x.lostReason, Drill: drillOf(x.drill), Shape: shapeOf(x.drill),
	}
	x.r.Journal.AttemptEnded(&fact)
}

func (x *passing) step(status int, reason, message string) journal.Step {
	return journal.Step{
		Provider: x.p.Provider, Credential: x.credential, Status: status, Reason: reason, Why: string(x.move.Why), Message: message, Span: x.span, Start: x.start,
		Drill: drillOf(x.drill),
	}
}

// failed takes a failure to the session; true: the request has ended. What cannot be sent again ends it, but for a request that was
// not sent at all (R57).
func (x *passing) failed(f *fault.Fault, before int) (ended bool) {
	x.lostProvider, x.lostReason = x.p.Provider, f.Class.String()
	x.session.Failed(x.now, x, x.move, f, before, rand.Float64()) //nolint:gosec // jitter, not secrets
	if x.answered || f.Class == fault.ClientGone || !x.p.Again && !f.Unasked {
		x.stop()
		return true
	}
	return false
}
