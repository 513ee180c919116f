// Package threads keeps the answers of clients that speak of earlier ones by id (the Responses API's
// previous_response_id), where the provider that gave them has no store of its own; and remembers which provider has
// the others. It owns the memory's bounds, what is archived and when the archive is asked, and who may read what. It must not know HTTP, JSON's
// meaning, how an answer was found, or how an archive keeps it.
//
// What it has is in this process's memory. With an archive (Archive), answers are also written there, after the request and beside it, and one that is not in memory
// is looked for there: a wait of Patience at most, for a request that else would fail. Without, an answer is gone with a restart, and clients are told so by a
// clear error.
package threads

import (
	"container/list"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Answer is one kept answer. It is not changed after Put.
type Answer struct {
	ID string
	// Previous is the answer that this one continues, empty for none.
	Previous string
	// Input and Output are the items of this turn alone, each a raw JSON array (Input may be one string). Body is the answer as the client got it.
	Input, Output, Body []byte
	// Provider and Model say who keeps the answer itself; then Input, Output and Body are empty.
	Provider, Model string
}

func (a *Answer) size() int {
	return len(a.ID) + len(a.Previous) + len(a.Input) + len(a.Output) + len(a.Body) + 256
}

// Limits bound what is kept. Where it is too much, the owner that has most loses what it used least recently: no caller
// pushes out what is another's.
type Limits struct {
	Bytes int
	Age   time.Duration
}

// DefaultLimits are 64 MiB, and the 30 days for which OpenAI keeps answers.
func DefaultLimits() Limits { return Limits{Bytes: 64 << 20, Age: 30 * 24 * time.Hour} }

// maxTurns bounds how far back a conversation is followed.
const maxTurns = 10_000

// Store keeps answers. Safe for concurrent use.
type Store struct {
	limits    Limits
	behind    *behind       // nil: there is no archive
	reads     chan struct{} // holds an element for each read of it
	restUntil atomic.Int64  // nobody asks it before, in Unix nanoseconds

	mu      sync.Mutex
	entries map[key]*list.Element
	shelves map[string]*shelf // by owner; none is empty
	deleted []Deletion        // and not yet told
	bytes   int
}

// shelf is what one owner has.
type shelf struct {
	used  list.List // of *entry; the front was used last
	bytes int
}

// key is an answer of one caller: nobody reads another's.
type key struct{ owner, id string }

type entry struct {
	key    key
	answer *Answer
	until  time.Time
}

// New makes an empty store.
func New(l Limits) *Store {
	return &Store{limits: l, entries: map[key]*list.Element{}, shelves: map[string]*shelf{}}
}

// Put keeps an answer for its owner (a caller's key by name, or empty). One that is larger than a quarter of the whole
// memory is not kept there.
func (s *Store) Put(now time.Time, owner string, a *Answer) {
	if a.ID == "" {
		return
	}
	s.keep(now, owner, a)
	if s.behind != nil {
		s.behind.add(job{key{owner, a.ID}, a})
	}
}

func (s *Store) keep(now time.Time, owner string, a *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepLocked(now, owner, a)
}

// keepLocked requires the lock.
func (s *Store) keepLocked(now time.Time, owner string, a *Answer) {
	if a.size() > s.limits.Bytes/4 {
		return
	}
	k := key{owner, a.ID}
	if old := s.entries[k]; old != nil {
		s.drop(old)
	}
	own := s.shelves[owner]
	if own == nil {
		own = new(shelf)
		s.shelves[owner] = own
	}
	s.entries[k] = own.used.PushFront(&entry{key: k, answer: a, until: now.Add(s.limits.Age)})
	own.bytes += a.size()
	s.bytes += a.size()
	for s.bytes > s.limits.Bytes {
		s.drop(s.fullest(owner).used.Back())
	}
}

// fullest is the shelf with most on it; the owner's own where others have as much.
func (s *Store) fullest(owner string) *shelf {
	most := s.shelves[owner]
	for _, other := range s.shelves {
		if other.bytes > most.bytes {
			most = other
		}
	}
	return most
}

// Get gives an answer of its owner. One that is not in memory is looked for by w; nil: it is not.
func (s *Store) Get(now time.Time, w *Search, owner, id string) (*Answer, bool) {
	k := key{owner, id}
	if a, ok := s.have(now, k); ok {
		return a, true
	}
	return s.fetch(now, w, k)
}

// fetch finds an answer in the archive, and keeps it in memory.
func (s *Store) fetch(now time.Time, w *Search, k key) (*Answer, bool) {
	if s.behind == nil {
		return nil, false
	}
	defer s.behind.search()()
	found := s.find(w, k, 1, 0)
	if len(found) == 0 || !s.keepFound(now, k, found[0]) {
		return nil, false
	}
	return found[0], true
}

// keepFound keeps what the archive had, during the search that found it; false: it was deleted meanwhile.
func (s *Store) keepFound(now time.Time, k key, a *Answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind.deleting(k) { // a deletion is queued first and dropped here after it
		return false
	}
	s.keepLocked(now, k.owner, a)
	return true
}

func (s *Store) have(now time.Time, k key) (*Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(now, k)
}

// Peek is Get that leaves no trace: the answer does not count as used, and one that was found elsewhere is not kept.
func (s *Store) Peek(now time.Time, w *Search, owner, id string) (*Answer, bool) {
	k := key{owner, id}
	s.mu.Lock()
	e := s.entries[k]
	s.mu.Unlock()
	if e != nil {
		kept := e.Value.(*entry)
		if now.Before(kept.until) {
			return kept.answer, true
		}
	}
	if s.behind == nil {
		return nil, false
	}
	defer s.behind.search()()
	if found := s.find(w, k, 1, 0); len(found) > 0 {
		return found[0], true
	}
	return nil, false
}

// OfAnother says whether an answer is known to be somebody else's: of those in memory, as an archive is asked by owner alone.
func (s *Store) OfAnother(now time.Time, owner, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.shelves {
		if el := s.entries[key{other, id}]; el != nil && other != owner && now.Before(el.Value.(*entry).until) {
			return true
		}
	}
	return false
}

// Delete forgets an answer, here and in the archive; false: there was none here.
func (s *Store) Delete(now time.Time, owner, id string) bool {
	k := key{owner, id}
	if s.behind != nil {
		s.behind.add(job{key: k})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteDeletion(k)
	if _, ok := s.get(now, k); !ok {
		return false
	}
	s.drop(s.entries[k])
	return true
}

// Errors of History.
var (
	ErrGone = errors.New("kept no more")
	ErrLong = errors.New("too long")
)

// History gives the items of a conversation up to and with the answer id, oldest first: each turn's input and output
// as raw JSON arrays, of at most so many bytes in all (ErrLong). With ErrGone, missing names the first earlier answer
// that is kept no more. Turns that are not in memory are looked for by w, many at a time.
func (s *Store) History(now time.Time, w *Search, owner, id string, most int64) (items [][]byte, missing string, err error) {
	size := int64(0)
	if s.behind != nil {
		defer s.behind.search()()
	}
	var found []*Answer // what was read and does not lie behind yet, latest first
	for range maxTurns {
		k := key{owner, id}
		a, ok := s.have(now, k)
		if !ok && (len(found) == 0 || found[0].ID != id) {
			found = s.find(w, k, readTurns, int(min(most-size, readBytes)))
		}
		if len(found) > 0 && found[0].ID == id {
			if !ok {
				a, ok = found[0], s.keepFound(now, k, found[0])
			}
			found = found[1:]
		}
		if !ok || a.Provider != "" {
			return nil, id, ErrGone
		}
		if size += int64(len(a.Output) + len(a.Input)); size > most {
			return nil, "", ErrLong
		}
		items = append(items, a.Output, a.Input) // from last to first
		if id = a.Previous; id == "" {
			slices.Reverse(items)
			return items, "", nil
		}
	}
	return nil, "", ErrLong
}

// get requires the lock.
func (s *Store) get(now time.Time, k key) (*Answer, bool) {
	el := s.entries[k]
	if el == nil {
		return nil, false
	}
	e := el.Value.(*entry)
	if !now.Before(e.until) {
		s.drop(el)
		return nil, false
	}
	s.shelves[k.owner].used.MoveToFront(el)
	return e.answer, true
}

// drop requires the lock.
func (s *Store) drop(el *list.Element) {
	e := el.Value.(*entry)
	own := s.shelves[e.key.owner]
	own.used.Remove(el)
	delete(s.entries, e.key)
	own.bytes -= e.answer.size()
	s.bytes -= e.answer.size()
	if own.used.Len() == 0 {
		delete(s.shelves, e.key.owner)
	}
}
