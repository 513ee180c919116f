package replica

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"evergate/internal/resilience"
)

// Order is an operator's order (R31), which is the fleet's: it holds on every instance, and beyond the one that it was given to.
type Order struct {
	Provider string
	resilience.Order
}

const (
	maxOrders = 8192
	maxWords  = 2048 // bytes of a reason, or of who gave the order
)

// ownOrder is an order that was given here. It is newer than the one with the sequence after, and for the provider with that fingerprint.
type ownOrder struct {
	Order
	of    string
	after uint64
}

type heardOrder struct {
	sequence uint64
	page     Page // as it stands in the store
}

type orderBody struct {
	Version  int    `json:"v"`
	Of       string `json:"of"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
	Action   string `json:"action"`
	Reason   string `json:"reason"`
	By       string `json:"by"`
	At       int64  `json:"at"`
	Until    int64  `json:"until,omitempty"`
}

var actions = []resilience.Action{resilience.Reset, resilience.ForceOpen, resilience.ForceClosed}

// Ordered says that an operator gave an order here. It is told to the fleet at once, or when the store is back.
func (f *Fleet) Ordered(o Order) {
	s := (*f.providers.Load())[o.Provider]
	if s == nil {
		return
	}
	f.mu.Lock()
	f.pending = slices.DeleteFunc(f.pending, func(p ownOrder) bool { return p.Provider == o.Provider && p.Model == o.Model })
	f.pending = append(f.pending, ownOrder{o, s.Of, f.orders[orderKey(o.Provider, o.Model)].sequence})
	f.mu.Unlock()
	poke(f.push)
}

func orderKey(provider, model string) string { return provider + "/" + model }

// ownOrders are the orders that are to be put: those given here, and now and then those that stand. It requires the lock.
func (f *Fleet) ownOrders(how what) []parcel {
	if !f.clock.known() {
		return nil
	}
	c := f.clock
	var out []parcel
	var stale []ownOrder
	for _, o := range f.pending {
		s := (*f.providers.Load())[o.Provider]
		key := orderKey(o.Provider, o.Model)
		if s == nil { // it may come back
			continue
		}
		if s.Of != o.of { // another one has its name
			stale = append(stale, o)
			continue
		}
		text, err := json.Marshal(&orderBody{
			Version: pageVersion, Of: s.Of, Provider: o.Provider, Model: o.Model, Action: o.Action.String(), Reason: o.Reason, By: o.By,
			At: stamp(c, o.At), Until: stamp(c, o.Until),
		})
		if err != nil {
			continue
		}
		page := Page{Topic: Orders, Key: key, Sequence: max(uint64(max(stamp(c, o.At), 0)), o.after+1), Body: text}
		if stands := f.orders[key]; page.Sequence < stands.sequence || page.Sequence == stands.sequence && differs(&page, &stands.page) {
			// Somebody has given a newer one meanwhile, or one in the same millisecond that was in the store before.
			stale = append(stale, o)
			continue
		}
		f.orders[key] = heardOrder{page.Sequence, page}
		out = append(out, parcel{page, func() { f.ordered(o) }})
	}
	for _, o := range stale {
		f.ordered(o)
	}
	if how == everything {
		for _, key := range slices.Sorted(maps.Keys(f.orders)) {
			if p := f.orders[key].page; !slices.ContainsFunc(out, func(o parcel) bool { return o.page.Key == key }) && p.Body != nil {
				p.Quiet = true
				out = append(out, parcel{p, func() {}})
			}
		}
	}
	return out
}

// differs says whether two pages of a breaker's orders are not the same one.
func differs(a, b *Page) bool { return !bytes.Equal(a.Body, b.Body) }

// ordered says that an order of this instance's is in the store. It requires the lock.
func (f *Fleet) ordered(o ownOrder) {
	f.pending = slices.DeleteFunc(f.pending, func(p ownOrder) bool { return p == o })
}

// hearOrder has an order of the fleet in force here, if it is newer than what is. One that was given before this process started, and
// that holds nothing any more, is taken note of alone.
func (f *Fleet) hearOrder(p *Page) {
	var b orderBody
	if p.Instance != "" || len(p.Body) > MaxBody || json.Unmarshal(p.Body, &b) != nil || b.Version != pageVersion || orderKey(b.Provider, b.Model) != p.Key {
		return
	}
	s := (*f.providers.Load())[b.Provider]
	if s == nil || s.Of != b.Of || len(b.Reason) > maxWords || len(b.By) > maxWords || len(b.Model) > maxName {
		return
	}
	now := f.o.Now()
	f.mu.Lock()
	t := reader{clock: f.clock, now: now, sane: f.clock.known()}
	o := resilience.Order{Model: b.Model, Reason: b.Reason, By: b.By, At: t.past(b.At)}
	for _, a := range actions {
		if a.String() == b.Action {
			o.Action = a
		}
	}
	o.Until = t.end(b.Until)
	known, seen := f.orders[p.Key]
	// Of two in the same millisecond the store keeps the one that came first, and that is the one that counts, also where the other was given.
	passed := seen && (p.Sequence < known.sequence || p.Sequence == known.sequence && !differs(p, &known.page))
	if !t.sane || o.Action == resilience.NoAction || passed || !seen && len(f.orders) >= maxOrders {
		f.mu.Unlock()
		return
	}
	page := *p
	page.Body = slices.Clone(p.Body)
	f.orders[p.Key] = heardOrder{p.Sequence, page}
	f.mu.Unlock()
	switch {
	case !o.Until.IsZero() && !now.Before(o.Until):
	case o.Action == resilience.Reset && o.At.Before(f.o.Self.Started):
	default:
		_ = s.Guards.Obey(now, o) // an order that this instance's settings cannot follow is not its own
	}
}
