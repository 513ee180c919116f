package explain

import (
	"slices"
	"strconv"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Case is what is known of a request that was played.
type Case struct {
	Answer Answer // what the caller knows of it: Model, Dialect, Stream, At
	Name   route.Understood
	// Resolution is the order that it was given; nil: it was refused before.
	Resolution *route.Resolution
	// Targets are those that were played, in order, and Guards a fresh copy for each.
	Targets []Target
	Guards  []*resilience.Machine
	Played  Played
	// Continues: the request continues a conversation that a provider has, and no other.
	Continues bool
	// Further: as many of the name's targets are its own, and those after them are of models that the request names after it; 0:
	// it names none.
	Further int
	// Judged are targets as strategies judged them; one that stands in a group first in that.
	Judged []Judged
	// Dropped are the targets that policies, preferences and keys took out.
	Dropped []route.Drop
	// Disabled says whether a target is turned off.
	Disabled func(*route.Target) bool
}

// Target is one target that was played.
type Target struct {
	failover.Target
	Dialect      string
	FirstContent time.Duration
}

// Compose puts a case into words.
func Compose(c *Case) *Answer {
	a := &c.Answer
	a.At = milliseconds(a.At)
	a.Name.As = string(c.Name.By)
	if c.Name.By == route.ByVirtual || c.Name.Strategy != route.Ordered {
		a.Name.Strategy = c.Name.Strategy.String()
	}
	if c.Resolution != nil {
		a.Name.Held = c.Resolution.Order == route.HeldBack
	}
	if len(c.Targets) > 0 {
		a.Policy = c.policy()
	}
	a.Candidates = []Candidate{}
	for t := range c.Targets {
		a.Candidates = append(a.Candidates, c.candidate(t))
	}
	c.addRest()
	slices.SortStableFunc(a.Candidates, func(x, y Candidate) int { return rank(&x) - rank(&y) })
	a.Summary = summary(a)
	return a
}

// rank orders candidates: by position, then those that a refusal sends to, then those that are not tried, each as declared.
func rank(c *Candidate) int {
	const far = 1 << 20
	switch {
	case c.Position > 0:
		return c.Position
	case c.On == "":
		return far + c.Declared
	}
	return 2*far + c.Declared
}

func (c *Case) policy() *Policy {
	first := &c.Targets[0]
	p := &Policy{
		Hedge: hedge(&c.Resolution.Hedge), Resume: c.Resolution.Resume && c.Answer.Stream, TotalMS: first.Timeouts.Total.Milliseconds(),
		LastResort: c.Played.Walk, Starved: c.Played.Starved,
	}
	return p
}

// candidate tells of one that was played.
func (c *Case) candidate(t int) Candidate {
	target := &c.Targets[t]
	m, p := c.Guards[t], &c.Played
	out := Candidate{
		Declared: c.declared(target.Target.Target), Provider: target.Provider, Model: target.Model, On: target.On.String(),
		Dialect: target.Dialect, FirstContentMS: target.FirstContent.Milliseconds(), Timeouts: timeouts(&target.Timeouts, c.Answer.Stream),
		Blocked: block(p.Blocked[t]), Judged: c.judged(target.Target.Target),
	}
	view, _ := m.View(c.Answer.At, nil)
	out.Credentials = c.credentials(m, &view, target.Model)
	if i := p.First[t]; i >= 0 && out.Blocked == nil {
		out.Credential = credentialName(&view, i)
	}
	at := slices.IndexFunc(p.Turns, func(turn Turn) bool { return turn.Target == t })
	if at >= 0 {
		turn := &p.Turns[at]
		out.Position, out.Forced, out.WaitMS = at+1, turn.Force, turn.Wait.Milliseconds()
		out.Credential = credentialName(&view, turn.Credential)
		out.Why = c.whyThere(t, at, &out)
		return out
	}
	out.Why = c.whyNot(t, &out)
	return out
}

// credentialName is the name of a credential by its index, which may stand for the caller's own key.
func credentialName(view *resilience.View, i int) string {
	if i == resilience.CallersKey {
		return "caller"
	}
	return view.Credentials[i].Name
}

// credentials are all of a provider's, with what blocks each beside the breakers.
func (c *Case) credentials(m *resilience.Machine, view *resilience.View, model string) []Credential {
	var out []Credential
	for i := range view.Credentials {
		k := Credential{Name: view.Credentials[i].Name, State: "ok"}
		if v := &view.Credentials[i]; v.State != "ok" {
			k.State, k.Blocked = "blocked", block(resilience.Block{Guard: resilience.CredentialCooldownGuard, Reason: v.Reason, Until: v.Until})
		}
		for j := range view.Lockouts {
			if l := &view.Lockouts[j]; k.Blocked == nil && l.Model == model && l.Credential == k.Name {
				k.State, k.Blocked = "blocked", block(resilience.Block{Guard: resilience.ModelLockoutGuard, Reason: l.Reason, Until: l.Until})
			}
		}
		if !m.Allows(i, model) {
			k = Credential{Name: k.Name, State: "not_for_this_model"}
		}
		out = append(out, k)
	}
	return out
}

// declared is a target's place in the model's list.
func (c *Case) declared(target *route.Target) int {
	return 1 + slices.IndexFunc(c.Name.Targets, func(o route.Target) bool {
		return o.Provider == target.Provider && o.Model == target.Model && o.On == target.On
	})
}

// addRest tells of the targets that were not even played.
func (c *Case) addRest() {
	for i := range c.Name.Targets {
		o := &c.Name.Targets[i]
		if slices.ContainsFunc(c.Answer.Candidates, func(k Candidate) bool { return k.Declared == i+1 }) {
			continue
		}
		out := Candidate{Declared: i + 1, Provider: o.Provider, Model: o.Model, On: o.On.String()}
		switch {
		case c.Disabled(o):
			out.Blocked = &Block{Guard: "disabled", Reason: "disabled"}
			out.Why = "It is disabled in the configuration."
		case c.has(o):
			continue // declared twice, or of two models: it was told of
		case c.drop(o) != nil:
			d := c.drop(o)
			out.Blocked = &Block{Guard: string(d.Guard), Reason: d.Reason}
			out.Why = leftOut + d.Why + "."
		case c.Resolution == nil:
			out.Why = "The request is refused before anybody is asked."
		default:
			out.Blocked = &Block{Guard: "capability", Reason: fault.Unable.String()}
			out.Why = "Its provider has no API for this kind of request."
			if c.Continues {
				out.Why = "Its provider does not have the conversation that the request continues."
			}
		}
		c.Answer.Candidates = append(c.Answer.Candidates, out)
	}
}

// drop says why a target was taken out before anything was looked at; nil: it was not.
func (c *Case) drop(o *route.Target) *route.Drop {
	for i := range c.Dropped {
		if d := &c.Dropped[i]; d.Provider == o.Provider && d.Model == o.Model && d.On == o.On {
			return d
		}
	}
	return nil
}

// has says whether a target was played under an earlier place.
func (c *Case) has(o *route.Target) bool {
	return slices.ContainsFunc(c.Targets, func(k Target) bool { return k.Provider == o.Provider && k.Model == o.Model && k.On == o.On })
}

// block gives a guard's word; an operator's is named as such.
func block(b resilience.Block) *Block {
	if !b.Blocked() {
		return nil
	}
	out := &Block{Guard: b.Guard.String(), Reason: string(b.Reason), Until: milliseconds(b.Until), Named: b.Named}
	if b.Forbids() {
		out.Guard = "operator"
	}
	return out
}

// milliseconds is a time as it is shown.
func milliseconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

func timeouts(t *route.Timeouts, stream bool) *Timeouts {
	if !stream {
		return &Timeouts{AttemptMS: t.Attempt.Milliseconds()}
	}
	return &Timeouts{FirstChunkMS: t.FirstChunk.Milliseconds(), IdleMS: t.Idle.Milliseconds(), ContentIdle: t.ContentIdle.Milliseconds()}
}

func hedge(h *route.Hedge) string {
	switch {
	case h.Max == 0:
		return "off"
	case h.Auto():
		return "auto"
	case h.After > 0:
		return h.After.String()
	}
	return "p" + strconv.Itoa(h.Percentile)
}
