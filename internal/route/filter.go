package route

import (
	"slices"
	"strconv"
	"time"
)

// Preferences are what a request wishes of its targets, beside what its model says (CONTRACT §3 "Request control"). The
// zero value wishes nothing. Providers are named as they are configured.
type Preferences struct {
	// Order are the providers to be tried first, in this order.
	Order []string
	// Only are the only ones, empty: all; Ignore are none.
	Only, Ignore []string
	// NoFallbacks: those of Order alone, or, without it, the first target alone.
	NoFallbacks bool
	// Private: only providers that neither keep what they are sent nor train on it.
	Private bool
	// MaxPrice is the most that a target's model may cost.
	MaxPrice Price
	// Strategy stands in the place of the model's, if Chosen.
	Strategy Strategy
	Chosen   bool
	// Models are the names to go on with, after that of the request.
	Models []string
	// Policy is one more that holds for the request.
	Policy string
	// Timeout is how long the caller waits, for a stream to its commit; 0: as long as it takes.
	Timeout time.Duration
	// Strict: nothing of the request may be lost.
	Strict bool
}

// Price is in US dollars for a million tokens; 0: no limit, or none known.
type Price struct{ Prompt, Completion float64 }

// Guard is what keeps a target out of a request before any of the guards of resilience is asked.
type Guard string

// The guards of a Filter; the last one is a mirror's alone.
const (
	PolicyGuard     Guard = "policy"
	PreferenceGuard Guard = "preference"
	KeyGuard        Guard = "byok"
	DisabledGuard   Guard = "disabled"
)

// Drop is a target that a Filter took out.
type Drop struct {
	Provider, Model string
	On              Refusal
	Guard           Guard
	// Reason is a short word, made of names of the configuration alone; Why says the same to people.
	Reason, Why string
}

// StrategyWords are the words of the strategies.
func StrategyWords() []string { return strategies[:] }

// BYOK says whether callers may bring their own key for a provider.
type BYOK uint8

// The values of byok.
const (
	AllowKeys BYOK = iota
	RefuseKeys
	RequireKeys
)

// Governs says whether a virtual model, or one that is a target of it, has a policy.
func (t *Table) Governs(name string, r *Resolution) bool {
	if v := t.Virtual[name]; v != nil && v.Policy != "" {
		return true
	}
	return slices.ContainsFunc(r.Groups, func(g Group) bool {
		v := t.Virtual[g.Name]
		return v != nil && v.Policy != ""
	})
}

// Filter is what a request's targets have to satisfy. It is applied before strategy and guards, so that nothing that comes after,
// no failover, hedge or resume, can leave it.
type Filter struct {
	// Policies all hold: the strictest wins.
	Policies []*Policy
	// Wishes are the request's own; nil: none.
	Wishes *Preferences
	// Brings says for which providers the caller brought a key; nil: for none.
	Brings func(provider string) bool
}

// Apply takes out of a resolution what does not pass, and notes it in Dropped.
func (f *Filter) Apply(t *Table, r *Resolution) {
	r.Targets = f.passing(t, r.Groups, r.Targets, &r.Dropped)
	r.On = f.passing(t, r.Groups, r.On, &r.Dropped)
}

// passing copies only where something falls: the list is the table's.
func (f *Filter) passing(t *Table, groups []Group, targets []Target, dropped *[]Drop) []Target {
	var kept []Target
	fell := false
	for i := range targets {
		d := f.judge(t, groups, &targets[i])
		switch {
		case d.Guard != "":
			if !fell {
				kept, fell = slices.Clone(targets[:i]), true
			}
			*dropped = append(*dropped, d)
		case fell:
			kept = append(kept, targets[i])
		}
	}
	if !fell {
		return targets
	}
	return kept
}

// judge says why a target falls; no guard: it does not.
func (f *Filter) judge(table *Table, groups []Group, t *Target) Drop {
	d := Drop{Provider: t.Provider, Model: t.Model, On: t.On}
	p := table.provider(t.Provider)
	if p == nil {
		return d // Resolve lets nobody through who is not configured
	}
	for _, policy := range f.Policies {
		if d.refusedBy(policy, p) {
			return d
		}
	}
	for g := t.Group; g != 0; g = groups[g-1].Within { // a virtual model keeps its policy within another
		if v := table.Virtual[groups[g-1].Name]; v != nil && v.Policy != "" && d.refusedBy(table.Policies[v.Policy], p) {
			return d
		}
	}
	if f.Wishes != nil {
		if d.Reason, d.Why = f.unwished(p, t); d.Reason != "" {
			d.Guard = PreferenceGuard
			return d
		}
	}
	brought := f.Brings != nil && f.Brings(p.Name)
	switch {
	case p.BYOK == RefuseKeys && brought:
		d.Guard, d.Reason, d.Why = KeyGuard, "off", "it takes no callers' keys (byok: off)"
	case p.BYOK == RequireKeys && !brought:
		d.Guard, d.Reason, d.Why = KeyGuard, "require", "it needs the caller's own key (byok: require); send the header x-evergate-key-"+p.Name
	}
	return d
}

// refusedBy says whether a policy refuses the target's provider, and notes how.
func (d *Drop) refusedBy(policy *Policy, p *Provider) bool {
	if policy == nil { // the configuration sees to it that there is one
		d.Guard, d.Reason, d.Why = PolicyGuard, "unknown", "its policy is not known"
		return true
	}
	rule, how := policy.Refuses(p)
	if rule == "" {
		return false
	}
	d.Guard, d.Reason = PolicyGuard, policy.Name+"."+rule
	if policy.Of != "" {
		d.Why = policy.Of + " may not be served by it"
		return true
	}
	d.Why = "the policy " + strconv.Quote(policy.Name) + " refuses it by " + rule + ": " + how
	return true
}

