package attempt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"evergate/internal/drill"
	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/quota/meters"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// What is read of an upstream's error reply, and for how long.
const (
	maxErrorBody     = 1 << 20
	errorBodyTimeout = 5 * time.Second
)

// exchange is one attempt: one HTTP exchange with an upstream.
type exchange struct {
	x          *run
	leg        *Leg
	move       failover.Move
	permit     health.Permit
	credential string  // its name
	span       [8]byte // in the request's trace; zero: it is not traced
	limits     route.Timeouts
	start      time.Time
	parent     context.Context //nolint:containedctx // an exchange lives inside one call of try

	ctx       context.Context //nolint:containedctx // as above
	watch     watch
	resp      *http.Response
	status    int
	firstByte time.Time
	content   time.Time // first content event, or the whole plain reply
	progress  wire.Progress
	// translation is nil where the upstream speaks the client's dialect.
	translation wire.Translation
	out         *Buffer    // the request as written for this target, until it is sent; nil: the client's own
	seam        *wire.Seam // R70: the answer can be gone on with, or goes on; nil: neither
	restart     bool       // it is asked anew: the target refused the answer's beginning
	prefilled   bool       // the request ends in the answer's beginning
	answering   bool       // the client has something of this answer
	unsealed    bool       // R10's repair was made
	unsealing   []string   // and left this out, in the client's own dialect
	step        int        // index of this attempt's entry in the trail, once it has one
	dropped     int        // malformed events that were left out
	noted       bool
	read        bool  // the body is read as an answer, and to be closed
	settled     bool  // the permit is
	armed       bool  // a hedge may be started beside it
	outrun      bool  // another one answered first (R71)
	blocked     bool  // a guardrail did not let its answer out
	completed   bool  // Call.Whole has heard of its answer
	sent        int64 // tokens of what the upstream was sent, estimated; 0: it was sent nothing
	received    int64 // bytes of the text that came
	hurried     bool  // the caller's own deadline has cut its limits (R13)
	// Once the permit is settled: how long it took, and the provider's failures in a row before.
	took           time.Duration
	failuresBefore int
	limit          *meters.Hold // of the provider's own limits; nil: it has none
	hedge          *hedge       // nil: it is none
	drill          *drill.Rule  // whose fault it met (R74); nil: none
}

// do performs the exchange and hands the answer to the sink; nil: a whole answer was delivered.
func (e *exchange) do() *fault.Fault {
	e.begin()
	defer e.close()
	return e.own(e.answer())
}

// begin starts the exchange's clock; close must follow.
func (e *exchange) begin() {
	ctx, cancel := context.WithCancelCause(e.parent)
	e.ctx = ctx
	e.watch.begin(e, cancel)
}

// close ends what is under way.
func (e *exchange) close() {
	e.watch.stop()
	if e.read {
		_ = e.resp.Body.Close() // nothing is left to be lost
	}
	e.watch.cancel(nil)
}

// answer asks, and takes the answer as far as it may go.
func (e *exchange) answer() *fault.Fault {
	resp, f := e.ask() //nolint:bodyclose // close does
	if f != nil {
		return f
	}
	e.read = true
	switch {
	case e.x.c.Request.Stream:
		return e.stream(resp)
	case e.x.c.Request.Raw:
		return e.raw(resp)
	}
	return e.plain(resp)
}

// ask sends the request and gives a 2xx response, whose body the caller closes. A refusal of sealed thoughts is
// repaired once (R10).
func (e *exchange) ask() (*http.Response, *fault.Fault) {
	resp, f := e.head2xx()
	if f != nil && f.Seal && e.unseal() {
		resp, f = e.askAgain()
	}
	if f != nil && e.prefilled && refusesPrefill(f) && e.anew() {
		resp, f = e.askAgain()
	}
	return resp, f
}

// askAgain sends what was written anew. The refusal's hurry was its own: the answer has the attempt's time.
func (e *exchange) askAgain() (*http.Response, *fault.Fault) {
	e.watch.calm()
	return e.head2xx()
}

func (e *exchange) head2xx() (*http.Response, *fault.Fault) {
	resp, f := e.send()
	if f != nil {
		return nil, f
	}
	e.firstByte = time.Now()
	e.resp, e.status = resp, resp.StatusCode
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close() //nolint:errcheck // as in do
		return nil, e.refused(resp)
	}
	return resp, nil
}

