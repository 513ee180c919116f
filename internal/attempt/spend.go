package attempt

import (
	"net/http"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/modelfacts"
	"evergate/internal/wire"
)

// dispatch sends a request to the upstream itself: what it holds may cost money from now on.
func (e *exchange) dispatch(out *Outgoing) (*http.Response, *fault.Fault) {
	e.sent = llm.EstimateBody(out.Body)
	return e.leg.Upstream.Send(e.ctx, out)
}

// receive counts a content event of a stream: the text in it, or as much as one token where that is not known.
func (e *exchange) receive(data []byte) {
	n := bytesPerToken
	if p := &e.progress.Pattern; len(p.Before) > 0 && len(p.Before)+len(p.After) < len(data) {
		n = len(data) - len(p.Before) - len(p.After)
	}
	e.received += int64(n)
}

// bytesPerToken is of text, and envelope what a plain reply holds beside its text, in bytes.
const (
	bytesPerToken = 4
	envelope      = 300
)

// spent is what the attempt used and what that costs, by the prices that its target was chosen with. Tokens are those that the upstream said; where it said none of an
// answer that it gave or may have worked on, they are estimated from what was sent and received. What never reached it, and what it refused, costs nothing.
func (e *exchange) spent(f *fault.Fault) (u journal.Usage, estimated bool, c journal.Cost) {
	free := journal.Cost{Known: true}
	u = journal.Usage(e.progress.Reply.Usage)
	status := e.status
	if f != nil && f.Status != 0 {
		status = f.Status
	}
	_, counts := e.x.c.Dialect.(wire.Counter)
	switch {
	case e.sent == 0, counts, f != nil && (f.Unsent || f.Class == fault.Connect):
		return journal.Usage{}, false, free
	case !u.Known && e.received == 0 && status != 0 && (status < http.StatusOK || status >= http.StatusMultipleChoices): // an event of a stream that began says a status, too
		return journal.Usage{}, false, free
	case u.Known && (f == nil || e.received/bytesPerToken <= u.Output):
	case u.Known: // what was said of the answer was said before it broke off
		estimated, u.Output = true, e.received/bytesPerToken
	case !e.generates():
		return journal.Usage{}, false, journal.Cost{}
	default:
		estimated, u.Known, u.Input, u.Output = true, true, e.sent, (e.received+bytesPerToken-1)/bytesPerToken
	}
	return u, estimated, e.leg.price(&u)
}

// generates says whether the request asks for a model's words: of other kinds nobody can estimate what they cost.
func (e *exchange) generates() bool {
	_, words := e.x.c.Dialect.(wire.Client)
	return words
}

// price is what tokens cost at the leg's target.
func (l *Leg) price(u *journal.Usage) (c journal.Cost) {
	if facts := l.Target.Facts; facts != nil {
		c.Nano, c.Known = facts.Prices.Cost(modelfacts.Tokens{Input: u.Input, CachedInput: u.CachedInput, CacheWrite: u.CacheWrite, Output: u.Output})
	}
	return c
}

// Cost is what all attempts cost so far; not known if that of one is not.
func (r *Result) Cost() journal.Cost {
	c := journal.Cost{Known: true}
	for i := range r.Steps {
		if s := &r.Steps[i]; !s.Skipped {
			c.Nano += s.Cost.Nano
			c.Known = c.Known && s.Cost.Known
		}
	}
	return c
}

// Usage is that of the answer, and whether it was estimated; where nobody said it, it is that of the last attempt of who answered.
func (r *Result) Usage() (u journal.Usage, estimated bool) {
	u = journal.Usage(r.Reply.Usage)
	if r.Leg == nil {
		return u, false
	}
	for i := len(r.Steps) - 1; i >= 0; i-- {
		s := &r.Steps[i]
		if s.Skipped || s.Provider != r.Leg.Target.Provider || s.Model != r.Leg.Target.Model {
			continue
		}
		if s.Estimated && !r.Resumed {
			return s.Usage, true
		}
		break
	}
	return u, false
}
