package ingress

import (
	"net/http"
	"strings"

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

// estimate answers with the gateway's own count, marked as one.
func (x *exchange) estimate(res *attempt.Result) {
	counter := x.dialect.(wire.Counter)
	q, err := counter.DecodeCounted(&x.call.Request)
	if err != nil {
		x.refuse(badRequest(err))
		return
	}
	header := x.w.Header()
	header.Set("X-Evergate-Estimated", "true")
	if len(res.Steps) > 0 {
		header.Set("X-Evergate-Trail", trail(res.Steps))
	}
	x.writeJSON(counter.AppendCount(nil, llm.Estimate(q)))
	x.tell(res, http.StatusOK, "")
}

// strict says whether the caller would rather have an error than lose a part of the request in translation.
func strict(h http.Header) bool {
	for _, line := range h["X-Evergate-Prefer"] {
		for word := range strings.SplitSeq(line, ";") {
			name, value, given := strings.Cut(strings.TrimSpace(word), "=")
			if strings.EqualFold(strings.TrimSpace(name), "strict") {
				return !given || !strings.EqualFold(strings.TrimSpace(value), "false") && strings.TrimSpace(value) != "no"
			}
		}
	}
	return false
}
