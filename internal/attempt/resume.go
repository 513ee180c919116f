package attempt

import (
	"net/http"
	"time"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Resuming (R70): the stream of a model that has it on is told through a seam, which outlives the attempt. When it breaks,
// the session names another candidate; the request for that one ends in the text so far as the model's own last turn, or, where
// that is refused, is the first one again. Until that attempt has content it may fail like any other, and nothing it said
// has reached the client.

// listen has a stream in the client's own dialect told through a seam, if it may be resumed: that alone needs a codec.
func (e *exchange) listen() *fault.Fault {
	x, c := e.x, e.x.c
	censored := c.censored()
	switch seamed := x.seamed(e.leg); {
	case !seamed && x.seam != nil:
		return unable(&wire.RequestError{Message: "its API cannot go on with an answer"})
	case !seamed && !censored:
		return nil
	case censored && !wire.CanTranslate(c.Dialect, e.leg.Dialect):
		return unable(&wire.RequestError{Message: "a guardrail judges the answer, and the answers of its API cannot be read"})
	}
	if c.Canonical == nil {
		q, err := wire.Decode(c.Dialect, &c.Request)
		if err != nil && (x.seam != nil || censored) {
			return unable(err)
		}
		if err != nil {
			return nil // what this gateway cannot read the provider may; it is passed on as it comes
		}
		c.Canonical = q
	}
	e.translation = wire.NewTranslation(c.Dialect, e.leg.Dialect, c.Canonical, wire.Target{Model: e.leg.Target.Model})
	e.censor()
	e.sew()
	return nil
}

// seamed says whether answers of a target can be told through a seam.
func (x *run) seamed(leg *Leg) bool {
	c := x.c
	return c.Resume && c.Request.Stream && c.Request.Choices <= 1 && wire.CanTranslate(c.Dialect, leg.Dialect)
}

// sew puts the seam between the upstream's decoder and the client's encoder: the request's own, if its stream has begun.
func (e *exchange) sew() {
	if !e.x.seamed(e.leg) {
		return
	}
	if e.seam = e.x.seam; e.seam == nil {
		e.seam = &wire.Seam{}
	} else {
		e.seam.Again(e.prefilled)
	}
	e.translation.Through(e.seam)
}

// prefix is what the request for this target is to end in; empty: it begins anew.
func (e *exchange) prefix() string {
	e.prefilled = false
	if e.x.seam == nil || e.restart {
		return ""
	}
	if d, ok := e.leg.Dialect.(wire.Prefiller); ok && !e.takesPrefill(d) {
		return ""
	}
	p := e.x.seam.Prefix()
	e.prefilled = p != ""
	return p
}

// prefill puts the answer's beginning into a request that goes out in the client's own words.
func (e *exchange) prefill() {
	text := e.prefix()
	if e.x.seam == nil {
		return
	}
	if e.seam.Again(false); text == "" {
		return
	}
	body := e.x.c.Request.Body
	if e.out != nil {
		body = e.out.B
	}
	buf := GetBuffer(len(body) + len(text) + 256)
	out, ok := body, false
	if d, can := e.leg.Dialect.(wire.Prefiller); can {
		out, ok = d.AppendPrefilled(buf.B, body, text)
	}
	if !ok {
		buf.Release()
		e.prefilled = false
		return
	}
	buf.B = out
	if e.out != nil {
		e.out.Release()
	}
	e.out = buf
	e.seam.Again(true)
}

// refusesPrefill says whether an upstream's refusal may be about the answer's beginning in the request.
func refusesPrefill(f *fault.Fault) bool {
	return (f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity) && f.Class != fault.ContextLength
}

// anew writes the request as it was first asked: this target takes no beginning of an answer.
func (e *exchange) anew() bool {
	if e.parent.Err() != nil {
		return false
	}
	e.restart = true
	return e.write() == nil
}

// goesOn is the commit point of an attempt that resumes: the client has its head already.
func (e *exchange) goesOn() {
	e.note(nil)
	e.answering = true
	e.x.res.Leg, e.x.res.Credential, e.x.res.Resumed = e.leg, e.move.Credential, true
}

// resume takes an attempt whose stream broke to the session as one that is to be gone on with; false: it is not.
func (x *run) resume(e *exchange, f *fault.Fault) bool {
	if f.Class != fault.Cut || !e.answering || x.seam == nil || !x.seam.Able() {
		return false
	}
	var deadline time.Time
	if total := e.limits.StreamTotal; total > 0 {
		if deadline = x.c.Start.Add(total); !x.now.Before(deadline) {
			return false
		}
	}
	if x.broke == nil {
		x.broke = f
	}
	x.seam.Broke(x.prompt())
	x.session.Resume(e.move, f, deadline)
	x.deadline = deadline
	return true
}

// prompt is an estimate of the request's tokens.
func (x *run) prompt() int64 {
	q, err := wire.Decode(x.c.Dialect, &x.c.Request)
	if err != nil || q.Generation() == nil {
		return 0
	}
	return llm.Estimate(q.Generation())
}

// asWhileResuming is how the session is told of a failure: while a stream is resumed, what one candidate refuses is not the
// client's answer, for the client has half of another one.
func (x *run) asWhileResuming(f *fault.Fault) *fault.Fault {
	if x.broke == nil || f.Class == fault.ClientGone || f.Class == fault.Cut || f.Class.Retryable() {
		return f
	}
	next := *f
	next.Class = fault.Next
	return &next
}
