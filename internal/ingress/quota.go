package ingress

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evergate/internal/journal"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/modelfacts"
	"evergate/internal/quota/meters"
	"evergate/internal/wire"
)

const (
	codeLimit  = "rate_limit_exceeded"
	codeBudget = "budget_exceeded"
)

// What an answer is taken to have before it is there, in tokens.
const (
	usualAnswer = 1024
	// mostAnswer bounds what a request may hold by saying max_tokens, where the catalogue does not know the model's own limit.
	mostAnswer = 32 << 10
)

// bounds are who limits the request: its caller, the caller's team, the model.
func (x *exchange) bounds(space []meters.Bound) []meters.Bound {
	if p := x.who; p != nil {
		space = append(space, meters.Bound{Kind: meters.Key, Name: p.Name, Limits: p.Limits, Budgets: p.Budgets})
		if t := p.Of; t != nil {
			space = append(space, meters.Bound{Kind: meters.Team, Name: t.Name, Limits: t.Limits, Budgets: t.Budgets})
		}
	}
	if l, ok := x.cfg.ModelLimits[x.label]; ok {
		space = append(space, meters.Bound{Kind: meters.Model, Name: x.label, Limits: l})
	}
	return space
}

// admit has the request reserve what it may use of its limits and budgets, all of them or none; the failure says which does not let it in.
func (x *exchange) admit() *wire.Failure {
	x.foreseeProviders()
	if x.cfg.Meters == nil || x.who == nil && len(x.cfg.ModelLimits) == 0 {
		return nil
	}
	var space [3]meters.Bound
	bounds := x.bounds(space[:0])
	metered := false
	for i := range bounds {
		metered = metered || bounds[i].Metered()
	}
	var amount meters.Amount
	if metered {
		amount = x.foresee()
	}
	return x.reserve(amount, bounds)
}

// foreseeProviders says what an attempt may use, where a provider's tokens are limited.
func (x *exchange) foreseeProviders() {
	for i := range x.call.Legs {
		if l := x.call.Legs[i].Limit; l != nil && l.Bound.Metered() && x.call.Foreseen == 0 {
			x.call.Foreseen = x.foresee().Tokens
		}
	}
}

// reserve asks the meters, and has the client told how its limits stand.
func (x *exchange) reserve(amount meters.Amount, bounds []meters.Bound) *wire.Failure {
	now := time.Now()
	hold, standings, refused := x.cfg.Meters.Reserve(now, amount, bounds)
	x.hold = hold
	x.showLimits(now, &standings)
	if refused == nil {
		return nil
	}
	x.refusal = &journal.LimitRefusal{Scope: refused.Kind.String(), Limit: string(refused.What)}
	h := x.w.Header()
	h["Retry-After"] = []string{strconv.FormatInt(int64(math.Ceil(refused.Wait.Seconds())), 10)}
	if !refused.Spent {
		h["Retry-After-Ms"] = []string{strconv.FormatInt(roundUp(refused.Wait, time.Millisecond).Milliseconds(), 10)}
	}
	f := limitFailure(refused)
	return &f
}

// limitFailure says in the codes of the contract which limit of whom let a request not in.
func limitFailure(r *meters.Refusal) wire.Failure {
	who := "the " + r.Kind.String() + " " + strconv.Quote(clip(r.Name))
	again := "; send the request again in " + roundUp(r.Wait, time.Millisecond).String()
	f := failure(http.StatusTooManyRequests, codeLimit, "")
	switch {
	case r.Spent:
		f = failure(http.StatusPaymentRequired, codeBudget, fmt.Sprintf("%s has used up its budget of %s %s; the next %s begins at %s",
			who, budgetText(r), r.Per.A(), r.Per, r.Until.Format(time.RFC3339)))
	case r.IsBudget():
		f.Message = fmt.Sprintf("what is left of the budget of %s %s of %s is held for requests that are under way%s", budgetText(r), r.Per.A(), who, again)
	case r.What == meters.Concurrent:
		f.Message = fmt.Sprintf("%s may have %d requests under way at a time, and has them; send the request again when one has ended", who, r.Limit)
	case r.Guess:
		f.Message = fmt.Sprintf("what is left of the %d %s a minute of %s is held for requests that are under way%s", r.Limit, r.What, who, again)
	default:
		f.Message = fmt.Sprintf("%s may use %d %s in 60 seconds, and has used them%s", who, r.Limit, r.What, again)
	}
	return f
}

func budgetText(r *meters.Refusal) string {
	if r.What == meters.BudgetUSD {
		return "$" + strconv.FormatFloat(float64(r.Limit)/1e9, 'f', -1, 64)
	}
	return strconv.FormatInt(r.Limit, 10) + " tokens"
}

// roundUp makes a wait whole: who waits so long has waited long enough.
func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