// unwished says which of the request's wishes a target does not meet.
func (f *Filter) unwished(p *Provider, t *Target) (reason, why string) {
	w := f.Wishes
	switch {
	case slices.Contains(w.Ignore, p.Name):
		return "ignore", "the request ignores the provider"
	case len(w.Only) > 0 && !slices.Contains(w.Only, p.Name):
		return "only", "the provider is not in the request's only"
	case w.NoFallbacks && len(w.Order) > 0 && !slices.Contains(w.Order, p.Name):
		return "fallbacks", "the provider is not in the request's order, and it wants no fallbacks"
	case w.Private && p.Attributes.Training != No:
		return "data_collection", "it is not known not to train on what it is sent"
	case w.Private && (!p.Attributes.Retention.Known || p.Attributes.Retention.For > 0):
		return "data_collection", "it is not known to keep nothing of what it is sent"
	case w.MaxPrice != Price{}:
		return f.dear(t)
	}
	return "", ""
}

// dear says in what a target costs more than the request allows.
func (f *Filter) dear(t *Target) (reason, why string) {
	most := f.Wishes.MaxPrice
	price, known := t.price()
	switch {
	case !known:
		return "max_price", "its price is not known"
	case most.Prompt > 0 && price.Prompt > most.Prompt:
		return "max_price", "a million tokens of prompt cost " + dollars(price.Prompt) + " there, and the request allows " + dollars(most.Prompt)
	case most.Completion > 0 && price.Completion > most.Completion:
		return "max_price", "a million tokens of completion cost " + dollars(price.Completion) + " there, and the request allows " + dollars(most.Completion)
	}
	return "", ""
}

// price is what the target's model costs; false: it is not known in full.
func (t *Target) price() (Price, bool) {
	if t.Facts == nil {
		return Price{}, false
	}
	p := &t.Facts.Prices
	return Price{Prompt: p.Input.USD, Completion: p.Output.USD}, p.Input.Known && p.Output.Known
}

func dollars(v float64) string { return "$" + strconv.FormatFloat(v, 'f', -1, 64) }

// Place puts the providers of Order first, and leaves nothing but the first target where the request wants no fallbacks.
// It comes after the strategy, whose order stands among the rest.
func (p *Preferences) Place(r *Resolution) {
	if len(p.Order) > 0 && len(r.Targets) > 1 {
		rank := func(t *Target) int {
			if i := slices.Index(p.Order, t.Provider); i >= 0 {
				return i
			}
			return len(p.Order)
		}
		byOrder := func(a, b Target) int { return rank(&a) - rank(&b) }
		if !slices.IsSortedFunc(r.Targets, byOrder) {
			r.Targets = slices.Clone(r.Targets) // they may belong to the table
			slices.SortStableFunc(r.Targets, byOrder)
			r.Order, r.mine = Preferred, true
		}
	}
	if !p.NoFallbacks {
		return
	}
	drop := func(targets []Target) {
		for i := range targets {
			t := &targets[i]
			r.Dropped = append(r.Dropped, Drop{
				Provider: t.Provider, Model: t.Model, On: t.On, Guard: PreferenceGuard, Reason: "fallbacks",
				Why: "the request wants no fallbacks",
			})
		}
	}
	if len(p.Order) == 0 && len(r.Targets) > 1 {
		drop(r.Targets[1:])
		r.Targets = r.Targets[:1:1]
	}
	drop(r.On)
	r.On = nil
}

// Join puts the targets of another model's resolution behind, without those that are there already.
func (r *Resolution) Join(next *Resolution) {
	if next.Label == OtherLabel {
		next.Targets = slices.Clone(next.Targets)
		for i := range next.Targets {
			next.Targets[i].Unlisted = !next.Targets[i].Rule
		}
	}
	r.adopt(next)
	r.Targets, r.mine = appendOthers(slices.Clip(r.Targets), next.Targets), true
	r.On = appendOthers(slices.Clip(r.On), next.On)
	r.Dropped = append(r.Dropped, next.Dropped...)
}

// adopt takes over the groups of another resolution, whose targets get their numbers here.
func (r *Resolution) adopt(next *Resolution) {
	if len(next.Groups) == 0 {
		return
	}
	n := uint16(len(r.Groups)) //nolint:gosec // a model has no more targets than fit
	r.Groups = append(slices.Clip(r.Groups), next.Groups...)
	for i := range r.Groups[n:] {
		if g := &r.Groups[int(n)+i]; g.Within != 0 {
			g.Within += n
		}
	}
	for _, list := range []*[]Target{&next.Targets, &next.On} {
		*list = slices.Clone(*list) // they may belong to the table
		for i := range *list {
			if t := &(*list)[i]; t.Group != 0 {
				t.Group += n
			}
		}
	}
}

// appendOthers appends the targets that are not there. One may be there for each refusal.
func appendOthers(to, from []Target) []Target {
	for _, f := range from {
		if !slices.ContainsFunc(to, func(t Target) bool { return t.Provider == f.Provider && t.Model == f.Model && t.On == f.On }) {
			to = append(to, f)
		}
	}
	return to
}
