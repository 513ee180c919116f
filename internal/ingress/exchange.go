package ingress

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/affinity"
	"evergate/internal/attempt"
	"evergate/internal/front"
	"evergate/internal/guardrail"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/nearest"
	"evergate/internal/quota/meters"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// maxModelName is how long a model's name may be, in bytes: it goes into headers, logs and the guards' tables.
const maxModelName = 1024

// exchange is one client request and its response.
type exchange struct {
	h       *Handler
	cfg     *Config
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	dialect wire.Dialect
	start   time.Time
	id      string

	inPath place
	thread thread

	key   string              // the caller's, by name
	who   *identity.Principal // nil: nobody in particular, since no key is asked for
	taken identity.Route      // where the dialect does not say it
	body  bodyState
	call  attempt.Call
	label string
	out   response
	told  bool // the journal has the fact of this request
	// hold is what it holds of limits and budgets; nil: nothing. limited: its answer tells the client how they stand.
	hold    *meters.Hold
	limited bool
	refusal *journal.LimitRefusal // the limit that let it not in; nil: none
	// guard is who judges its words; nil: nobody does.
	guard *guardrail.Watch
	// cleared: whoever was to judge the request has let it pass.
	cleared bool
	// kept are copies of the bodies that are to be kept; nil: none is.
	kept *copies
	// cache is the request's part in the cache of answers; nil: its model has none.
	cache *caching
	// reflection is the mirror that a copy of the request is for; nil: none is made.
	reflection *route.Mirror
	// wishes are the request's preferences; nil: it has none.
	wishes *route.Preferences
	// visit is the request's part in its conversation.
	visit affinity.Visit
	// imagined: it is only asked what would come of it; judged then hears how targets were judged (R72).
	imagined bool
	judged   func(*route.Target, route.Judgement)
	order    route.Order
}

// place is what the path says of a request, in dialects that say it there.
type place struct {
	found  bool
	model  string
	stream bool
}

// serve takes the request through: caller, body, model, attempts, answer. What is needed only before or after the
// attempts is in functions of its own: this one lies on the stack of every open stream.
func (x *exchange) serve() {
	if f := x.take(); f != nil {
		x.refuse(f)
		return
	}
	defer x.call.Release()
	defer x.crashed()
	if f := x.readRequest(); f != nil {
		x.leaveUnseen()
		x.refuse(f)
		return
	}
	if f := x.guardRequest(); f != nil {
		x.refuse(f)
		return
	}
	x.cleared = true
	x.out.x = x
	defer x.out.stop() // also after a panic: its timer must not write to a response that is over
	if f := x.admit(); f != nil {
		x.refuse(f)
		return
	}
	if len(x.call.Legs) == 0 { // only a count, which nobody but the gateway can give, comes here
		x.estimate(&attempt.Result{})
		return
	}
	if x.cached() {
		return
	}
	if x.reflection != nil {
		x.mirror()
	}
	x.conclude(x.h.runner.Run(x.r.Context(), &x.call, x.sink()))
}

// take lets the caller in and reads the body.
func (x *exchange) take() *wire.Failure {
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "this route takes POST, not "+x.r.Method)
		return &f
	}
	if f := x.authenticate(); f != nil {
		return f
	}
	body, f := x.readBody()
	if x.kept != nil && body != nil {
		x.kept.request(body.B)
	}
	x.call.Caller, x.call.ID, x.call.Body, x.call.Dialect, x.call.Header, x.call.Start = x.key, x.id, body, x.dialect, x.r.Header, x.start
	return f
}

// conclude answers where the call was not answered.
func (x *exchange) conclude(res *attempt.Result) {
	if x.canEstimate(res) {
		x.estimate(res)
		return
	}
	x.end(res)
}

// readRequest has the dialect read the body and resolves the model.
func (x *exchange) readRequest() *wire.Failure {
	request, err := x.parse()
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
	if d, ok := x.dialect.(threaded); ok {
		if f := x.continueThread(d); f != nil {
			return f
		}
	}
	legs, f := x.legs()
	x.call.Legs = legs
	return f
}

