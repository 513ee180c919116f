package ledger

import (
	"time"

	"evergate/internal/journal"
)

// The kinds of a request's row. Only those of clients are requests to the sums; the others only spend money.
const (
	KindRequest = "request"
	KindMirror  = "mirror" // a copy of a client's request, whose answer was thrown away
	KindProbe   = "probe"  // a request that the gateway made by itself (R75)
)

// Request is the row of one request, at its end. What it holds is the holder's own.
type Request struct {
	Row      Row
	Instance string
	Kind     string
	// Request is the fact. Its times are whole microseconds, its Candidates and Bodies nil: Targets and Body are them. Trail and Targets end after maxSteps and maxTargets,
	// long words are cut.
	journal.Request
	Targets []journal.Candidate
	// Cut is how many steps and targets were too many to be kept.
	Cut int
	// Account is what the request came to for those who count (R77).
	Account Account
	// Body is the request and its answer, redacted; nil unless the config has them kept, and in lists.
	Body *Body

	fact string // as the Writer has it: the row's bytes up to the account, which need not be made again
}

// Body is what was asked and answered, redacted; Cut: only its beginning. What is no text is named by its kind and length.
type Body struct {
	Request, Response       string
	RequestCut, ResponseCut bool
}

// End is when the request ended: its time in the ledger, in every filter and sum.
func (r *Request) End() time.Time {
	at, _ := r.Row.At()
	return at
}

// Attempts is how many attempts the trail has.
func (r *Request) Attempts() (n int) {
	for i := range r.Trail {
		if !r.Trail[i].Skipped {
			n++
		}
	}
	return n
}

// Touched are the providers and upstream models that some attempt went to, each once; what was only skipped is not among them.
func (r *Request) Touched() (providers, models []string) {
	add := func(to []string, s string) []string {
		for _, have := range to {
			if have == s {
				return to
			}
		}
		if s == "" {
			return to
		}
		return append(to, s)
	}
	for i := range r.Trail {
		if s := &r.Trail[i]; !s.Skipped {
			providers, models = add(providers, s.Provider), add(models, s.Model)
		}
	}
	return add(providers, r.Provider), add(models, r.Model)
}

// The kinds of the timeline's entries.
const (
	EntryGuard     = "guard"
	EntryOrder     = "order"
	EntryDiscovery = "discovery"
	EntryChange    = "change"
	EntryProbe     = "probe"
)

// Entry is one line of the timeline. The audit log is the orders and the changes. What others of a fleet did is entered by them alone.
type Entry struct {
	Row                         Row
	At                          time.Time // to the microsecond
	Instance                    string
	Kind                        string
	Provider, Model, Credential string
	// Guard is the guard's kind; for an order or a change what was done: open, reload; for a change From is its subject and To its result.
	Guard     string
	From, To  string
	Trip      string
	Reason    string
	By        string
	Until     time.Time
	RequestID string
	Message   string
}
