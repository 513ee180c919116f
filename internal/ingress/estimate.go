package ingress

import (
	"net/http"

	"evergate/internal/attempt"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// canEstimate says whether the gateway answers a count of tokens itself: no provider has a route for it, or none for
// this model (CONTRACT §3).
func (x *exchange) canEstimate(res *attempt.Result) bool {
	_, countable := x.dialect.(wire.Counter)
	if !countable || res.OK || res.Final.Fault == nil {
		return false
	}
	switch res.Final.Fault.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// estimate answers with the gateway's own count, marked as one; steps are the attempts to learn it from a provider.
func (x *exchange) estimate(steps []journal.Step) {
	counter := x.dialect.(wire.Counter)
	q, err := counter.DecodeCounted(&x.call.Request)
	if err != nil {
		f := badRequest(err)
		x.refuse(&f)
		return
	}
	header := x.w.Header()
	header.Set("X-Evergate-Estimated", "true")
	if len(steps) > 0 {
		header.Set("X-Evergate-Trail", trail(steps))
	}
	answer := counter.AppendCount(nil, llm.Estimate(q))
	if x.kept != nil {
		x.kept.said("application/json", "", answer)
	}
	x.writeJSON(answer)
	x.tell(&attempt.Result{Steps: steps}, http.StatusOK, "")
}
