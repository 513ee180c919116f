package ingress

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"evergate/internal/attempt"
	"evergate/internal/guardrail"
	"evergate/internal/journal"
	"evergate/internal/wire"
)

const (
	codeGuardrail     = "guardrail_blocked"
	codeNoGuardrail   = "guardrail_unavailable"
	passedUnseenWords = ", and what goes through this route is not looked into; use a route that names the model"
)

// guardRequest has the guards that hold for the request judge it, once it is known where it may go and before anything is spent; the failure says
// why it does not pass.
func (x *exchange) guardRequest() *wire.Failure {
	if !x.cfg.Guardrails.Has(x.who.Guarded()) || x.imagined {
		return nil
	}
	models := []string{x.call.Request.Model, x.label}
	if x.wishes != nil {
		models = append(models, x.wishes.Models...)
	}
	team := ""
	if x.who != nil {
		team = x.who.Team
	}
	names := x.cfg.Guardrails.Names(models, x.who.Guarded())
	if len(names) == 0 {
		return nil
	}
	unknown := ""
	x.guard, unknown = x.cfg.Guardrails.Watch(guardrail.About{RequestID: x.id, Model: clip(x.call.Request.Model), Key: x.key, Team: team}, names)
	if unknown != "" {
		x.leaveUnseen()
		f := failure(http.StatusServiceUnavailable, codeNoGuardrail, "the guardrail "+strconv.Quote(unknown)+" holds for the request, and there is none of that name; add it under guardrails")
		return &f
	}
	if _, vectors := x.dialect.(wire.Embedder); x.guard.OnResponse() && !vectors { // which have no words, and may be base64
		if f := x.unguarded(); f != nil {
			x.leaveUnseen()
			return f
		}
		x.call.Censor = &censor{x.r.Context(), x.guard}
	}
	return x.guardBody()
}

// unguarded says why the answer cannot be judged; nil: it can.
func (x *exchange) unguarded() *wire.Failure {
	q := &x.call.Request
	what := ""
	switch _, opaque := x.dialect.(wire.Opaque); {
	case q.Background:
		what = "background: true, whose answer is fetched past it"
	case opaque && x.dialect.Name() != "speech" && q.Stream:
		what = "a stream of this route"
	case opaque && x.dialect.Name() != "speech" && q.Raw:
		what = "an answer of this route that is not JSON"
	default:
		return nil
	}
	f := failure(http.StatusBadRequest, codeInvalid, "a guardrail judges the answers to this request, and it cannot judge "+what+"; ask without")
	return &f
}

// guardBody has the body judged, and goes on with what is left of it.
func (x *exchange) guardBody() *wire.Failure {
	was := x.call.Request.Body
	judge := x.guard.Request
	if kind := x.form(); kind != "" {
		judge = func(ctx context.Context, body []byte) ([]byte, error) { return guardForm(ctx, x.guard, body, kind) }
	}
	body, err := judge(x.r.Context(), was)
	if err != nil {
		return x.blockedRequest(err)
	}
	if len(body) == len(was) && &body[0] == &was[0] {
		return nil
	}
	if own := x.thread.own; own != nil { // what is kept of the conversation is what the provider was told
		if x.thread.own, err = x.guard.Request(x.r.Context(), own); err != nil {
			return x.blockedRequest(err)
		}
	}
	x.kept.again(body)
	return x.goOnWith(body)
}

// blockedRequest is the failure of a request that does not pass. Nothing of it is kept.
func (x *exchange) blockedRequest(err error) *wire.Failure {
	x.kept.leaveOut("[left out: a guardrail blocked the request]")
	f := x.guardFailure(err)
	return &f
}

// leaveUnseen leaves the request's body out of what is kept where guards hold for it, or may, that have not looked at it.
func (x *exchange) leaveUnseen() {
	if x.kept != nil && x.cfg.Guardrails.Has(x.who.Guarded()) {
		x.kept.leaveOut("[left out: the request was refused before a guardrail could look at it]")
	}
}

// goOnWith puts a guarded body in the place of the client's.
func (x *exchange) goOnWith(body []byte) *wire.Failure {
	before := x.call.Request
	buf := attempt.GetBuffer(len(body))
	buf.B = append(buf.B, body...)
	x.call.Body.Release()
	x.call.Body = buf
	request, err := x.parse()
	if err != nil {
		f := badRequest(err)
		return &f
	}
	if x.inPath.found {
		request.Model, request.Stream = x.inPath.model, x.inPath.stream
	}
	request.Previous, request.Carry = before.Previous, before.Carry // the answer says the id, which an expanded body has no more
	x.call.Request, x.call.Canonical = request, nil
	return nil
}

// guardFailure is what a guard's refusal is to the client.
func (x *exchange) guardFailure(err error) wire.Failure {
	var b *guardrail.Blocked
	if !errors.As(err, &b) {
		return failure(http.StatusInternalServerError, codeInternal, "a guardrail met a bug of the gateway's own")
	}
	f := failure(http.StatusBadRequest, codeGuardrail, b.Error())
	if b.Failed {
		f = failure(http.StatusServiceUnavailable, codeNoGuardrail, b.Error())
	}
	f.RequestID = x.id
	return f
}

// blockedAnswer is the failure of an answer that a guard did not let out.
func (x *exchange) blockedAnswer() (wire.Failure, bool) {
	b := x.guard.Blocked()
	if b == nil {
		return wire.Failure{}, false
	}
	return x.guardFailure(b), true
}

// mayPassUnseen says why a request that is not looked into does not pass: guards would have to.
func (x *exchange) mayPassUnseen() *wire.Failure {
	names := x.cfg.Guardrails.Names(nil, x.who.Guarded())
	if len(names) == 0 {
		return nil
	}
	f := failure(http.StatusForbidden, codeRouteNotAllowed, "the guardrail "+strconv.Quote(names[0])+" holds for the request"+passedUnseenWords)
	return &f
}

// guarded are what the guards did, for the journal.
func (x *exchange) guarded() []journal.Guardrail {
	facts := x.guard.Facts()
	if len(facts) == 0 {
		return nil
	}
	out := make([]journal.Guardrail, len(facts))
	for i, f := range facts {
		out[i] = journal.Guardrail{Name: f.Guard, Phase: f.Phase, Action: f.Action}
	}
	return out
}

// guardMarks tell answers apart that are kept: those of other guards, or of guards that were other ones, are others.
func (x *exchange) guardMarks() []string { return x.guard.Marks() }

// censor is the guards of a request's answers.
type censor struct {
	ctx context.Context //nolint:containedctx // the request's, as long as its attempts
	w   *guardrail.Watch
}

// Filter implements attempt.Censor.
func (c *censor) Filter() wire.Filter { return c.w.Filter(c.ctx) }

// Answer implements attempt.Censor.
func (c *censor) Answer(body []byte) ([]byte, error) { return c.w.Answer(c.ctx, body) }

// again puts another body in the place of the request's copy.
func (c *copies) again(body []byte) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return
	}
	to := &c.of.Request
	if !to.Binary {
		to.Size, to.Text = 0, to.Text[:0]
	}
	c.add(to, body)
}

// leaveOut puts words in the place of the request's copy.
func (c *copies) leaveOut(words string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != nil {
		c.of.Request = journal.Copy{Kind: "text/plain", Text: []byte(words), Size: int64(len(words))}
	}
}
