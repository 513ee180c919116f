package route

import (
	"slices"
	"time"
)

// Status is what a provider's model discovery says of its health; it is not the circuit breaker's state.
type Status string

// The discovery statuses.
const (
	Healthy   Status = "healthy"   // the last look at its model list went well, or there is none to look at
	Degraded  Status = "degraded"  // the last look went wrong, but an inventory is there: discovered before, or configured
	Unhealthy Status = "unhealthy" // nothing was ever discovered and nothing is configured
)

// Inventory is a frozen snapshot of who serves what, made by discovery. It is never changed after it was published,
// so it may be read from everywhere at once.
type Inventory struct {
	// ByModel gives for a bare model id the providers that serve it, in config order, without disabled ones.
	ByModel map[string][]string
	// Providers are all configured ones, in config order.
	Providers []ProviderModels
	// AnyStale is true when some provider's models are stale.
	AnyStale bool
}

// ProviderModels is one provider in an Inventory.
type ProviderModels struct {
	Name string
	// Models are its ids, sorted and without duplicates: the configured ones if there are any, else the discovered
	// ones. Empty for a provider that was never discovered.
	Models   []string
	Disabled bool
	Status   Status
	// LastChecked is when the model list was last asked for and an answer or a failure came; zero before the first.
	LastChecked time.Time
	// Stale is true when Models were discovered and the latest refresh failed. Configured models are never stale.
	Stale bool
	// Message says in public words why it is not healthy; empty when it is.
	Message string
}

// Provider gives the entry of a provider, or nil; a nil inventory has none.
func (inv *Inventory) Provider(name string) *ProviderModels {
	if inv == nil {
		return nil
	}
	for i := range inv.Providers {
		if inv.Providers[i].Name == name {
			return &inv.Providers[i]
		}
	}
	return nil
}

// Has says whether a provider lists a model; a nil inventory lists none.
func (inv *Inventory) Has(provider, model string) bool {
	p := inv.Provider(provider)
	if p == nil {
		return false
	}
	_, found := slices.BinarySearch(p.Models, model)
	return found
}
