package route

// StaleLast puts the targets of a virtual model behind the others whose provider's models are stale: the last look at its
// model list failed, and what is known is from before (reference 003). So they are left out while there are others, and
// asked when there are none. Names that say the provider or the id themselves are asked where they say.
func (r *Resolution) StaleLast(inv *Inventory) {
	if inv == nil || !inv.AnyStale || r.Order == AsNamed || r.Order == AsConfigured {
		return
	}
	stale := func(t *Target) bool {
		p := inv.Provider(t.Provider)
		return p != nil && p.Stale
	}
	var last []Target
	for i := range r.Targets {
		if stale(&r.Targets[i]) {
			last = append(last, r.Targets[i])
			last[len(last)-1].Stale = true
		}
	}
	if len(last) == 0 || len(last) == len(r.Targets) {
		return
	}
	out := make([]Target, 0, len(r.Targets))
	for i := range r.Targets {
		if !stale(&r.Targets[i]) {
			out = append(out, r.Targets[i])
		}
	}
	r.Targets, r.mine = append(out, last...), true
}
