package front

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Guesses keeps count of keys that were refused, by where they came from, so that nobody can try many. An address may have so many refused in a
// minute; after that nothing it shows is looked at until the next one is due. Of IPv6 the network of 64 bits counts. This machine itself
// is never held off. Safe for concurrent use; memory is bounded, and where nobody guesses a look costs one atomic read.
type Guesses struct {
	every  atomic.Int64 // what one costs of the minute, ns; 0: off
	known  atomic.Int64 // addresses
	seed   maphash.Seed
	shards [guessShards]guessShard
}

const (
	guessShards   = 16
	guessesOfEach = 1024 // addresses that a shard remembers
	guessTime     = time.Minute
)

type guessShard struct {
	mu sync.Mutex
	// paid is until when an address's failures have used up its time: each adds its share of a minute, and the time that passes takes
	// it away again.
	paid map[netip.Addr]time.Time
}

// NewGuesses makes one that holds nobody off before Limit.
func NewGuesses() *Guesses { return &Guesses{seed: maphash.MakeSeed()} }

// Limit is how many may be refused in a minute; 0 turns it off. It may change while in use.
func (g *Guesses) Limit(perMinute int) {
	if perMinute <= 0 {
		g.every.Store(0)
		return
	}
	g.every.Store(int64(guessTime) / int64(perMinute))
}

// Wait is how long an address, host:port, is held off; 0: it is not.
func (g *Guesses) Wait(remote string, now time.Time) time.Duration {
	if g == nil || g.known.Load() == 0 {
		return 0
	}
	every := time.Duration(g.every.Load())
	who, ok := guesser(remote)
	if every == 0 || !ok {
		return 0
	}
	s := g.shard(who)
	s.mu.Lock()
	defer s.mu.Unlock()
	paid, known := s.paid[who]
	switch {
	case !known:
		return 0
	case !paid.After(now):
		delete(s.paid, who)
		g.known.Add(-1)
		return 0
	}
	return max(paid.Sub(now)-(guessTime-every), 0)
}

// Failed counts one that was refused.
func (g *Guesses) Failed(remote string, now time.Time) {
	if g == nil {
		return
	}
	every := time.Duration(g.every.Load())
	who, ok := guesser(remote)
	if every == 0 || !ok {
		return
	}
	s := g.shard(who)
	s.mu.Lock()
	defer s.mu.Unlock()
	paid, known := s.paid[who]
	if !known {
		g.makeRoom(s, now)
		g.known.Add(1)
	}
	if paid.Before(now) {
		paid = now
	}
	if s.paid == nil {
		s.paid = map[netip.Addr]time.Time{}
	}
	// A minute at most: what was looked at side by side shuts an address out for no longer than one guess.
	if paid = paid.Add(every); paid.After(now.Add(guessTime)) {
		paid = now.Add(guessTime)
	}
	s.paid[who] = paid
}

// makeRoom forgets who has nothing to pay any more, and if that is nobody, who has least.
func (g *Guesses) makeRoom(s *guessShard, now time.Time) {
	if len(s.paid) < guessesOfEach {
		return
	}
	var least netip.Addr
	var till time.Time
	before := len(s.paid)
	for who, paid := range s.paid {
		if !paid.After(now) {
			delete(s.paid, who)
		} else if !least.IsValid() || paid.Before(till) {
			least, till = who, paid
		}
	}
	if len(s.paid) == before {
		delete(s.paid, least)
	}
	g.known.Add(int64(len(s.paid) - before))
}

func (g *Guesses) shard(who netip.Addr) *guessShard {
	return &g.shards[maphash.Comparable(g.seed, who)%guessShards]
}

// guesser is who counts for an address; false: nobody is held off there.
func guesser(remote string) (netip.Addr, bool) {
	from, err := netip.ParseAddrPort(remote)
	if err != nil || from.Addr().Unmap().IsLoopback() {
		return netip.Addr{}, false
	}
	return Household(from.Addr()), true
}
