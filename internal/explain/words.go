package explain

import (
	"fmt"
	"strings"
	"time"

	"evergate/internal/failover"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// whyThere says why a target has its turn then.
func (c *Case) whyThere(t, at int, out *Candidate) string {
	turn := &c.Played.Turns[at]
	head := "Asked first"
	switch {
	case at == 0 && t > 0 && turn.Why != failover.AllBlocked:
		head = "Asked first, as none before it can be"
	case at > 0:
		head = "Asked if " + c.name(c.Played.Turns[at-1].Target) + " fails"
	}
	if turn.Wait > 0 {
		head += ", after a wait of " + length(turn.Wait)
	}
	switch {
	case turn.Force:
		return head + ", in spite of what blocks it: every candidate is blocked (when_all_blocked: try_all). " + c.blocked(t, c.Played.Blocked[t])
	case turn.Why == failover.AllBlocked && out.Blocked != nil:
		return head + ", which is when it clears: every candidate is blocked. " + c.blocked(t, c.Played.Blocked[t])
	}
	return head + ": " + c.order(t) + "."
}

// order says why a target stands where it does in the list.
func (c *Case) order(t int) string {
	target, r := c.Targets[t].Target.Target, c.Resolution
	is := func(i int) bool {
		return i < len(r.Targets) && r.Targets[i].Provider == target.Provider && r.Targets[i].Model == target.Model
	}
	declared, held := c.declared(target), r.Order == route.HeldBack
	switch {
	case held && len(r.Targets) == 1:
		return "hold_down has put it first, and the request wants no fallbacks"
	case held && is(0):
		return "hold_down keeps " + r.Targets[1].String() + " behind it, which was down until lately"
	case held && is(1):
		return "hold_down keeps it second, for it was down until lately"
	case target.Stale:
		return "its provider's list of models could not be read lately, so it comes after the others"
	case r.Order == route.Affine && is(0):
		return "it served this conversation last (affinity)"
	case c.Further > 0 && declared > c.Further:
		return "the request names a model after its own that has it"
	case r.Order == route.Preferred:
		return "the request's own order says so"
	case declared > c.Name.Own:
		return "a failover rule adds it"
	case c.Name.By == route.ByVirtual || c.Name.Strategy != route.Ordered:
		return c.byStrategy(target, declared)
	case c.Name.By == route.ByID:
		return "its provider has the model; the order is the configuration's"
	}
	return "the name asks for it"
}

// whyNot says why a target has no turn, and notes what keeps it from one.
func (c *Case) whyNot(t int, out *Candidate) string {
	p := &c.Played
	switch f, later := p.Unable[t], p.Later[t]; {
	case out.On != "":
		return "Asked only where another target refuses the request for " + out.On + "."
	case f != nil:
		out.Blocked = &Block{Guard: "capability", Reason: f.Class.String()}
		return "It cannot do what the request asks: " + sentence(f.Message)
	case p.First[t] < 0:
		out.Blocked = &Block{Guard: "credentials", Reason: "no_credential"}
		return "None of its provider's keys is for this model."
	case p.Blocked[t].Blocked():
		return c.blocked(t, p.Blocked[t]) + c.noResort(t)
	case later.Blocked():
		out.Blocked = block(later)
		return "It is free now, but not if those before it fail as well. Then: " + c.blocked(t, later)
	case p.Final.Ending == failover.Deadline:
		out.Blocked = &Block{Guard: "time_limit", Reason: "deadline_exceeded"}
		return "The request's time is up before its turn."
	}
	return "A target of the same provider is asked in its place."
}

// noResort says why a blocked target is not asked although everything is blocked.
func (c *Case) noResort(t int) string {
	switch {
	case len(c.Played.Turns) > 0 && !c.Played.Walk, c.Played.Blocked[t].Forbids():
		return ""
	case c.Targets[t].Settings.WhenAllBlocked == resilience.FailFast:
		return " Everything is blocked, but it is not asked for that (when_all_blocked: fail_fast)."
	case c.Played.Starved:
		return " Everything is blocked, but the retry budget does not allow one more attempt."
	case c.Played.Walk:
		return " Everything is blocked, but its provider is asked with another of its keys."
	}
	return ""
}

// blocked says what blocks a target.
func (c *Case) blocked(t int, b resilience.Block) string {
	m, model := c.Guards[t], c.Targets[t].Model
	view, _ := m.View(c.Answer.At, nil)
	var text string
	switch b.Reason {
	case resilience.CircuitOpen:
		text = "Its circuit breaker is open"
		if trip := tripOf(&view, model); trip != "" {
			text += " (" + trip + ")"
		}
	case resilience.ProbeInFlight:
		if b.Until.IsZero() { // R75
			return "Its circuit breaker is half-open, and kept for a probe of the gateway's own."
		}
		return "Its circuit breaker is half-open, and another request is the probe."
	case resilience.OperatorOpen:
		text = "An operator holds its circuit breaker open"
		if why := orderOf(&view, model); why != "" {
			text += " (" + why + ")"
		}
		if b.Until.IsZero() {
			return text + ", until further notice."
		}
	case resilience.Ramping:
		text = "It was down until lately, and this request is not of the share that it gets back; the ramp goes on"
	case resilience.ModelNotFound:
		text = "Its provider said that it does not have this model, which rests"
	case resilience.RateLimited:
		text = key(m, model) + " is rate limited and rests"
	case resilience.QuotaExhausted:
		text = key(m, model) + " has no quota left and rests"
	case resilience.AuthFailed:
		text = key(m, model) + " was refused and rests"
	case resilience.LimitReached:
		text = "It has all that the config lets it have at a time"
	case resilience.ModelLimited:
		text = key(m, model) + " may not use this model, which rests there"
	}
	if !b.Until.IsZero() {
		text += " for another " + length(b.Until.Sub(c.Answer.At))
	}
	if b.Named {
		text += ", as the upstream said"
	}
	return text + "."
}

// key is the subject of a sentence about the credential that clears first.
func key(m *resilience.Machine, model string) string {
	n := 0
	for i := range m.Credentials() {
		if m.Allows(i, model) {
			n++
		}
	}
	if n == 1 {
		return "Its key"
	}
	return fmt.Sprintf("None of its %d keys is free: the first to clear", n)
}

// tripOf is what opened the breaker that holds a model back.
func tripOf(v *resilience.View, model string) string {
	for i := range v.Models {
		if v.Models[i].Model == model && v.Models[i].State == resilience.Open && v.Breaker.State != resilience.Open {
			return v.Models[i].Trip
		}
	}
	return v.Breaker.Trip
}

// orderOf is the reason that an operator gave.
func orderOf(v *resilience.View, model string) string {
	for i := range v.Models {
		if v.Models[i].Model == model && v.Models[i].Order.Action == resilience.ForceOpen {
			return v.Models[i].Order.Reason
		}
	}
	return v.Breaker.Order.Reason
}

func (c *Case) name(t int) string { return c.Targets[t].String() }

// length is a time in words, rounded up so that it never says that something is over before it is.
func length(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return (d + time.Millisecond - 1).Truncate(time.Millisecond).String()
	}
	text := (d + time.Second - 1).Truncate(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// summary says an answer in a few sentences.
func summary(a *Answer) string {
	var tried []*Candidate
	var s strings.Builder
	for i := range a.Candidates {
		if a.Candidates[i].Position > 0 {
			tried = append(tried, &a.Candidates[i])
		}
	}
	switch {
	case len(tried) > 0:
		first := tried[0]
		fmt.Fprintf(&s, "A request for %q goes to %s", a.Model, first.target())
		if first.Credential != "" && len(first.Credentials) > 1 {
			fmt.Fprintf(&s, " with the key %q", first.Credential)
		}
		switch {
		case first.Forced:
			s.WriteString(", although everything is blocked")
		case first.WaitMS > 0:
			s.WriteString(" after a wait of " + length(time.Duration(first.WaitMS)*time.Millisecond))
		}
		s.WriteString(".")
	case a.Refused != nil:
		fmt.Fprintf(&s, "Nobody is asked; the client gets %d %s: %s", a.Refused.Status, a.Refused.Code, sentence(a.Refused.Message))
	default:
		s.WriteString("Nobody is asked.")
	}
	for i := range a.Candidates {
		k := &a.Candidates[i]
		told := a.Refused != nil && (strings.Contains(k.Why, a.Refused.Message) || strings.Contains(a.Refused.Message, reasonOf(k.Why)))
		if k.Position == 0 && k.On == "" && k.Blocked != nil && !told && (len(tried) == 0 || k.Declared < tried[0].Declared || varies(a.Name.Strategy)) {
			fmt.Fprintf(&s, " %s is passed over. %s", k.target(), k.Why)
		}
	}
	for i := 1; i < len(tried); i++ {
		switch {
		case i == 1:
			s.WriteString(" If " + tried[0].target() + " fails, " + tried[i].target())
		case i == len(tried)-1:
			s.WriteString(" and then " + tried[i].target())
		default:
			s.WriteString(", " + tried[i].target())
		}
		if i == len(tried)-1 {
			s.WriteString(" is asked.")
		}
	}
	if a.Mirror != nil {
		s.WriteString(" " + a.Mirror.Why)
	}
	return s.String()
}

// leftOut begins the sentence about a target that policies, preferences or keys took out.
const leftOut = "It is left out: "

// reasonOf is what such a sentence says, and any other as it is.
func reasonOf(why string) string { return strings.TrimSuffix(strings.TrimPrefix(why, leftOut), ".") }

// sentence ends a text as one.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

func (k *Candidate) target() string { return k.Provider + "/" + k.Model }
