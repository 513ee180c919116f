// Package recent remembers the last requests of this process with their trails, so that somebody can ask later what became
// of one (R72). It is a journal sink, and bounded in number and in bytes. It must not know who asks, or how a trail is shown.
package recent

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"evergate/internal/journal"
)

// The bounds of what is remembered: at most Requests requests of at most maxBytes each, 8 MiB in all.
const (
	Requests = 1000
	maxBytes = 8 << 10
	// maxSteps and maxCandidates bound what a place keeps room for; maxMessage the words of an upstream in one step.
	maxSteps      = 32
	maxCandidates = 32
	maxMessage    = 300
)

// Request is one remembered request. What it holds is the caller's.
type Request struct {
	journal.Request // its Candidates are nil
	List            []journal.Candidate
	// CutSteps and CutCandidates are how many were left out, the last ones.
	CutSteps, CutCandidates int
}

// Ring remembers requests. The zero Ring is ready, and safe for concurrent use: each request takes the lock of a place of
// its own, and once the ring is full nothing is allocated but for what failed attempts said.
type Ring struct {
	journal.Nothing
	next   atomic.Uint64
	places [Requests]place
	copies copies
}

// place is where one request is kept.
type place struct {
	mu     sync.Mutex
	number uint64 // of the request, from 1; 0: nothing is here
	id     []byte // that of fact is empty
	asked  []byte // as id
	fact   Request
}

// RequestEnded implements journal.Sink.
func (r *Ring) RequestEnded(f *journal.Request) {
	number := r.next.Add(1)
	p := &r.places[number%Requests]
	p.mu.Lock()
	defer p.mu.Unlock()
	if number > p.number { // else this request was overtaken by a whole round
		p.number = number
		p.take(f)
	}
}

// take copies a fact into the place, as far as there is room.
func (p *place) take(f *journal.Request) {
	steps, list := p.fact.Trail[:0], p.fact.List[:0]
	clear(p.fact.Trail)
	p.id, p.asked = append(p.id[:0], f.ID...), append(p.asked[:0], f.Asked...)
	p.fact.Request = *f
	p.fact.CutSteps, p.fact.CutCandidates = 0, 0
	p.fact.ID, p.fact.Asked, p.fact.Candidates, p.fact.Lost, p.fact.UpstreamRequestID = "", "", nil, nil, ""
	room := maxBytes - len(f.ID) - len(f.Asked)
	for i := range f.Trail {
		s := &f.Trail[i]
		room -= len(s.Model) + min(len(s.Message), maxMessage) + 200
		if len(steps) == maxSteps || room < 0 {
			p.fact.CutSteps = len(f.Trail) - i
			break
		}
		steps = append(steps, *s)
		kept := &steps[len(steps)-1]
		kept.Message = clip(s.Message)
	}
	p.fact.Trail = steps
	if f.Candidates != nil {
		for i := range f.Candidates.Candidates() {
			c := f.Candidates.Candidate(i)
			room -= len(c.Model) + 48
			if len(list) == maxCandidates || room < 0 {
				p.fact.CutCandidates = f.Candidates.Candidates() - i
				break
			}
			list = append(list, c)
		}
	}
	p.fact.List = list
}

// clip gives the beginning of an upstream's words, as a copy: they may be a piece of a large answer.
func clip(s string) string {
	if len(s) > maxMessage {
		return strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	return strings.Clone(s)
}

// Find gives the last request of an id; false: none is remembered.
func (r *Ring) Find(id string) (found Request, ok bool) {
	var newest uint64
	for i := range r.places {
		p := &r.places[i]
		p.mu.Lock()
		if p.number > newest && string(p.id) == id {
			newest, found, ok = p.number, p.fact, true
			found.ID, found.Asked = id, string(p.asked)
			found.Trail, found.List = slices.Clone(p.fact.Trail), slices.Clone(p.fact.List)
		}
		p.mu.Unlock()
	}
	return found, ok
}

// The rest of journal.Sink.
