package attempt

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/resilience"
)

// Fetch asks one provider for something that it keeps, by a method and a path below a dialect's route: no other can
// give it, so it is one attempt, under the provider's guards. Any status below 400 is an answer, whose body the caller closes; the fault
// says everything else, blocked providers included (503 with the block's reason as its message).
func (r *Runner) Fetch(ctx context.Context, leg *Leg, out *Outgoing) (*http.Response, *fault.Fault) {
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
	said := health.OutcomeOf(&fault.Fault{}) // a panic on the way says nothing about the provider (R33)
	defer func() { permit.Settle(time.Now(), said, health.Measured{Total: time.Since(now)}) }()
	if limit := leg.Target.Timeouts.Attempt; limit > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		timer := time.AfterFunc(limit, func() { cancel(&fault.Fault{Class: fault.Timeout, Message: "no answer within " + limit.String()}) })
		defer timer.Stop()
	}
	out.Credential, out.Key = leg.credentialName(credential), leg.Key
	out.Dialect, out.Model = leg.Dialect.Name(), leg.Target.Model
	resp, f := leg.Upstream.Send(ctx, out)
	if f == nil && resp.StatusCode >= http.StatusBadRequest {
		f = fetchRefused(leg, resp)
		resp = nil
	}
	if f != nil && leg.Key != "" {
		f = leg.callers(f)
	}
	said = outcome(f)
	return resp, f
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
func fetchRefused(leg *Leg, resp *http.Response) *fault.Fault {
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	buf := GetBuffer(4096)
	defer buf.Release()
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
