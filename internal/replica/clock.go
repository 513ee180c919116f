package replica

import "time"

// clock knows the store's clock from what the store said of it (R63). It holds on to one pair of moments that are the same, one
// here and one there, so that a time is translated to the same one whenever that is done, and whatever is done meanwhile to
// this machine's wall clock: differences of local times are taken by the monotonic clock where they have it. The zero clock knows
// nothing. It is a value: who translates takes a copy.
type clock struct {
	local, store time.Time     // one moment
	err          time.Duration // by how much store may be wrong
	checked      time.Time     // when err was true; it grows from then on
}

const (
	// clockDrift is by how much two clocks may drift apart, as a share: 200 ppm.
	clockDrift = 5000
	// clockSlack is an error of the translation that is not worth another translation of everything.
	clockSlack = 20 * time.Millisecond
	// clockGrain is how exactly stores tell their time.
	clockGrain = time.Millisecond
)

func (c *clock) known() bool { return !c.local.IsZero() }

// theirs is a local time by the store's clock, ours one of the store's by the local clock.
func (c *clock) theirs(local time.Time) time.Time { return c.store.Add(local.Sub(c.local)) }
func (c *clock) ours(store time.Time) time.Time   { return c.local.Add(store.Sub(c.store)) }

// margin is by how much a translation may be wrong at a moment.
func (c *clock) margin(now time.Time) time.Duration {
	return c.err + max(now.Sub(c.checked), 0)/clockDrift
}

// take learns from one answer: store is what the store's clock said between the local times sent and got. jumped says that one of the
// two clocks was set: what was translated before is wrong now.
func (c *clock) take(sent, got, store time.Time) (jumped bool) {
	half := max(got.Sub(sent), 0) / 2
	mid, err := sent.Add(half), half+clockGrain
	store = store.Round(0)
	if !c.known() {
		*c = clock{local: mid, store: store, err: err, checked: got}
		return false
	}
	off, before := store.Sub(c.theirs(mid)).Abs(), c.margin(got)
	switch {
	case off > before+err && off > clockSlack:
		*c = clock{local: mid, store: store, err: err, checked: got}
		return true
	case off > clockSlack && err < before/2: // both are right, and this one knows better
		*c = clock{local: mid, store: store, err: err, checked: got}
	case off+err < before:
		c.err, c.checked = off+err, got
	}
	return false
}
