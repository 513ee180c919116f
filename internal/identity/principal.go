package identity

import (
	"net/netip"

	"evergate/internal/quota"
)

// Principal is who asks, and what it may. It is frozen: a change makes another one. Its methods are safe for concurrent use.
type Principal struct {
	// Name is unique among all principals, and shown in logs, the ledger and metrics.
	Name string
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
}

// Team is what all keys of a team share.
type Team struct {
	Name                 string
	Models, Providers    []string
	Policies, Guardrails []string
	Limits               quota.Limits
	Budgets              []quota.Budget
}
