package ingress

import (
	"context"
	"net/http"

	"evergate/internal/attempt"
	"evergate/internal/mirror"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// mirror sends a copy of the request to the model's mirror, if it is among the share that is copied and may be. Nothing of
// the request's own way depends on it.
func (x *exchange) mirror() {
	m := x.reflection
	if x.h.random() >= m.Share {
		return
	}
	k := &mirror.Copy{RequestID: x.id, Route: x.label, MaxInFlight: m.MaxInFlight, Timeout: m.Timeout}
	if why := x.reflect(m, &k.Call); why != "" {
		return
	}
	k.Call.Body.Retain()
	x.h.copies.Start(k)
}

// reflect makes the call of a copy, without a hold on the body, or says why there must be none.
func (x *exchange) reflect(m *route.Mirror, c *attempt.Call) (why string) {
	if !generates(x.dialect) {
		return "only requests for a model's words are copied"
	}
	if d, ok := x.copies().Mirrors(x.cfg.Table, m); !ok {
		return d.Why
	}
	c.Legs = make([]attempt.Leg, 1)
	leg := &c.Legs[0]
	if !x.setLeg(leg, &m.Target) {
		return "its provider has no API for this kind of request"
	}
	if x.thread.native {
		return "the request continues a conversation that a provider keeps"
	}
	leg.Key, leg.Label = "", leg.Target.Model
	c.ID, c.Dialect, c.Request, c.Body, c.Start, c.Strict = x.id, x.dialect, x.call.Request, x.call.Body, x.start, x.call.Strict
	c.Trace = x.call.Trace
	c.Header = unrepeated(x.call.Header)
	return ""
}

// whyNoCopy says what is in the way of a copy of the request; empty: nothing.
func (x *exchange) whyNoCopy(m *route.Mirror) string {
	var call attempt.Call
	if why := x.reflect(m, &call); why != "" {
		return why
	}
	if !mirror.Ready(&call) {
		return "the request has a provider act, or go on with what it keeps, which must not be done twice"
	}
	return ""
}

// copies is what the mirror of the request has to satisfy.
func (x *exchange) copies() *route.Filter {
	names := []string{x.call.Request.Model}
	if x.wishes != nil {
		names = append(names, x.wishes.Models...)
	}
	return &route.Filter{
		Policies: x.holding(x.cfg.Table.PoliciesOfCopies(names, x.policiesOf()...)), Wishes: x.wishes, Brings: x.brings,
	}
}

// generates says whether a dialect asks for a model's words.
func generates(d wire.Dialect) bool {
	_, counts := d.(wire.Counter)
	_, words := d.(wire.Client)
	return words && !counts
}

// unrepeated is a request's header without what makes a second request the same as the first.
func unrepeated(h http.Header) http.Header {
	const key, xKey = "Idempotency-Key", "X-Idempotency-Key"
	if h[key] == nil && h[xKey] == nil {
		return h
	}
	h = h.Clone()
	delete(h, key)
	delete(h, xKey)
	return h
}

// StopCopies waits until ctx ends for the copies under way to mirrors, and cuts off what is left then. None is made after it.
func (h *Handler) StopCopies(ctx context.Context) { h.copies.Stop(ctx) }
