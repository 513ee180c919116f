package resilience

import "time"

// pace is a moving average that starts anew when two answers in a row took less than half of it. Who is taken for slow is
// asked seldom, and would need too many answers to be found quick; who is taken for quick is asked at once, and a mistake is soon
// made good. One quick answer alone may have come from a cache.
type pace struct {
	average
	quick time.Duration // the last answer, if it took less than half
}

func (p *pace) add(d time.Duration) {
	if d <= 0 {
		return
	}
	last := p.quick
	p.quick = 0
	if p.n > 0 && d < p.mean/2 {
		p.quick = d
		if last > 0 {
			*p = pace{average: average{mean: last, n: 1}}
		}
	}
	p.average.add(d)
}
