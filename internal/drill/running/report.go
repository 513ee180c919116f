package running

import (
	"maps"
	"slices"

	"evergate/internal/drill"
	"evergate/internal/journal"
)

// Report is what a drill has come to so far.
type Report struct {
	drill.State
	// Here is what this instance has seen, All what is known of the whole fleet; Instances is how many that are.
	Here, All drill.Counts
	Instances int
	// Guards are transitions of guards here, in words such as "circuit_breaker p closed>open", with how often.
	Guards map[string]int64
}

// List gives all that run and the last that did, in the order in which they began.
func (d *Drills) List() []Report {
	d.mu.Lock()
	all := slices.Clone(d.all)
	d.mu.Unlock()
	out := make([]Report, len(all))
	for i, o := range all {
		out[i] = o.report()
	}
	return out
}

// Report gives one; false: none of that id is known.
func (d *Drills) Report(id string) (Report, bool) {
	d.mu.Lock()
	o := d.find(id)
	d.mu.Unlock()
	if o == nil {
		return Report{}, false
	}
	return o.report(), true
}

func (o *one) report() Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := Report{State: drill.State{Rule: o.rule, End: o.end}, Here: o.counts, Instances: 1, Guards: maps.Clone(o.guards)}
	r.Here.Injected = o.spent.Load()
	r.All = r.Here
	for _, c := range o.there {
		r.All.Add(c)
		r.Instances++
	}
	return r
}

func (o *one) total() drill.Counts { r := o.report(); return r.All }

// Counts are what this instance has seen of each drill that touched anything here, by id.
func (d *Drills) Counts() map[string]drill.Counts {
	out := map[string]drill.Counts{}
	for _, r := range d.List() {
		if r.Here != (drill.Counts{}) {
			out[r.Rule.ID] = r.Here
		}
	}
	return out
}

// HearCounts takes what another instance has seen, which takes the place of what it said before.
func (d *Drills) HearCounts(instance string, all map[string]drill.Counts) {
	d.mu.Lock()
	known := slices.Clone(d.all)
	d.mu.Unlock()
	for _, o := range known {
		c, said := all[o.rule.ID]
		if !said {
			continue
		}
		o.mu.Lock()
		o.there[instance] = c
		var away drill.Counts
		for _, t := range o.there {
			away.Add(t)
		}
		failed := o.counts.Failed + away.Failed
		o.mu.Unlock()
		o.away.Store(away.Injected)
		d.limits(o, failed)
	}
}

// limits ends a drill that has done enough.
func (d *Drills) limits(o *one, failed int64) {
	switch {
	case o.rule.MaxUserErrors > 0 && failed >= o.rule.MaxUserErrors:
		d.later(o, drill.UserErrors)
	case o.spent.Load()+o.away.Load() >= o.rule.Budget:
		d.later(o, drill.Spent)
	}
}

// RequestEnded implements journal.Sink.
func (d *Drills) RequestEnded(r *journal.Request) {
	if r.Drill == "" {
		return
	}
	d.mu.Lock()
	known := d.all
	d.mu.Unlock()
	for _, o := range known {
		c, touched := drill.Outcome(o.rule.ID, r)
		if !touched {
			continue
		}
		o.mu.Lock()
		o.settled(r.ID)
		o.counts.Add(c)
		failed := o.counts.Failed
		for _, t := range o.there {
			failed += t.Failed
		}
		o.mu.Unlock()
		d.limits(o, failed)
	}
}

// GuardChanged implements journal.Sink. A block counts where a request brought it about that had met the fault, if the drill has ended
// meanwhile, too; that it ends counts while the drill runs.
func (d *Drills) GuardChanged(g *journal.Guard) {
	if g.Heard || !d.any.Load() {
		return
	}
	d.mu.Lock()
	known := d.all
	d.mu.Unlock()
	block := g.To == "open" || g.To == "blocked"
	for _, o := range known {
		if o.rule.Provider != "" && o.rule.Provider != g.Provider {
			continue
		}
		o.mu.Lock()
		_, caused := o.struck[g.RequestID]
		if caused || !block && len(o.guards) > 0 && !o.over.Load() {
			if block {
				o.counts.Blocks++
			}
			if words := g.Guard + " " + g.Provider + " " + g.From + ">" + g.To; len(o.guards) < 256 || o.guards[words] > 0 {
				o.guards[words]++
			}
		}
		o.mu.Unlock()
	}
}
