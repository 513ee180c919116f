package resilience

import "time"

// Settings are one provider's effective resilience settings (CONTRACT §2, `resilience:`). A zero turns off what it
// sets where the contract says so; Defaults gives the built-in values.
type Settings struct {
	WhenAllBlocked     WhenAllBlocked
	PassStatus         bool
	Retry              Retry
	Breaker            Breaker
	Cooldown           Cooldown
	CredentialCooldown CredentialCooldown
	ModelLockout       ModelLockout
}

// WhenAllBlocked says what to do when every candidate is blocked (R51).
type WhenAllBlocked uint8

// The two answers to R51.
const (
	TryAll WhenAllBlocked = iota
	FailFast
)

// Retry are the settings of R52 and R53.
type Retry struct {
	MaxRetries     int           // tries of one candidate beyond its first; 0 turns all retrying and waiting off
	InitialBackoff time.Duration // before the first round
	MaxBackoff     time.Duration
	BackoffFactor  float64
	JitterFactor   float64       // 0.1 = ± 10 %
	SameTarget     int           // R52(a)
	MaxWait        time.Duration // R52(b), R51
	Budget         float64       // R53: share of the requests of the last 10 s
	Streams        bool          // false: no retry for streams (003)
}

// Breaker are the settings of R20-R28, R34 and R35.
type Breaker struct {
	FailureThreshold  int // 0 turns the breaker off (R28)
	SuccessThreshold  int
	Timeout           time.Duration
	HalfOpenMaxProbes int // 0 = no limit
	Scope             Scope
	Ramp              time.Duration // R34; 0 turns it off
	// KeptFor is how long a half-open breaker is kept for probes of the gateway's own, since its open time ended or the
	// last of them began (R75); 0: it is not. Meanwhile it blocks all others as one whose probe is under way does.
	KeptFor time.Duration
}

// Scope is what one breaker stands for (R35).
type Scope uint8

// The scopes of R35.
const (
	PerProvider Scope = iota // one for all models of the provider
	PerModel                 // one for each model
	Auto                     // one for each model, and the provider's for what is not of a model
)

// String is the word of the config.
func (s Scope) String() string {
	switch s {
	case PerModel:
		return "model"
	case Auto:
		return "auto"
	case PerProvider:
	}
	return "provider"
}

// Cooldown are the settings of the second trip, R29.
type Cooldown struct {
	Failures        int  // 0 turns it off
	Explicit        bool // set by the user: stands even when FailureThreshold is 0 (R28)
	Window          time.Duration
	MinFailureRatio float64
	Base            time.Duration
	Factor          float64
	Max             time.Duration
}

// CredentialCooldown are the settings of R41. Base 0 turns it off, for 401, 402 and 403 too.
type CredentialCooldown struct {
	Base, Max, AuthBase, QuotaBase time.Duration
}

// ModelLockout are the settings of R43. Base 0 turns it off.
type ModelLockout struct {
	Base, Max time.Duration
}

// Defaults are the built-in settings before a class or the user changes them.
func Defaults() Settings {
	return Settings{
		Retry: Retry{
			MaxRetries: 3, InitialBackoff: time.Second, MaxBackoff: 30 * time.Second, BackoffFactor: 2, JitterFactor: 0.1,
			SameTarget: 1, MaxWait: 3 * time.Second, Budget: 0.2, Streams: true,
		},
		Breaker: Breaker{FailureThreshold: 5, SuccessThreshold: 1, Timeout: 30 * time.Second, HalfOpenMaxProbes: 1},
		Cooldown: Cooldown{
			Failures: 10, Window: time.Minute, MinFailureRatio: 0.5, Base: time.Minute, Factor: 2, Max: 10 * time.Minute,
		},
		CredentialCooldown: CredentialCooldown{Base: time.Second, Max: 10 * time.Minute, AuthBase: time.Minute, QuotaBase: time.Hour},
		ModelLockout:       ModelLockout{Base: time.Minute, Max: time.Hour},
	}
}

// KeyStrategy is how a credential is chosen within a provider (R44).
type KeyStrategy uint8

// The strategies of R44.
const (
	RoundRobin KeyStrategy = iota
	FillFirst
	Weighted
	LeastUsed
)
