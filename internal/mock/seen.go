package mock

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// The bounds of what a Provider remembers, unless Remember says otherwise.
const (
	rememberRequests = 256
	rememberBody     = 256 << 10
)

// Seen is one request as the provider saw it.
type Seen struct {
	// N counts requests from 1.
	N      int
	Method string
	Path   string
	Model  string
	Stream bool
	// Key is the last four characters of the credential, empty if there was none.
	Key string
	// Header is what was sent, without the headers that carry credentials.
	Header http.Header
	// Body is nil if it was longer than 256 KiB; BodySize is its length.
	Body     []byte
	BodySize int
	// Rule is what chose the behaviour: a rule's name (or rules[i]), x-mock-fault, a model's name, or nothing.
	Rule string
	// Status is the one that was sent, 0 if none was.
	Status int
	// Chunks is the number of content chunks written; 1 for a whole plain answer.
	Chunks int
	// Start is when the request came. CancelledAt is when the client was seen to go away, Done when the handler was
	// through; both are zero if that has not happened.
	Start, CancelledAt, Done time.Time
}

// Counts are totals since the start of a Provider.
type Counts struct {
	Requests  int // that came, GET /models included
	InFlight  int // now
	Peak      int // most at the same time
	Cancelled int // whose client went away before the end
}

// Remember sets how many of the last requests are kept (256 unless set); 0 keeps none. What was kept is forgotten.
func (p *Provider) Remember(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep, p.seen = max(n, 0), nil
}

// Requests gives the last requests, oldest first, those under way included; a record may be finished a moment after its
// client has the whole answer (in a bubble: synctest.Wait). The values are copies but for Header and Body, which are not
// to be changed.
func (p *Provider) Requests() []Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Seen, len(p.seen))
	for i, s := range p.seen {
		out[i] = *s
	}
	return out
}

// Counts gives the totals.
func (p *Provider) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// enter records the start of a request.
func (p *Provider) enter(r *http.Request) *Seen {
	s := &Seen{Method: r.Method, Path: r.URL.Path, Key: tail(credential(r)), Header: withoutCredentials(r.Header), Start: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Requests++
	p.counts.InFlight++
	p.counts.Peak = max(p.counts.Peak, p.counts.InFlight)
	s.N = p.counts.Requests
	if p.keep > 0 {
		if len(p.seen) >= p.keep {
			p.seen = slices.Delete(p.seen, 0, len(p.seen)-p.keep+1)
		}
		p.seen = append(p.seen, s)
	}
	return s
}

// leave records the end of a request and tells whoever watches.
func (p *Provider) leave(s *Seen, gone bool) {
	p.mu.Lock()
	s.Done = time.Now()
	if gone {
		s.CancelledAt = s.Done
		p.counts.Cancelled++
	}
	p.counts.InFlight--
	watch, end := p.watch, *s
	p.mu.Unlock()
	if watch != nil {
		watch(end)
	}
}

// note changes a record under the lock.
func (p *Provider) note(s *Seen, change func(*Seen)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(s)
}

// credentialHeaders are where clients put keys, in their canonical form.
var credentialHeaders = [...]string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Cookie", "Proxy-Authorization"}

// credential is the key a request carries: a bearer token, an API key in a header or in the query, or the access key id of
// a signature.
func credential(r *http.Request) string {
	if v := r.Header.Get("Authorization"); v != "" {
		if _, signed, ok := strings.Cut(v, "Credential="); ok && strings.HasPrefix(v, "AWS4-HMAC-SHA256 ") {
			id, _, _ := strings.Cut(signed, "/")
			return id
		}
		return strings.TrimSpace(strings.TrimPrefix(v, "Bearer "))
	}
	for _, name := range []string{"Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return r.URL.Query().Get("key")
}

func tail(key string) string { return key[max(0, len(key)-4):] }

func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range credentialHeaders {
		h.Del(name)
	}
	return h
}
