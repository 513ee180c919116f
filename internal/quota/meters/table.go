package meters

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what a Table is for.
type Options struct {
	// Instance is this process among others; no other ever has its name.
	Instance string
	// Told hears of budgets, on the request path: it must not block. nil: nobody does.
	Told func(Event)
	// Store gives where the fleet's counts are, nil while it is lost. A nil func: there is no fleet.
	Store func() Store
	// Instances is how many gateways share the store now, as far as is known.
	Instances func() int
	// Failed hears when the store begins to fail (with why), and when it is well again (nil). May be nil.
	Failed func(error)
}

// shards is into how many parts the table's lock is cut.
const shards = 64

// Table counts for all who are limited. Safe for concurrent use: there is a lock for each of them, and none for all.
type Table struct {
	o         Options
	seed      maphash.Seed
	shards    [shards]shard
	instances atomic.Int64
	wake      chan struct{} // the others are to hear at once
	stirred   chan struct{} // something moved, after nothing had
	versions  uint64        // of what was told; the loop's alone
}

type shard struct {
	mu     sync.RWMutex
	scopes map[name]*scope
	moved  []*scope // what the others have not heard of, each once
}

type name struct {
	kind Kind
	name string
}

// New makes an empty table.
func New(o Options) *Table {
	t := &Table{o: o, seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), stirred: make(chan struct{}, 1)}
	t.instances.Store(1)
	for i := range t.shards {
		t.shards[i].scopes = map[name]*scope{}
	}
	return t
}

// shared says whether there is anybody to tell.
func (t *Table) shared() bool { return t.o.Store != nil }

// of gives the scope of a bound, made if there is none.
func (t *Table) of(kind Kind, who string) *scope {
	sh := &t.shards[(maphash.String(t.seed, who)+uint64(kind))%shards]
	key := name{kind, who}
	sh.mu.RLock()
	s := sh.scopes[key]
	sh.mu.RUnlock()
	if s != nil {
		return s
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s = sh.scopes[key]; s == nil {
		s = &scope{kind: kind, name: who, shard: sh, alone: !t.shared()}
		sh.scopes[key] = s
	}
	return s
}

// find gives the scope of somebody, nil if nothing was ever counted.
func (t *Table) find(kind Kind, who string) *scope {
	sh := &t.shards[(maphash.String(t.seed, who)+uint64(kind))%shards]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.scopes[name{kind, who}]
}

// each visits all scopes; visit may not ask the table.
func (t *Table) each(visit func(*scope)) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.RLock()
		all := make([]*scope, 0, len(sh.scopes))
		for _, s := range sh.scopes {
			all = append(all, s)
		}
		sh.mu.RUnlock()
		for _, s := range all {
			visit(s)
		}
	}
}

// sweep forgets who has nothing counted any more.
func (t *Table) sweep(now time.Time) {
	t.each(func(s *scope) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.idle(now) {
			return
		}
		s.gone = true
		s.shard.mu.Lock()
		delete(s.shard.scopes, name{s.kind, s.name})
		s.shard.mu.Unlock()
	})
}

// rouse has the others told at once.
func (t *Table) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// stir has the loop look soon.
func (t *Table) stir() {
	select {
	case t.stirred <- struct{}{}:
	default:
	}
}

// Instances is how many share the store, as far as is known.
func (t *Table) Instances() int64 { return t.instances.Load() }
