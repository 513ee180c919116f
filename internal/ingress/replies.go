package ingress

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/journal"
	"evergate/internal/replies"
)

// ReplyRule says which answers of a virtual model are kept, and for how long.
type ReplyRule struct {
	TTL time.Duration
	// Always: requests need not ask for temperature 0.
	Always bool
	// Mark is another one whenever the model's configuration, or that of what it goes through, is another one.
	Mark uint64
}

// caching is the request's part in the cache of answers, where its model has one. It stands before the response as the sink of an answer that
// is to be kept, and writes down what the client gets.
type caching struct {
	x     *exchange
	rule  *ReplyRule
	word  string // for header, journal and metrics: hit, miss or bypass
	key   replies.Key
	draft replies.Draft
	reply replies.Reply
	saved journal.Usage
}

// Replies are the answers that are kept.
func (h *Handler) Replies() *replies.Cache { return &h.replies }

// cached answers the request from the cache, if it may be and there is an answer; true: it is over. It is asked once the request is
// admitted, and before anybody else is.
func (x *exchange) cached() bool {
	if len(x.cfg.Replies) == 0 {
		return false
	}
	rule := x.cfg.Replies[x.label]
	if rule == nil || len(x.call.Legs) == 0 {
		return false
	}
	return x.cachedBy(rule)
}

// cachedBy is on the stack only while it looks: an open stream does not carry it.
func (x *exchange) cachedBy(rule *ReplyRule) bool {
	c := &caching{x: x, rule: rule, word: journal.CacheBypass}
	x.cache = c
	wish := cacheWish(x.r.Header)
	if wish.leave || !x.repeatable(rule) {
		x.w.Header()["X-Evergate-Cache"] = cacheBypass
		return false
	}
	c.key = x.replyKey(rule)
	if !wish.renew {
		if kept := x.h.replies.Get(x.start, c.key, wish.newest); kept != nil && x.reaches(kept) {
			c.word = journal.CacheHit
			x.replay(kept)
			return true
		}
	}
	c.word = journal.CacheMiss
	c.draft = x.h.replies.Draft()
	x.w.Header()["X-Evergate-Cache"] = cacheMiss
	return false
}

// Values of x-evergate-cache, which no request changes.
//
//nolint:gochecknoglobals // constants in all but type
var (
	cacheHit    = []string{journal.CacheHit}
	cacheMiss   = []string{journal.CacheMiss}
	cacheBypass = []string{journal.CacheBypass}
	none        = []string{"0"}
)

// sink is who takes the request's answer.
func (x *exchange) sink() attempt.Sink {
	if x.cache != nil && x.cache.word == journal.CacheMiss {
		return x.cache
	}
	return &x.out
}

// reaches says whether the request could have gone to who gave an answer: policies, preferences and its key's bounds hold for answers that
// are kept as for those that are made.
func (x *exchange) reaches(r *replies.Reply) bool {
	return slices.ContainsFunc(x.call.Legs, func(l attempt.Leg) bool {
		return l.Target.Provider == r.Provider && l.Target.Model == r.Upstream
	})
}

// replyKey is all that the answer hangs on.
func (x *exchange) replyKey(rule *ReplyRule) replies.Key {
	k := replies.NewKey()
	k.Words(x.tenant()...)
	k.Words(x.dialect.Name(), x.label, x.call.Request.Model)
	k.Number(rule.Mark)
	k.Words(strconv.FormatBool(x.call.Request.Stream), strconv.FormatBool(x.out.array), strconv.FormatBool(x.call.Strict))
	k.Words(x.replyBounds()...)
	k.Words(x.replyHeader()...)
	if w := x.wishes; w != nil {
		wishes := *w
		wishes.Timeout = 0 // an answer is an answer
		k.Bytes(fmt.Appendf(nil, "%#v", wishes))
	} else {
		k.Bytes(nil)
	}
	k.Bytes(x.call.Request.Body)
	return k.Key()
}

// replyHeader is what of the client's header may have a say in the answer, in order. A header that nobody here knows has one.
func (x *exchange) replyHeader() []string {
	var said []string
	for name, values := range x.r.Header {
		if indifferent(name) {
			continue
		}
		for _, v := range values {
			said = append(said, name+"\x00"+v)
		}
	}
	slices.Sort(said)
	return said
}

