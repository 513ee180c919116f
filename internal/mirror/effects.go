package mirror

import (
	"slices"

	"evergate/internal/attempt"
	"evergate/internal/wire"
)

// Ready readies the call of a copy to be made beside its request's own. False: it must not be made, as it would do something
// a second time: have a provider run tools that act, or go on with what a provider keeps; or nobody can tell. An answer that the
// client wants kept is one more that nobody has the id of: of a copy it is not kept.
func Ready(c *attempt.Call) bool {
	q, err := wire.Decode(c.Dialect, &c.Request)
	if err != nil || q.Generation() == nil || c.Request.Background {
		return false
	}
	store := &q.Generation().Store
	keeps := *store != nil && **store
	*store = nil // of what is translated
	if q.Acts() {
		return false
	}
	c.Canonical = q
	leg := &c.Legs[0]
	if own := leg.Dialect.Name() == c.Dialect.Name(); own && (keeps || leg.Dialect.Name() == "responses") { // which keeps answers unless told not to
		unkept(leg)
	}
	return true
}

// unkept has a leg's provider not keep the answer, unless the configuration says what it is to do.
func unkept(leg *attempt.Leg) {
	const store = "store"
	if slices.ContainsFunc(leg.Target.Params, func(p wire.Param) bool { return p.Name == store }) {
		return
	}
	leg.Target.Params = append(slices.Clip(leg.Target.Params), wire.Param{Name: store, Value: []byte("false")})
}
