package ingress

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"evergate/internal/attempt"
	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/front"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/nearest"
	"evergate/internal/wire"
)

// passRoot begins the paths of requests that go to one provider as they are.
const passRoot = "/passthrough/"

// passDialect is what logs and metrics call them.
const passDialect = "passthrough"

// maxKept is how large a body may be that is held so that it can be sent again, in bytes.
const maxKept = 1 << 20

// servePassthrough passes a request on to the provider that its path names. rest is the escaped path after passRoot.
func (x *exchange) servePassthrough(rest string) {
	name, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		name, path = rest[:i], rest[i:]
	}
	p, f := x.passProvider(name, path)
	sink := &passSink{x: x, provider: name}
	defer func() {
		if !x.told { // a bug of ours: net/http writes it to the log and closes the connection
			x.tellPassage(name, path, p, &attempt.Result{Committed: sink.begun}, http.StatusInternalServerError, codeInternal)
		}
	}()
	if f == nil {
		f = x.admitPassage()
	}
	var passage *attempt.Passage
	if f == nil {
		passage, f = x.passage(name, path, p)
	}
	if f != nil {
		x.reject(*f)
		x.tellPassage(name, path, p, &attempt.Result{}, f.Status, f.Code)
		x.drainBody()
		return
	}
	x.out.x = x
	if passage.Request.Upgrade { // what follows has no bodies
		x.kept = nil
	}
	res := x.h.runner.Pass(x.r.Context(), passage, sink)
	x.endPassage(name, path, p, passage, sink, res)
}

// passProvider lets the caller in, and finds the provider.
func (x *exchange) passProvider(name, path string) (*Provider, *wire.Failure) {
	x.dialect = x.h.dialectOf(x.r)
	p := x.cfg.Providers[name]
	if p != nil {
		x.dialect = x.h.dialectOfProvider(p, x.dialect)
	}
	x.inPath.found = true // the key may be in the query, where Google's clients send it
	if x.taken == 0 {
		x.taken = identity.Passthrough
	}
	bringKey(x.r)
	if f := x.authenticate(); f != nil && !x.admitted(name, path) {
		return nil, f
	}
	if f := x.mayPass(); f != nil {
		return nil, f
	}
	if f := x.mayPassUnseen(); f != nil {
		return nil, f
	}
	if p == nil || p.Raw == nil {
		f := failure(http.StatusNotFound, codeNotFound, x.noPassthrough(name, p != nil))
		return nil, &f
	}
	return p, x.mayReach(name)
}

// bringKey takes the key of a WebSocket from its subprotocol, where browsers put it that can send no header: OpenAI's
// realtime API knows it there.
func bringKey(r *http.Request) {
	const before = "openai-insecure-api-key."
	if !upgrades(r) || presented(r.Header) != "" {
		return
	}
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for word := range strings.SplitSeq(line, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(word), before); ok {
				r.Header.Set("Authorization", "Bearer "+key)
			}
		}
	}
}

// dialectOfProvider is in whose words the gateway's own errors are said to clients of a provider's own API.
func (h *Handler) dialectOfProvider(p *Provider, usual wire.Dialect) wire.Dialect {
	for _, name := range p.Upstream.Speaks("") {
		for _, d := range h.routes {
			if d.Name() == name {
				return d
			}
		}
		for _, v := range h.verbs {
			if v.Dialect.Name() == name {
				return v.Dialect
			}
		}
	}
	return usual
}

// mayPass says why the caller may not use passthrough: nobody can tell which model such a request asks for.
func (x *exchange) mayPass() *wire.Failure {
	if !x.who.Picky() {
		return nil
	}
	f := failure(http.StatusForbidden, codeModelNotAllowed,
		"the key "+strconv.Quote(x.key)+" is limited to some models, and passthrough requests are not looked into; use a route that names the model")
	return &f
}

func (x *exchange) noPassthrough(name string, known bool) string {
	if known {
		return "passthrough is off for the provider " + strconv.Quote(clip(name))
	}
	var names []string
	for n, p := range x.cfg.Providers {
		if p.Raw != nil {
			names = append(names, n)
		}
	}
	message := "there is no provider " + strconv.Quote(clip(name)) + " here"
	if near := nearest.Names(name, names, 3); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return message
}

// passage makes the request ready to be sent.
func (x *exchange) passage(name, path string, p *Provider) (*attempt.Passage, *wire.Failure) {
	r := x.r
	switch r.Method {
	case http.MethodTrace, "TRACK": // it would be answered with the gateway's credential in it
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "the method "+r.Method+" does not pass")
		return nil, &f
	case http.MethodConnect:
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "the gateway is no proxy for CONNECT")
		return nil, &f
	}
	if err := p.Raw.Reach(path); err != nil {
		f := failure(http.StatusBadRequest, codeInvalid, "the path does not stay below the provider's base URL: no segment may be . or .., however written, and no backslash")
		return nil, &f
	}
	out := &attempt.Passage{
		ID: x.id, Caller: x.key, Dialect: x.dialect, Provider: name, Guards: p.Guards, Upstream: p.Raw, Settings: p.Settings, Timeouts: p.Timeouts, Limit: p.Limit, Start: x.start, Again: repeatable(r), Trace: x.call.Trace,
		Request: attempt.Raw{Method: r.Method, Path: path, Query: passQuery(r.URL.RawQuery), Header: r.Header, Upgrade: upgrades(r), Key: x.broughtKey(p)},
	}
	return out, x.passBody(out)
}

