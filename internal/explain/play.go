// Package explain owns the answer to "why did, or would, this request go there" (R72): the candidates, in which order they are
// tried, what blocks which and until when, and the sentences that say so. For a request that was not made it plays one:
// a failover.Session of the live kind, on copies of the guards, in which every attempt fails. It is pure and must not know
// HTTP, a dialect, a configuration file, or where the copies come from.
package explain

import (
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/resilience"
)

// Played is a request that was played to its end.
type Played struct {
	Turns []Turn
	// Blocked is, by target, what blocked it when the request began; the zero Block: nothing.
	Blocked []resilience.Block
	// Later is, by target, what blocked it when its turn came, where nothing had before.
	Later []resilience.Block
	// First is, by target, the credential that would be picked, or the one soonest to clear; -1: none is for the model.
	First []int
	// Unable is, by target that had its turn, why it cannot do what the request asks (R46); nil: it can.
	Unable []*fault.Fault
	// Walk: every target was blocked, and those that may be were tried all the same (R51).
	Walk bool
	// Starved: the retry budget (R53) refused a further attempt.
	Starved bool
	Final   failover.Final
}

// Turn is one attempt, in order.
type Turn struct {
	Target, Credential int
	Why                failover.Why
	// Force: in spite of what blocks it.
	Force bool
	// Wait is how long the request waits before it.
	Wait time.Duration
}

// Game is what is played.
type Game struct {
	Params failover.Params
	// Guards are copies, by target; targets of one provider have the same one. They are used up.
	Guards []*resilience.Machine
	Now    time.Time
	// Rnd in [0, 1) is the request's own number, as the live path draws one.
	Rnd float64
	// Draw takes one retry from a copy of the budget.
	Draw func(now time.Time, share float64) bool
	// Near gives a target's preferred credential (R47), -1: none; nil: no target has one.
	Near func(target int) int
	// Callers says for which targets the caller brought its own key; nil: for none.
	Callers func(target int) bool
	// Full is the block of a target whose provider has all that the config lets it have at a time; nil: none has.
	Full func(target int) resilience.Block
	// Able says why a target cannot be asked; nil: it can.
	Able func(target int) *fault.Fault
}

// assumed is what each attempt comes to: an internal error after which the same candidate is not to be asked again. So every
// target has its turn, none has two, and a breaker that one more failure opens does open.
func assumed() *fault.Fault {
	return &fault.Fault{Class: fault.Upstream, Status: 500, ShouldRetry: fault.No}
}

// maxMoves bounds a game: a session ends by itself, long before.
const maxMoves = 100_000

// Play plays a request until nothing is left to be tried.
func Play(g *Game) Played {
	n := len(g.Params.Targets)
	p := Played{
		Blocked: make([]resilience.Block, n), Later: make([]resilience.Block, n), First: make([]int, n), Unable: make([]*fault.Fault, n),
	}
	for t := range n {
		p.First[t], p.Blocked[t], _ = g.Pick(t, nil)
	}
	now := g.Now
	s := failover.New(g.Params, g)
	s.Skips() // Blocked has them
	var waited time.Duration
	for range maxMoves {
		m := s.Next(g.Now, g, 0)
		for _, k := range s.Skips() {
			p.later(k.Target, k.Block)
		}
		if m.Draw && !g.Draw(g.Now, g.Params.Targets[m.Target].Settings.Retry.Budget) {
			p.Starved = true
			s.Refused()
			continue
		}
		switch m.Kind {
		case failover.Stop:
			p.Final = s.Final(g.Now, g)
			g.Now = now
			return p
		case failover.Wait:
			g.Now = g.Now.Add(m.For)
			waited += m.For
		case failover.Try:
			if g.try(s, &p, m, waited) {
				waited = 0
			}
		}
	}
	return p
}

// try plays one attempt; false: none was made.
func (g *Game) try(s *failover.Session, p *Played, m failover.Move, waited time.Duration) bool {
	if m.Why == failover.AllBlocked {
		p.Walk = true
	}
	if f := g.Able(m.Target); f != nil {
		p.Unable[m.Target] = f
		s.Unable(m, f)
		return false
	}
	target := &g.Params.Targets[m.Target]
	limits := failover.Cut(target.Timeouts, g.Now, g.Params.Deadline, m.Untried)
	ends := g.Now.Add(failover.Lease(limits, g.Params.Stream))
	permit, block, _ := g.Guards[m.Target].Admit(g.Now, m.Credential, target.Model, ends, m.Force, nil)
	if block.Blocked() {
		p.later(m.Target, block)
		s.Denied(m)
		return false
	}
	p.Turns = append(p.Turns, Turn{Target: m.Target, Credential: m.Credential, Why: m.Why, Force: m.Force, Wait: waited})
	f := assumed()
	before := g.Guards[m.Target].FailuresBefore(target.Model)
	g.Guards[m.Target].Settle(g.Now, permit, resilience.Outcome{Class: f.Class, Wait: f.Wait}, 0, nil)
	s.Failed(g.Now, g, m, f, before, 0)
	return true
}

// later notes what blocked a target when its turn came.
func (p *Played) later(t int, b resilience.Block) {
	if !p.Blocked[t].Blocked() && !p.Later[t].Blocked() {
		p.Later[t] = b
	}
}

// Pick implements failover.Guards.
func (g *Game) Pick(t int, skip func(int) bool) (credential int, b resilience.Block, ok bool) {
	credential, b, ok = g.pick(t, skip)
	if ok && g.Full != nil {
		if full := g.Full(t); full.Blocked() && full.Until.After(g.Now) {
			return credential, full, false
		}
	}
	return credential, b, ok
}

func (g *Game) pick(t int, skip func(int) bool) (credential int, b resilience.Block, ok bool) {
	if g.Callers != nil && g.Callers(t) {
		credential, b, ok, _ = g.Guards[t].PickCallers(g.Now, g.Params.Targets[t].Model, skip, g.Rnd, nil)
		return credential, b, ok
	}
	if g.Near != nil {
		if near := g.Near(t); near >= 0 {
			credential, b, ok, _ = g.Guards[t].PickNear(g.Now, g.Params.Targets[t].Model, near, skip, g.Rnd, nil)
			return credential, b, ok
		}
	}
	credential, b, ok, _ = g.Guards[t].Pick(g.Now, g.Params.Targets[t].Model, skip, g.Rnd, nil)
	return credential, b, ok
}