// send sends the request that was written for this target.
func (e *exchange) send() (*http.Response, *fault.Fault) {
	c, buf := e.x.c, e.out
	if buf == nil { // the client's own bytes go out
		buf = e.retained()
	}
	e.out = nil
	out := &Outgoing{
		Dialect: e.leg.Dialect.Name(), Model: e.leg.Target.Model, Translated: e.foreign(), Header: c.Header,
		Body: buf.B, ContentType: c.Request.ContentType, Credential: e.credential, Key: e.leg.Key, Stream: c.Request.Stream,
		Trace: c.Trace, Span: e.span, Release: buf.Release,
	}
	if e.drill != nil {
		return e.struck(out)
	}
	return e.dispatch(out)
}

// write writes the request for this target: the client's bytes with a few spans changed, or a translation. The fault
// says why the target cannot be asked (R46).
func (e *exchange) write() *fault.Fault {
	if f := e.otherSpace(); f != nil {
		return f
	}
	if f := e.incapable(); f != nil {
		return f
	}
	c := e.x.c
	w := wire.Rewrite{
		Model: e.leg.Target.Model, AskUsage: e.asksUsage(), Params: e.leg.Target.Params, OmitModel: e.leg.OmitModel,
	}
	if e.foreign() {
		return e.translate(w)
	}
	if f := e.listen(); f != nil {
		return f
	}
	buf := GetBuffer(len(c.Request.Body) + len(w.Model) + 64)
	body := c.Dialect.AppendRequest(buf.B, &c.Request, w)
	if len(body) > 0 && &body[0] == &c.Request.Body[0] {
		buf.Release()
	} else {
		buf.B = body
		e.out = buf
	}
	e.prefill()
	return nil
}

// foreign says whether the provider speaks another dialect than the client.
func (e *exchange) foreign() bool { return e.leg.Dialect.Name() != e.x.c.Dialect.Name() }

// asksUsage: where the provider can say usage in a stream and the client did not ask, it is asked for (CONTRACT §3).
func (e *exchange) asksUsage() bool {
	return e.x.c.Request.Stream && !e.x.c.Request.AskedUsage && e.leg.Upstream.CanStreamUsage()
}

// refused reads and classifies a reply that is not 2xx. The status decides already; the body only makes it more exact,
// so a body that is slow, cut or too long is read as far as it came.
func (e *exchange) refused(resp *http.Response) *fault.Fault {
	e.watch.hasten(errorBodyTimeout)
	buf := GetBuffer(4096)
	defer buf.Release()
	broken := readAll(resp.Body, buf, maxErrorBody)
	code, message := e.leg.Dialect.ReadError(buf.B)
	f := e.leg.Upstream.Classify(resp.StatusCode, resp.Header, buf.B, code, message)
	if f.Class == fault.Rejected && code == "" && message == "" && wordless(e.ctx, broken) {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Reset, Message: "the upstream's refusal broke off before its reason", Cause: broken})
	}
	if e.leg.Dialect.Side() && routeMissing(f, e.leg.Target.Model) {
		missing := *f
		missing.Class = fault.RouteMissing
		return &missing
	}
	if e.foreign() && f.Body != nil { // its body is in no form that the client's SDK reads
		said := *f
		said.Body = nil
		return &said
	}
	return f
}

// wordless says whether a refusal's body was lost with the connection: nobody knows then what was refused, the request or
// a signature in it, and what cannot be known is no answer to give to a client. A body that is slow or too long is neither.
func wordless(ctx context.Context, err error) bool {
	return err != nil && !errors.Is(err, io.ErrShortBuffer) && ctx.Err() == nil
}

// routeMissing says whether a refusal means that the server does not have the route (R9): a 405 or 501, or a 404 whose
// words are not about a model. A fault that was given another class was said more clearly, or is the user's rule.
func routeMissing(f *fault.Fault, model string) bool {
	switch f.Class {
	case fault.ModelMissing, fault.Rejected, fault.Upstream:
	default:
		return false
	}
	switch f.Status {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	case http.StatusNotFound:
		words := strings.ToLower(f.Code + " " + f.Message)
		named := len(model) > 3 && strings.Contains(words, strings.ToLower(model)) // shorter ids stand in any text
		return !named && !strings.Contains(words, "model")
	}
	return false
}

