package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"evergate/internal/threads"
)

// answers are the kept answers of a handle.
type answers struct {
	*Store

	room threads.Room
}

type answerKey struct{ owner, id string }

type keptAnswer struct {
	threads.Record

	at, until time.Time
	order     uint64
}

// Answers gives the kept answers of the same memory: at most so many.
func (s *Store) Answers(room threads.Room) threads.Archive { return &answers{s, room} }

// Put implements threads.Archive: all answers come to stand at once, or none.
func (s *answers) Put(ctx context.Context, life time.Duration, put []threads.Record) error {
	if err := s.may(ctx); err != nil {
		return err
	}
	for i := range put {
		if n := len(put[i].Body); n > threads.MaxRecord {
			return fmt.Errorf("memory store: an answer has %d bytes, the limit is %d", n, threads.MaxRecord)
		}
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	for _, r := range put {
		r.Body = bytes.Clone(r.Body)
		p.answered++
		p.answers[answerKey{r.Owner, r.ID}] = keptAnswer{r, now, now.Add(life), p.answered}
	}
	maps.DeleteFunc(p.answers, func(_ answerKey, a keptAnswer) bool { return !now.Before(a.until) })
	total := int64(0)
	for _, a := range p.answers {
		total += a.Size()
	}
	if total <= s.room.Bytes {
		return nil
	}
	oldest := slices.SortedFunc(maps.Values(p.answers), func(a, b keptAnswer) int { return cmp.Compare(a.order, b.order) })
	for i := 0; total > s.room.Bytes; i++ {
		total -= oldest[i].Size()
		delete(p.answers, answerKey{oldest[i].Owner, oldest[i].ID})
	}
	return nil
}

// Get implements threads.Archive.
func (s *answers) Get(ctx context.Context, owner, id string, turns, size int) ([]threads.Record, error) {
	if err := s.may(ctx); err != nil {
		return nil, err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	var out []threads.Record
	total := 0
	for {
		a, ok := p.answers[answerKey{owner, id}]
		if !ok || !now.Before(a.until) {
			return out, nil
		}
		r := a.Record
		r.Body = bytes.Clone(r.Body)
		out = append(out, r)
		total += len(r.Body)
		if id = r.Previous; id == "" || len(out) >= turns || total >= size {
			return out, nil
		}
	}
}

// Delete implements threads.Archive.
func (s *answers) Delete(ctx context.Context, owner, id string) error {
	if err := s.may(ctx); err != nil {
		return err
	}
	s.place.mu.Lock()
	defer s.place.mu.Unlock()
	delete(s.place.answers, answerKey{owner, id})
	return nil
}
