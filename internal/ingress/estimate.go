package ingress

import (
	"net/http"

	"evergate/internal/attempt"
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

// estimate answers with the gateway's own count, marked as one; asked is what came of the attempts to learn it from a provider.
func (x *exchange) estimate(asked *attempt.Result) {
	counter := x.dialect.(wire.Counter)
	q, err := counter.DecodeCounted(&x.call.Request)
	if err != nil {
		f := badRequest(err)
		x.refuse(&f)
		return
	}
	header := x.w.Header()
	header.Set("X-Evergate-Estimated", "true")
	if len(asked.Steps) > 0 {
		header.Set("X-Evergate-Trail", trail(asked.Steps))
	}
	answer := counter.AppendCount(nil, llm.Estimate(q))
	if x.kept != nil {
		x.kept.said("application/json", "", answer)
	}
	x.writeJSON(answer)
	x.tell(&attempt.Result{Steps: asked.Steps, Upstream: asked.Upstream, Waits: asked.Waits}, http.StatusOK, "")
}