// checkContentType refuses what is certainly not JSON, nor a form where one is taken; a request without a content type is taken at its body's word.
func checkContentType(h http.Header, form bool) *wire.Failure {
	if ct := h.Get("Content-Type"); !form && ct != "" && ct != "application/json" {
		media, _, err := mime.ParseMediaType(ct)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			f := failure(http.StatusUnsupportedMediaType, codeInvalid, "the content type is "+strconv.Quote(clip(ct))+
				"; send the header Content-Type: application/json")
			return &f
		}
	}
	if ce := h.Get("Content-Encoding"); ce != "" && ce != "identity" {
		f := failure(http.StatusUnsupportedMediaType, codeInvalid, "the request body is encoded as "+strconv.Quote(clip(ce))+
			"; send it unencoded")
		return &f
	}
	return nil
}

// legs resolves the model and makes its targets ready. Refusals are made elsewhere, and legs in their place: what
// this function takes of the stack it costs every open stream.
func (x *exchange) legs() ([]attempt.Leg, *wire.Failure) {
	var resolution route.Resolution
	inv, f := x.resolve(&resolution)
	if f != nil {
		return nil, f
	}
	legs, f := x.ready(&resolution, inv)
	if len(legs) > 0 {
		x.reflection = resolution.Mirror
	}
	return legs, f
}

// resolve finds the model's targets, in the order in which they are to be tried.
func (x *exchange) resolve(resolution *route.Resolution) (*route.Inventory, *wire.Failure) {
	name := x.call.Request.Model
	if f := x.mayAsk(name); f != nil {
		return nil, f
	}
	var outcome route.Outcome
	inv := x.h.discovery.Snapshot()
	*resolution, outcome = x.cfg.Table.Resolve(inv, name)
	if outcome == route.NotFound {
		inv = x.discover(name)
		*resolution, outcome = x.cfg.Table.Resolve(inv, name)
	}
	if outcome != route.Found && !(outcome == route.AllDisabled && x.hasFurther()) {
		return inv, x.modelNotFound(name, outcome)
	}
	x.lookAgain(resolution)
	if x.chooses(resolution) {
		return inv, x.choose(resolution, inv)
	}
	x.sequence(resolution)
	return inv, nil
}

// discover gives an id that nobody is known to have the chance of a look at the providers' lists (reference 003). Who only
// asks what would come of it has nobody asked.
func (x *exchange) discover(name string) *route.Inventory {
	if x.imagined {
		return x.h.discovery.Snapshot()
	}
	return x.h.discovery.Await(x.r.Context(), name)
}

// lookAgain has a provider's list read again that does not have the model which the request names there. The request does not
// wait for it: it goes out, and the provider says what it knows.
func (x *exchange) lookAgain(resolution *route.Resolution) {
	if resolution.Label == route.OtherLabel && !x.imagined && len(resolution.Targets) > 0 {
		x.h.discovery.Look(resolution.Targets[0].Provider)
	}
}

// sequence puts a model's targets in the order in which they are to be tried.
func (x *exchange) sequence(resolution *route.Resolution) {
	x.arrange(resolution)
	x.stay(resolution)
	resolution.StaleLast(x.h.discovery.Snapshot())
	resolution.Hold(x.start, x.closedAt)
}

// ready makes the targets of a resolution ready to be asked.
func (x *exchange) ready(resolution *route.Resolution, inv *route.Inventory) ([]attempt.Leg, *wire.Failure) {
	x.label, x.order, x.call.Hedge = resolution.Label, resolution.Order, resolution.Hedge
	x.call.Resume = resolution.Resume && !x.thread.native // who has the beginning of that conversation has to give the whole answer
	legs := make([]attempt.Leg, 0, resolution.Len())
	for i := range resolution.Len() {
		leg := &legs[:len(legs)+1][len(legs)]
		if !x.setLeg(leg, resolution.At(i)) || !x.fits(leg) {
			continue
		}
		if x.visit.Known() && x.served(&leg.Target) {
			leg.Near = x.near(leg)
		}
		if leg.Label = leg.Target.Model; (leg.Target.Unlisted || resolution.Label == route.OtherLabel) && !inv.Has(leg.Target.Provider, leg.Target.Model) {
			leg.Label = route.OtherLabel
		}
		legs = legs[:len(legs)+1]
	}
	if len(legs) == 0 || legs[0].Target.On != route.NoRefusal { // those for a refusal alone are no answer
		return nil, x.noLegs(x.call.Request.Model)
	}
	return legs, nil
}

// closedAt is when the breaker of a target last closed (R34).
func (x *exchange) closedAt(provider, model string) time.Time {
	return x.cfg.Providers[provider].Guards.ClosedAt(model)
}

