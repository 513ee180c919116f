package attempt

import (
	"context"
	"io"
	"net/http"
	"time"

	"evergate/internal/drill"
	"evergate/internal/drill/running"
	"evergate/internal/fault"
	"evergate/internal/wire"
)

// fetch sends what Fetch asks for, unless a drill has a fault for it. Whose key it came with is not known here: a rule for one is not for it.
func (r *Runner) fetch(ctx context.Context, id string, leg *Leg, out *Outgoing) (*http.Response, *fault.Fault) {
	if r.Drills.Running() {
		rule := r.Drills.Strike(&drill.Asked{Provider: leg.Target.Provider, Model: leg.Target.Model, Named: leg.Target.Model, Header: out.Header}, id, time.Now())
		if rule != nil {
			return sendStruck(ctx, rule, leg.Upstream, leg.Dialect, out)
		}
	}
	return leg.Upstream.Send(ctx, out)
}

// sendStruck is Upstream.Send of a request that meets a fault.
func sendStruck(ctx context.Context, rule *drill.Rule, up Upstream, d wire.Dialect, out *Outgoing) (*http.Response, *fault.Fault) {
	s := struck{
		shape: &rule.Shape, judge: up.ReadFault, dialect: d, release: out.Release, stream: out.Stream,
		ask: func() (*http.Response, *fault.Fault) { return up.Send(ctx, out) },
	}
	if s.release == nil {
		s.release = func() {}
	}
	return s.do(ctx)
}

// Rehearsal has the gateway's own questions to a provider meet the faults of drills as well: where a provider is to look dead, a probe must not
// find it alive (R74, R75). Rules that are for a client's key or header are not for them.
type Rehearsal struct {
	Upstream
	Provider string
	Drills   *running.Drills
	Dialects *wire.Table
}

// Send implements Upstream.
func (r *Rehearsal) Send(ctx context.Context, out *Outgoing) (*http.Response, *fault.Fault) {
	rule := r.strike(out.Model)
	if rule == nil {
		return r.Upstream.Send(ctx, out)
	}
	return sendStruck(ctx, rule, r.Upstream, r.Dialects.Named(out.Dialect), out)
}

// List is a question for the list of models, asked by list. A list is no stream: faults in the midst of one leave it whole.
func (r *Rehearsal) List(ctx context.Context, list func(context.Context) *fault.Fault) *fault.Fault {
	rule := r.strike("")
	if rule == nil || rule.Shape.Maims() {
		return list(ctx)
	}
	var came *fault.Fault
	s := struck{
		shape: &rule.Shape, judge: r.ReadFault, dialect: r.Dialects.Named("chat"), release: func() {},
		ask: func() (*http.Response, *fault.Fault) { came = list(ctx); return nil, came },
	}
	resp, f := s.do(ctx)
	if resp == nil {
		return f
	}
	defer resp.Body.Close() //nolint:errcheck // it is made of bytes
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode < http.StatusBadRequest {
		return r.Refine(wire.Invalid("the model list is none (drill)"))
	}
	code, message := s.dialect.ReadError(body)
	return r.Classify(resp.StatusCode, resp.Header, body, code, message)
}

func (r *Rehearsal) strike(model string) *drill.Rule {
	if !r.Drills.Running() {
		return nil
	}
	return r.Drills.Strike(&drill.Asked{Provider: r.Provider, Model: model, Named: model}, "", time.Now())
}
