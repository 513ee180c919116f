package mock

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Provider is a simulated provider. It is safe for concurrent use. It starts no goroutine: a request lives on the
// server's, and ends at once when its client goes away.
type Provider struct {
	mu     sync.Mutex
	script Script
	start  time.Time
	// reached and drawn count, for each rule, the requests that came to its nth and to its probability.
	reached []int
	drawn   []uint64
	counts  Counts
	seen    []*Seen
	keep    int
	// prefixes are those of prompts that a cache marker covered.
	prefixes map[[sha256.Size]byte]struct{}
	stored   store
	watch    func(Seen)
}

var _ http.Handler = (*Provider)(nil)

// New makes a provider; its schedules start now.
func New(s Script) *Provider {
	p := &Provider{keep: rememberRequests}
	p.SetScript(s)
	return p
}

// SetScript gives the provider another script, as if it had just started with it; requests under way go on as they
// began, and what was seen is kept.
func (p *Provider) SetScript(s Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.start = s, time.Now()
	p.reached, p.drawn = make([]int, len(s.Rules)), make([]uint64, len(s.Rules))
}

// Watch has f called at the end of each request, on the request's own goroutine.
func (p *Provider) Watch(f func(Seen)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = f
}

// errGone ends an exchange whose client has gone away.
var errGone = errors.New("client went away")

// errOver ends an exchange after a fault that leaves nothing more to send.
var errOver = errors.New("exchange is over")

// ServeHTTP answers one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == logPath {
		p.serveLog(w, r)
		return
	}
	seen := p.enter(r)
	var err error
	defer func() { p.leave(seen, errors.Is(err, errGone)) }()

	q, err := readRequest(r)
	if err != nil {
		err = errGone
		return
	}
	b, script := p.decide(q, seen)
	x := newExchange(w, r, b, func(change func(*Seen)) { p.note(seen, change) })
	x.q = q
	err = x.play(func() answer { return p.answer(q, script, &x.b, seen.N, time.Now()) })
	if errors.Is(err, errAbort) {
		panic(http.ErrAbortHandler) // the only way to break a connection that cannot be hijacked
	}
}

// decide settles what happens to a request and records it. The script is the one in force.
func (p *Provider) decide(q *request, seen *Seen) (Behaviour, *Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.script
	seen.Model, seen.Stream, seen.BodySize = q.Model, q.Stream, len(q.body)
	if p.keep > 0 && len(q.body) <= rememberBody {
		seen.Body = q.body
	}
	if len(s.Keys) > 0 && !slices.Contains(s.Keys, q.key) {
		q.refusal = &apiError{Status: http.StatusUnauthorized, scripted: true}
		return Behaviour{}, &s
	}
	b, why, err := p.choose(q, time.Since(p.start))
	seen.Rule = why
	if err != nil {
		q.refusal = badRequest("%s: %v", FaultHeader, err)
		q.refusal.Param = FaultHeader
		return Behaviour{}, &s
	}
	return b, &s
}
