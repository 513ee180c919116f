package route

import "time"

// Mirror says that a share of a virtual model's requests is copied to one more target, whose answers are thrown away: it is
// tried out by real requests, and nobody depends on it.
type Mirror struct {
	Target Target
	// Share of the requests is copied, above 0 to 1.
	Share float64
	// MaxInFlight is how many copies may be under way at once; what is more is not copied.
	MaxInFlight int
	// Timeout is how long a copy may take, its whole stream included.
	Timeout time.Duration
}

// DefaultMirror is what holds where nothing is said of a mirror but its target and its share.
func DefaultMirror() Mirror { return Mirror{MaxInFlight: 8, Timeout: time.Minute} }

// Mirrors says whether a copy of a request may go to a mirror; if not, the drop says why. A mirror has to pass like any
// candidate, and beyond that: a copy never carries a caller's key, and none of a request that brought one for the mirror's
// provider is paid with the gateway's; and who wants no fallbacks is sent to one target alone.
func (f *Filter) Mirrors(t *Table, m *Mirror) (d Drop, ok bool) {
	to := &m.Target
	d = f.judge(t, nil, to)
	switch {
	case t.Disabled(to):
		d.Guard, d.Reason, d.Why = DisabledGuard, "disabled", "it is disabled in the configuration"
	case d.Guard == KeyGuard && d.Reason == "require":
		d.Why = "it needs the caller's own key (byok: require), which no copy carries"
	case d.Guard != "":
	case f.Brings != nil && f.Brings(to.Provider):
		d.Guard, d.Reason, d.Why = KeyGuard, "brought", "the caller brought its own key for the provider, which no copy carries"
	case f.Wishes != nil && f.Wishes.NoFallbacks && len(f.Wishes.Order) == 0:
		d.Guard, d.Reason, d.Why = PreferenceGuard, "fallbacks", "the request wants no fallbacks"
	}
	return d, d.Guard == ""
}

// PoliciesOfCopies are PoliciesOf, and those of all virtual models within the models: a copy is to be no less private than any
// answer.
func (t *Table) PoliciesOfCopies(models []string, further ...string) []*Policy {
	all := models[:len(models):len(models)]
	for _, name := range models {
		if v := t.Virtual[name]; v != nil {
			for i := range v.Groups {
				all = append(all, v.Groups[i].Name)
			}
		}
	}
	return t.PoliciesOf(all, further...)
}
