package alert

import (
	"maps"
	"slices"
	"time"
)

// How incidents go on, and are shared among the instances of a fleet.
const (
	leaseLife  = 30 * time.Second // of who tells of an incident
	leaseRest  = 15 * time.Second // of it, once the end was told
	askEvery   = 10 * time.Second // its holder renews it, and others ask for it
	endedLife  = 2 * time.Minute  // how long others keep an incident that is over, for the case that its teller died
	headStart  = 2 * time.Second  // of who saw it itself, and knows the request that caused it
	calmFor    = time.Minute      // no request may have failed for so long before a model answers again
	silentFor  = 15 * time.Minute // without a failed request it is not known any more whether a model answers
	lookEvery  = 5 * time.Second  // at outages
	maxTracked = 10_000           // incidents at a time
)

// Leases are the fleet's. Claim takes a lease, or renews one that this instance has, and says whether it has it; an error: nobody
// could be asked. Both end with their context.
type Leases interface {
	Claim(name string, life time.Duration) (mine bool, err error)
	Yield(name string)
}

// hold says who tells of an incident.
type hold uint8

const (
	unasked hold = iota
	mine
	alone // nobody could be asked: each instance tells for itself
	others
)

// incident is something that is, or was, the matter.
type incident struct {
	begin, end Alert
	since      time.Time
	ended      time.Time       // zero: it goes on
	outage     *outage         // of AllBlocked; nil: it is another
	vague      bool            // it may be over: this instance has not found out
	certain    bool            // it is over: this instance found out itself
	refusals   int             // of the lease of its end
	told       map[string]bool // receivers that had the begin, or want none
	hold       hold
	askAt      time.Time // when the lease is to be claimed
}

// send is an alert for a receiver.
type send struct {
	receiver string
	alert    Alert
}

// tracker keeps incidents and says what is to be told. It reads no clock; one goroutine uses it.
type tracker struct {
	receivers []Receiver
	leases    Leases // nil: there is no fleet
	incidents map[string]*incident
	ends      map[string]time.Time // leases of ends that this instance took, with when they end by themselves
}

// happened takes the begin of an incident, or news of one that goes on. heard: another instance saw it.
func (t *tracker) happened(now time.Time, a Alert, heard bool, o *outage) {
	i := t.incidents[a.ID]
	switch {
	case i != nil && i.ended.IsZero():
		i.begin.Until, i.vague = a.Until, false
		return
	case i == nil && len(t.incidents) >= maxTracked:
		return
	}
	a.clean()
	i = &incident{begin: a, since: now, outage: o, told: map[string]bool{}, askAt: now}
	if heard {
		i.askAt = now.Add(headStart)
	}
	t.incidents[a.ID] = i
	if lease := i.endLease(); !t.ends[lease].IsZero() { // whoever tells of the end this time is to have it
		t.leases.Yield(lease)
		delete(t.ends, lease)
	}
}

// over takes the end of an incident. certain: what this instance saw holds for all of them.
func (t *tracker) over(now time.Time, a Alert, certain bool) {
	if i := t.incidents[a.ID]; i != nil && i.ended.IsZero() {
		a.Since = i.begin.Since
		a.clean()
		i.end, i.ended, i.certain, i.askAt = a, now, certain, now.Add(headStart) // who told of it may know, too
	}
}

// eased takes that an incident may be over.
func (t *tracker) eased(id string) {
	if i := t.incidents[id]; i != nil {
		i.vague = true
	}
}

// going is the begin of an incident that goes on, nil if there is none.
func (t *tracker) going(id string) *Alert {
	if i := t.incidents[id]; i != nil && i.ended.IsZero() {
		return &i.begin
	}
	return nil
}

// step moves what time moves: it gives what is to be told, and when to be called again, zero: when something happens.
func (t *tracker) step(now time.Time) (sends []send, next time.Time) {
	wake := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.incidents)) {
		i := t.incidents[id]
		if i.outage != nil && i.ended.IsZero() {
			t.look(now, i)
			wake(now.Add(lookEvery))
		}
		if !i.ended.IsZero() {
			told, done := t.finish(now, i)
			sends = append(sends, told...)
			if done {
				delete(t.incidents, id)
			} else {
				wake(i.askAt)
			}
			continue
		}
		due := t.due(i, now)
		if !t.own(now, i, len(due) > 0) {
			delete(t.incidents, id)
			continue
		}
		if i.hold == mine || i.hold == alone {
			sends = append(sends, i.tellBegin(due)...)
		}
		if t.leases != nil && (i.hold != unasked || len(due) > 0) {
			wake(i.askAt)
		}
		for n := range t.receivers {
			if at := i.since.Add(t.receivers[n].For); at.After(now) {
				wake(at)
			}
		}
	}
	return sends, next
}

// due are the receivers that should have been told of an incident by a moment and were not. Nobody is told of one that may be over.
func (t *tracker) due(i *incident, by time.Time) (out []*Receiver) {
	if i.ended.IsZero() && (i.vague || i.outage != nil && i.outage.answers()) {
		return nil
	}
	for n := range t.receivers {
		r := &t.receivers[n]
		if !i.told[r.Name] && (r.wants(i.begin.Event) || r.wants(i.begin.Event.end())) && !by.Before(i.since.Add(r.For)) {
			out = append(out, r)
		}
	}
	return out
}

