// Package journal is the facts the gateway states about itself, as types. Services state each fact once; logs, metrics,
// the admin API and tests read the same ones. It formats nothing, stores nothing, and no fact ever holds a
// credential, a prompt or a reply, but for Bodies.
package journal

import "time"

// Sink hears facts. Calls come on the request path from many goroutines: a sink must be safe for concurrent use, must
// not block, and must not keep the slices it is given beyond the call unless it copies them.
type Sink interface {
	RequestEnded(*Request)
	AttemptEnded(*Attempt)
	GuardChanged(*Guard)
	DiscoveryChanged(*Discovery)
	BreakerOperated(*Order)
	ProbeEnded(*Probe)
	MirrorEnded(*Mirror)
	Changed(*Change)
}

// Cost is what tokens came to by the catalogue's prices, in billionths of a US dollar. Known is false where a price that it takes is not.
type Cost struct {
	Nano  int64
	Known bool
}

// Usage is tokens as the upstream counted them; Known is false if it said none.
type Usage struct {
	Known                                                                      bool
	Input, Output, CachedInput, CacheWrite, Reasoning, AudioInput, AudioOutput int64
}

// Step is one entry of a trail: an attempt, or a candidate skipped with its reason.
type Step struct {
	Provider, Model string
	// Label is Attempt.ModelLabel, of an attempt.
	Label string
	// Credential is its name, never its value; empty for a skip of a whole target.
	Credential string
	Skipped    bool
	// Status is the upstream's HTTP status, 0 if none.
	Status int
	// Reason is "ok", a fault class's word, or for a skip a guard's reason.
	Reason string
	// Why says why this attempt was made: first, next_candidate, sibling_credential, same_target, short_wait, round,
	// all_blocked, hedge, resume; mirror for that of a copy.
	Why string
	// Usage and Cost are those of an attempt; Estimated: the upstream did not say its usage, and it was reckoned from what was sent and received.
	Usage     Usage
	Estimated bool
	Cost      Cost
	// Drill is the fault rule that had its way with the attempt (R74); empty: none.
	Drill string
	// Span is the attempt's in a trace; zero: it is not traced.
	Span [8]byte
	// Seam is how many bytes of text the client had where an attempt made to resume went on with its stream (R70).
	Seam int
	// Message is the upstream's own words, masked; for logs and the admin API.
	Message string
	Until   time.Time // for a skip: when the block clears
	Start   time.Time
	// FirstContent is from Start on; 0: none came.
	Duration, FirstContent time.Duration
}

// Request is one client request, at its end.
type Request struct {
	ID        string
	Start     time.Time
	Dialect   string // chat, completions, embeddings
	Stream    bool
	Key       string // the caller's key by name; empty without auth
	Asked     string // the model the client named, cut to 200 bytes; client input: never a metric label
	Route     string // bounded label: a virtual model's name, or a known model id, else "other"
	Provider  string // who answered; empty if nobody
	Model     string // the upstream model id that answered
	Status    int    // what the client got; 499 when it went away
	Code      string // Evergate's error code, empty on success
	Committed bool   // content reached the client
	// Waits is time spent waiting between attempts; Upstream time spent in attempts.
	Duration, FirstContent, Upstream, Waits time.Duration
	Overhead                                time.Duration // time in Evergate itself
	Usage                                   Usage
	// Estimated is as in Step. Cost is that of all attempts.
	Estimated         bool
	Cost              Cost
	Trace             Trace
	Finish            string
	Dropped           int      // malformed events dropped (R17)
	Lost              []string // names of what the translation could not carry over
	Trail             []Step
	UpstreamRequestID string
	// Candidates are the targets that it had, and Order a word for why they stood so; nil: it came to no attempt.
	Candidates Candidates
	Order      string
	// Drill is the fault rules that had their way with attempts of it (R74), with spaces between them; empty: none.
	Drill string
	// Affinity says how an answered request of a conversation fared: hit, moved or miss (R47); empty: it is of none.
	Affinity string
	// Cache says how a request fared whose model keeps answers: hit, miss, or bypass where it may not be answered from there; empty: the model keeps none.
	// Saved are the tokens that a hit would have taken.
	Cache string
	Saved Usage
	// Refusal is the limit that let it not in; zero: none.
	Refusal LimitRefusal
	// Guardrails are what guardrails did with it, none where none held for it.
	Guardrails []Guardrail
	// Certificate is whom the certificate that the client showed is for; empty: it showed none. It is not kept in the ledger.
	Certificate string
	// Bodies are what was asked and answered, where that is kept; nil: it is not. The ledger, which hears of a request first, takes them
	// away, so that nobody else has them.
	Bodies *Bodies `json:"-"`
}

