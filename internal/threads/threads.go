// Package threads keeps the answers of clients that speak of earlier ones by id (the Responses API's
// previous_response_id), where the provider that gave them has no store of its own; and remembers which provider has
// the others. It owns the memory's bounds and who may read what. It must not know HTTP, JSON's meaning, or how an
// answer was found.
//
// It lives in this process's memory alone: an answer is gone with a restart, and clients are told so by a clear error.
package threads

import (
	"container/list"
	"errors"
	"slices"
	"sync"
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
	limits Limits

	mu      sync.Mutex
	entries map[key]*list.Element
	shelves map[string]*shelf // by owner; none is empty
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
// store is not kept.
func (s *Store) Put(now time.Time, owner string, a *Answer) {
	if a.ID == "" || a.size() > s.limits.Bytes/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Get gives an answer of its owner.
func (s *Store) Get(now time.Time, owner, id string) (*Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(now, key{owner, id})
}

// Peek is Get that leaves no trace: the answer does not count as used.
func (s *Store) Peek(now time.Time, owner, id string) (*Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key{owner, id}]
	if e == nil {
		return nil, false
	}
	kept := e.Value.(*entry)
	return kept.answer, now.Before(kept.until)
}

// Delete forgets an answer; false: there was none.
func (s *Store) Delete(now time.Time, owner, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{owner, id}
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
// that is kept no more.
func (s *Store) History(now time.Time, owner, id string, most int64) (items [][]byte, missing string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(0)
	for range maxTurns {
		a, found := s.get(now, key{owner, id})
		if !found || a.Provider != "" {
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
