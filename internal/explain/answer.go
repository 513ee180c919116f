package explain

import "time"

// Answer says what a request would come to if it were made now. It is the reply of POST /admin/v1/explain. Times are RFC 3339
// in UTC; what is absent is left out.
type Answer struct {
	Model   string    `json:"model"` // as it was asked for
	Dialect string    `json:"dialect"`
	Stream  bool      `json:"stream"`
	At      time.Time `json:"at"`
	// Summary is the whole answer in a few sentences.
	Summary string `json:"summary"`
	// Refused is how the gateway answers without asking anybody; nil: it asks.
	Refused *Refusal `json:"refused,omitempty"`
	Name    Name     `json:"name"`
	Policy  *Policy  `json:"policy,omitempty"`
	// Candidates are those that are tried, in order, and after them those that are not, as declared.
	Candidates []Candidate `json:"candidates"`
	// Mirror is where copies of such requests go; nil: nowhere.
	Mirror *Mirror `json:"mirror,omitempty"`
	// Notes are what else is to be known of this answer.
	Notes []string `json:"notes,omitempty"`
}

// Refusal is an error of the gateway's own, as a client gets it.
type Refusal struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
}

// Name is how the model's name is understood.
type Name struct {
	// As is virtual_model, provider_model or model_id; empty: it is not known.
	As string `json:"as"`
	// Strategy of a virtual model, or the request's own.
	Strategy string `json:"strategy,omitempty"`
	// Held: hold_down has put the first target second.
	Held bool `json:"held,omitempty"`
}

// Policy is what holds for the request as a whole.
type Policy struct {
	// Hedge is off, auto, or after what time a further candidate is started (R71).
	Hedge  string `json:"hedge"`
	Resume bool   `json:"resume"`
	// TotalMS is timeouts.total; 0: there is no limit.
	TotalMS int64 `json:"total_ms"`
	// LastResort: everything is blocked, and is tried all the same (R51).
	LastResort bool `json:"last_resort,omitempty"`
	// Starved: the retry budget is spent, and ends the request before its list does (R53).
	Starved bool `json:"retry_budget_spent,omitempty"`
}

// Candidate is one target, and what comes of it.
type Candidate struct {
	// Position is when it is tried, from 1; 0: it is not, or a refusal alone sends a request there.
	Position int `json:"position"`
	// Declared is its place in the model's list, from 1.
	Declared int    `json:"declared"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Why says in a sentence why it is tried there, or is not.
	Why string `json:"why"`
	// Blocked is what blocks it now; nil: nothing.
	Blocked *Block `json:"blocked,omitempty"`
	// Forced: it is tried in spite of that. WaitMS is how long the request waits before.
	Forced bool  `json:"forced,omitempty"`
	WaitMS int64 `json:"wait_ms,omitempty"`
	// On is the refusal that sends requests there: context_length or content_filter; empty: all go.
	On string `json:"on,omitempty"`
	// Dialect is what it is asked in.
	Dialect string `json:"dialect,omitempty"`
	// Credential is the one that is picked, by name.
	Credential  string       `json:"credential,omitempty"`
	Credentials []Credential `json:"credentials,omitempty"`
	// FirstContentMS is the average time to content; 0: not measured.
	FirstContentMS int64     `json:"first_content_ms,omitempty"`
	Timeouts       *Timeouts `json:"timeouts,omitempty"`
	// Judged is what the strategy went by; nil: it does not look at targets.
	Judged *Judgement `json:"judged,omitempty"`
}

// Block is why a candidate, or one of its credentials, is not to be used, and until when.
type Block struct {
	// Guard is circuit_breaker, operator, credential_cooldown or model_lockout; or what else keeps it out: capability,
	// credentials, disabled or time_limit.
	Guard string `json:"guard"`
	// Reason is the word that trails and logs have for it.
	Reason string `json:"reason"`
	// Until is when it clears by itself; zero: nobody knows, or it does not.
	Until time.Time `json:"until,omitzero"`
	// Named: the upstream named that time.
	Named bool `json:"named_by_upstream,omitempty"`
}

// Credential is one of a provider's, by name.
type Credential struct {
	Name string `json:"name"`
	// State is ok, blocked, or not_for_this_model.
	State string `json:"state"`
	// Blocked is what blocks it beside its provider's breaker.
	Blocked *Block `json:"blocked,omitempty"`
}

// Timeouts are a target's limits in milliseconds; 0: none.
type Timeouts struct {
	AttemptMS    int64 `json:"attempt,omitempty"` // of a plain request
	FirstChunkMS int64 `json:"first_chunk,omitempty"`
	IdleMS       int64 `json:"idle,omitempty"`
	ContentIdle  int64 `json:"content_idle,omitempty"`
}