// own says whose doing a fault was: an attempt that ended because the client left, or the gateway stops, is nobody's
// fault (R13), whatever error it came out as.
func (e *exchange) own(f *fault.Fault) *fault.Fault {
	if f == nil || f == parked {
		return f
	}
	if context.Cause(e.ctx) == errOutrun { //nolint:errorlint // it is no other's
		e.outrun = true
		return &fault.Fault{Class: fault.ClientGone, Cause: errOutrun, Unasked: f.Unasked, Unsent: f.Unsent}
	}
	if e.parent.Err() != nil {
		return &fault.Fault{Class: fault.ClientGone, Cause: context.Cause(e.parent), Unasked: f.Unasked, Unsent: f.Unsent}
	}
	if e.leg.Key != "" {
		f = e.leg.callers(f)
	}
	if e.hurried && f.Class == fault.Timeout {
		return unhurried(f)
	}
	if e.foreign() {
		return meant(f)
	}
	return f
}

// unhurried is a timeout that came sooner because the caller waits for less than its target may take: nobody's fault, and
// no guard learns of it (R13). Another candidate may still be quicker.
func unhurried(f *fault.Fault) *fault.Fault {
	said := *f
	said.Unasked = true
	return &said
}

// meant gives the refusals that clients act on the code that they know them by: another vendor's word says nothing to
// them.
func meant(f *fault.Fault) *fault.Fault {
	said := *f
	switch f.Class {
	case fault.ContextLength:
		said.Code = "context_length_exceeded"
	case fault.ContentFilter:
		said.Code = "content_filter"
	default:
		return f
	}
	return &said
}

// finish settles the permit, completes the trail and states the attempt.
func (e *exchange) finish(f *fault.Fault) (failuresBefore int) {
	x := e.x
	answered := e.answering
	if !e.settled {
		e.settle(x.now, f, answered)
	}
	e.note(f)
	step := &x.res.Steps[e.step]
	step.Duration = e.took
	step.Usage, step.Estimated, step.Cost = e.spent(f)
	if !e.content.IsZero() {
		step.FirstContent = e.content.Sub(e.start)
	}
	x.busy(e)
	x.res.Dropped += e.dropped
	if answered {
		x.res.Reply, x.res.Said, x.res.Lost = e.progress.Reply, e.said(), e.lost()
	}
	if answered && x.res.Resumed {
		x.res.Reply.Usage = e.seam.Usage()
	}
	return e.failuresBefore
}

// settle settles the permit and states the attempt. It touches nothing but the exchange.
func (e *exchange) settle(now time.Time, f *fault.Fault, answered bool) {
	outcome := health.OutcomeOf(f)
	if e.leg.Key != "" {
		outcome = health.CallersOutcome(f)
	}
	if f != nil && f.Class == fault.ClientGone && e.silentTooLong(now) {
		outcome.Class = fault.Timeout
	}
	m := health.Measured{Total: now.Sub(e.start), Stream: e.x.c.Request.Stream, Outrun: e.outrun}
	if !e.firstByte.IsZero() {
		m.FirstByte = e.firstByte.Sub(e.start)
	}
	if !e.content.IsZero() {
		m.FirstContent = e.content.Sub(e.start)
	}
	if u := &e.progress.Reply.Usage; answered {
		m.Input, m.Cached, m.Output = u.Input, u.CachedInput, u.Output
	}
	e.failuresBefore = e.permit.Settle(now, outcome, m)
	e.settled, e.took = true, m.Total
	status, reason := e.outcome(f)
	fact := journal.Attempt{
		RequestID: e.x.c.ID, Provider: e.leg.Target.Provider, Model: e.leg.Target.Model, Credential: e.credential, ModelLabel: e.leg.Label,
		Outcome: reason, Why: string(e.move.Why), Status: status, Duration: m.Total, FirstContent: m.FirstContent,
		Drill: drillOf(e.drill), Shape: shapeOf(e.drill),
	}
	if e.hedge != nil {
		fact.Hedge, fact.Won = true, answered
	} else {
		fact.FromProvider, fact.FromReason = e.x.lostProvider, e.x.lostReason
	}
	fact.Usage, fact.Estimated, fact.Cost = e.spent(f)
	e.limit.Settle(now, meters.Amount{Tokens: fact.Usage.Input + fact.Usage.Output, Nano: fact.Cost.Nano})
	e.x.r.Journal.AttemptEnded(&fact)
}

// outcome is what the trail and the metrics say of the attempt: the upstream's status and a word.
func (e *exchange) outcome(f *fault.Fault) (status int, reason string) {
	switch {
	case f == nil:
		return e.status, "ok"
	case e.outrun:
		return e.status, outrunWord
	case e.blocked:
		return e.status, barredWord
	case f.Status != 0:
		return f.Status, f.Class.String()
	}
	return e.status, f.Class.String()
}

