package ledger

import "time"

const (
	// steadyFor is how long a clock must have gone on without a jump before rows and sums go for their age: one that was set ten years on by mistake, and is
	// set right soon, takes nothing away.
	steadyFor = 15 * time.Minute
	// jump is how far a clock may go astray between two looks.
	jump = time.Minute
)

// steady watches the clock of the machine by a stopwatch. It is for one goroutine.
type steady struct {
	wall  time.Time
	up    time.Duration
	since time.Duration
}

// look says whether the clock may be trusted. up is the time since the start by the stopwatch, which nobody sets.
func (s *steady) look(wall time.Time, up time.Duration) bool {
	wall = wall.Round(0)
	if off := wall.Sub(s.wall) - (up - s.up); off > jump || off < -jump { // the first look among them
		s.since = up
	}
	s.wall, s.up = wall, up
	return up-s.since >= steadyFor
}