// repeatable is R57: what may be sent more than once.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut:
		return true
	}
	return r.Header.Get("Idempotency-Key") != ""
}

// upgrades says whether a client asks for a WebSocket.
func upgrades(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// passQuery is a query without the parameters in which clients send a key.
func passQuery(query string) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 8)
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		switch strings.ToLower(name) {
		case "key", "api_key", "api-key", "apikey", "access_token", "subscription-key", ticketField:
		default:
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// passBody decides how the body is sent: held whole, so that it can be sent again or signed, or while it comes. Only what is held is
// bounded.
func (x *exchange) passBody(p *attempt.Passage) *wire.Failure {
	r := x.r
	if r.ContentLength == 0 || p.Request.Upgrade {
		return nil
	}
	x.body.begun = true
	begin, body := time.Now(), &clientBody{x: x}
	limit, signs := int64(maxKept), p.Upstream.SignsBody()
	if signs {
		limit = x.cfg.MaxBody
	}
	if r.ContentLength > limit || r.ContentLength < 0 && !p.Again && !signs {
		if signs {
			return x.tooLargeToSign(limit)
		}
		p.Again = false
		p.Request.Upload = attempt.NewUpload(body, r.ContentLength)
		return nil
	}
	buf := attempt.GetBuffer(int(min(max(r.ContentLength, 0), firstBuffer)) + 512)
	for {
		if len(buf.B) == cap(buf.B) {
			buf.Grow(cap(buf.B))
		}
		n, err := body.Read(buf.B[len(buf.B):cap(buf.B)])
		buf.B = buf.B[:len(buf.B)+n]
		switch {
		case int64(len(buf.B)) > limit && signs:
			buf.Release()
			return x.tooLargeToSign(limit)
		case errors.Is(err, io.EOF):
			p.Body, p.Request.Body = buf, buf.B
			x.call.Body, x.body.took = buf, time.Since(begin) // it is let go of with the request
			return nil
		case err != nil:
			buf.Release()
			return unreadBody(err)
		case int64(len(buf.B)) > limit:
			p.Again, x.call.Body = false, buf
			p.Request.Upload = attempt.NewUpload(io.MultiReader(bytes.NewReader(buf.B), body), r.ContentLength)
			return nil
		}
	}
}

func (x *exchange) tooLargeToSign(limit int64) *wire.Failure {
	f := failure(http.StatusRequestEntityTooLarge, codeTooLarge, "requests to this provider are signed over their body, which must not be larger than "+
		strconv.FormatInt(limit, 10)+" bytes, the limit of server.max_request_body")
	return &f
}

// clientBody is the request's body, whose client must not be silent for longer than it may, nor nearly so.
type clientBody struct {
	x        *exchange
	deadline time.Time
	pace     pace
}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	now, patience := time.Now(), b.x.patience()
	if b.deadline.Sub(now) < patience {
		b.deadline = now.Add(patience + patience/16)
		_ = b.x.control.SetReadDeadline(b.deadline) // see readBody
		if b.x.body.ending.Load() {
			_ = b.x.control.SetReadDeadline(now.Add(drainTime)) // which the end of the request has set, perhaps before
		}
	}
	n, err := b.x.r.Body.Read(p)
	if b.x.r.ProtoMajor >= 2 { // there it would end a body that waits for the upstream, too
		b.deadline = time.Time{}
		_ = b.x.control.SetReadDeadline(b.deadline)
	}
	if err == nil && b.pace.slow(time.Since(now), n, patience) {
		return n, errSlow
	}
	if b.x.kept != nil && n > 0 {
		b.x.kept.request(p[:n])
	}
	if err == io.EOF {
		_ = b.x.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// endPassage says what became of the request.
func (x *exchange) endPassage(name, path string, p *Provider, passage *attempt.Passage, sink *passSink, res *attempt.Result) {
	if passage.Request.Upload != nil {
		x.body.ending.Store(true)
		_ = x.control.SetReadDeadline(time.Now().Add(drainTime)) // a read that is under way ends by then
		x.body.ended = passage.Request.Upload.Close() != nil
	} else {
		x.body.ended = true
	}
	defer x.call.Release()
	if res.OK {
		x.tellPassage(name, path, p, res, sink.status, "")
		if !sink.switched {
			x.drainBody()
		}
		return
	}
	f := x.passFailure(name, passage, res)
	f.RequestID = x.id
	if sink.begun {
		x.tellPassage(name, path, p, res, sink.status, f.Code)
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a reply off: what ended early must not look whole
	}
	x.copyPassFailure(res, f)
	x.tellPassage(name, path, p, res, f.Status, f.Code)
	x.writePassFailure(name, res, f)
	x.drainBody()
}

// passFailure says in the codes of the contract why there is no answer, or names the provider's own refusal.
func (x *exchange) passFailure(name string, passage *attempt.Passage, res *attempt.Result) wire.Failure {
	final, quoted := res.Final, strconv.Quote(name)
	words := upstreamWords(final.Fault)
	var f wire.Failure
	switch final.Ending {
	case failover.ClientLeft:
		if errors.Is(final.Fault.Cause, os.ErrDeadlineExceeded) && passage.Request.Upload != nil {
			return *unreadBody(final.Fault.Cause)
		}
		f = failure(statusClientGone, codeClientGone, "the client closed its side of the connection before the answer was whole")
		if shuttingDown(x.r.Context()) {
			f = failure(http.StatusServiceUnavailable, codeShuttingDown, "the gateway is shutting down; send the request again")
		}
		return f
	case failover.PassBack:
		f = x.passBack(final.Fault)
	case failover.CutShort:
		f = failure(http.StatusBadGateway, codeProvider, "the answer broke off"+words)
	case failover.Deadline:
		f = failure(http.StatusGatewayTimeout, codeDeadline, "no answer within the time limit for this request"+words)
	case failover.AllLimited:
		f = failure(http.StatusTooManyRequests, codeAllLimited, "every key of the provider "+quoted+" is rate limited"+words)
	case failover.CircuitOpen:
		f = failure(http.StatusServiceUnavailable, codeCircuitOpen, "circuit breaker is open - provider temporarily unavailable"+words)
		if len(res.Steps) == 0 {
			f = failure(http.StatusNotFound, codeNotFound, "the provider "+quoted+" has no key for passthrough: all of them are limited to some models")
		}
	case failover.OneFailed, failover.AllFailed:
		f = failure(http.StatusBadGateway, codeProvider, "the provider "+quoted+" failed"+words)
	}
	for i := range res.Steps {
		s := &res.Steps[i]
		f.Attempts = append(f.Attempts, wire.Attempt{
			Target: s.Provider, Status: s.Status, Reason: s.Reason, Millis: s.Duration.Milliseconds(), Skipped: s.Skipped,
		})
	}
	return f
}

// ownWords is the provider's refusal where it goes back as it was said; nil: the gateway says what is wrong.
func ownWords(res *attempt.Result) *fault.Fault {
	own := res.Final.Fault
	if res.Final.Ending != failover.PassBack || len(own.Body) == 0 || own.Status < http.StatusBadRequest {
		return nil
	}
	return own
}

// writePassFailure writes an error reply: the provider's own words where it answered, as it said them but for credentials.
func (x *exchange) writePassFailure(name string, res *attempt.Result, f wire.Failure) {
	h := x.w.Header()
	for key, values := range x.failureHeader(res, f) {
		h[key] = values
	}
	delete(h, "X-Evergate-Model")
	x.limitUnread()
	if x.drains() {
		h["Connection"] = []string{"close"}
	}
	x.limitWrite()
	own := ownWords(res)
	if own == nil {
		writeFailure(x.w, x.dialect, f, nil)
		return
	}
	h["X-Evergate-Provider"] = []string{name}
	passAddresses(h, res.Header, name)
	if own.ContentType != "" {
		h["Content-Type"] = []string{own.ContentType}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(own.Body))}
	nameRequest(h, x.dialect, []string{x.id})
	x.w.WriteHeader(own.Status)
	_, _ = x.w.Write(own.Body) // the client may be gone
}

// tellPassage states the fact of this request. It has no model, neither as a label.
func (x *exchange) tellPassage(name, path string, p *Provider, res *attempt.Result, status int, code string) {
	x.told = true
	x.settle(nil)
	now := time.Now()
	fact := journal.Request{
		ID: x.id, Start: x.start, Dialect: passDialect, Key: x.key, Certificate: front.Subject(x.r), Asked: clip(x.r.Method + " " + path), Status: status, Code: code,
		Committed: res.Committed, Duration: now.Sub(x.start), Upstream: res.Upstream, Waits: res.Waits, Trail: res.Steps,
		Drill: journal.DrillOf(res.Steps),
	}
	if p != nil && res.Leg != nil {
		fact.Provider = name
	}
	if x.call.Trace != nil {
		fact.Trace = *x.call.Trace
	}
	fact.Overhead = max(fact.Duration-res.Upstream-res.Waits-x.body.took, 0)
	if res.Header != nil {
		fact.UpstreamRequestID = upstreamID(res.Header)
	}
	if x.refusal != nil {
		fact.Refusal = *x.refusal
	}
	fact.Bodies = x.kept.take()
	x.h.journal.RequestEnded(&fact)
}
