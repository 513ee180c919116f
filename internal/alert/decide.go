package alert

import (
	"fmt"
	"strconv"
	"time"

	"evergate/internal/journal"
)

// alertOf begins an alert; subject tells incidents of one event apart.
func (w *Watcher) alertOf(e Event, now time.Time, subject ...string) Alert {
	return Alert{
		Version: Version, ID: identify(e, subject...), Event: e, Status: Firing, Severity: e.severity(),
		At: Time(now), Since: Time(now), Instance: w.o.Instance,
	}
}

// over is the end of an incident that began with a.
func (a Alert) over(now time.Time) Alert {
	a.Event, a.Status, a.At, a.Until, a.RequestID, a.Message, a.By = a.Event.end(), Resolved, Time(now), Time{}, "", "", ""
	return a
}

// lasted is how long it took, for people.
func (a *Alert) lasted(now time.Time) string {
	d := max(now.Sub(time.Time(a.Since)), 0)
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// guardMoved is a breaker's transition. Other guards are the daily business of failover, and nothing to wake somebody for.
func (w *Watcher) guardMoved(now time.Time, g *journal.Guard) {
	if g.Guard != "circuit_breaker" {
		return
	}
	name := g.Provider
	if g.Model != "" {
		name += "/" + g.Model
	}
	a := w.alertOf(BreakerOpened, g.At, g.Provider, g.Model)
	switch g.To {
	case "open":
		a.Provider, a.Model, a.Trip, a.Reason, a.Until, a.RequestID = g.Provider, g.Model, g.Trip, g.Reason, Time(g.Until), g.RequestID
		a.Summary = name + ": the circuit breaker is open"
		switch g.Trip {
		case "operator":
			a.Summary = name + ": an operator has opened the circuit breaker"
		case "failures":
			a.Summary += " after failures"
		case "cooldown":
			a.Summary += ", too many requests failed"
		}
		w.tracker.happened(now, a, g.Heard, nil)
	case "half_open": // others may know more, and close theirs without a word to this one
		w.tracker.eased(a.ID)
	case "closed":
		begin := w.tracker.going(a.ID)
		if begin == nil {
			return
		}
		end := begin.over(g.At)
		end.Trip, end.Reason, end.RequestID = g.Trip, g.Reason, g.RequestID
		end.Summary = name + ": the circuit breaker is closed again, after " + begin.lasted(g.At)
		w.tracker.over(now, end, !g.Heard)
	}
}

// discoveryMoved is a change of whether a provider's list of models can be read.
func (w *Watcher) discoveryMoved(now time.Time, d *journal.Discovery) {
	a := w.alertOf(DiscoveryFailing, d.At, d.Provider)
	if d.To != "healthy" {
		a.Provider, a.Reason, a.Message = d.Provider, d.To, d.Message
		a.Summary = d.Provider + ": the list of models cannot be read"
		w.tracker.happened(now, a, false, nil)
		return
	}
	if begin := w.tracker.going(a.ID); begin != nil {
		end := begin.over(d.At)
		end.Reason = d.To
		end.Summary = fmt.Sprintf("%s: the list of models is read again (%d), after %s", d.Provider, d.Models, begin.lasted(d.At))
		w.tracker.over(now, end, false)
	}
}

// changed is a drill that begins or ends.
func (w *Watcher) changed(now time.Time, c *journal.Change) {
	a := w.alertOf(Drill, c.At, c.Subject)
	switch c.Action {
	case "drill_started":
		a.By, a.Message = c.By, c.Reason
		a.Summary = "The drill " + c.Subject + " has begun: faults are injected on purpose"
		w.tracker.happened(now, a, c.Heard, nil)
	case "drill_stopped", "drill_ended":
		if begin := w.tracker.going(a.ID); begin != nil {
			end := begin.over(c.At)
			end.By, end.Message = c.By, c.Reason
			end.Summary = "The drill " + c.Subject + " is over, after " + begin.lasted(c.At)
			w.tracker.over(now, end, true)
		}
	}
}

// storeMoved is the state's store, lost or reached again.
func (w *Watcher) storeMoved(now time.Time, s *store) {
	a := w.alertOf(StoreLost, s.at)
	if !s.reached {
		a.Message = s.message
		a.Summary = "The state store is not reached: instances go on, each alone"
		w.tracker.happened(now, a, false, nil)
		return
	}
	if begin := w.tracker.going(a.ID); begin != nil {
		end := begin.over(s.at)
		end.Summary = "The state store is reached again, after " + begin.lasted(s.at)
		w.tracker.over(now, end, false)
	}
}

// blocked is a request that no candidate of its model could answer.
func (w *Watcher) blocked(now time.Time, r *refusal) {
	a := w.alertOf(AllBlocked, r.at, r.route)
	a.Route, a.Reason, a.RequestID = r.route, r.code, r.id
	a.Summary = "No provider answers requests for the model " + strconv.Quote(r.route) + ": " + r.code
	w.tracker.happened(now, a, false, r.outage)
}

func (a Alert) answering(now time.Time) Alert {
	end := a.over(now)
	end.Summary = "Requests for the model " + strconv.Quote(a.Route) + " are answered again; the outage was over within " + a.lasted(now)
	return end
}

func (a Alert) silent(now time.Time) Alert {
	end := a.over(now)
	end.Summary = "The model " + strconv.Quote(a.Route) + " has had no failed request for " + silentFor.String() + ", and hardly any other"
	return end
}

// gone ends what is about a provider that is no longer there.
func (w *Watcher) gone(now time.Time, known map[string]bool) {
	for _, i := range w.tracker.incidents {
		if name := i.begin.Provider; name != "" && !known[name] && i.ended.IsZero() {
			end := i.begin.over(now)
			end.Summary = name + ": no longer in use, by the configuration"
			w.tracker.over(now, end, false)
		}
	}
}
