package ledger

import (
	"net/http"
	"time"

	"evergate/internal/journal"
)

// Account is what a request came to for those who count (R77).
type Account struct {
	// OK and Failed are whether it counts for availability, and how. A client's own mistake, and a client that left, are neither.
	OK, Failed bool
	// Rescued: it was answered, after an attempt of its own had failed, or by a hedge.
	Rescued bool
	// AddedTime and AddedCost are what was spent on attempts that the answer did not come from, or, where there is none, on all after
	// the first. The cost is not known where that of one of them is not.
	AddedTime time.Duration
	AddedCost journal.Cost
}

// The words of facts that accounting goes by.
const (
	reasonOK     = "ok"
	reasonOutrun = "cancelled" // by an attempt that was started beside it
	reasonCut    = "cut"
	whyHedge     = "hedge"
	codeLimited  = "all_providers_rate_limited"
)

// AccountOf reckons it. It allocates nothing.
func AccountOf(r *journal.Request) Account {
	a := Account{AddedCost: journal.Cost{Known: true}}
	switch {
	case r.Status >= http.StatusInternalServerError, r.Code == codeLimited, r.Code != "" && r.Status < http.StatusBadRequest: // the last: an answer that broke off
		a.Failed = true
	case r.Status < http.StatusBadRequest:
		a.OK = true
	}
	var first, last, given, given0 *journal.Step // attempts; those given are the ones that the client has words of
	var gave time.Duration                       // of all of those but the last
	for i := range r.Trail {
		s := &r.Trail[i]
		if s.Skipped {
			continue
		}
		if first == nil {
			first = s
		}
		last = s
		if !delivered(r, i, a.OK) {
			continue
		}
		if given == nil {
			given0 = s
		} else {
			gave += given.Duration
		}
		given = s
	}
	switch {
	case first == nil:
		return a
	case given != nil:
		a.AddedTime = max(given.Start.Sub(first.Start)-gave, 0)
	default:
		a.AddedTime = max(last.Start.Add(last.Duration).Sub(first.Start.Add(first.Duration)), 0)
		given0 = first
	}
	for i := range r.Trail {
		s := &r.Trail[i]
		if s.Skipped {
			continue
		}
		if a.OK && (s == given && s.Why == whyHedge || s != given && s.Why != whyHedge && s.Reason != reasonOK) {
			a.Rescued = true
		}
		if s != given0 {
			a.addCost(s)
		}
	}
	return a
}

// delivered says whether the client has words of an attempt: it was the answer, or the stream that it broke off was gone on with later in
// the text than it began (R70), or nothing went on with it.
func delivered(r *journal.Request, i int, ok bool) bool {
	s := &r.Trail[i]
	if s.Reason == reasonOK {
		return true
	}
	for i++; i < len(r.Trail); i++ {
		if next := &r.Trail[i]; !next.Skipped && next.Why != whyHedge {
			return next.Seam > s.Seam
		}
	}
	return !ok && r.Committed && s.Reason != reasonOutrun && (s.Why != whyHedge || s.Reason == reasonCut)
}

func (a *Account) addCost(s *journal.Step) {
	switch {
	case s.Cost.Known:
		a.AddedCost.Nano += s.Cost.Nano
	case s.Usage.Known || s.Estimated:
		a.AddedCost.Known = false
	}
}

// Availability is the share of the requests that count which were answered; false: none counts.
func (s *Sums) Availability() (share float64, known bool) {
	if counted := s.OK + s.Failed; counted > 0 {
		return float64(s.OK) / float64(counted), true
	}
	return 0, false
}

// BurnRate is how many requests failed for each that a target (0 to 1) allows: at 1 the error budget of a window is used up just at its end.
// Over a whole window it is the share of the budget that is used, so that 1 less it is left, and a negative rest is overdrawn. false: no
// request counts, or the target allows none to fail.
func (s *Sums) BurnRate(target float64) (rate float64, known bool) {
	counted := s.OK + s.Failed
	if counted <= 0 || target >= 1 {
		return 0, false
	}
	return float64(s.Failed) / (float64(counted) * (1 - target)), true
}