// mayAsk says why the caller may not ask for a model, nil if it may.
func (x *exchange) mayAsk(name string) *wire.Failure {
	long := len(name) > maxModelName
	if !long && x.who.MayUse(name) {
		return nil
	}
	f := failure(http.StatusForbidden, codeModelNotAllowed, "the key "+strconv.Quote(x.key)+" may not use the model "+strconv.Quote(clip(name)))
	if long {
		f = failure(http.StatusBadRequest, codeInvalid, fmt.Sprintf("the model's name is longer than %d bytes", maxModelName))
	}
	f.Param = "model"
	return &f
}

// noLegs is a model none of whose targets can be asked; nil where the gateway can give the answer itself.
func (x *exchange) noLegs(name string) *wire.Failure {
	if x.thread.native {
		return x.noThread()
	}
	if _, countable := x.dialect.(wire.Counter); countable {
		return nil
	}
	f := failure(http.StatusNotFound, codeNotFound, fmt.Sprintf("no provider of the model %q has a route for %s", clip(name), x.routeName()))
	return &f
}

// routeName is the operation as the client knows it: its path, or the verb of one that holds the model.
func (x *exchange) routeName() string {
	if path := x.dialect.Path(); path != "" {
		return path
	}
	return x.r.URL.Path[strings.LastIndexByte(x.r.URL.Path, ':')+1:]
}

// setLeg makes one target ready; false: its provider has no API for what is asked (R46).
func (x *exchange) setLeg(leg *attempt.Leg, t *route.Target) bool {
	p := x.cfg.Providers[t.Provider]
	model := cmp.Or(t.BaseModel, t.Model)
	d := x.h.dialects.Choose(x.dialect, p.Upstream.Speaks(model))
	if d == nil {
		return false
	}
	*leg = attempt.Leg{}
	leg.Target, leg.Guards, leg.Upstream, leg.Settings, leg.Dialect = *t, p.Guards, p.Upstream, p.Settings, d
	leg.Key, leg.Limit = x.broughtKey(p), p.Limit
	leg.OmitModel = p.Upstream.OmitsModel(d.Name(), model)
	if d.Name() != x.dialect.Name() {
		leg.Terms = x.terms(t, p.Upstream, model)
	}
	return true
}

// terms says for whom a request is translated.
func (x *exchange) terms(t *route.Target, up attempt.Upstream, model string) *wire.Target {
	terms := &wire.Target{Vendor: up.Maker(model), Quirks: up.Quirks(model), Answer: x.id, Created: x.start.Unix()}
	if t.MaxTokensField != "" {
		terms.Quirks.MaxTokensField = t.MaxTokensField
	}
	if t.DeveloperRole != nil {
		terms.Quirks.DeveloperRole = *t.DeveloperRole
	}
	return terms
}

func (x *exchange) modelNotFound(name string, why route.Outcome) *wire.Failure {
	message := "the model " + strconv.Quote(clip(name)) + " is not known here"
	if why == route.AllDisabled {
		message = "every target of the model " + strconv.Quote(clip(name)) + " is disabled in the configuration"
	} else if near := nearest.Names(name, x.usable(x.cfg.Table.Names(x.h.discovery.Snapshot())), 3); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	} else {
		message += "; GET /v1/models lists what is"
	}
	f := failure(http.StatusNotFound, codeModelNotFound, message)
	f.Param = "model"
	return &f
}

// usable leaves of models those that the caller may use: of others it hears nothing.
func (x *exchange) usable(models []string) []string {
	return slices.DeleteFunc(models, func(name string) bool { return !x.who.MayUse(name) })
}

// refuse answers a request that never came to an attempt.
func (x *exchange) refuse(f *wire.Failure) {
	x.reject(*f)
	x.tell(&attempt.Result{}, f.Status, f.Code)
	x.drainBody()
}

// end says what became of the call: an error where there was no whole answer, and the fact for the journal.
func (x *exchange) end(res *attempt.Result) {
	x.out.stop()
	if res.OK {
		x.out.close()
		x.keepReply(res)
		x.tell(res, http.StatusOK, "")
		return
	}
	f := x.failureOf(res)
	f.Said = res.Said
	status := f.Status
	if x.out.opened && status != statusClientGone { // the 200 is out; the error is in the stream
		status = http.StatusOK
	}
	x.copyFailure(f, ownBody(res.Final))
	x.tell(res, status, f.Code)
	switch {
	case x.out.committed && !x.out.stream:
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a reply off: a plain body that ended early must not look whole
	case x.out.opened:
		x.out.fail(f)
	default:
		extra := x.failureHeader(res, f)
		x.limitWrite()
		if body := ownBody(res.Final); body != nil {
			writeError(x.w, x.dialect, f.Status, x.id, body, extra)
		} else {
			writeFailure(x.w, x.dialect, f, extra)
		}
	}
}