// release settles the permit of an exchange that did not come to its end: of a panic on the way, in a sink or a dialect,
// nobody learns anything about the provider, and a probe slot must not stay taken (R33).
func (e *exchange) release() {
	if e.out != nil {
		e.out.Release()
		e.out = nil
	}
	if !e.settled {
		e.settled = true
		e.limit.Settle(time.Now(), meters.Amount{})
		e.permit.Settle(time.Now(), health.OutcomeOf(&fault.Fault{}), health.Measured{})
	}
}

// silentTooLong is R13's limit: a client that hung up after the provider had brought no byte for so long tells on the
// provider.
func (e *exchange) silentTooLong(now time.Time) bool {
	if !e.firstByte.IsZero() {
		return false
	}
	limit := e.limits.Attempt
	if e.x.c.Request.Stream {
		limit = e.limits.FirstChunk
	}
	return now.Sub(e.start) > e.leg.Guards.SilentTooLong(e.leg.Target.Model, limit)
}

// note puts this attempt into the trail, or corrects its entry.
func (e *exchange) note(f *fault.Fault) {
	e.enter()
	s := &e.x.res.Steps[e.step]
	s.Status, s.Reason = e.outcome(f)
	if f != nil {
		s.Message = e.x.unquoted(f.Message)
		if e.resp != nil && !e.x.res.Committed && !e.outrun {
			e.x.res.Header = e.resp.Header
		}
	}
}

// enter puts this attempt into the trail, if it is not there.
func (e *exchange) enter() {
	if e.noted {
		return
	}
	e.noted = true
	e.step = len(e.x.res.Steps)
	e.x.res.Attempts++
	seam := 0
	if e.x.seam != nil {
		seam = e.x.seam.Len()
	}
	e.x.res.Steps = append(e.x.res.Steps, journal.Step{
		Provider: e.leg.Target.Provider, Model: e.leg.Target.Model, Label: e.leg.Label,
		Credential: e.credential, Why: string(e.move.Why), Seam: seam, Span: e.span, Start: e.start, Drill: drillOf(e.drill),
	})
}

// retained is the client's own body, to be released.
func (e *exchange) retained() *Buffer {
	buf := e.x.c.Body
	if e.hedge != nil { // that may be let go of while the hedge is on its own
		buf = e.hedge.body
	}
	buf.Retain()
	return buf
}

// head is what the sink may say about this answer.
func (e *exchange) head(stream bool, length int) *Head {
	if e.hedge == nil {
		e.note(nil)
	}
	if e.armed || e.hedge != nil {
		e.x.noteRace(e)
	}
	e.x.res.Leg, e.x.res.Credential, e.x.res.Header, e.x.res.Committed, e.answering = e.leg, e.move.Credential, e.resp.Header, true, true
	e.x.res.FirstContent = e.content
	return &Head{
		Leg: e.leg, Header: e.resp.Header, Length: length, Stream: stream, Steps: e.x.res.Steps, Attempts: e.x.res.Attempts,
		Lost: e.lost(),
	}
}

// complete says, once, that the answer is whole.
func (e *exchange) complete() {
	if whole := e.x.c.Whole; whole != nil && !e.completed {
		e.completed = true
		e.x.res.Reply = e.progress.Reply
		whole(&e.x.res)
	}
}

// forget lets go of what nothing but another attempt would need: a stream that has begun may stay open for long, and
// conversations are large.
func (e *exchange) forget() {
	e.x.c.Canonical = nil
	switch {
	case e.seam != nil: // the body may be needed again
		e.translation.Forget()
	case e.translation != nil:
		e.translation.Forget() // the body stays: an answer may quote its tools
	case !e.x.c.Keep:
		e.x.c.Release()
	}
}

// gone is a sink that takes nothing more: the client left (R13).
func gone(err error) *fault.Fault { return &fault.Fault{Class: fault.ClientGone, Cause: err} }

// readAll appends a body to buf until its end, an error, or limit bytes; it reports io.ErrShortBuffer at the limit.
func readAll(body io.Reader, buf *Buffer, limit int) error {
	for {
		if len(buf.B) == cap(buf.B) { // one byte of room is enough to learn of the end
			buf.Grow(512)
		}
		n, err := body.Read(buf.B[len(buf.B):cap(buf.B)])
		buf.B = buf.B[:len(buf.B)+n]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(buf.B) >= limit:
			return io.ErrShortBuffer
		}
	}
}

// unmarked is a body without the byte order mark that some servers begin with; no JSON parser wants it.
func unmarked(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }
