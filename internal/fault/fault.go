// Package fault owns the one error type of the gateway: what went wrong with an attempt, whom it condemns, how long
// the upstream asked to wait, and the words that may be shown. It knows no HTTP types, no dialect and no provider:
// provider adapters and the wire packages fill it, everything else reads it.
package fault

import (
	"fmt"
	"time"
)

// Class says what happened. RESILIENCE.md §2 lists the classes; each constant names its rule.
type Class uint8

// The classes, in the order of the rules.
const (
	Unknown        Class = iota
	Connect              // R1: connection refused, DNS or TLS failure: nothing was sent
	Reset                // R1: the connection was reset or closed before a whole head came
	Timeout              // R2: connect, first chunk, idle before commit, or attempt timed out
	Upstream             // R3: 408, 5xx
	RateLimited          // R4: 429
	Quota                // R5: quota or billing exhausted
	ModelLimited         // R6: a limit, or a refused access, of one model on one credential
	Auth                 // R7: the gateway's own credential was refused
	CallerAuth           // R8: the caller's own key was refused
	ModelMissing         // R9: 404, or a body that says the model does not exist
	Rejected             // R10: any other 4xx; goes back to the caller
	ContextLength        // R11: the prompt does not fit the model's window
	ContentFilter        // R12: refused by the provider's policy
	ClientGone           // R13: the client went away
	Invalid              // R14: a 2xx that is not an answer, or a 3xx
	Cut                  // R15: the stream died after the commit point
	Next                 // a classify rule's "next": try another candidate, nobody's fault
	RouteMissing         // R9: 404, 405 or 501 of a side route whose body names no model: the route is missing there
	ClientDeadline       // R13: a deadline that the caller chose ran out
	Unable               // R46: the candidate's API cannot say what the request asks; nothing was sent
	NoToken              // R32: the credential has no access token, since its token endpoint fails; nothing was sent
)

var classWords = [...]string{
	Unknown: "unknown", Connect: "connect", Reset: "reset", Timeout: "timeout", Upstream: "upstream_error",
	RateLimited: "rate_limited", Quota: "quota_exhausted", ModelLimited: "model_limited", Auth: "auth_failed",
	CallerAuth: "caller_auth_failed", ModelMissing: "model_missing", Rejected: "rejected",
	ContextLength: "context_length", ContentFilter: "content_filter", ClientGone: "client_gone",
	Invalid: "invalid_answer", Cut: "cut", Next: "next", RouteMissing: "route_missing", ClientDeadline: "client_deadline",
	Unable: "unable", NoToken: "no_token",
}

// String is the word used in logs, metrics, trails and error bodies.
func (c Class) String() string {
	if int(c) < len(classWords) {
		return classWords[c]
	}
	return "unknown"
}

// Retryable says whether another candidate may be tried after it before the commit point (the table's "next
// candidate?" column). ContextLength and ContentFilter have targets of their own and are not decided here.
func (c Class) Retryable() bool {
	switch c {
	case Connect, Reset, Timeout, Upstream, RateLimited, Quota, ModelLimited, Auth, ModelMissing, RouteMissing, Invalid, Next, Unable, NoToken:
		return true
	case Unknown, CallerAuth, Rejected, ContextLength, ContentFilter, ClientGone, Cut, ClientDeadline:
	}
	return false
}

// BreakerFailure says whether the provider's circuit breaker counts it (the table's "breaker" column).
func (c Class) BreakerFailure() bool {
	switch c {
	case Connect, Reset, Timeout, Upstream, Invalid, Cut:
		return true
	case Unknown, RateLimited, Quota, ModelLimited, Auth, CallerAuth, ModelMissing, Rejected, ContextLength,
		ContentFilter, ClientGone, Next, RouteMissing, ClientDeadline, Unable, NoToken:
	}
	return false
}

// SiblingCredential says whether another credential of the same target is worth a try next (R52: only after R4-R7, and
// R32).
func (c Class) SiblingCredential() bool {
	return c == RateLimited || c == Quota || c == ModelLimited || c == Auth || c == NoToken
}

// RateLimit says whether it counts as a rate limit where "every last failure is a rate limit" is asked (R51, R55).
func (c Class) RateLimit() bool { return c == RateLimited || c == Quota || c == ModelLimited }

// Wait is what an upstream said about when to come back. The zero value says nothing; Named with 0 says at once.
type Wait struct {
	For   time.Duration
	Named bool
}

// Tri is a header that may be absent, true or false.
type Tri uint8

// The three values of a Tri.
const (
	Unsaid Tri = iota
	Yes
	No
)

// Fault is one failed attempt. It is a value that is not changed after it was made, so it may be shared.
type Fault struct {
	Class Class
	// Status is the upstream's HTTP status, 0 if there was none.
	Status int
	// Code and Message are the upstream's own words (error code or type, and message), masked; safe to show.
	Code, Message string
	// Wait is the upstream's own word on when to come back (R41).
	Wait Wait
	// ShouldRetry is the upstream's x-should-retry.
	ShouldRetry Tri
	// Body and ContentType are the upstream's error reply, masked, for classes that go back as they are (R8, R10-R12).
	Body        []byte
	ContentType string
	// Broke is what a Cut was before it became one: the class of the error event, the timeout, the reset (R15).
	Broke Class
	// Seal: the upstream refused a signature or an encrypted item of the request, which can be repaired once by leaving
	// them out (R10).
	Seal bool
	// Param names the field of the client's request that is at fault, where the gateway itself found it (Unable).
	Param string
	// Unasked: the provider was not asked, so that nothing is learned of it; what went wrong is the credential's alone (R32).
	Unasked bool
	// Unsent: nothing of the request was sent.
	Unsent bool
	// TimedOut stays true for a timeout whose class a classify rule changed.
	TimedOut bool
	// Cause is for the log alone; it may hold addresses and is never shown to a client.
	Cause error
}

// Error is for logs; Message alone is for clients.
func (f *Fault) Error() string {
	s := f.Class.String()
	if f.Status != 0 {
		s = fmt.Sprintf("%s (status %d)", s, f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	if f.Cause != nil {
		s += ": " + f.Cause.Error()
	}
	return s
}

// Timeout says whether it was a timeout, whatever a classify rule made of it.
func (f *Fault) Timeout() bool { return f.Class == Timeout || f.TimedOut }

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Word is the short form for a trail: the status where the upstream answered one, else the class.
func (f *Fault) Word() string {
	if f.Status >= 300 {
		return fmt.Sprint(f.Status)
	}
	return f.Class.String()
}
