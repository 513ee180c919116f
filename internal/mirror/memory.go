package mirror

import (
	"strings"
	"sync"

	"evergate/internal/journal"
)

// Remembered is how many copies a Memory has, the last ones that there was room for; maxMessage bounds the words of an upstream in one.
const (
	Remembered = 100
	maxMessage = 300
)

// Memory remembers the last copies of this process, so that somebody can ask what became of a request's copy (R72), also of one that went nowhere. It is a
// journal sink. The zero value is ready. Safe for concurrent use.
type Memory struct {
	journal.Nothing
	mu    sync.Mutex
	next  int
	facts [Remembered]journal.Mirror
}

// MirrorEnded implements journal.Sink.
func (m *Memory) MirrorEnded(f *journal.Mirror) {
	if f.Outcome == "dropped" { // where there is no room there are many
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := &m.facts[m.next]
	m.next = (m.next + 1) % Remembered
	*kept = *f
	kept.Message = clip(f.Message)
}

// clip gives the beginning of an upstream's words, as a copy: they may be a piece of a large answer.
func clip(s string) string {
	if len(s) > maxMessage {
		return strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	return strings.Clone(s)
}

// Of gives the last copy that was made of a request; false: none is remembered.
func (m *Memory) Of(id string) (journal.Mirror, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range Remembered {
		if f := &m.facts[(m.next+Remembered-1-i)%Remembered]; f.RequestID == id && id != "" {
			return *f, true
		}
	}
	return journal.Mirror{}, false
}
