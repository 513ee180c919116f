// Package route turns the model name of a request into an ordered list of targets: virtual models and their
// strategies, provider/model names, bare ids, failover rules. It is pure: frozen tables and a random number in, a
// list out. It knows no HTTP, no clock, no config file and no guard; failover removes what is blocked.
package route

import (
	"cmp"
	"time"

	"evergate/internal/modelfacts"
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
	// On is what sends a request here: zero for the model's own targets, else only that refusal (R11, R12).
	On Refusal
	// BaseModel is the model that a deployment's name hides, whose facts apply; empty: Model.
	BaseModel string
	// Facts are what is known of the model there; nil: nothing.
	Facts *modelfacts.Facts
	// MaxTokensField and DeveloperRole override the provider's quirks (wire.Quirks); empty and nil: they stand.
	MaxTokensField string
	DeveloperRole  *bool
	// Group is the number of the group that it stands in, from 1; 0: none. The targets of a group stand together.
	Group uint16
	// Stale: its provider's models are stale, and it stands behind the others for that (StaleLast).
	Stale bool
	// Rule: a failover rule added it to what the name stands for.
	Rule bool
	// Unlisted: a client named it as one more model, and no provider is known to have it: it must not become a label.
	Unlisted bool
}

// Window is how many tokens a prompt may have there; 0: unknown.
func (t *Target) Window() int64 {
	if t.Facts == nil {
		return 0
	}
	return t.Facts.ContextWindow
}

// String is provider/model.
func (t Target) String() string { return t.Provider + "/" + t.Model }

// Refusal is a refusal of the request itself for which a model may have targets of its own (CONTRACT §2, `on:`).
type Refusal uint8

// The refusals.
const (
	NoRefusal     Refusal = iota
	ContextLength         // R11
	ContentFilter         // R12
)

// String is the word of the config; empty for NoRefusal.
func (r Refusal) String() string { return [...]string{"", "context_length", "content_filter"}[r] }

// Hedge says when a further candidate is started beside one that brings no content (R71). The zero Hedge is none.
type Hedge struct {
	// Max is how many may be started for one request; 0: none.
	Max int
	// After is how long an attempt may bring no content; 0: as Percentile says.
	After time.Duration
	// Percentile, 1 to 99, is that of the target's own measured time to content; 0: After, and if that is 0, too, it is
	// `auto`: the larger of 10 s and twice the 99th, and only targets of the same model.
	Percentile int
	// Budget is the share of recent requests that may be hedged.
	Budget float64
}

// DefaultHedge is what holds where nothing is said: `{ after: auto, max: 1, budget: 0.05 }`.
func DefaultHedge() Hedge { return Hedge{Max: 1, Budget: 0.05} }

// Auto says whether the time and the candidates are the gateway's choice.
func (h *Hedge) Auto() bool { return h.After == 0 && h.Percentile == 0 }

// Serves says whether two targets have the same model, as far as is known.
func (t *Target) Serves(other *Target) bool {
	return cmp.Or(t.BaseModel, t.Model) == cmp.Or(other.BaseModel, other.Model)
}

// Virtual is a virtual model.
type Virtual struct {
	Name     string
	Strategy Strategy
	Targets  []Target
	// Auto are the weights of strategy Auto.
	Auto Weights
	// Groups are the virtual models that stand among Targets, those within them included (Target.Group).
	Groups []Group
	// On are targets for refusals, in order; each says for which.
	On []Target
	// HoldDown is how long a first target stays second after its breaker closed (R34); 0 = off.
	HoldDown time.Duration
	// Hedge is R71's, Resume R70's `continue`.
	Hedge  Hedge
	Resume bool
	// Policy holds for its requests, by name; empty: none of its own.
	Policy string
	// Affinity is R47's.
	Affinity Affinity
	// Mirror gets copies of its requests; nil: there is none.
	Mirror *Mirror
}

// Provider is what routing needs to know of one.
type Provider struct {
	Name     string
	Disabled bool
	Timeouts Timeouts
	// Thinking are its limits for models that are known to reason (R56).
	Thinking Timeouts
	// Models are the configured ids; empty: discovered.
	Models []string
	// Attributes are for policies; BYOK is about callers' keys.
	Attributes Attributes
	BYOK       BYOK
}

// Table is the frozen routing part of a configuration; Providers in config order.
type Table struct {
	Providers []Provider
	Virtual   map[string]*Virtual
	// Failover: provider/model or bare id to further targets (CONTRACT §2 `failover:`).
	Failover map[string][]Target
	// Policies by name; Policy is the one of every request, empty: none.
	Policies map[string]*Policy
	Policy   string
	// BYOK: some provider does not leave it to callers whether they bring a key.
	BYOK bool
	// Facts are what is known of models; nil: nothing.
	Facts *modelfacts.Book
}

// LimitsFor are the provider's limits for a model of which so much is known.
func (p *Provider) LimitsFor(facts *modelfacts.Facts) Timeouts {
	if facts != nil && facts.Reasoning == modelfacts.Yes {
		return p.Thinking
	}
	return p.Timeouts
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
