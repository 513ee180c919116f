package replica

import (
	"cmp"
	"slices"
	"time"
)

// Status is how it stands with the fleet, for those who look.
type Status struct {
	// Reached says whether the store did what it was asked the last time, and Since since when that is so, or not.
	Reached bool
	Since   time.Time
	// LastSync is the end of the last whole round, and Lag the time since then, or since the start (R64).
	LastSync time.Time
	Lag      time.Duration
	// Errors are the calls to the store that failed so far, Problem what the last of them said, while it is not reached.
	Errors  uint64
	Problem string
	// Instances are this one first, then the others by their ID. Times are local ones.
	Instances []Instance
}

// Instance is one process of the fleet.
type Instance struct {
	Member
	Self bool
	// Silent says that it has shown no sign of life for 10 intervals (R63).
	Silent bool
	// Lag is the time since its last sign of life.
	Lag time.Duration
	// Blocks are what it itself saw blocked, and still is, by provider.
	Blocks []Block
}

// Status gives a copy of the state. It asks nobody.
func (f *Fleet) Status() Status {
	now := f.o.Now()
	own := f.ownBlocks(now)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{
		Reached: f.state.reached, Since: f.state.since, LastSync: f.state.lastSync, Errors: f.state.errors, Problem: f.state.problem,
		Lag: now.Sub(later(f.state.lastSync, f.o.Self.Started)),
	}
	self := Instance{Member: f.o.Self, Self: true, Lag: s.Lag, Blocks: own}
	self.Seen = now
	s.Instances = append(s.Instances, self)
	for id, p := range f.peers {
		if p.member.ID == "" {
			continue // heard of, not yet seen
		}
		i := Instance{Member: p.member, Silent: p.silent, Lag: max(f.clock.theirs(now).Sub(p.seen), 0)}
		i.ID, i.Seen, i.Started = id, f.clock.ours(p.seen), f.clock.ours(p.member.Started)
		for _, page := range p.pages {
			for _, b := range page.blocks {
				if now.Before(b.Until) {
					i.Blocks = append(i.Blocks, b)
				}
			}
		}
		sortBlocks(i.Blocks)
		s.Instances = append(s.Instances, i)
	}
	slices.SortFunc(s.Instances[1:], func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// ownBlocks are what this instance last said.
func (f *Fleet) ownBlocks(now time.Time) []Block {
	var out []Block
	for _, s := range *f.providers.Load() {
		out = append(out, blocksOf(s.Name, now, s.Guards.Rows(now))...)
	}
	sortBlocks(out)
	return out
}

func sortBlocks(blocks []Block) {
	slices.SortFunc(blocks, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Guard, b.Guard), cmp.Compare(a.Model, b.Model),
			cmp.Compare(a.Credential, b.Credential))
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
