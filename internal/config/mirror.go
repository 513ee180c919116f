package config

import (
	"time"

	"evergate/internal/route"
)

type mirrorFile struct {
	target      given[targetFile]
	share       given[float64]
	maxInFlight given[int]
	timeout     given[time.Duration]
}

// mirrorShape is where copies of a model's requests go.
func mirrorShape() shape[mirrorFile] {
	return object("mirror", "Trying out another target: a share of the requests is copied to it, and its answers are thrown away.", []key[mirrorFile]{
		field("target", "Where the copies go: provider/model, which is not asked for the users' answers.", targetShape(), func(f *mirrorFile) *given[targetFile] { return &f.target }),
		field("share", "The share of the requests that is copied; 0 turns it off.", number(0, 1), func(f *mirrorFile) *given[float64] { return &f.share }),
		field("max_in_flight", "How many copies may be under way at once; what is more is not copied.", whole(1, 10_000), func(f *mirrorFile) *given[int] { return &f.maxInFlight }),
		field("timeout", "How long a copy may take, its whole stream included.", duration(time.Millisecond), func(f *mirrorFile) *given[time.Duration] { return &f.timeout }),
	})
}

// mirror is what a model's mirror comes to; nil: it has none.
func (b *builder) mirror(f *modelFile) *route.Mirror {
	w := &f.mirror.v
	if !f.mirror.set {
		return nil
	}
	if w.share.absent() {
		b.problem(f.mirror.at, "", "has no share; add share: 0.05, say, for one request in twenty")
	}
	if w.target.absent() {
		b.problem(f.mirror.at, "", "has no target; add target: provider/model")
	}
	if !w.target.set {
		return nil
	}
	t := &w.target.v
	if _, virtual := b.inner(t.target); virtual {
		b.problem(t.target.at, "", "is a virtual model, and copies are sent to one provider's model; write provider/model")
		return nil
	}
	if t.weight.set {
		b.problem(t.weight.at, "", "has no meaning here; share says how many requests are copied")
	}
	targets, _ := b.targets(f, []given[targetFile]{w.target}, false)
	if len(targets) == 0 || w.share.v == 0 {
		return nil
	}
	m := route.DefaultMirror()
	m.Target, m.Share = targets[0], w.share.v
	m.MaxInFlight, m.Timeout = w.maxInFlight.or(m.MaxInFlight), w.timeout.or(m.Timeout)
	return &m
}

// governedMirror reports a mirror that gets nothing, whatever the request.
func (b *builder) governedMirror(t *route.Table, e *entry[modelFile], m *route.Mirror) {
	if m == nil {
		return
	}
	f := route.Filter{Policies: t.PoliciesOfCopies([]string{e.name})}
	if d, ok := f.Mirrors(t, m); !ok {
		b.warn(e.v.mirror.at, "gets no copies: %s", d.Why)
	}
}
