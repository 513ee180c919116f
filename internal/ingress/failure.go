package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// The codes of errors (CONTRACT §3).
const (
	codeProvider        = "provider_error"
	codeAllFailed       = "all_providers_failed"
	codeCircuitOpen     = "circuit_open"
	codeAllLimited      = "all_providers_rate_limited"
	codeDeadline        = "deadline_exceeded"
	codeProviderTimeout = "provider_timeout"
	codeModelNotFound   = "model_not_found"
	codeInvalid         = "invalid_request"
	codeInvalidKey      = "invalid_api_key"
	codeModelNotAllowed = "model_not_allowed"
	codeForeignPage     = "forbidden_origin"
	codeTooLarge        = "request_too_large"
	codeNotFound        = "not_found"
	codeShuttingDown    = "shutting_down"
	codeClientGone      = "client_gone"
	codeInternal        = "internal_error"
)

// failure makes a Failure.
func failure(status int, code, message string) wire.Failure {
	return wire.Failure{Status: status, Code: code, Message: message}
}

func tooLarge(limit int64) *wire.Failure {
	f := failure(http.StatusRequestEntityTooLarge, codeTooLarge,
		fmt.Sprintf("the request body is larger than %d bytes, the limit of server.max_request_body", limit))
	return &f
}

func badRequest(err error) wire.Failure {
	f := failure(http.StatusBadRequest, codeInvalid, err.Error())
	var re *wire.RequestError
	if errors.As(err, &re) {
		f.Param = re.Param
	}
	return f
}

// failureOf says a call's end in the codes of the contract (R55).
func (x *exchange) failureOf(res *attempt.Result) wire.Failure {
	if f, blocked := x.blockedAnswer(); blocked {
		return f
	}
	final := res.Final
	words := upstreamWords(final.Fault)
	var f wire.Failure
	switch final.Ending {
	case failover.ClientLeft:
		if !shuttingDown(x.r.Context()) {
			f = failure(statusClientGone, codeClientGone, "the client closed its side of the connection before the answer was whole")
			break
		}
		f = failure(http.StatusServiceUnavailable, codeShuttingDown, "the gateway is shutting down; send the request again")
	case failover.PassBack:
		f = x.passBack(final.Fault)
	case failover.CutShort:
		f = failure(brokeStatus(final.Fault), codeProvider, "the answer broke off"+words)
	case failover.Deadline:
		f = failure(http.StatusGatewayTimeout, codeDeadline,
			fmt.Sprintf("no answer within the time limit for this request (%s)%s", time.Since(x.start).Round(time.Millisecond), words))
	case failover.AllLimited:
		f = failure(http.StatusTooManyRequests, codeAllLimited,
			fmt.Sprintf("every provider of the model %q is rate limited%s", clip(x.call.Request.Model), words))
	case failover.CircuitOpen:
		if len(res.Steps) == 0 { // nothing was tried and nothing was blocked
			f = failure(http.StatusNotFound, codeModelNotFound,
				fmt.Sprintf("no key is configured that may be used for the model %q: see the keys' models", clip(x.call.Request.Model)))
			f.Param = "model"
			break
		}
		f = failure(http.StatusServiceUnavailable, codeCircuitOpen,
			"circuit breaker is open - provider temporarily unavailable"+words)
	case failover.OneFailed:
		f = failure(http.StatusBadGateway, codeProvider, "the provider of the model "+strconv.Quote(clip(x.call.Request.Model))+" failed"+words)
		if final.PassStatus && final.Fault != nil && final.Fault.Status >= 500 {
			f.Status = final.Fault.Status
		}
	case failover.AllFailed:
		f = failure(http.StatusBadGateway, codeAllFailed,
			fmt.Sprintf("all %d targets of the model %q failed; the last%s", countTargets(res), clip(x.call.Request.Model), words))
	}
	f.RequestID = x.id
	for i := range res.Steps {
		s := &res.Steps[i]
		f.Attempts = append(f.Attempts, wire.Attempt{
			Target: s.Provider + "/" + s.Model, Status: s.Status, Reason: s.Reason, Millis: s.Duration.Milliseconds(), Skipped: s.Skipped,
		})
	}
	return f
}

// brokeStatus is the status whose type an error event in a stream gets: a client is to know a limit, or an overload, from
// an answer that just broke off (R15).
func brokeStatus(f *fault.Fault) int {
	switch {
	case f.Broke.RateLimit():
		return http.StatusTooManyRequests
	case f.Status == http.StatusServiceUnavailable, f.Status == 529, strings.Contains(strings.ToLower(f.Code), "overloaded"):
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadGateway
	}
}

