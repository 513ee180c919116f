package explain

import (
	"fmt"
	"strings"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// Past says what became of a request. It is the reply of GET /admin/v1/explain/{id}.
type Past struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Model   string    `json:"model"` // as it was asked for
	Dialect string    `json:"dialect"`
	Stream  bool      `json:"stream"`
	Key     string    `json:"key,omitempty"` // the caller's, by name
	Summary string    `json:"summary"`
	// Status and Code are what the client got; a code comes with an error of the gateway's own.
	Status int    `json:"status"`
	Code   string `json:"code,omitempty"`
	// Answered is the provider/model that answered; empty: nobody did.
	Answered   string `json:"answered_by,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// WaitsMS is the time that it waited between attempts.
	WaitsMS int64 `json:"waits_ms,omitempty"`
	// Order is why the candidates stood so: declared, nested, the word of a strategy, hold_down, affinity,
	// preferred, provider_model or model_id.
	Order      string          `json:"order,omitempty"`
	Candidates []PastCandidate `json:"candidates"`
	Trail      []PastStep      `json:"trail"`
	// Mirror is the copy that was made of it; nil: none is remembered.
	Mirror *PastMirror `json:"mirror,omitempty"`
	// LeftOut is how many steps and candidates were too many to be kept.
	LeftOut int `json:"left_out,omitempty"`
}

// PastCandidate is one of the targets that the request had, in order.
type PastCandidate struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// On is the refusal that alone sent requests there; empty: all went.
	On string `json:"on,omitempty"`
	// Outcome is answered, failed, passed_over, or not_reached.
	Outcome string `json:"outcome"`
	Why     string `json:"why"`
}

// PastStep is one entry of the trail: an attempt, or a candidate that was passed over.
type PastStep struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Credential string `json:"credential,omitempty"`
	// Skipped: it was not asked, for Reason, which blocked it until Until.
	Skipped bool `json:"skipped,omitempty"`
	// Why says why the attempt was made: first, next_candidate, ....
	Why    string `json:"why,omitempty"`
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason"`
	// Guard is what the reason of a skip belongs to.
	Guard   string    `json:"guard,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Message string    `json:"message,omitempty"`
	// Drill is the drill whose fault the attempt met (R74); empty: none.
	Drill string `json:"drill,omitempty"`
	// AtMS is when it began, after the request.
	AtMS       int64 `json:"at_ms"`
	DurationMS int64 `json:"duration_ms"`
}

// Tell puts a remembered request into words; list are the candidates that it had, and leftOut what was not kept.
func Tell(f *journal.Request, list []journal.Candidate, leftOut int) *Past {
	p := &Past{
		ID: f.ID, At: milliseconds(f.Start), Model: f.Asked, Dialect: f.Dialect, Stream: f.Stream, Key: f.Key, Status: f.Status, Code: f.Code,
		DurationMS: f.Duration.Milliseconds(), WaitsMS: f.Waits.Milliseconds(), Order: f.Order, LeftOut: leftOut,
		Candidates: []PastCandidate{}, Trail: []PastStep{},
	}
	if f.Provider != "" {
		p.Answered = f.Provider + "/" + f.Model
	}
	for i := range f.Trail {
		p.Trail = append(p.Trail, step(f, &f.Trail[i]))
	}
	for i := range list {
		p.Candidates = append(p.Candidates, p.candidate(&list[i]))
	}
	p.Summary = p.summary()
	return p
}

func step(f *journal.Request, s *journal.Step) PastStep {
	out := PastStep{
		Provider: s.Provider, Model: s.Model, Credential: s.Credential, Skipped: s.Skipped, Why: s.Why, Status: s.Status, Reason: s.Reason,
		Until: milliseconds(s.Until), Message: s.Message, Drill: s.Drill, AtMS: s.Start.Sub(f.Start).Milliseconds(), DurationMS: s.Duration.Milliseconds(),
	}
	if s.Skipped {
		out.Guard = guardOf(s.Reason)
	}
	return out
}

// candidate says what came of one of the candidates: by its last attempt, or else by what it was passed over for.
func (p *Past) candidate(c *journal.Candidate) PastCandidate {
	out := PastCandidate{Provider: c.Provider, Model: c.Model, On: c.On, Outcome: "not_reached", Why: p.notReached(c)}
	tries := 0
	for i := range p.Trail {
		s := &p.Trail[i]
		if s.Provider != c.Provider || s.Model != c.Model {
			continue
		}
		switch {
		case s.Skipped && tries == 0:
			out.Outcome, out.Why = "passed_over", "Passed over: "+s.passed(p.At)
		case s.Skipped:
		case s.Reason == "ok":
			tries++
			out.Outcome, out.Why = "answered", "It answered "+nth(p.tries(i))+"."
		default:
			tries++
			out.Outcome, out.Why = "failed", "It failed"+times(tries)+": "+s.failed()+"."
		}
	}
	return out
}

func (p *Past) notReached(c *journal.Candidate) string {
	switch {
	case c.On != "":
		return "Nobody refused the request for " + c.On + "."
	case p.Answered != "":
		return "Another one answered before its turn."
	}
	return "The request ended before its turn."
}

// tries counts the attempts up to and with step i.
func (p *Past) tries(i int) (n int) {
	for _, s := range p.Trail[:i+1] {
		if !s.Skipped {
			n++
		}
	}
	return n
}

func nth(n int) string {
	if n == 1 {
		return "at the first attempt"
	}
	return fmt.Sprintf("at attempt %d", n)
}

func times(n int) string {
	switch n {
	case 1:
		return ""
	case 2:
		return " twice; the last time"
	}
	return fmt.Sprintf(" %d times; the last time", n)
}

// passed says why a candidate was passed over, without a stop where upstreams said it.
func (s *PastStep) passed(at time.Time) string {
	text := s.Reason
	if s.Message != "" {
		text += " (" + s.Message + ")"
	}
	if !s.Until.IsZero() {
		text += ", for another " + length(s.Until.Sub(at.Add(time.Duration(s.AtMS)*time.Millisecond)))
	}
	return text + "."
}

func (s *PastStep) failed() string {
	text := s.Reason
	if s.Status != 0 {
		text += fmt.Sprintf(", status %d", s.Status)
	}
	text += " after " + elapsed(s.DurationMS)
	if s.Message != "" {
		text += " (" + s.Message + ")"
	}
	if s.Drill != "" {
		text += ", in the drill " + s.Drill
	}
	return text
}

// elapsed is how long something took.
func elapsed(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// guardOf is the guard that a skip's reason belongs to.
func guardOf(reason string) string {
	switch resilience.Reason(reason) {
	case resilience.CircuitOpen, resilience.ProbeInFlight, resilience.Ramping:
		return resilience.CircuitBreaker.String()
	case resilience.OperatorOpen:
		return "operator"
	case resilience.RateLimited, resilience.QuotaExhausted, resilience.AuthFailed:
		return resilience.CredentialCooldownGuard.String()
	case resilience.ModelNotFound, resilience.ModelLimited:
		return resilience.ModelLockoutGuard.String()
	case resilience.LimitReached:
		return resilience.LimitGuard.String()
	}
	if reason == fault.Unable.String() {
		return "capability"
	}
	return ""
}

func (p *Past) summary() string {
	var s strings.Builder
	fmt.Fprintf(&s, "The request for %q ", p.Model)
	switch end := strings.TrimSpace(fmt.Sprintf("%d %s", p.Status, p.Code)); {
	case len(p.Trail) == 0 && p.Answered == "":
		s.WriteString("was answered with " + end + ", and nobody was asked.")
	case p.Answered != "" && p.Code == "":
		s.WriteString("was answered by " + p.Answered + " after " + elapsed(p.DurationMS) + ".")
	default:
		s.WriteString("ended with " + end + " after " + elapsed(p.DurationMS) + ".")
	}
	for i := range p.Candidates {
		if c := &p.Candidates[i]; c.Outcome != "answered" && c.Outcome != "not_reached" {
			s.WriteString(" " + c.Provider + "/" + c.Model + ": " + strings.ToLower(c.Why[:1]) + c.Why[1:])
		}
	}
	return s.String()
}
