package identity

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"evergate/internal/quota"
)

// Principal is who asks, and what it may. It is frozen: a change makes another one. A nil one is nobody in particular, who may do everything:
// callers need no key. Its methods are safe for concurrent use.
type Principal struct {
	// Name is unique among all principals, and shown in logs, the ledger and metrics.
	Name string
	// ID is that of a key that was made here; empty for those of the config and for bearers of tokens.
	ID string
	// Owner and Team are words of whoever made the key; Team may name a team of the config, whose limits and budgets count for all its keys together.
	Owner, Team string
	Labels      map[string]string
	// What it may use; empty: all. Models are names that clients ask for, Providers those that may be asked, Routes kinds of routes, Sources where it may come from.
	Models, Providers, Routes []string
	Sources                   []netip.Prefix
	// Policies hold for all its requests, by name. Guardrails, too.
	Policies, Guardrails []string
	Limits               quota.Limits
	Budgets              []quota.Budget
	// Expires is when it ends; zero: never.
	Expires time.Time

	// Of is the team of the config that Team names; nil: it names none, or there is none of that name. The Book sets it.
	Of *Team

	policies, guardrails []string // with the team's
	routes               routeSet
	used                 *atomic.Int64 // Unix seconds of its last request here
	seals                [2]seal       // what its tickets are signed with; see there
	sealed               time.Time     // until when the second counts
}

// Team is what all keys of a team share.
type Team struct {
	Name                 string
	Models, Providers    []string
	Policies, Guardrails []string
	Limits               quota.Limits
	Budgets              []quota.Budget
}

// settle makes what is asked of a principal on the request path ready. used is kept from what it was before; nil: it is new.
func (p *Principal) settle(teams map[string]*Team, used *atomic.Int64) {
	p.Of, p.policies, p.guardrails, p.routes = nil, p.Policies, p.Guardrails, routesOf(p.Routes)
	if t := teams[p.Team]; t != nil {
		p.Of = t
		p.policies = union(p.Policies, t.Policies)
		p.guardrails = union(p.Guardrails, t.Guardrails)
	}
	if p.used = used; used == nil {
		p.used = new(atomic.Int64)
	}
}

// union is both lists, without what is twice in them.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// MayUse says whether it may ask for a model by this name: its own list and its team's must both have it.
func (p *Principal) MayUse(model string) bool {
	return p == nil || among(p.Models, model) && (p.Of == nil || among(p.Of.Models, model))
}

// among says whether a list allows a name; an empty one allows all.
func among(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }

// Picky says whether it may ask for some models only.
func (p *Principal) Picky() bool {
	return p != nil && (len(p.Models) > 0 || p.Of != nil && len(p.Of.Models) > 0)
}

// Bound are the policies that hold for all its requests, its team's among them. They must not be changed.
func (p *Principal) Bound() []string {
	if p == nil {
		return nil
	}
	return p.policies
}

// Guarded are the guardrails of all its requests, its team's among them. They must not be changed.
func (p *Principal) Guarded() []string {
	if p == nil {
		return nil
	}
	return p.guardrails
}

// Allowed are the only providers that may be asked for it, and those for its team; empty: all.
func (p *Principal) Allowed() (own, teams []string) {
	if p == nil {
		return nil, nil
	}
	if p.Of != nil {
		teams = p.Of.Providers
	}
	return p.Providers, teams
}

// MayTake says whether it may use routes of a kind.
func (p *Principal) MayTake(r Route) bool { return p == nil || p.routes == 0 || p.routes.has(r) }

// Placed says whether it may come from some addresses only.
func (p *Principal) Placed() bool { return p != nil && len(p.Sources) > 0 }

// MayComeFrom says whether it may come from an address.
func (p *Principal) MayComeFrom(addr netip.Addr) bool {
	if !p.Placed() {
		return true
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(p.Sources, func(s netip.Prefix) bool { return s.Contains(addr) })
}

// LastUsed is when it was last let in by this process, to the second; zero: never.
func (p *Principal) LastUsed() time.Time {
	if p == nil || p.used == nil || p.used.Load() == 0 {
		return time.Time{}
	}
	return time.Unix(p.used.Load(), 0)
}

// use takes note of a request. It writes once a second at most, so that the cores do not fight for it.
func (p *Principal) use(now time.Time) {
	if at := now.Unix(); p.used.Load() < at {
		p.used.Store(at)
	}
}
