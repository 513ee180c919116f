package admin

import (
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Health is the reply of GET /admin/v1/health (CONTRACT §4). It names credentials and never holds their values.
type Health struct {
	Instance  string              `json:"instance"`
	Providers map[string]Provider `json:"providers"`
	Instances []Instance          `json:"instances"`
	State     State               `json:"state"`
	// Drills are those that run (R74); absent where none does.
	Drills []Fault `json:"drills,omitempty"`
}

// State is the store of the guards' state, as this instance sees it. Health does not depend on it.
type State struct {
	Store string `json:"store"` // memory, sqlite, redis, postgres
	// Address has no user, password or option.
	Address string `json:"address,omitempty"`
	Reached bool   `json:"reached"`
	// Since is since when it is reached, or not; LastSync the end of the last whole exchange.
	Since    Time   `json:"since"`
	LastSync Time   `json:"last_sync"`
	LagMS    int64  `json:"lag_ms"`
	Errors   uint64 `json:"errors_total"`
	Message  string `json:"message,omitempty"`
}

// Provider is one provider's state.
type Provider struct {
	// Status is what model discovery says: healthy, degraded or unhealthy.
	Status      string  `json:"status"`
	LastChecked Time    `json:"last_checked"`
	InFlight    int     `json:"in_flight"`
	Latency     Latency `json:"latency_ms"`
	Breaker     Breaker `json:"breaker"`
	// Breakers are those of its models, where each has its own.
	Breakers    map[string]Breaker    `json:"breakers,omitempty"`
	Credentials map[string]Credential `json:"credentials"`
	Lockouts    []Lockout             `json:"lockouts"`
	// Message says why it is not healthy; Stale that its models were discovered before the latest look failed.
	Message  string `json:"message,omitempty"`
	Stale    bool   `json:"stale,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Latency is a provider's averages in milliseconds; 0 where nothing was measured.
type Latency struct {
	FirstContent int64 `json:"first_content"`
	Total        int64 `json:"total"`
}

// Breaker is a circuit breaker's state: closed, open or half_open; Trip says what opened it: failures, cooldown,
// operator.
type Breaker struct {
	State               string `json:"state"`
	Trip                string `json:"trip"`
	ConsecutiveFailures int    `json:"consecutive_failures"`
	FailuresTotal       uint64 `json:"failures_total"`
	OpenedAt            Time   `json:"opened_at"`
	RetryAt             Time   `json:"retry_at"`
	Offences            int    `json:"offences"`
	// RampUntil is when it has all of its traffic again; absent when it has (R34).
	RampUntil Time `json:"ramp_until,omitzero"`
	// Operator is the order that holds it; absent when none does (R31).
	Operator *Operator `json:"operator,omitempty"`
}

// Operator is an operator's order in force: open or close, why, and until when; null: until the next one.
type Operator struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Until  Time   `json:"until"`
}

// Credential is a credential's cooldown; State is ok or cooldown.
type Credential struct {
	State         string `json:"state"`
	Level         int    `json:"level"`
	CooldownUntil Time   `json:"cooldown_until"`
	Reason        string `json:"reason"`
	// Token is the refresh breaker of an OAuth credential; absent for all others (R32).
	Token *Token `json:"token,omitempty"`
}

// Token is how a credential fares at its token endpoint. State is closed, open (nothing is asked before RetryAt) or
// half_open (the next request that needs a token asks); Failures are fetches in a row that failed.
type Token struct {
	State    string `json:"state"`
	Failures int    `json:"failures"`
	RetryAt  Time   `json:"retry_at"`
}

// Lockout is a model that is locked out, on one credential or, with an empty one, on all.
type Lockout struct {
	Model      string `json:"model"`
	Credential string `json:"credential"`
	Until      Time   `json:"until"`
	Reason     string `json:"reason"`
	Level      int    `json:"level"`
}

// Instance is one gateway process.
type Instance struct {
	ID       string `json:"id"`
	Self     bool   `json:"self"`
	Version  string `json:"version"`
	Started  Time   `json:"started"`
	LastSeen Time   `json:"last_seen"`
	// LagMS is the time since its last sign of life; of this instance since the last whole exchange with the store.
	LagMS int64 `json:"lag_ms"`
	// Silent: it has shown no sign of life for ten intervals, or has Left; only what it saw blocked may still matter.
	Silent bool `json:"silent,omitempty"`
	Left   bool `json:"left,omitempty"`
	// Believes is what it itself saw blocked, by provider.
	Believes map[string][]Belief `json:"believes,omitempty"`
}

// Belief is a block that an instance itself saw begin.
type Belief struct {
	Guard      string `json:"guard"`
	Model      string `json:"model,omitempty"`
	Credential string `json:"credential,omitempty"`
	Reason     string `json:"reason"` // a breaker's trip
	Until      Time   `json:"until"`
}

// Time is a time in JSON as RFC 3339 in UTC with milliseconds, and null if it is zero.
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(t).UTC().AppendFormat(nil, `"`+timeLayout+`"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(text []byte) error {
	var at time.Time
	if err := at.UnmarshalJSON(text); err != nil { // null leaves it zero
		return err
	}
	*t = Time(at)
	return nil
}

// NewProvider joins what the guards (v), discovery (p) and the request path know of one provider.
func NewProvider(v resilience.View, p route.ProviderModels, inFlight int, latency Latency) Provider {
	out := Provider{
		Status:      string(p.Status),
		LastChecked: Time(p.LastChecked),
		InFlight:    inFlight,
		Latency:     latency,
		Breaker:     newBreaker(&v.Breaker),
		Credentials: make(map[string]Credential, len(v.Credentials)),
		Lockouts:    make([]Lockout, 0, len(v.Lockouts)),
		Message:     p.Message, Stale: p.Stale, Disabled: p.Disabled,
	}
	if v.Scope != resilience.PerProvider {
		out.Breakers = make(map[string]Breaker, len(v.Models))
		for i := range v.Models {
			out.Breakers[v.Models[i].Model] = newBreaker(&v.Models[i].BreakerView)
		}
	}
	for _, c := range v.Credentials {
		out.Credentials[c.Name] = Credential{State: c.State, Level: c.Level, CooldownUntil: Time(c.Until), Reason: string(c.Reason)}
	}
	for _, l := range v.Lockouts {
		out.Lockouts = append(out.Lockouts, Lockout{
			Model: l.Model, Credential: l.Credential, Until: Time(l.Until), Reason: string(l.Reason), Level: l.Level,
		})
	}
	return out
}

func newBreaker(v *resilience.BreakerView) Breaker {
	b := Breaker{
		State: v.State.String(), Trip: v.Trip, ConsecutiveFailures: v.ConsecutiveFailures, FailuresTotal: v.FailuresTotal,
		OpenedAt: Time(v.OpenedAt), RetryAt: Time(v.RetryAt), Offences: v.Offences, RampUntil: Time(v.RampUntil),
	}
	if o := &v.Order; o.Action != resilience.NoAction {
		b.Operator = &Operator{Action: o.Action.String(), Reason: o.Reason, Until: Time(o.Until)}
	}
	return b
}

// usable says whether a request could be answered by the provider, as far as discovery and its breaker tell.
func (p *Provider) usable() bool {
	return !p.Disabled && p.Status != string(route.Unhealthy) && p.Breaker.State != resilience.Open.String()
}