// LimitRefusal is a limit that refused a request: whose (key, team, model), and of what (requests, tokens, concurrent, budget_usd, budget_tokens).
type LimitRefusal struct{ Scope, Limit string }

// The words of Request.Cache.
const (
	CacheHit    = "hit"
	CacheMiss   = "miss"
	CacheBypass = "bypass"
)

// Guardrail is what one guardrail did with a request's words: its name, request or response, and allowed, redacted, blocked, failed_open or
// failed_closed. It never has a word of the text.
type Guardrail struct{ Name, Phase, Action string }

// Candidates are a request's targets, in the order in which they were to be tried. They may be read during the call that
// gives them, not later.
type Candidates interface {
	Candidates() int
	Candidate(i int) Candidate
}

// Candidate is one target. On is the refusal that alone sends requests there; empty: all go.
type Candidate struct{ Provider, Model, On string }

// Attempt is one exchange with an upstream, at its end.
type Attempt struct {
	RequestID                   string
	Provider, Model, Credential string
	ModelLabel                  string // bounded: a configured or discovered id, else "other"
	Outcome                     string // ok, or a fault class's word
	Why                         string
	Status                      int
	Duration, FirstContent      time.Duration // FirstContent 0: none came
	Usage                       Usage
	Estimated                   bool // as in Step
	Cost                        Cost
	Drill                       string // as in Step
	Shape                       string // of that rule's fault: status, cut and so on
	// Hedge: it was started beside another attempt (R71); Won: and answered.
	Hedge, Won bool
	// From is set when this attempt follows a failed one of the same request: provider it came from and why.
	FromProvider, FromReason string
}

// Guard is one transition of a guard.
type Guard struct {
	At         time.Time
	Provider   string
	Guard      string // circuit_breaker, credential_cooldown, model_lockout
	Credential string
	Model      string
	From, To   string // closed|open|half_open, or ok|blocked
	Trip       string // failures, cooldown, operator
	Reason     string
	Until      time.Time
	Level      int
	// RequestID is the request whose attempt brought it about; empty: none did.
	RequestID string
	// Heard is true for what others of the fleet, or the store, made of a guard (R62): no evidence of this instance's own.
	Heard bool
}

// Order is an operator's word on a circuit breaker (R31): who said what, why, and until when.
type Order struct {
	At              time.Time
	Provider, Model string // an empty Model: the provider's breaker
	Action          string // reset, open, close
	Reason          string // the operator's words
	By              string // an address, or whose token it was
	Until           time.Time
	// Heard is true where another instance was given the order, and this one follows.
	Heard bool
}

// Probe is one request that the gateway made by itself to a provider whose breaker was half-open (R75), at its end.
type Probe struct {
	At                          time.Time
	Provider, Model, Credential string // an empty Model: it asked for the list of models
	Result                      string // ok, or a fault class's word
	Status                      int    // the upstream's, 0 if none
	Message                     string // the upstream's own words, masked
	Duration                    time.Duration
	Usage                       Usage
	Estimated                   bool // as in Step
	Cost                        Cost
}

// Mirror is a copy of a client's request that was sent, or was to be sent, to the mirror of its virtual model, at its end.
// Its answer was thrown away.
type Mirror struct {
	RequestID                   string    // of the request that was copied
	Start                       time.Time // of the copy
	Route                       string    // the virtual model
	Dialect                     string    // the client's
	Stream                      bool
	Provider, Model, Credential string // an empty Credential: none was tried
	// Outcome is ok or a fault class's word; or why nothing came of it: blocked by a guard, dropped for want of room, late
	// (its own time was up), stopped with the gateway, or a bug of the gateway's own.
	Outcome                string
	Status                 int    // the upstream's, 0 if none
	Message                string // the upstream's own words, masked
	Duration, FirstContent time.Duration
	Usage                  Usage
	Estimated              bool // as in Step
	Cost                   Cost
	Finish                 string
	// Trace is the place of the request that was copied, and Span the copy's in that trace; zero: it is not traced.
	Trace Trace
	Span  [8]byte
}

// Change is something that somebody did to the gateway, or that it did to itself by an earlier word: the line of the audit log. Orders on breakers have a
// fact of their own.
type Change struct {
	At      time.Time
	Action  string // reload, cache_purged, drill_started, drill_stopped, drill_ended, key_created, key_changed, key_rotated, key_revoked
	Subject string // what it was done to: a file, a rule's id
	Reason  string // the words of who did it
	By      string // an address, or whose token it was; "evergate" for itself
	Result  string // ok, or what went wrong
	// Heard is true where another instance was told, and this one follows.
	Heard bool
}

// Discovery is a change of a provider's discovery status (not every refresh).
type Discovery struct {
	At       time.Time
	Provider string
	From, To string // healthy, degraded, unhealthy
	Models   int
	Message  string
}
