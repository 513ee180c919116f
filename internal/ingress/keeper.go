package ingress

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/route"
	"evergate/internal/threads"
	"evergate/internal/wire"
)

// askedOfAnswers are the query parameters that pass to the provider that keeps an answer.
var askedOfAnswers = []string{"include", "include[]", "order", "limit", "after", "stream", "starting_after", "include_obfuscation"}

// askKeeper asks the provider that keeps an answer, which no other can give.
func (x *exchange) askKeeper(a *threads.Answer, what string) *wire.Failure {
	p := x.cfg.Providers[a.Provider]
	if p == nil {
		f := failure(http.StatusNotFound, codeNotFound, "the provider "+strconv.Quote(a.Provider)+", which keeps this answer, is configured no more")
		return &f
	}
	if f := x.readPreferences(); f != nil {
		return f
	}
	if x.wishes != nil {
		x.wishes.MaxPrice = route.Price{} // nothing is made anew
	}
	if f := x.allowed(a.Provider); f != nil {
		return f
	}
	out := &attempt.Outgoing{Method: x.r.Method, Below: "/" + url.PathEscape(a.ID), Header: x.r.Header, Release: func() {}}
	if what != "" {
		out.Below += "/" + url.PathEscape(what)
	}
	query := x.r.URL.Query()
	for name := range query {
		if !slices.Contains(askedOfAnswers, name) {
			query.Del(name)
		}
	}
	out.Query = query.Encode()
	leg := &attempt.Leg{
		Target: route.Target{Provider: a.Provider, Model: a.Model, Timeouts: x.cfg.Table.TimeoutsOf(a.Provider)},
		Guards: p.Guards, Upstream: p.Upstream, Settings: p.Settings, Dialect: x.dialect, Key: x.broughtKey(p),
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	resp, f := x.h.runner.Fetch(ctx, x.id, leg, out)
	if f != nil {
		return x.fetchFailed(f)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	if x.r.Method == http.MethodDelete {
		x.h.threads.Delete(x.start, x.key, a.ID)
	}
	x.passOn(resp, a)
	return nil
}

func (x *exchange) fetchFailed(f *fault.Fault) *wire.Failure {
	var out wire.Failure
	switch {
	case (f.Class == fault.Rejected || f.Class == fault.CallerAuth) && f.Status >= http.StatusBadRequest:
		out = failure(f.Status, f.Code, f.Message)
	case f.Class.RateLimit():
		out = failure(http.StatusTooManyRequests, codeAllLimited, "the provider that keeps this answer is rate limited"+upstreamWords(f))
	default:
		out = failure(http.StatusBadGateway, codeProvider, "the provider that keeps this answer failed"+upstreamWords(f))
	}
	return &out
}

// passOn writes an upstream's answer as it comes.
func (x *exchange) passOn(resp *http.Response, a *threads.Answer) {
	header := x.w.Header()
	passHeader(header, resp.Header)
	if ct := resp.Header["Content-Type"]; len(ct) > 0 {
		header["Content-Type"] = ct
	}
	nameRequest(header, x.dialect, []string{x.id})
	header.Set("X-Evergate-Provider", a.Provider)
	x.w.WriteHeader(resp.StatusCode)
	buf := attempt.GetBuffer(8 << 10)
	defer buf.Release()
	for {
		n, err := resp.Body.Read(buf.B[:cap(buf.B)])
		x.limitWrite()
		if _, failed := x.w.Write(buf.B[:n]); failed != nil {
			return // the client is gone
		}
		_ = x.control.Flush() // as above
		x.unlimitWrite()
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a reply off
		}
	}
}
