package route

import "slices"

// By is how a model name is understood (CONTRACT §3 "Model names").
type By string

// The ways to understand a name.
const (
	ByVirtual  By = "virtual_model"
	ByProvider By = "provider_model" // provider/model
	ByID       By = "model_id"       // a bare upstream id, at every provider that has it
)

// Understood is what a name stands for, for whoever asks why (R72): what Resolve makes its list of.
type Understood struct {
	By       By
	Strategy Strategy
	// Targets are all that the name has, in declared order: disabled ones, those of failover rules and, last, those for
	// refusals, too. Read only.
	Targets []Target
	// Own is how many of Targets are the name's own: failover rules, or refusals, gave the others.
	Own int
}

// Understand says what a name stands for; By is empty where it is not known. Resolve goes by the same.
func (t *Table) Understand(inv *Inventory, name string) Understood {
	if v, ok := t.Virtual[name]; ok {
		return Understood{By: ByVirtual, Strategy: v.Strategy, Targets: slices.Concat(v.Targets, v.On), Own: len(v.Targets)}
	}
	targets, _ := t.byOwnName(inv, name)
	if len(targets) == 0 {
		return Understood{}
	}
	u := Understood{By: ByID, Own: len(targets), Targets: t.withFailover(name, targets)}
	if targets[0].Model != name {
		u.By = ByProvider
	}
	return u
}

// Disabled says whether a target, or its provider, is turned off in the configuration.
func (t *Table) Disabled(target *Target) bool { return t.disabled(target) }

// Share is the chance that a weighted draw among targets takes this one first.
func Share(targets []Target, target *Target) float64 {
	total := 0.0
	for i := range targets {
		total += weight(&targets[i])
	}
	return weight(target) / total
}
