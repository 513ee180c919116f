package route

import (
	"slices"
	"strings"
	"time"
)

// OtherLabel stands for every model name that is neither configured nor discovered, so that no client can invent
// metric labels.
const OtherLabel = "other"

// Resolution is the list of targets for one model name: as declared, until Arrange orders it.
type Resolution struct {
	// Targets may belong to the table: read only.
	Targets []Target
	// Strategy orders them, with the weights of Auto; Groups are those that they stand in. A request may set another
	// strategy before Arrange (Use).
	Strategy Strategy
	Auto     Weights
	Groups   []Group
	// On are the targets that wait for a refusal; read only, too.
	On []Target
	// HoldDown is the virtual model's (R34).
	HoldDown time.Duration
	// Label is a bounded name for metrics: a virtual model, a known model, or OtherLabel.
	Label string
	// Hedge and Resume are the model's.
	Hedge  Hedge
	Resume bool
	// Order says why Targets stand as they do.
	Order Order
	mine  bool // Targets are this request's own
	// Dropped are the targets that policies, preferences and keys took out.
	Dropped []Drop
	// Affinity is the model's (R47).
	Affinity Affinity
	// Mirror is the model's; nil: it has none.
	Mirror *Mirror
}

// Order is why targets stand in the order that they do (R72).
type Order uint8

// The reasons for an order.
const (
	NoOrder      Order = iota
	AsDeclared         // in the virtual model
	Drawn              // by weight
	HeldBack           // by the strategy, with the first one put second by hold_down
	AsNamed            // the name says provider and model; failover rules follow
	AsConfigured       // the providers that have the id, as they stand in the configuration; failover rules follow
	Preferred          // as the request's own order says
	InTurn             // round robin
	Quickest           // by time to first content
	Idlest             // by requests in flight
	Cheapest           // by expected cost
	Scored             // by the score of strategy auto
	Nested             // as declared, with models within it that have strategies of their own
	Affine             // by the strategy, with the one first that served the conversation last
)

// String is the word of the admin API.
func (o Order) String() string {
	return [...]string{
		"", "declared", "weighted", "hold_down", "provider_model", "model_id", "preferred", "round_robin", "least_latency",
		"least_busy", "least_cost", "auto", "nested", "affinity",
	}[o]
}

// Len is how many targets there are, those for refusals included.
func (r *Resolution) Len() int { return len(r.Targets) + len(r.On) }

// At is the i-th of them: those for refusals come last.
func (r *Resolution) At(i int) *Target {
	if i < len(r.Targets) {
		return &r.Targets[i]
	}
	return &r.On[i-len(r.Targets)]
}

// Hold puts a first target second whose breaker closed less than HoldDown ago (R34). closed says when that was for a
// target's provider and model; zero: it was never open.
func (r *Resolution) Hold(now time.Time, closed func(provider, model string) time.Time) {
	if r.HoldDown <= 0 || len(r.Targets) < 2 {
		return
	}
	first := &r.Targets[0]
	if at := closed(first.Provider, first.Model); at.IsZero() || now.Sub(at) >= r.HoldDown {
		return
	}
	if !r.mine {
		r.Targets, r.mine = slices.Clone(r.Targets), true
	}
	r.Targets[0], r.Targets[1] = r.Targets[1], r.Targets[0]
	r.Order = HeldBack
}

// Outcome says how a name was resolved.
type Outcome uint8

// The outcomes of Resolve.
const (
	Found Outcome = iota
	NotFound
	// AllDisabled: the name is known, but every target or provider behind it is disabled.
	AllDisabled
)

