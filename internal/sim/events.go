package sim

import "time"

// happening is what an event is.
type happening uint8

const (
	arrives happening = iota // a request of a crowd
	content                  // the first content of a probe's stream (R26)
	sound                    // it has run for long enough (R26)
	hedges                   // an attempt has been without content for so long that another may be started (R71)
	ends                     // an attempt
	wakes                    // a request that waited
	leaves                   // a client that has no patience left
)

// event is something that will happen. One of a request or an attempt that has ended meanwhile is void: the
// life is another.
type event struct {
	at      time.Duration
	order   uint64 // among those of one time
	kind    happening
	crowd   int
	request *request
	flight  int // of the request's attempts; -1: it is about the request
	life    uint64
}

// void says whether what the event is about is over.
func (e *event) void() bool {
	switch {
	case e.request == nil:
		return false
	case e.flight < 0:
		return e.request.life != e.life
	}
	return e.flight >= len(e.request.flights) || e.request.flights[e.flight].life != e.life
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.order < f.order
}

// queue is the events to come, a heap with the soonest at the top.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*q = h
}

// pop takes the soonest; the queue must not be empty.
func (q *queue) pop() event {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{} // lets go of the request
	h = h[:last]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < len(h); down++ {
			if h[down].before(&h[least]) {
				least = down
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*q = h
	return top
}
