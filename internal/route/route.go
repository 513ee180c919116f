// Package route turns the model name of a request into an ordered list of targets: virtual models and their
// strategies, provider/model names, bare ids, failover rules. It is pure: frozen tables and a random number in, a
// list out. It knows no HTTP, no clock, no config file and no guard; failover removes what is blocked.
package route

import (
	"time"

	"evergate/internal/wire"
)

// Timeouts are the effective time limits of one target (CONTRACT §2, `timeouts:`); 0 = none.
type Timeouts struct {
	Connect     time.Duration // TCP and TLS
	Attempt     time.Duration // a plain attempt, whole (R56)
	FirstChunk  time.Duration // a stream: to its first content event
	Idle        time.Duration // a stream after it: between two chunks, comments included
	ContentIdle time.Duration // a stream after it: between two content events
	Total       time.Duration // a plain request whole, a stream up to its commit (R54)
	StreamTotal time.Duration // a stream, whole
}

// DefaultTimeouts are the built-in limits.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Connect: 5 * time.Second, Attempt: time.Minute, FirstChunk: time.Minute, Idle: 30 * time.Second,
		ContentIdle: 5 * time.Minute, Total: 10 * time.Minute,
	}
}

// Target is a provider and an upstream model id, with what is particular to asking it there.
type Target struct {
	Provider string
	Model    string
	Weight   float64 // for Weighted; 0 counts as 1
	Disabled bool
	Params   []wire.Param
	Timeouts Timeouts
	// BaseModel is the model that a deployment's name hides, whose facts apply; empty: Model.
	BaseModel string
	// MaxTokensField and DeveloperRole override the provider's quirks (wire.Quirks); empty and nil: they stand.
	MaxTokensField string
	DeveloperRole  *bool
}

// String is provider/model.
func (t Target) String() string { return t.Provider + "/" + t.Model }

// Strategy is how a virtual model orders its targets.
type Strategy uint8

// The strategies that exist.
const (
	Ordered Strategy = iota
	Weighted
)

// Virtual is a virtual model.
type Virtual struct {
	Name     string
	Strategy Strategy
	Targets  []Target
}

// Provider is what routing needs to know of one.
type Provider struct {
	Name     string
	Disabled bool
	Timeouts Timeouts
	// Models are the configured ids; empty: discovered.
	Models []string
}

// Table is the frozen routing part of a configuration; Providers in config order.
type Table struct {
	Providers []Provider
	Virtual   map[string]*Virtual
	// Failover: provider/model or bare id to further targets (CONTRACT §2 `failover:`).
	Failover map[string][]Target
}

// TimeoutsOf are a provider's own limits; the built-in ones where it is not configured.
func (t *Table) TimeoutsOf(provider string) Timeouts {
	for i := range t.Providers {
		if t.Providers[i].Name == provider {
			return t.Providers[i].Timeouts
		}
	}
	return DefaultTimeouts()
}