// Resolve finds the targets of a model name (CONTRACT §3 "Model names"): a virtual model; provider/model, if the
// first segment is a configured provider; or a bare upstream id at every provider that has it, in config order.
// Failover rules follow for the last two; they are not transitive. The targets stand as declared; Arrange orders them.
func (t *Table) Resolve(inv *Inventory, name string) (Resolution, Outcome) {
	if v, ok := t.Virtual[name]; ok {
		r := Resolution{
			Targets: v.Targets, Strategy: v.Strategy, Auto: v.Auto, Groups: v.Groups, On: v.On, HoldDown: v.HoldDown,
			Label: v.Name, Hedge: v.Hedge, Resume: v.Resume, Order: AsDeclared, Affinity: v.Affinity,
			Mirror: v.Mirror,
		}
		if t.anyDisabled(r.Targets) {
			r.Targets = t.enabled(r.Targets)
		}
		r.On = t.enabled(r.On)
		if len(r.Targets) == 0 {
			return r, AllDisabled
		}
		return r, Found
	}
	targets, label := t.byOwnName(inv, name)
	if len(targets) == 0 {
		return Resolution{}, NotFound
	}
	targets = t.enabled(t.withFailover(name, targets))
	if len(targets) == 0 {
		return Resolution{Label: label}, AllDisabled
	}
	return Resolution{Targets: targets, Label: label, Hedge: DefaultHedge(), Order: orderOf(name, &targets[0])}, Found
}

// orderOf is the order of what a name that is no virtual model's stands for.
func orderOf(name string, first *Target) Order {
	if first.Model == name {
		return AsConfigured
	}
	return AsNamed
}

// byOwnName resolves provider/model and bare ids.
func (t *Table) byOwnName(inv *Inventory, name string) ([]Target, string) {
	if provider, model, ok := strings.Cut(name, "/"); ok && model != "" {
		if p := t.provider(provider); p != nil {
			label := OtherLabel
			if inv.Has(provider, model) {
				label = name
			}
			return []Target{t.named(p, model)}, label
		}
	}
	if inv == nil {
		return nil, ""
	}
	var out []Target
	for _, provider := range inv.ByModel[name] {
		if p := t.provider(provider); p != nil {
			out = append(out, t.named(p, name))
		}
	}
	return out, name
}

// named is the target of a model called by its own name.
func (t *Table) named(p *Provider, model string) Target {
	facts := t.Facts.Facts(p.Name, model)
	return Target{Provider: p.Name, Model: model, Timeouts: p.LimitsFor(facts), Facts: facts}
}

// withFailover appends the manual rules of the name asked for and of the targets it resolved to.
func (t *Table) withFailover(name string, targets []Target) []Target {
	if len(t.Failover) == 0 {
		return targets
	}
	own := len(targets)
	targets = appendNew(targets, t.Failover[name])
	for i := range own {
		targets = appendNew(targets, t.Failover[targets[i].String()])
	}
	return targets
}

func appendNew(to, from []Target) []Target {
next:
	for _, f := range from {
		for i := range to {
			if to[i].Provider == f.Provider && to[i].Model == f.Model {
				continue next
			}
		}
		f.Rule = true
		to = append(to, f)
	}
	return to
}

func (t *Table) provider(name string) *Provider {
	for i := range t.Providers {
		if t.Providers[i].Name == name {
			return &t.Providers[i]
		}
	}
	return nil
}

func (t *Table) disabled(tg *Target) bool {
	if tg.Disabled {
		return true
	}
	p := t.provider(tg.Provider)
	return p == nil || p.Disabled
}

func (t *Table) anyDisabled(targets []Target) bool {
	for i := range targets {
		if t.disabled(&targets[i]) {
			return true
		}
	}
	return false
}

// enabled leaves out what is disabled; it copies only if something is.
func (t *Table) enabled(targets []Target) []Target {
	if !t.anyDisabled(targets) {
		return targets
	}
	var out []Target
	for i := range targets {
		if !t.disabled(&targets[i]) {
			out = append(out, targets[i])
		}
	}
	return out
}

func weight(t *Target) float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

// Names lists every model name a client may ask for: virtual models first in no order, then bare ids, then
// provider/model. The caller sorts what it shows.
func (t *Table) Names(inv *Inventory) []string {
	var out []string
	for name := range t.Virtual {
		out = append(out, name)
	}
	if inv == nil {
		return out
	}
	for id, providers := range inv.ByModel {
		out = append(out, id)
		for _, p := range providers {
			out = append(out, p+"/"+id)
		}
	}
	return out
}
