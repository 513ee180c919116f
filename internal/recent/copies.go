package recent

import (
	"sync"

	"evergate/internal/journal"
)

// Copies is how many copies for mirrors are remembered, the last ones that there was room for.
const Copies = 100

// copies remembers copies. The zero value is ready.
type copies struct {
	mu    sync.Mutex
	next  int
	facts [Copies]journal.Mirror
}

// MirrorEnded implements journal.Sink.
func (r *Ring) MirrorEnded(f *journal.Mirror) {
	if f.Outcome == "dropped" { // where there is no room there are many
		return
	}
	c := &r.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := &c.facts[c.next]
	c.next = (c.next + 1) % Copies
	*kept = *f
	kept.Message = clip(f.Message)
}

// Copy gives the last copy that was made of a request; false: none is remembered.
func (r *Ring) Copy(id string) (journal.Mirror, bool) {
	c := &r.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range Copies {
		if f := &c.facts[(c.next+Copies-1-i)%Copies]; f.RequestID == id && id != "" {
			return *f, true
		}
	}
	return journal.Mirror{}, false
}
