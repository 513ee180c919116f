package attempt

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// translate writes the request in the upstream's dialect (ARCHITECTURE decision 1).
func (e *exchange) translate(w wire.Rewrite) *fault.Fault {
	c := e.x.c
	if c.Canonical == nil {
		q, err := wire.Decode(c.Dialect, &c.Request)
		if err != nil {
			return unable(err)
		}
		c.Canonical = q
	}
	terms := *e.leg.Terms
	terms.Unsealed = e.unsealed
	terms.Prefix = e.prefix()
	e.translation = wire.NewTranslation(c.Dialect, e.leg.Dialect, c.Canonical, terms)
	e.censor()
	e.sew()
	buf := GetBuffer(len(c.Request.Body) + 1024)
	body, err := e.translation.AppendRequest(buf.B, w)
	if err == nil {
		err = e.missing()
	}
	if err != nil {
		buf.Release()
		return unable(err)
	}
	buf.B = body
	e.out = buf
	return nil
}

// missing says what the upstream's API has no place for, if that makes the target unable: a part of the question itself, or
// anything where the caller is strict.
func (e *exchange) missing() error {
	lost, strict := e.translation.Unsaid(), ""
	if e.x.c.Strict {
		lost, strict = e.translation.Dropped(), "strict: "
	}
	if len(lost) == 0 {
		return nil
	}
	return &wire.RequestError{Message: strict + "the API of " + e.leg.Target.Provider + " has no place for this request's " + strings.Join(lost, ", ")}
}

// otherSpace refuses a target whose model is not the first one's, where vectors are asked for: those of two models cannot be
// compared, and whoever stored the one would find nothing by the other (R46).
func (e *exchange) otherSpace() *fault.Fault {
	first := &e.x.c.Legs[0]
	if e.leg == first {
		return nil
	}
	if _, vectors := e.x.c.Dialect.(wire.Embedder); !vectors || embeddingModel(e.leg) == embeddingModel(first) {
		return nil
	}
	return &fault.Fault{
		Class: fault.Unable, Status: http.StatusBadRequest,
		Message: "vectors of " + e.leg.Target.Model + " cannot be compared with those of " + first.Target.Model,
	}
}

// embeddingModel is a model's id whatever the provider puts before it (openai/text-embedding-3-small).
func embeddingModel(leg *Leg) string {
	id := cmp.Or(leg.Target.BaseModel, leg.Target.Model)
	return strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
}

// unable is a request that a target's API cannot say (R46).
func unable(err error) *fault.Fault {
	f := &fault.Fault{Class: fault.Unable, Status: http.StatusBadRequest, Message: err.Error()}
	var re *wire.RequestError
	if errors.As(err, &re) {
		f.Param, f.Code = re.Param, re.Code
	}
	return f
}

// unseal writes the request again without its sealed thoughts (R10); false: there is nothing that could be left out,
// or it was already.
func (e *exchange) unseal() bool {
	if e.unsealed || e.parent.Err() != nil {
		return false
	}
	if e.armed || e.hedge != nil { // another one may be written at this moment, or the request be let go of
		e.x.mu.Lock()
		defer e.x.mu.Unlock()
		if r := e.x.race; r != nil && (r.winner != nil || r.off) {
			return false
		}
	}
	e.unsealed = true
	if e.foreign() {
		before := len(e.translation.Dropped())
		return e.write() == nil && len(e.translation.Dropped()) > before
	}
	u, ok := e.leg.Dialect.(wire.Unsealer)
	if !ok || e.x.c.Strict {
		return false
	}
	if e.write() != nil {
		return false
	}
	body := e.x.c.Request.Body
	if e.out != nil {
		body = e.out.B
	}
	buf := GetBuffer(len(body))
	repaired, left := u.AppendUnsealed(buf.B, body)
	if e.out != nil {
		e.out.Release()
		e.out = nil
	}
	if len(left) == 0 {
		buf.Release()
		return false
	}
	buf.B = repaired
	e.out, e.unsealing = buf, left
	return true
}

// lost are the names of what the request or the answer lost on its way.
func (e *exchange) lost() []string {
	if e.foreign() {
		return e.translation.Dropped()
	}
	return e.unsealing
}

// said is what a stream's client was told.
func (e *exchange) said() wire.Said {
	if e.translation != nil {
		return e.translation.Said()
	}
	p := &e.progress
	return wire.Said{ID: p.ID, Model: p.Reply.Model, Created: p.Created, Sequence: p.Sequence, Begun: e.x.res.Committed}
}

// asTranslated gives an answer that the upstream's dialect judged good in the client's words.
func (e *exchange) asTranslated(body []byte) (*Buffer, *fault.Fault) {
	buf := GetBuffer(len(body) + 512)
	if e.x.c.Censor != nil { // which may take its time
		e.watch.pause(time.Now())
	}
	out, err := e.translation.AppendReply(buf.B, body)
	if e.x.c.Censor != nil {
		e.watch.resume(time.Now())
	}
	if err != nil {
		buf.Release()
		if why := e.translation.Stopped(); why != nil {
			return nil, e.barred(why)
		}
		return nil, e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer cannot be translated: " + err.Error(), Cause: err})
	}
	buf.B = out
	return buf, nil
}
