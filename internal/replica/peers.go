package replica

import (
	"context"
	"time"

	"evergate/internal/resilience"
)

const (
	maxPeers  = 4096 // instances that are kept in mind
	maxBlocks = 64   // blocks that are kept in mind of one page, for those who look at the fleet
)

// peer is another instance.
type peer struct {
	member Member // zero until it was seen among the members
	seen   time.Time
	silent bool // or it has left
	pages  map[string]heardPage
}

// heardPage is what an instance last said of a provider.
type heardPage struct {
	sequence uint64
	blocks   []Block
	passed   bool // it was not believed, since who said it was silent
}

// Block is something that an instance itself saw blocked.
type Block struct {
	Provider, Guard, Model, Credential, Reason string
	Until                                      time.Time
}

// peerOf requires the lock; nil: there are too many.
func (f *Fleet) peerOf(id string) *peer {
	p := f.peers[id]
	if p == nil {
		if len(f.peers) >= maxPeers {
			return nil
		}
		p = &peer{pages: map[string]heardPage{}}
		f.peers[id] = p
	}
	return p
}

// forget makes all pages news again. It requires the lock.
func (f *Fleet) forget() {
	for _, p := range f.peers {
		for key, page := range p.pages {
			page.sequence = 0
			p.pages[key] = page
		}
	}
}

// believe makes those pages news again that were passed over, and says whether there are any: who said them lives.
func (p *peer) believe() (any bool) {
	for key, page := range p.pages {
		if page.passed {
			p.pages[key], any = heardPage{blocks: page.blocks}, true
		}
	}
	return any
}

// silence is how long an instance may show no sign of life (R63).
func (f *Fleet) silence() time.Duration { return silentAfter * f.o.Interval }

// fresh says whether something was less than so long ago. What is of the future, by more than clocks may be wrong by, is of a clock that was set back since.
func fresh(now, at time.Time, bound time.Duration) bool {
	age := now.Sub(at)
	return age < bound && age > -maxEarly
}

// members hears who is there.
func (f *Fleet) members(ctx context.Context, store Store) error {
	var all []Member
	err := f.call(ctx, func(ctx context.Context) (err error) {
		all, err = store.Members(ctx)
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.theirs(f.o.Now())
	there := make(map[string]bool, len(all))
	others := 0
	for _, m := range all {
		if m.ID == f.o.Self.ID {
			continue
		}
		p := f.peerOf(m.ID)
		if p == nil {
			continue
		}
		there[m.ID] = true
		p.member, p.seen = m, m.Seen
		p.silent = m.Left || !fresh(now, m.Seen, f.silence())
		if !p.silent {
			others++
			if p.believe() {
				f.rounds.readAt = time.Time{}
			}
		}
	}
	for id, p := range f.peers {
		if !there[id] && !fresh(now, p.seen, f.silence()) {
			delete(f.peers, id)
		}
	}
	f.others = others
	return nil
}

// alive says whether who wrote a page still lives, or has said it so lately that it counts though it has left: at is by the store's
// clock. It requires the lock.
func (f *Fleet) alive(p *peer, at time.Time) bool {
	now := f.clock.theirs(f.o.Now())
	if p.member.ID != "" && !p.silent {
		return true
	}
	return fresh(now, at, f.silence())
}

// saidBefore says whether a living instance has said that the same guard blocks about as long. It requires the lock.
func (f *Fleet) saidBefore(provider string, r *resilience.Row) bool {
	for _, p := range f.peers {
		if p.silent {
			continue
		}
		for _, b := range p.pages[provider].blocks {
			if b.Guard == r.Guard.String() && b.Model == r.Model && b.Credential == r.Credential && !b.Until.Before(r.Until.Add(-f.o.Interval)) {
				return true
			}
		}
	}
	return false
}

// blocksOf are the blocks among rows that still run.
func blocksOf(provider string, now time.Time, rows []resilience.Row) []Block {
	var out []Block
	for i := range rows {
		r := &rows[i]
		if !tells(r, now) || len(out) == maxBlocks {
			continue
		}
		reason := string(r.Reason)
		if r.Guard == resilience.CircuitBreaker {
			reason = r.Trip
		}
		out = append(out, Block{
			Provider: provider, Guard: r.Guard.String(), Model: r.Model, Credential: r.Credential, Reason: reason, Until: r.Until,
		})
	}
	return out
}

// sweepLease is held by who clears up, so that not all of a fleet do.
const sweepLease = "sweep"

// keptUnread is how long a page is kept that a newer program wrote and this one cannot read.
const keptUnread = 48 * time.Hour

// sweep drops instances that are gone, once nothing that they saw still blocks: until then the next start wants to know (R63, R65).
func (f *Fleet) sweep(ctx context.Context, store Store) error {
	var mine bool
	err := f.call(ctx, func(ctx context.Context) (err error) {
		mine, err = store.Claim(ctx, sweepLease, f.o.Self.ID, refreshEvery*f.o.Interval)
		return err
	})
	if err != nil || !mine {
		return err
	}
	if err := f.members(ctx, store); err != nil {
		return err
	}
	var pages []Page
	err = f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, Guards, time.Time{}, 0)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range f.gone(pages) {
		if err := f.call(ctx, func(ctx context.Context) error { return store.Drop(ctx, id) }); err != nil {
			return err
		}
		f.mu.Lock()
		delete(f.peers, id)
		f.mu.Unlock()
	}
	if err := f.tendKeys(ctx, store); err != nil {
		return err
	}
	return f.sweepDrills(ctx, store)
}

// gone are the instances that may be dropped, those among them that no member stands for any more.
func (f *Fleet) gone(pages []Page) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	local := f.o.Now()
	now := f.clock.theirs(local)
	keep := map[string]bool{f.o.Self.ID: true, "": true}
	known := map[string]bool{}
	for id, p := range f.peers {
		known[id] = true
		keep[id] = keep[id] || !p.silent
	}
	for i := range pages {
		p := &pages[i]
		known[p.Instance] = true
		_, rows, ok := decodeRows(f.clock, local, p.Body)
		running := !ok && fresh(now, p.At, keptUnread)
		for j := range rows {
			running = running || tells(&rows[j], local)
		}
		keep[p.Instance] = keep[p.Instance] || running || fresh(now, p.At, f.silence()) && !f.left(p.Instance)
	}
	var out []string
	for id := range known {
		if !keep[id] {
			out = append(out, id)
		}
	}
	return out
}

// left requires the lock.
func (f *Fleet) left(id string) bool { return f.peers[id] != nil && f.peers[id].member.Left }