// foresee is what the request may use: its prompt and the longest answer that it asks for, at the prices of the first candidate.
func (x *exchange) foresee() meters.Amount {
	if _, counts := x.dialect.(wire.Counter); counts || len(x.call.Legs) == 0 {
		return meters.Amount{}
	}
	u := modelfacts.Tokens{Input: llm.EstimateBody(x.call.Request.Body)}
	facts := x.call.Legs[0].Target.Facts
	if _, words := x.dialect.(wire.Client); words {
		u.Output = usualAnswer
		if asked := askedTokens(x.call.Request.Body); asked > 0 {
			u.Output = asked
		}
		most := int64(mostAnswer)
		if facts != nil && facts.OutputLimit > 0 {
			most = facts.OutputLimit
		}
		u.Output = min(u.Output, most) * int64(min(max(x.call.Request.Choices, 1), 128))
	}
	a := meters.Amount{Tokens: u.Input + u.Output}
	if facts != nil {
		a.Nano, _ = facts.Prices.Cost(u)
	}
	return a
}

// askedTokens is the longest answer that a body asks for, in the members that the dialects have for it; 0: it does not say.
func askedTokens(body []byte) (most int64) {
	r := jsonscan.Again(body) // it was scanned before
	if !r.Object() {
		return 0
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			most = max(most, wholeNumber(r.Raw()))
		case "generationConfig", "generation_config":
			if r.Kind() != jsonscan.Object || !r.Object() {
				r.Skip()
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				if k := string(key); k == "maxOutputTokens" || k == "max_output_tokens" {
					most = max(most, wholeNumber(r.Raw()))
					continue
				}
				r.Skip()
			}
		default:
			r.Skip()
		}
	}
	return most
}

func wholeNumber(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// settle puts what the attempts really used in the place of what was reserved.
func (x *exchange) settle(steps []journal.Step) {
	if x.hold == nil {
		return
	}
	x.hold.Settle(time.Now(), usedBy(steps))
}

// usedBy is what attempts used together.
func usedBy(steps []journal.Step) (a meters.Amount) {
	for i := range steps {
		if s := &steps[i]; !s.Skipped {
			a.Tokens += s.Usage.Input + s.Usage.Output
			a.Nano += s.Cost.Nano
		}
	}
	return a
}

// admitPassage is admit for what nobody looks into: a caller whose tokens or money are bounded may not send it.
func (x *exchange) admitPassage() *wire.Failure {
	if x.cfg.Meters == nil || x.who == nil {
		return nil
	}
	var space [3]meters.Bound
	bounds := x.bounds(space[:0])
	for i := range bounds {
		if b := &bounds[i]; b.Metered() {
			f := failure(http.StatusForbidden, codeRouteNotAllowed, fmt.Sprintf(
				"the tokens or the money of the %s %s are limited, and nobody can tell what a request to this route costs; use a route that names the model, or a key without such limits",
				b.Kind, strconv.Quote(b.Name)))
			return &f
		}
	}
	return x.reserve(meters.Amount{}, bounds)
}

// showLimits puts how the tightest limits stand into the answer's headers, in the form that the client's SDK knows.
func (x *exchange) showLimits(now time.Time, s *meters.Standings) {
	if s.Requests.Limit == 0 && s.Tokens.Limit == 0 {
		return
	}
	x.limited = true
	h := x.w.Header()
	if x.dialect != nil && strings.HasPrefix(x.dialect.Path(), "/messages") {
		anthropicLimit(h, now, "Requests", s.Requests)
		anthropicLimit(h, now, "Tokens", s.Tokens)
		return
	}
	openaiLimit(h, "Requests", s.Requests)
	openaiLimit(h, "Tokens", s.Tokens)
}

func openaiLimit(h http.Header, what string, s meters.Standing) {
	if s.Limit == 0 {
		return
	}
	h["X-Ratelimit-Limit-"+what] = []string{strconv.FormatInt(s.Limit, 10)}
	h["X-Ratelimit-Remaining-"+what] = []string{strconv.FormatInt(s.Left, 10)}
	h["X-Ratelimit-Reset-"+what] = []string{roundUp(s.Resets, time.Millisecond).String()}
}

func anthropicLimit(h http.Header, now time.Time, what string, s meters.Standing) {
	if s.Limit == 0 {
		return
	}
	h["Anthropic-Ratelimit-"+what+"-Limit"] = []string{strconv.FormatInt(s.Limit, 10)}
	h["Anthropic-Ratelimit-"+what+"-Remaining"] = []string{strconv.FormatInt(s.Left, 10)}
	h["Anthropic-Ratelimit-"+what+"-Reset"] = []string{now.Add(s.Resets).UTC().Format("2006-01-02T15:04:05.000Z07:00")}
}

// ownLimits takes an upstream's limits out of headers that are to go to a client which has limits of its own: they are not the client's.
func (x *exchange) ownLimits(h, upstream http.Header) {
	if !x.limited {
		return
	}
	for name, values := range h {
		if !strings.HasPrefix(name, "X-Ratelimit-") && !strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			continue
		}
		if theirs := upstream[name]; len(theirs) > 0 && len(values) > 0 && &theirs[0] == &values[0] {
			delete(h, name)
		}
	}
}
