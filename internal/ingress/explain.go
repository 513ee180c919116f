package ingress

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/explain"
	"evergate/internal/failover"
	"evergate/internal/journal"
	"evergate/internal/nearest"
	"evergate/internal/prefer"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// Explain says what a request would come to if it came now (R72), by the code that serves: it is read, routed and made ready
// as any other, and then played in place of being run. Nobody is asked and no state moves. The error is an
// *explain.QuestionError: the question itself is wrong; what the gateway would refuse is an answer.
func (h *Handler) Explain(ctx context.Context, q explain.Question) (*explain.Answer, error) {
	if err := q.Settle(); err != nil {
		return nil, err
	}
	x, err := h.imagine(ctx, &q)
	if err != nil {
		return nil, err
	}
	defer x.call.Release()
	c := explain.Case{
		Answer:   explain.Answer{Model: q.Model, Dialect: q.Dialect, At: x.start},
		Disabled: x.cfg.Table.Disabled,
	}
	if f := x.explain(&c); f != nil {
		c.Answer.Refused = &explain.Refusal{Status: f.Status, Code: f.Code, Message: f.Message, Param: f.Param}
	}
	return explain.Compose(&c), nil
}

// imagine makes the exchange of a request that nobody sent.
func (h *Handler) imagine(ctx context.Context, q *explain.Question) (*exchange, error) {
	cfg := h.config.Load()
	if q.Key == "" {
		open := *cfg
		open.Callers = nil
		cfg = &open
	} else if cfg.Callers == nil || cfg.Callers.Named(q.Key) == nil {
		return nil, &explain.QuestionError{Message: "there is no key " + strconv.Quote(clip(q.Key)) + " here", Param: "key"}
	}
	x := &exchange{h: h, cfg: cfg, start: time.Now(), key: q.Key, imagined: true}
	if q.Key != "" {
		x.who = cfg.Callers.Named(q.Key)
	}
	path := h.find(x, q)
	if x.dialect == nil {
		return nil, h.noDialect(q.Dialect)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway/", http.NoBody)
	if err != nil {
		return nil, err
	}
	r.URL.Path = path
	if q.Prefer != "" {
		r.Header.Set(prefer.Header, q.Prefer)
	}
	for _, name := range q.Brings {
		r.Header.Set(KeyHeader(name), "the-callers-own")
	}
	x.r = r
	x.call.Body = attempt.GetBuffer(len(q.Body))
	x.call.Body.B = append(x.call.Body.B, q.Body...)
	x.call.Dialect, x.call.Header, x.call.Start, x.call.Strict = x.dialect, r.Header, x.start, q.Strict
	return x, nil
}

// find sets the dialect of a question and gives the path that clients use.
func (h *Handler) find(x *exchange, q *explain.Question) (path string) {
	for at, d := range h.routes {
		if d.Name() == q.Dialect && strings.HasPrefix(at, "/v1/") {
			x.dialect = d
			return at
		}
	}
	for name, v := range h.verbs {
		if v.Dialect.Name() == q.Dialect && (x.dialect == nil || v.Stream == q.Stream) {
			x.dialect, x.inPath = v.Dialect, place{found: true, model: q.Model, stream: v.Stream && q.Stream}
			path = "/v1beta/models/" + q.Model + ":" + name
		}
	}
	return path
}

func (h *Handler) noDialect(name string) error {
	var known []string
	for at, d := range h.routes {
		if strings.HasPrefix(at, "/v1/") {
			known = append(known, d.Name())
		}
	}
	for _, v := range h.verbs {
		known = append(known, v.Dialect.Name())
	}
	message := "there is no dialect " + strconv.Quote(clip(name))
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		message += "; did you mean " + strconv.Quote(near[0]) + "?"
	}
	return &explain.QuestionError{Message: message, Param: "dialect"}
}