// crashed tells the client and the journal of a panic on the way, which is a bug of ours: net/http writes it to the log
// and closes the connection after it. Of a request that came to its end it says nothing.
func (x *exchange) crashed() {
	if x.told {
		return
	}
	x.out.stop()
	if !x.cleared {
		x.leaveUnseen()
	}
	f := failure(http.StatusInternalServerError, codeInternal, "the gateway met a bug of its own; its log tells more")
	f.RequestID = x.id
	x.copyFailure(f, nil)
	x.tell(&attempt.Result{Committed: x.out.committed}, f.Status, f.Code)
	switch {
	case x.out.committed && !x.out.stream: // broken off
	case x.out.opened:
		x.out.fail(f)
	default:
		x.limitWrite()
		writeFailure(x.w, x.dialect, f, nil)
		_ = x.control.Flush() // nothing else sends it
	}
}

// statusClientGone is the status of a request whose client left before its answer was whole. A client that closed
// only its sending side, which looks the same, may still read it: an empty 200 or a clean end would be a lie to it.
const statusClientGone = 499

// tell states the fact of this request.
func (x *exchange) tell(res *attempt.Result, status int, code string) {
	x.told = true
	x.settle(res.Steps)
	now := time.Now()
	fact := journal.Request{
		ID: x.id, Start: x.start, Dialect: x.dialect.Name(), Stream: x.call.Request.Stream, Key: x.key, Certificate: front.Subject(x.r),
		Asked: clip(x.call.Request.Model), Route: x.label, Status: status, Code: code, Committed: res.Committed,
		Duration: now.Sub(x.start), Upstream: res.Upstream, Waits: res.Waits,
		Finish: res.Reply.Finish, Dropped: res.Dropped, Lost: res.Lost, Trail: res.Steps,
	}
	if len(x.call.Legs) > 0 {
		fact.Candidates, fact.Order = &x.call, x.order.String()
	}
	fact.Usage, fact.Estimated = res.Usage()
	fact.Cost = res.Cost()
	fact.Overhead = max(fact.Duration-res.Upstream-res.Waits-x.body.took, 0)
	if fact.Route == "" {
		fact.Route = route.OtherLabel
	}
	if x.call.Trace != nil {
		fact.Trace = *x.call.Trace
	}
	if res.Leg != nil {
		fact.Provider, fact.Model = res.Leg.Target.Provider, res.Leg.Target.Model
	}
	if res.Header != nil {
		fact.UpstreamRequestID = upstreamID(res.Header)
	}
	fact.Affinity, fact.Drill = x.remember(now, res), journal.DrillOf(res.Steps)
	if !res.FirstContent.IsZero() {
		fact.FirstContent = res.FirstContent.Sub(x.start)
	}
	if x.refusal != nil {
		fact.Refusal = *x.refusal
	}
	fact.Guardrails = x.guarded()
	fact.Bodies = x.kept.take()
	x.cache.told(&fact)
	x.h.journal.RequestEnded(&fact)
}

// clip shortens what a client sent before it is shown or logged.
func clip(s string) string {
	if len(s) > 200 {
		return strings.Clone(strings.ToValidUTF8(s[:200], "")) // who keeps it does not keep all of it
	}
	return s
}

// upstreamID is an upstream's own name of a request, in the places that vendors put it.
func upstreamID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "Apim-Request-Id"} {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return clip(v[0])
		}
	}
	return ""
}

// requestID takes the client's X-Request-Id if it is short and printable, else makes one.
func requestID(h http.Header) string {
	if ids := h["X-Request-Id"]; len(ids) > 0 && plainToken(ids[0]) {
		return ids[0]
	}
	const hex = "0123456789abcdef"
	var b [20]byte
	copy(b[:], "req_")
	n := rand.Uint64() //nolint:gosec // an id for logs, not a secret
	for i := 4; i < len(b); i++ {
		b[i] = hex[n&15]
		n >>= 4
	}
	return string(b[:])
}

func plainToken(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