// indifferent says whether a header, by its canonical name, changes nothing of an answer: it is about the connection, the caller's credential, the
// trace of the request, or is the gateway's own. Wishes of x-evergate-prefer are looked at apart.
func indifferent(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Authorization", "Api-Key", "Baggage", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Cookie", "Date", "Expect",
		"Forwarded", "Idempotency-Key", "Keep-Alive", "Origin", "Pragma", "Priority", "Proxy-Authorization", "Referer", "Te", "Traceparent", "Tracestate",
		"Transfer-Encoding", "Upgrade", "User-Agent", "Via", "X-Api-Key", "X-Goog-Api-Client", "X-Goog-Api-Key", "X-Idempotency-Key", "X-Real-Ip", "X-Request-Id":
		return true
	// What balancers and tracers between the client and the gateway add, another one to each request.
	case "B3", "Cdn-Loop", "Elastic-Apm-Traceparent", "Newrelic", "Request-Id", "Sentry-Trace", "True-Client-Ip", "Uber-Trace-Id", "X-Amz-Cf-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Azure-Clientip",
		"X-Azure-Fdid", "X-Azure-Ref", "X-Azure-Requestchain", "X-Azure-Socketip", "X-Client-Ip", "X-Cloud-Trace-Context", "X-Correlation-Id", "X-Original-Forwarded-For", "X-Trace-Id":
		return true
	}
	for _, prefix := range [...]string{"X-Evergate-", "X-Stainless-", "X-Forwarded-", "X-B3-", "X-Datadog-", "X-Envoy-", "X-Ot-Span-", "Cf-", "Fastly-", "Sec-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Answering implements attempt.Sink.
func (c *caching) Answering() { c.x.out.Answering() }

// Begin implements attempt.Sink.
func (c *caching) Begin(h *attempt.Head) error {
	c.reply = replies.Reply{
		Model: strings.Clone(c.x.label), Provider: h.Leg.Target.Provider, Upstream: h.Leg.Target.Model, Stream: h.Stream,
		ContentType: strings.Clone(h.ContentType), Lost: strings.Join(h.Lost, ", "),
	}
	c.draft.Expect(h.Length)
	return c.x.out.Begin(h)
}

// Write implements attempt.Sink.
func (c *caching) Write(p []byte) error {
	c.draft.Write(p)
	return c.x.out.Write(p)
}

// Flush implements attempt.Sink.
func (c *caching) Flush() error { return c.x.out.Flush() }

// keepReply keeps the answer, if it is one that may be given again: whole, with an end of its own, and nobody's fault on purpose.
func (x *exchange) keepReply(res *attempt.Result) {
	c := x.cache
	if c == nil || c.word != journal.CacheMiss || !res.OK || res.Resumed || res.Dropped > 0 || !ended(res.Reply.Finish) || journal.DrillOf(res.Steps) != "" || x.unjudged() {
		return
	}
	body := c.draft.Body()
	if body == nil { // longer than what is kept
		x.h.replies.Drop(c.key)
		return
	}
	r := c.reply
	r.Body, r.At, r.Finish = body, time.Now(), strings.Clone(res.Reply.Finish)
	usage, _ := res.Usage()
	r.Input, r.Output = usage.Input, usage.Output
	x.h.replies.Put(c.key, &r, c.rule.TTL)
}

// ended says whether a finish, in the word of any dialect, is that of a whole answer: no limit and no filter ended it. Vectors have none.
func ended(finish string) bool {
	switch finish {
	case "", "stop", "tool_calls", "function_call", // chat
		"end_turn", "tool_use", "stop_sequence", // messages, converse
		"STOP",                  // gemini
		"completed",             // responses
		"COMPLETE", "TOOL_CALL": // cohere
		return true
	}
	return false
}

// told ends the request's part in the cache, and gives what the journal hears of it.
func (c *caching) told(fact *journal.Request) {
	if c == nil {
		return
	}
	c.draft.Drop()
	fact.Cache, fact.Saved = c.word, c.saved
}

// replay answers with what is kept. A stream goes out event by event, as fast as the client takes it.
func (x *exchange) replay(r *replies.Reply) {
	x.cache.saved = journal.Usage{Known: true, Input: r.Input, Output: r.Output}
	x.out.again(r)
	res := &attempt.Result{OK: true, Committed: true}
	res.Reply.Finish = r.Finish
	if x.out.failed != nil {
		x.tell(res, statusClientGone, codeClientGone)
		return
	}
	x.tell(res, http.StatusOK, "")
}

// again writes an answer that is kept.
func (o *response) again(r *replies.Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened, o.committed, o.stream, o.stopped = true, true, r.Stream, true
	header := o.x.w.Header()
	switch {
	case r.Stream:
		header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = eventStream, noCache, no
	case r.ContentType != "":
		header["Content-Type"] = o.value(r.ContentType)
	default:
		header["Content-Type"] = applicationJSON
	}
	if !r.Stream && !o.array {
		header["Content-Length"] = o.value(strconv.Itoa(len(r.Body)))
	}
	header["X-Evergate-Cache"] = cacheHit
	header["Age"] = o.value(strconv.FormatInt(int64(max(time.Since(r.At), 0)/time.Second), 10))
	header["X-Evergate-Provider"] = o.value(r.Provider)
	header["X-Evergate-Model"] = o.value(headerText(r.Provider + "/" + r.Upstream))
	header["X-Evergate-Attempts"] = none
	if r.Lost != "" {
		header["X-Evergate-Dropped"] = o.value(r.Lost)
	}
	nameRequest(header, o.x.dialect, o.value(o.x.id))
	o.x.w.WriteHeader(http.StatusOK)
	if o.array {
		_ = o.write([]byte{'['}) // noted in o.failed, as all below
	}
	for rest := r.Body; len(rest) > 0 && o.failed == nil; {
		next := rest
		if r.Stream {
			if i := bytes.Index(rest, eventEnd); i >= 0 {
				next = rest[:i+len(eventEnd)]
			}
		}
		rest = rest[len(next):]
		if o.write(next) == nil && r.Stream {
			_ = o.flush()
		}
	}
	if o.array {
		_ = o.write([]byte{']'})
	}
}

// eventEnd is what stands behind each event of a stream.
var eventEnd = []byte("\n\n") //nolint:gochecknoglobals // a constant in all but type
