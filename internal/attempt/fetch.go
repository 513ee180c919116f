package attempt

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/resilience"
)

// Fetch asks one provider for something that it keeps, for the request of this id, by a method and a path below a dialect's route: no other can
// give it, so it is one attempt, under the provider's guards. Any status below 400 is an answer, whose body the caller closes, and which
// ends where the provider is silent for longer than timeouts.idle; the fault says everything else, blocked providers included (503 with
// the block's reason as its message).
func (r *Runner) Fetch(ctx context.Context, id string, leg *Leg, out *Outgoing) (*http.Response, *fault.Fault) {
	now := time.Now()
	pick, outcome := leg.Guards.Pick, health.OutcomeOf
	if leg.Key != "" {
		pick, outcome = leg.Guards.PickCallers, health.CallersOutcome
	}
	credential, block, ok := pick(now, leg.Target.Model, rand.Float64(), func(int) bool { return false }) //nolint:gosec // load spreading, not secrets
	var permit health.Permit
	if ok {
		permit, block = leg.Guards.Admit(now, credential, leg.Target.Model, now.Add(failover.Lease(leg.Target.Timeouts, false)), false)
	}
	if !ok || block.Blocked() {
		return nil, blocked(block, now)
	}
	permit.For(id)
	said := health.OutcomeOf(&fault.Fault{}) // a panic on the way says nothing about the provider (R33)
	defer func() { permit.Settle(time.Now(), said, health.Measured{Total: time.Since(now)}) }()
	ctx, cancel := context.WithCancelCause(ctx)
	if limit := leg.Target.Timeouts.Attempt; limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(&fault.Fault{Class: fault.Timeout, Message: "no answer within " + limit.String()}) })
		defer timer.Stop()
	}
	out.Credential, out.Key = leg.credentialName(credential), leg.Key
	out.Dialect, out.Model = leg.Dialect.Name(), leg.Target.Model
	resp, f := r.fetch(ctx, id, leg, out)
	if f == nil && resp.StatusCode >= http.StatusBadRequest {
		f = fetchRefused(leg, resp, cancel)
		resp = nil
	}
	if f != nil && leg.Key != "" {
		f = leg.callers(f)
	}
	said = outcome(f)
	if f == nil {
		resp.Body = watchBody(resp.Body, leg.Target.Timeouts.Idle, cancel)
		return resp, nil
	}
	cancel(nil)
	return nil, f
}

// watchedBody is the body of an answer whose provider may not be silent for too long while it is read.
type watchedBody struct {
	io.ReadCloser
	watch passWatch
}

func watchBody(body io.ReadCloser, idle time.Duration, cancel context.CancelCauseFunc) *watchedBody {
	b := &watchedBody{ReadCloser: body, watch: passWatch{cancel: cancel, idle: idle}}
	now := time.Now()
	b.watch.begin(now)
	b.watch.pause() // until somebody reads
	b.watch.answer(now)
	return b
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.resume(time.Now())
	defer b.watch.pause()
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	b.watch.stop()
	defer b.watch.cancel(nil)
	return b.ReadCloser.Close()
}

func blocked(b resilience.Block, now time.Time) *fault.Fault {
	f := &fault.Fault{Class: fault.Upstream, Status: http.StatusServiceUnavailable, Message: string(b.Reason)}
	if !b.Until.IsZero() {
		f.Wait = fault.Wait{For: max(b.Until.Sub(now), time.Second), Named: true}
	}
	return f
}

// fetchRefused reads and classifies a refusal. A 404 means that the thing is missing, not a model, and who may not have it has a
// key that is good for all else.
func fetchRefused(leg *Leg, resp *http.Response, cancel context.CancelCauseFunc) *fault.Fault {
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	buf := GetBuffer(4096)
	defer buf.Release()
	timer := time.AfterFunc(errorBodyTimeout, func() { cancel(nil) }) // the status decides already
	defer timer.Stop()
	_ = readAll(resp.Body, buf, maxErrorBody)
	code, message := leg.Dialect.ReadError(buf.B)
	f := leg.Upstream.Classify(resp.StatusCode, resp.Header, buf.B, code, message)
	if f.Class == fault.ModelMissing || f.Class == fault.Auth && beyond(f) {
		missing := *f
		missing.Class = fault.Rejected
		return &missing
	}
	return f
}