// own finds out who tells of an incident that goes on: who has its lease, and everybody where nobody can be asked. What others told
// already stays theirs when the store is lost. false: it is over, as another one knew and told, and to be forgotten.
func (t *tracker) own(now time.Time, i *incident, due bool) bool {
	switch {
	case t.leases == nil:
		i.hold = alone
		return true
	case i.hold == unasked && !due, now.Before(i.askAt):
		return true
	}
	has, err := t.leases.Claim(i.lease(), leaseLife)
	i.askAt = now.Add(askEvery)
	switch {
	case err != nil:
		if i.hold == unasked {
			i.hold = alone
		}
	case !has:
		i.hold = others
	case i.hold != unasked && i.vague && !t.unfinished(i):
		t.leases.Yield(i.lease())
		return false
	default:
		i.hold = mine
	}
	return true
}

// unfinished says whether nobody has told the end of an incident. It requires the lease.
func (t *tracker) unfinished(i *incident) bool {
	has, err := t.leases.Claim(i.endLease(), leaseLife)
	if err == nil && has {
		t.leases.Yield(i.endLease())
	}
	return err != nil || has
}

func (i *incident) lease() string { return "alert/" + i.begin.ID }

// endLease is had by who told that it is over.
func (i *incident) endLease() string { return i.lease() + "/over" }

// finish tells that an incident is over, or not yet; done: it can be forgotten.
func (t *tracker) finish(now time.Time, i *incident) (sends []send, done bool) {
	switch i.hold {
	case mine: // so that the others do not tell it when they get the lease
		_, _ = t.claimEnd(now, i)                   // this is the teller, whatever the answer
		_, _ = t.leases.Claim(i.lease(), leaseRest) // so that nobody takes it who has not heard yet
		i.catchUp(t.due(i, i.ended))                // where another one told of the begin
		return t.tellEnd(i), true
	case alone:
		if t.leases != nil { // the others told of it, too
			if has, err := t.claimEnd(now, i); err == nil && !has {
				return nil, true
			}
		}
		return t.tellEnd(i), true
	case others:
		return t.outlive(now, i)
	case unasked: // it was never due
	}
	return nil, true
}

func (t *tracker) claimEnd(now time.Time, i *incident) (bool, error) {
	has, err := t.leases.Claim(i.endLease(), endedLife)
	if has {
		maps.DeleteFunc(t.ends, func(_ string, until time.Time) bool { return now.After(until) })
		t.ends[i.endLease()] = now.Add(2 * endedLife) // the store may have been slow
	}
	return has, err
}

// outlive watches over an incident that another instance told of, and that is over as far as this one knows: if the other is gone
// without a word, or does not know what is certain, this one says so.
func (t *tracker) outlive(now time.Time, i *incident) (sends []send, done bool) {
	if now.Before(i.askAt) {
		return nil, false
	}
	i.askAt = now.Add(askEvery)
	has, err := t.leases.Claim(i.lease(), leaseLife)
	if err != nil || now.After(i.ended.Add(endedLife)) {
		return nil, true
	}
	free := has
	if !free && !i.certain {
		return nil, false // it lives, and may see it go on
	}
	has, err = t.claimEnd(now, i)
	if free {
		t.leases.Yield(i.lease())
	}
	if err == nil && has {
		i.catchUp(t.due(i, i.ended))
		return t.tellEnd(i), true
	}
	i.refusals++
	return nil, free || i.refusals > 1 // it was told; or somebody looked just then whether it was
}

// catchUp takes that receivers were told of the begin, by another instance.
func (i *incident) catchUp(receivers []*Receiver) {
	for _, r := range receivers {
		i.told[r.Name] = true
	}
}

func (i *incident) tellBegin(due []*Receiver) (out []send) {
	for _, r := range due {
		i.told[r.Name] = true
		if r.wants(i.begin.Event) {
			out = append(out, send{r.Name, i.begin})
		}
	}
	return out
}

func (t *tracker) tellEnd(i *incident) (out []send) {
	for n := range t.receivers {
		if r := &t.receivers[n]; i.told[r.Name] && r.wants(i.end.Event) {
			out = append(out, send{r.Name, i.end})
		}
	}
	return out
}

// look ends an outage that is one no more, as far as can be known.
func (t *tracker) look(now time.Time, i *incident) {
	quiet := now.Sub(i.outage.lastFailed())
	switch {
	case i.outage.answers() && quiet >= calmFor:
		t.over(now, i.begin.answering(now), false)
	case quiet >= silentFor:
		t.over(now, i.begin.silent(now), false)
	}
}

// troubled is the number of models with an outage.
func (t *tracker) troubled() (n int32) {
	for _, i := range t.incidents {
		if i.outage != nil && i.ended.IsZero() {
			n++
		}
	}
	return n
}
