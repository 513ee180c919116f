package identity

import (
	"maps"
	"sync/atomic"
)

// shelf finds what is made of a record by its id, without a lock and without anything on the heap. It is many maps, each of which is copied for a change.
type shelf ['z' + 1 - '0']atomic.Pointer[map[string]*made]

func (s *shelf) at(id string) *atomic.Pointer[map[string]*made] {
	if id == "" || id[0] < '0' || id[0] > 'z' {
		return &s[0] // ids begin with a letter or a digit
	}
	return &s[id[0]-'0']
}

// find gives nil for an id that is not there.
func (s *shelf) find(id string) *made {
	m := s.at(id).Load()
	if m == nil {
		return nil
	}
	return (*m)[id]
}

// put is for one caller at a time.
func (s *shelf) put(id string, m *made) {
	at := s.at(id)
	next := map[string]*made{}
	if now := at.Load(); now != nil {
		next = maps.Clone(*now)
	}
	next[id] = m
	at.Store(&next)
}

// drop is for one caller at a time.
func (s *shelf) drop(id string) {
	at := s.at(id)
	if now := at.Load(); now != nil {
		next := maps.Clone(*now)
		delete(next, id)
		at.Store(&next)
	}
}
