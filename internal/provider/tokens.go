package provider

import (
	"context"
	"net/http"
	"sync"
	"time"

	"evergate/internal/fault"
)

// How a Tokens keeps its token.
const (
	renewBefore  = 5 * time.Minute  // its end, or a fifth of its life if that is shorter
	endsEarly    = 10 * time.Second // a token that is about to end would end on its way
	fetchTimeout = 30 * time.Second
	holdBase     = time.Second // after a failed fetch, doubled with each further one
	holdMax      = time.Minute
	doubtWait    = 3 * time.Second  // after a failed fetch nobody waits longer for the next one: it may hang
	forceGap     = 30 * time.Second // between two fetches because of refusals: a provider may refuse every token
)

// Token is an access token. A zero Expiry means that it does not end.
type Token struct {
	Value  Secret
	Expiry time.Time
}

// Tokens keeps the access token of one credential: fetched when it is first asked for, renewed some minutes before it
// ends while the old one still serves, by one fetch at a time. After a failed fetch it asks again only after a pause
// that grows, so that a token endpoint which is down costs requests no time: that is the breaker of R32, and it is the
// credential's own. Safe for concurrent use.
type Tokens struct {
	fetch func(context.Context) (Token, error)

	mu       sync.Mutex
	token    Token
	renewAt  time.Time     // zero: never
	fetching chan struct{} // closed when the fetch under way has ended; nil: none is
	err      error         // of the last fetch
	failures int           // in a row
	askAfter time.Time     // no fetch begins before it
	forced   time.Time     // when a token was last given up because it was refused

	grant *grant // nil: fetch is another's
}

// NewTokens keeps what fetch gets. A fetch is given 30 s; its context is not the request's that caused it, because others
// wait for it too. Its error should be a *fault.Fault (TokenFault).
func NewTokens(fetch func(context.Context) (Token, error)) *Tokens { return &Tokens{fetch: fetch} }

// Get gives a token that is good for some seconds at least, waiting for it if it must, or the error of the last fetch. After
// a fetch that failed it waits no longer than 3 s for another.
func (t *Tokens) Get(ctx context.Context) (Secret, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	good := t.good(now)
	if good && (t.renewAt.IsZero() || now.Before(t.renewAt)) {
		return t.token.Value, nil
	}
	if t.fetching == nil && !now.Before(t.askAfter) {
		t.fetching = make(chan struct{})
		go t.renew(context.WithoutCancel(ctx))
	}
	if good {
		return t.token.Value, nil
	}
	if done := t.fetching; done != nil {
		var doubt <-chan time.Time
		if t.failures > 0 {
			doubt = time.After(doubtWait)
		}
		t.mu.Unlock()
		select {
		case <-done:
		case <-doubt:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	switch {
	case t.good(time.Now()):
		return t.token.Value, nil
	case t.err == nil: // another request had the new one refused already
		return "", TokenFault(0, "the token in the answer was refused", nil)
	}
	return "", t.err
}

// good says whether the token can be used. Requires the lock.
func (t *Tokens) good(now time.Time) bool { return t.token.good(now) }

// good says whether there is a token that will not end on its way.
func (t *Token) good(now time.Time) bool {
	return t.Value != "" && (t.Expiry.IsZero() || now.Before(t.Expiry.Add(-endsEarly)))
}

// renew fetches a token.
func (t *Tokens) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	token, err := t.fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.fetching)
	t.fetching = nil
	now := time.Now()
	if err == nil && token.Value == "" {
		err = TokenFault(0, "no token in the answer", nil)
	}
	if err == nil && !token.good(now) {
		err = TokenFault(0, "the token in the answer ends at once", nil)
	}
	if t.err = err; err != nil {
		t.askAfter = now.Add(min(holdBase<<min(t.failures, 16), holdMax))
		t.failures++
		return
	}
	t.token, t.failures, t.renewAt = token, 0, time.Time{}
	if !token.Expiry.IsZero() {
		t.renewAt = token.Expiry.Add(-min(renewBefore, token.Expiry.Sub(now)/5))
	}
}

// TokenFault is the fault of a token that was not given. status is the token endpoint's, 0 without an answer; words are
// its own, in short. A refusal is the credential's (R7); an endpoint that fails or cannot be reached is nobody's fault
// that a guard of the provider could know of (R32), and the next credential or candidate is asked.
func TokenFault(status int, words string, err error) *fault.Fault {
	f := &fault.Fault{Class: fault.NoToken, Unasked: true, Message: "no access token: the token endpoint does not answer", Cause: err}
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		f.Message = "no access token: the token endpoint fails"
	case status >= http.StatusBadRequest:
		f.Class, f.Message = fault.Auth, "no access token: the token endpoint refuses the credential"
	}
	if words != "" {
		f.Message += " (" + clip(words, 128) + ")"
	}
	return f
}

// NewHTTPClient makes the client for what a vendor asks of other hosts, such as token endpoints: it keeps to the
// provider's TLS files, proxy and connect timeout, follows no redirects and keeps no connection, since it is used once an
// hour. The error is about the TLS files.
func NewHTTPClient(o *Options, dial DialFunc) (*http.Client, error) {
	d, err := newDialer(o, dial)
	if err != nil {
		return nil, err
	}
	t := newTransport(o, d)
	t.DisableKeepAlives = true
	return &http.Client{
		Transport:     unswitched{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// unswitched refuses an answer that changes the protocol: its body would be the connection, which no deadline ends.
type unswitched struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t unswitched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if f := switched(resp, false); f != nil {
		return nil, f
	}
	return resp, nil
}
