package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Event is what an alert is about. The words are the configuration's and the payload's.
type Event string

// The events. Where an incident has no event of its own for its end, the one it began with says so with Resolved.
const (
	BreakerOpened    Event = "breaker_opened"
	BreakerClosed    Event = "breaker_closed"
	AllBlocked       Event = "all_blocked"
	DiscoveryFailing Event = "discovery_failing"
	DiscoveryBack    Event = "discovery_back"
	BudgetNear       Event = "budget_near"
	BudgetSpent      Event = "budget_spent"
	Drill            Event = "drill"
	StoreLost        Event = "store_lost"
	StoreBack        Event = "store_back"
	// Test is sent on an operator's word alone, and to be chosen by nobody.
	Test Event = "test"
)

// Events are those that a receiver can choose, in the order of the documentation.
func Events() []Event {
	return []Event{BreakerOpened, BreakerClosed, AllBlocked, DiscoveryFailing, DiscoveryBack, BudgetNear, BudgetSpent, Drill, StoreLost, StoreBack}
}

// end is the event of the end of an incident that began with e.
func (e Event) end() Event {
	switch e {
	case BreakerOpened:
		return BreakerClosed
	case DiscoveryFailing:
		return DiscoveryBack
	case StoreLost:
		return StoreBack
	default:
	}
	return e
}

// severity is how bad an incident is that begins with e.
func (e Event) severity() string {
	switch e {
	case AllBlocked:
		return "critical"
	case Drill, Test:
		return "info"
	default:
	}
	return "warning"
}

// Status says whether something is the matter, or no more.
type Status string

// The statuses.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
)

// Version is that of the payload. A field may be added to it; none is taken away or given another meaning.
const Version = 1

// Alert is one message, as receivers of the format json get it.
type Alert struct {
	Version int `json:"version"`
	// ID is the same for the begin and the end of an incident, for all receivers, from every instance, and the next time it happens.
	ID       string `json:"id"`
	Event    Event  `json:"event"`
	Status   Status `json:"status"`
	Severity string `json:"severity"` // critical, warning, info
	Summary  string `json:"summary"`  // a sentence for people
	At       Time   `json:"at"`       // of what is told
	Since    Time   `json:"since"`    // when the incident began
	Instance string `json:"instance"` // who tells it
	// What it is about; empty where it does not apply. Model is an upstream's id, Route a model as clients name it.
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	Route     string `json:"route,omitempty"`
	Scope     string `json:"scope,omitempty"` // of a budget: key or team, and its name
	Name      string `json:"name,omitempty"`
	Trip      string `json:"trip,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Until     Time   `json:"until,omitzero"`
	RequestID string `json:"request_id,omitempty"`
	By        string `json:"by,omitempty"`
	Message   string `json:"message,omitempty"` // an upstream's words, or an operator's
}

// Time is a moment as the payload has it: RFC 3339 with milliseconds, UTC.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// IsZero says whether there is none.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }

// Format is how a receiver wants its messages.
type Format uint8

// The formats.
const (
	JSON  Format = iota // Alert as it is
	Slack               // a message for Slack, and for what takes the same
)

// Receiver is where alerts go, by the configuration.
type Receiver struct {
	Name string
	// URL and Secret are secrets. An empty Secret: messages are not signed.
	URL, Secret string
	Format      Format
	// On are the events that it wants, empty: all.
	On []Event
	// For is how long something must be the matter before it is told.
	For time.Duration
}

// String keeps secrets out of every print.
func (r Receiver) String() string { return "receiver " + r.Name }

// GoString is String.
func (r Receiver) GoString() string { return r.String() }

// MarshalText is String.
func (r Receiver) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r *Receiver) wants(e Event) bool { return len(r.On) == 0 || slices.Contains(r.On, e) }

// identify makes the ID of incidents of one kind about one subject.
func identify(e Event, subject ...string) string {
	h := sha256.New()
	_, _ = h.Write([]byte(e)) // a hash never fails
	for _, s := range subject {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(s))
	}
	return "alert_" + hex.EncodeToString(h.Sum(nil)[:10])
}
