// Package resilience is the guards of one provider as one pure machine: its circuit breaker, the cooldowns of its
// credentials and the lockouts of its models (RESILIENCE.md §3 and §4). Time, randomness and outcomes come in as
// arguments; what changed goes out as effects. It reads no clock, does no I/O, starts no goroutine, takes no lock and
// knows no HTTP, no config and no route. Package health is its living copy.
package resilience

import (
	"time"

	"evergate/internal/fault"
)

// Guard names what blocks.
type Guard uint8

// The guards from wide to narrow; None blocks nothing.
const (
	None Guard = iota
	CircuitBreaker
	CredentialCooldownGuard
	ModelLockoutGuard
	LimitGuard // what the config lets the provider have at a time; no Machine has it
)

// String is the word for logs, metrics and the admin API.
func (g Guard) String() string {
	switch g {
	case CircuitBreaker:
		return "circuit_breaker"
	case CredentialCooldownGuard:
		return "credential_cooldown"
	case ModelLockoutGuard:
		return "model_lockout"
	case LimitGuard:
		return "limit"
	case None:
	}
	return ""
}

// Reason is why a guard blocks, in the same words in trail, log, metric and admin API.
type Reason string

// The reasons of a block.
const (
	CircuitOpen    Reason = "circuit_open"    // breaker open
	ProbeInFlight  Reason = "half_open"       // half-open and every probe slot taken, kept (R75), or left to another instance (R66)
	OperatorOpen   Reason = "operator_open"   // an operator holds the breaker open (R31)
	Ramping        Reason = "ramping"         // closed lately, and this request is not of the share that it gets back (R34)
	RateLimited    Reason = "rate_limited"    // credential cooled by a 429 (R4)
	QuotaExhausted Reason = "quota_exhausted" // credential cooled by R5
	AuthFailed     Reason = "auth_failed"     // credential cooled by R7
	ModelNotFound  Reason = "model_not_found" // model locked by R9
	ModelLimited   Reason = "model_limited"   // model locked on one credential by R6
	LimitReached   Reason = "limit_reached"   // the provider has all that the config lets it have at a time
)

// Block says that a candidate is blocked: by which guard, why, and until when. The zero Block blocks nothing.
type Block struct {
	Guard  Guard
	Reason Reason
	// Until is when it clears by itself; for a taken probe slot, when the lease would be taken back. Zero: it does not, or as
	// soon as a probe of the gateway's own has answered (R75).
	Until time.Time
	// Named is true when Until is the upstream's own word (R41), which decides R51.
	Named bool
	// Early is true when one early try of this credential is already under way (R51).
	Early bool
}

// Blocked says whether it blocks at all.
func (b Block) Blocked() bool { return b.Guard != None }

// Forbids says whether not even R51 may pass: an operator holds the breaker open (R31).
func (b Block) Forbids() bool { return b.Reason == OperatorOpen }

// Outcome is what an attempt came to. Class fault.Unknown with Success true is a success (R16).
type Outcome struct {
	Success bool
	Class   fault.Class
	Wait    fault.Wait
	Unasked bool // the provider was not asked: its breakers learn nothing (R32)
}

// Permit allows one attempt and must be settled exactly once. It carries the epoch of every guard it was admitted
// under, so that a late result moves nothing that came after (R27, R42).
type Permit struct {
	Credential int // index in the list of the time of admission
	Model      string
	Admitted   time.Time
	holder     uint64 // id of the credential's state, which outlives a change of the list; 0 = none
	mark       uint64 // number of blocks set before it was admitted (R42)
	early      uint64 // id of the credential's early-try lease it holds (R51), 0 = none
	wide       ticket // under the provider's breaker
	narrow     ticket // under the model's, where it has one (R35)
}

// Probe says whether the permit holds a half-open probe slot.
func (p Permit) Probe() bool { return p.wide.holds() || p.narrow.holds() }

// Pending says whether a breaker still waits for its verdict as for a probe's: only then FirstContent and Sound
// have anything to do.
func (p Permit) Pending() bool { return p.wide.pending() || p.narrow.pending() }

// Effect is one change of a guard, for the journal.
type Effect struct {
	Guard      Guard
	Credential int    // index, -1 where the guard has none
	Model      string // empty where the guard has none: of a breaker, where it is the provider's
	From, To   string // breaker: closed, open, half_open; others: ok, blocked
	Trip       string // breaker to open: failures, cooldown, operator; to closed: operator where one closed it
	Reason     Reason
	Until      time.Time
	Level      int
}

// Credential describes one credential to the machine: never its secret, only what identifies and weighs it.
type Credential struct {
	Name   string
	Weight int
	// Models limits it to these upstream models; empty: all.
	Models []string
	// Identity changes when the secret behind the name changes; a changed one starts unblocked.
	Identity uint64
	// Fingerprint tells the same secret on other instances, for Row.Secret; 0: unknown.
	Fingerprint uint32
}

// State of a breaker.
type State uint8

// The breaker's states.
const (
	Closed State = iota
	Open
	HalfOpen
)

// String is the word of the admin API.
func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case HalfOpen:
		return "half_open"
	case Closed:
	}
	return "closed"
}

// View is a copy of a machine's state for status pages, made at one moment (and lazily moved on to it, R22).
type View struct {
	Scope       Scope
	Breaker     BreakerView // the provider's; with PerModel it never opens but by an operator
	Models      []ModelBreakerView
	Credentials []CredentialView
	Lockouts    []LockoutView
}

// Worst is the state of the provider as a whole: its breaker's, or with PerModel that of the worst of its models.
func (v *View) Worst() State {
	worst := v.Breaker.State
	if v.Scope != PerModel {
		return worst
	}
	for i := range v.Models {
		if s := v.Models[i].State; s == Open || worst == Closed {
			worst = s
		}
	}
	return worst
}

// BreakerView is one breaker's part of a View. Zero times are absent.
type BreakerView struct {
	State               State
	Trip                string // failures, cooldown, operator; while closed empty but for an operator's
	ConsecutiveFailures int
	FailuresTotal       uint64
	OpenedAt, RetryAt   time.Time
	Offences            int
	RampUntil           time.Time // R34
	Order               Order     // R31; the zero Order where no operator holds it
}

// ModelBreakerView is the breaker of one model (R35).
type ModelBreakerView struct {
	Model string
	BreakerView
}

// CredentialView is one credential's part of a View.
type CredentialView struct {
	Name   string
	State  string // ok, cooldown
	Level  int
	Until  time.Time
	Reason Reason
}

// LockoutView is one model's lockout; Credential is empty where it holds for all of them.
type LockoutView struct {
	Model, Credential string
	Until             time.Time
	Reason            Reason
	Level             int
}
