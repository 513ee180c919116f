package drill

import (
	"evergate/internal/journal"
)

// clientGone is the status of a request whose client left.
const clientGone = 499

// Outcome is what a client request that ended adds to the counts of a drill, its injections aside; false: the drill did not touch it.
func Outcome(id string, r *journal.Request) (c Counts, touched bool) {
	var late int64
	answerer, answered := false, false // the attempt that answered met it, or else the last one
	for i := range r.Trail {
		s := &r.Trail[i]
		if s.Skipped {
			continue
		}
		met := s.Drill == id
		if met {
			touched = true
			late += s.Duration.Milliseconds()
		}
		if ok := s.Reason == "ok"; ok || !answered { // of hedges the last one begun need not be who answered
			answerer, answered = met, ok
		}
	}
	if !touched {
		return c, false
	}
	c.Requests = 1
	switch {
	case r.Status == clientGone:
		c.Left = 1
	case r.Status >= 500, r.Status == 429, r.Status < 400 && r.Code != "", r.Status >= 400 && answerer:
		c.Failed = 1
	case r.Status >= 400: // the client's own mistake
	case answerer:
		c.Answered = 1
	default:
		c.Rescued, c.AddedMS = 1, late
	}
	return c, true
}
