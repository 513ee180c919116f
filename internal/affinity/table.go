// Package affinity remembers which candidate answered a conversation last (R47), so that its next request finds the
// provider's prompt cache warm. It owns what a conversation is known by, and the memory's bounds. It prefers, and decides
// nothing: what guards, strategies and policies say is not known here.
//
// The memory holds no name, text or key: conversations, targets and credentials are hashes. They are the same on every instance,
// so that those of a fleet can tell each other of conversations (News, Hear); who tells whom is not known here.
package affinity

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// The memory's bounds: 131,072 conversations in 4 MiB, of which a shard takes its part when it first keeps something.
const (
	shards = 64
	sets   = 256 // of each shard
	ways   = 8   // entries of a set: one that is full loses the oldest
)

// Table is the memory. Safe for concurrent use.
type Table struct {
	shared atomic.Bool // what is new is noted, for News
	lost   atomic.Uint64
	shards [shards]shard
}

// shard is a part of the memory with a lock of its own, which is held for a look at one set.
type shard struct {
	mu   sync.Mutex
	sets []set // nil: nothing was kept yet
	news news
}

type set [ways]entry

// entry is one conversation; the zero entry is free.
type entry struct {
	id         id
	at         int64 // when it was answered, in Unix milliseconds
	target     uint32
	named      uint16 // the credential by name; 0: not known
	credential uint8  // of the provider, from 1; 0: not known
	marks      marks
}

// marks say what else is known of an entry.
type marks uint8

const (
	own    marks = 1 << iota // answered here, not heard of another instance
	untold                   // among the news of its shard
)

// New makes an empty memory.
func New() *Table { return &Table{} }

// place is where a conversation is, or would be.
func (t *Table) place(c id) (s *shard, n uint64) {
	return &t.shards[c[0]%shards], c[1] % sets
}

// get gives the entry of a conversation that was answered less than ttl ago.
func (t *Table) get(now time.Time, c id, ttl time.Duration) (e entry, ok bool) {
	s, n := t.place(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil {
		return e, false
	}
	for i := range s.sets[n] {
		if k := &s.sets[n][i]; k.at != 0 && k.id == c {
			return *k, now.UnixMilli()-k.at < ttl.Milliseconds()
		}
	}
	return e, false
}

// put keeps an entry, in the place of its own older one, a free one, or the oldest of its set. One that was heard of others stays out
// where what is there is as young.
func (t *Table) put(e entry, heard bool) {
	s, n := t.place(e.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil {
		s.sets = make([]set, sets)
	}
	var into *entry
	way := 0
	for i := range s.sets[n] {
		k := &s.sets[n][i]
		if k.at != 0 && k.id == e.id {
			into, way = k, i
			break
		}
		if into == nil || k.at < into.at {
			into, way = k, i
		}
	}
	if heard && into.at >= e.at {
		return
	}
	noted := into.marks&untold != 0
	*into = e
	if e.marks&untold != 0 && !noted {
		t.lost.Add(s.note(n, way))
	}
}

// Visit is one request's part in its conversation. The zero Visit is of a request that is in none.
type Visit struct {
	id         id
	target     uint32
	named      uint16
	credential uint8
	state      uint8
}

// The states of a visit.
const (
	unknown uint8 = iota // not known by anything
	fresh                // nothing is remembered
	known                // a target is
)

// Known says whether the conversation's last target is remembered.
func (v *Visit) Known() bool { return v.state == known }

// Is says whether a target is the one that is remembered.
func (t *Table) Is(v *Visit, provider, model string) bool {
	return v.state == known && v.target == targetOf(provider, model)
}

// Credential is the provider's credential that answered last, as its index from 1; 0: not known, or only as one that Named knows.
func (v *Visit) Credential() uint8 { return v.credential }

// Foreign says that the credential which answered last is known by its name alone: another instance, or another start, was asked.
func (v *Visit) Foreign() bool { return v.credential == 0 && v.named != 0 }

// Named says whether a credential has the name of the one that answered last.
func (v *Visit) Named(name string) bool { return v.named == credentialOf(name) }

// The ways in which a conversation's request was answered.
const (
	Hit   = "hit"   // by the target that is remembered
	Moved = "moved" // by another: a guard had a say, or the target is no more
	Miss  = "miss"  // none was remembered
)

// Answered keeps who answered a request, with a credential by index, and says how that was (Hit, Moved, Miss); empty for a
// request that is in no conversation. name is the credential's, where the table is shared.
func (t *Table) Answered(now time.Time, v *Visit, provider, model string, credential int, name string) string {
	if v.state == unknown {
		return ""
	}
	e := entry{id: v.id, at: now.UnixMilli(), target: targetOf(provider, model), marks: own}
	if t.shared.Load() {
		e.marks |= untold
	}
	if credential >= 0 && credential < math.MaxUint8 {
		e.credential = uint8(credential + 1)
		if name != "" {
			e.named = credentialOf(name)
		}
	}
	t.put(e, false)
	switch {
	case v.state == fresh:
		return Miss
	case v.target == e.target:
		return Hit
	}
	return Moved
}