// passBack is an upstream's own refusal (R8, R10-R12), or an outcome that a classify rule sends back.
func (x *exchange) passBack(ft *fault.Fault) wire.Failure {
	switch {
	case ft.Class == fault.RouteMissing: // 405 and 501, too: what the client can do about it is to ask for another model
		return failure(http.StatusNotFound, codeNotFound,
			fmt.Sprintf("no provider of the model %q has a route for %s%s", clip(x.call.Request.Model), x.routeName(), upstreamWords(ft)))
	case ft.Class == fault.Unable: // R46: the gateway's own words
		f := failure(http.StatusBadRequest, cmp.Or(ft.Code, codeInvalid), ft.Message)
		f.Param = ft.Param
		return f
	case ft.Status >= 400:
		f := failure(ft.Status, ft.Code, ft.Message)
		if ft.Class == fault.ContextLength && ft.Body == nil { // R11 by the catalogue, or in another dialect's words
			f.Code = cmp.Or(f.Code, "context_length_exceeded")
		}
		if f.Message == "" {
			f.Message = fmt.Sprintf("the upstream answered %d without a message", ft.Status)
		}
		return f
	case ft.Timeout():
		return failure(http.StatusGatewayTimeout, codeProviderTimeout, "the provider did not answer in time")
	case ft.Class == fault.ContextLength || ft.Class == fault.ContentFilter || ft.Class == fault.Rejected && ft.Code != "":
		return failure(http.StatusBadRequest, ft.Code, ft.Message)
	default:
		return failure(http.StatusBadGateway, codeProvider, "the provider failed"+upstreamWords(ft))
	}
}

// upstreamWords are the upstream's own (masked) words after a colon.
func upstreamWords(f *fault.Fault) string {
	switch {
	case f == nil:
		return ""
	case f.Status >= 300 && strings.HasPrefix(f.Message, strconv.Itoa(f.Status)): // the status line, where the body said nothing
		return ": it answered " + f.Message
	case f.Message != "" && f.Status >= 300:
		return fmt.Sprintf(": it answered %d: %s", f.Status, f.Message)
	case f.Message != "":
		return ": " + f.Message
	case f.Status >= 300:
		return fmt.Sprintf(": it answered %d", f.Status)
	default:
		return ": " + strings.ReplaceAll(f.Class.String(), "_", " ")
	}
}

func countTargets(res *attempt.Result) int {
	seen := map[string]bool{}
	for i := range res.Steps {
		seen[res.Steps[i].Provider+"/"+res.Steps[i].Model] = true
	}
	return len(seen)
}

// failureHeader gives the headers of an error reply: the upstream's rate-limit headers, Retry-After and what an SDK is to make of it.
func (x *exchange) failureHeader(res *attempt.Result, f wire.Failure) http.Header {
	h := http.Header{}
	final := res.Final
	if res.Header != nil {
		passHeader(h, res.Header)
		x.ownLimits(h, res.Header)
		if final.Ending != failover.PassBack {
			for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
				h.Del(name)
			}
		}
	}
	if after := final.RetryAfter; after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	switch {
	case f.Code == codeCircuitOpen, f.Code == codeShuttingDown:
		h.Set("X-Should-Retry", "true")
	case (f.Code == codeProvider || f.Code == codeAllFailed) && (final.Retried || final.Lasting), final.RetryAfter > time.Minute:
		h.Set("X-Should-Retry", "false")
	}
	h.Set("X-Evergate-Attempts", strconv.Itoa(res.Attempts))
	if len(res.Steps) > 0 {
		h.Set("X-Evergate-Trail", trail(res.Steps))
	}
	if by := refuser(res); by != nil {
		h.Set("X-Evergate-Provider", by.Provider)
		h.Set("X-Evergate-Model", headerText(by.Provider+"/"+by.Model))
	}
	return h
}

// refuser is the attempt whose words go back (R10-R12), nil if the answer is the gateway's own.
func refuser(res *attempt.Result) *journal.Step {
	if res.Final.Ending != failover.PassBack || res.Final.Fault == nil {
		return nil
	}
	for i := range res.Steps {
		if s := &res.Steps[i]; !s.Skipped && s.Reason == res.Final.Fault.Class.String() {
			return s
		}
	}
	return nil
}

// ownBody is the upstream's own error body where it goes back as it is (R8, R10-R12): same dialect, same words, its
// type, param and code kept. Nil where it is not an error object that an SDK can read.
func ownBody(final failover.Final) []byte {
	if final.Ending != failover.PassBack || final.Fault.Status < 400 || final.Fault.Class == fault.RouteMissing {
		return nil
	}
	r := jsonscan.New(final.Fault.Body)
	object := false
	if r.Object() {
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "error" {
				object = r.Kind() == jsonscan.Object
			}
			r.Skip()
		}
	}
	if !object || !r.End() {
		return nil
	}
	return final.Fault.Body
}

// shuttingDown says whether a request ended because the gateway stops, not because its client left.
func shuttingDown(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), attempt.ErrShutdown)
}

// writeFailure writes an error reply in the dialect's form.
func writeFailure(w http.ResponseWriter, d wire.Dialect, f wire.Failure, extra http.Header) {
	writeError(w, d, f.Status, f.RequestID, d.AppendError(nil, f), extra)
}

func writeError(w http.ResponseWriter, d wire.Dialect, status int, id string, body []byte, extra http.Header) {
	header := w.Header()
	for name, values := range extra {
		header[name] = values
	}
	header["Content-Type"] = applicationJSON
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	nameRequest(header, d, []string{id})
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// nameRequest puts the request's id into a reply's headers: ours, and the one that the SDK of the dialect looks for, unless the
// upstream's own stands there.
func nameRequest(h http.Header, d wire.Dialect, id []string) {
	h["X-Request-Id"] = id
	if strings.HasPrefix(d.Path(), "/messages") && h["Request-Id"] == nil {
		h["Request-Id"] = id
	}
}
