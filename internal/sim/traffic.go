package sim

import (
	"math"
	"time"
)

// at is the rate at a time of a scenario.
func (r *Rate) at(t, duration time.Duration) float64 {
	rate := r.Low
	switch r.Shape {
	case Ramp:
		rate += (r.High - r.Low) * float64(t) / float64(max(duration, 1))
	case Day:
		rate += (r.High - r.Low) * (1 - math.Cos(2*math.Pi*float64(t)/float64(max(r.Period, 1)))) / 2
	case Constant:
	}
	for i := range r.Spikes {
		if s := &r.Spikes[i]; t >= s.At && t < s.At+s.For {
			rate *= s.Times
		}
	}
	return rate
}

// most bounds the rate from above.
func (r *Rate) most() float64 {
	most := r.Low
	if r.Shape != Constant {
		most = max(r.Low, r.High)
	}
	for i := range r.Spikes {
		most *= max(r.Spikes[i].Times, 1)
	}
	return most
}

// next is when the next request arrives after t: a Poisson process, thinned to the rate of the moment. false: none does before
// the end.
func (r *Rate) next(t, end, duration time.Duration, rnd func() float64) (time.Duration, bool) {
	most := r.most()
	if most <= 0 {
		return 0, false
	}
	for {
		t += span(exponential(rnd()) / most * float64(time.Second))
		if t >= end {
			return 0, false
		}
		if rnd()*most < r.at(t, duration) {
			return t, true
		}
	}
}

// crowd is one Traffic at work.
type crowd struct {
	*Traffic
	end    time.Duration
	random func() float64
	sums   *tally
}

// begin schedules the first requests.
func (s *Simulation) begin(i int) {
	c := &s.crowds[i]
	if c.Clients == 0 {
		s.arriveNext(i, c.From)
		return
	}
	for range c.Clients { // so that they do not come all at once
		s.schedule(event{at: c.From + span(c.Think.draw(c.random)*c.random()), kind: arrives, crowd: i})
	}
}

// arriveNext schedules the next arrival of an open stream of them.
func (s *Simulation) arriveNext(i int, after time.Duration) {
	c := &s.crowds[i]
	if at, ok := c.Rate.next(after, c.end, s.scenario.Duration, c.random); ok {
		s.schedule(event{at: at, kind: arrives, crowd: i})
	}
}

// left is what follows on the end of a request: a client of a closed loop thinks, and asks again.
func (s *Simulation) left(i int) {
	c := &s.crowds[i]
	if c.Clients == 0 {
		return
	}
	s.schedule(event{at: s.now + c.Think.duration(c.random), kind: arrives, crowd: i})
}
