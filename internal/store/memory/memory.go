package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"evergate/internal/replica"
)

var errClosed = errors.New("memory store: closed")

// Store is a handle to pages in this process's memory. Safe for concurrent use.
type Store struct {
	place *place

	mu     sync.Mutex
	closed chan struct{}
}

var _ replica.Store = (*Store)(nil)

// New gives a store that is empty. now is its clock.
func New(now func() time.Time) *Store {
	return &Store{closed: make(chan struct{}), place: &place{
		now: now, pages: map[identity]replica.Page{}, members: map[string]replica.Member{}, leases: map[string]lease{}, watchers: map[*watcher]struct{}{},
		answers: map[answerKey]keptAnswer{}, ledger: NewLedger(now),
	}}
}

// Peer gives another handle to the same pages, as another instance of a fleet has one. Each is closed on its own.
func (s *Store) Peer() *Store { return &Store{closed: make(chan struct{}), place: s.place} }

// place is what handles share.
type place struct {
	now func() time.Time

	mu       sync.Mutex
	pages    map[identity]replica.Page
	members  map[string]replica.Member
	leases   map[string]lease
	watchers map[*watcher]struct{}
	answers  map[answerKey]keptAnswer
	answered uint64 // how often one was put
	ledger   *Ledger
	counts   counts
}

// identity is what a page takes the place of.
type identity struct {
	instance string
	topic    replica.Topic
	key      string
}

func identify(p *replica.Page) identity { return identity{p.Instance, p.Topic, p.Key} }

type lease struct {
	holder string
	until  time.Time
}

// clock gives the time as a database would give it: of the wall alone.
func (p *place) clock() time.Time { return p.now().Round(0) }

// may gives the error that a call ends with before it began.
func (s *Store) may(ctx context.Context) error {
	select {
	case <-s.closed:
		return errClosed
	default:
		return ctx.Err()
	}
}

// Beat implements replica.Store.
func (s *Store) Beat(ctx context.Context, self replica.Member) (time.Time, error) {
	if err := s.may(ctx); err != nil {
		return time.Time{}, err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	self.Seen, self.Started = p.clock(), self.Started.Round(0)
	p.members[self.ID] = self
	return self.Seen, nil
}

// Members implements replica.Store.
func (s *Store) Members(ctx context.Context) ([]replica.Member, error) {
	if err := s.may(ctx); err != nil {
		return nil, err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.members), func(a, b replica.Member) int {
		return cmp.Or(a.Seen.Compare(b.Seen), cmp.Compare(a.ID, b.ID))
	}), nil
}

// Put implements replica.Store: all pages come to stand at once, or none.
func (s *Store) Put(ctx context.Context, pages []replica.Page) error {
	if err := s.may(ctx); err != nil {
		return err
	}
	for i := range pages {
		if n := len(pages[i].Body); n > replica.MaxBody {
			return fmt.Errorf("memory store: page %q of topic %q has %d bytes, the limit is %d", pages[i].Key, pages[i].Topic, n, replica.MaxBody)
		}
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.clock()
	for _, page := range pages {
		id := identify(&page)
		if old, ok := p.pages[id]; ok && old.Sequence >= page.Sequence {
			continue
		}
		quiet := page.Quiet
		page.At, page.Body, page.Quiet = at, bytes.Clone(page.Body), false
		p.pages[id] = page
		if quiet {
			continue
		}
		for w := range p.watchers {
			w.tell(id, page)
		}
	}
	return nil
}

// Read implements replica.Store. It looks at every page: a process has few.
func (s *Store) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) ([]replica.Page, error) {
	if err := s.may(ctx); err != nil {
		return nil, err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []replica.Page
	for _, page := range p.pages {
		if page.Topic == topic && !page.At.Before(since) {
			out = append(out, page)
		}
	}
	slices.SortFunc(out, func(a, b replica.Page) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Key, b.Key))
	})
	if limit > 0 && len(out) > limit {
		out = slices.Clip(out[:limit])
	}
	for i := range out {
		out[i].Body = bytes.Clone(out[i].Body)
	}
	return out, nil
}

// Drop implements replica.Store.
func (s *Store) Drop(ctx context.Context, instance string) error {
	if err := s.may(ctx); err != nil {
		return err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, instance)
	if instance != "" { // the fleet's pages outlive every instance
		maps.DeleteFunc(p.pages, func(id identity, _ replica.Page) bool { return id.instance == instance })
	}
	return nil
}

// Claim implements replica.Store.
func (s *Store) Claim(ctx context.Context, name, holder string, life time.Duration) (bool, error) {
	if err := s.may(ctx); err != nil {
		return false, err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	maps.DeleteFunc(p.leases, func(_ string, l lease) bool { return !now.Before(l.until) })
	if l, taken := p.leases[name]; taken && l.holder != holder && l.until.Sub(now) <= life+24*time.Hour { // else of a clock that was set back
		return false, nil
	}
	p.leases[name] = lease{holder: holder, until: now.Add(life)}
	return true, nil
}

// Yield implements replica.Store.
func (s *Store) Yield(ctx context.Context, name, holder string) error {
	if err := s.may(ctx); err != nil {
		return err
	}
	p := s.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leases[name].holder == holder {
		delete(p.leases, name)
	}
	return nil
}

// Close implements replica.Store: it ends this handle's watches. The pages stay for its peers.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}