// explain takes an imagined request through, up to where attempts would begin, and plays those.
func (x *exchange) explain(c *explain.Case) *wire.Failure {
	if f := x.mayTake(); f != nil {
		return f
	}
	request, err := x.dialect.ReadRequest(x.call.Body.B)
	if err != nil {
		f := badRequest(err)
		return &f
	}
	if x.inPath.found {
		request.Model, request.Stream = x.inPath.model, x.inPath.stream
	}
	x.call.Request = request
	if f := x.readPreferences(); f != nil {
		return f
	}
	request = x.call.Request
	c.Answer.Stream = request.Stream
	if request.Previous != "" {
		x.recall(c)
	}
	x.judged = func(t *route.Target, j route.Judgement) {
		c.Judged = append(c.Judged, explain.Judged{Provider: t.Provider, Model: t.Model, Judgement: j})
	}
	var resolution route.Resolution
	inv, f := x.resolve(&resolution)
	c.Name, c.Further = x.understand(inv)
	c.Dropped = resolution.Dropped
	if f != nil {
		return f
	}
	c.Resolution = &resolution
	legs, f := x.ready(&resolution, inv)
	switch {
	case f != nil:
		return f
	case len(legs) == 0:
		c.Answer.Notes = append(c.Answer.Notes, "No provider counts tokens in this dialect: the gateway answers with an estimate of its own.")
		return nil
	}
	x.call.Legs = legs
	if m := resolution.Mirror; m != nil {
		c.Answer.Mirror = explain.MirrorOf(m, x.whyNoCopy(m))
	}
	return x.play(c)
}

// understand says what the request's model stands for, and, after as many targets as its own are, those that it names after it.
func (x *exchange) understand(inv *route.Inventory) (u route.Understood, own int) {
	if inv == nil {
		inv = x.h.discovery.Snapshot()
	}
	u = x.cfg.Table.Understand(inv, x.call.Request.Model)
	if x.wishes == nil {
		return u, 0
	}
	if x.wishes.Chosen {
		u.Strategy = x.wishes.Strategy
	}
	if len(x.wishes.Models) > 0 {
		own = len(u.Targets)
	}
	for _, name := range x.wishes.Models {
		next := x.cfg.Table.Understand(inv, name)
		u.Targets = slices.Concat(u.Targets, next.Targets)
	}
	return u, own
}

// recall finds who has the earlier answer that the request continues. The conversation itself is not looked at.
func (x *exchange) recall(c *explain.Case) {
	x.thread.prev, x.thread.native = x.call.Request.Previous, true
	search := x.h.threads.Search(x.r.Context())
	if a, ok := x.h.threads.Peek(x.start, &search, x.key, x.thread.prev); ok {
		x.thread.provider, x.thread.native = a.Provider, a.Provider != ""
	}
	if c.Continues = x.thread.native; !c.Continues {
		c.Answer.Notes = append(c.Answer.Notes, "The gateway has the conversation before this request and puts it in; what it holds is not looked at here.")
	}
}

// play plays the attempts.
func (x *exchange) play(c *explain.Case) *wire.Failure {
	legs := x.call.Legs
	c.Guards = x.call.Guards()
	for i := range legs {
		leg := &legs[i]
		k := explain.Target{Target: failover.Target{Target: &leg.Target, Settings: leg.Settings}, Dialect: leg.Dialect.Name()}
		k.FirstContent, _ = leg.Guards.FirstContent(x.start, leg.Target.Model)
		c.Targets = append(c.Targets, k)
	}
	c.Played = x.h.runner.Play(&x.call)
	if len(c.Played.Turns) > 0 {
		return nil
	}
	f := x.failureOf(&attempt.Result{Final: c.Played.Final, Steps: passedOver(legs, &c.Played)})
	return &f
}

// passedOver is the trail of a request that nobody is asked for.
func passedOver(legs []attempt.Leg, p *explain.Played) (steps []journal.Step) {
	for i := range legs {
		reason, b := "", p.Blocked[i]
		switch f := p.Unable[i]; {
		case legs[i].Target.On != route.NoRefusal: // its turn did not come
		case f != nil:
			reason = f.Class.String()
		case b.Blocked():
			reason = string(b.Reason)
		case p.Later[i].Blocked():
			reason = string(p.Later[i].Reason)
		}
		if reason != "" {
			steps = append(steps, journal.Step{Provider: legs[i].Target.Provider, Model: legs[i].Target.Model, Skipped: true, Reason: reason})
		}
	}
	return steps
}
