package route

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"evergate/internal/resilience"
)

// rivals are targets whose time to first content is measured as the gateway measures it.
type rivals struct {
	targets  []Target
	real     []time.Duration
	measured []resilience.Latency
	rng      *rand.Rand
}

func (v *rivals) Signal(t *Target) Signal {
	for i := range v.targets {
		if v.targets[i].Model == t.Model {
			d, _ := v.measured[i].Pace()
			return Signal{FirstContent: d}
		}
	}
	return Signal{}
}

// ask makes a request, and gives who was asked.
func (v *rivals) ask() int {
	r := Resolution{Targets: v.targets, Strategy: LeastLatency}
	r.Arrange(&Circumstances{Signals: v, Random: v.rng.Float64})
	for i := range v.targets {
		if v.targets[i].Model == r.Targets[0].Model {
			d := time.Duration(float64(v.real[i]) * (0.7 + 0.6*v.rng.Float64()))
			v.measured[i].Add(d, d, d)
			return i
		}
	}
	return -1
}

// R50: whoever becomes slow or quick, least_latency prefers who is quickest within 50 requests, and goes on asking the others
// now and then.
func TestLeastLatencyFollows(t *testing.T) {
	t.Parallel()
	const runs, after = 200, 50
	for _, tt := range []struct {
		name          string
		before, later []int   // ms
		best          int     // later
		share         float64 // at least, once 50 requests have passed
	}{
		{"the quick one slows down", []int{100, 1000}, []int{3000, 1000}, 1, 0.85},
		{"the slow one speeds up", []int{300, 1000}, []int{300, 100}, 1, 0.85},
		{"the slow one becomes a little better", []int{100, 1000}, []int{100, 50}, 1, 0.65},
		{"the slowest of three speeds up", []int{300, 500, 1000}, []int{300, 500, 100}, 2, 0.55},
		{"they change places", []int{100, 500, 1000}, []int{1000, 500, 200}, 2, 0.55},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var share, last [3]float64
			for seed := range uint64(runs) {
				v := newRivals(seed, tt.before)
				for range 200 {
					v.ask()
				}
				v.take(tt.later)
				for k := range 4 * after {
					who := v.ask()
					switch k / after {
					case 1:
						share[who] += 1.0 / after / runs
					case 3:
						last[who] += 1.0 / after / runs
					}
				}
			}
			if share[tt.best] < tt.share {
				t.Errorf("51 to 100 requests later %.2f go to the best, want %.2f", share[tt.best], tt.share)
			}
			for i := range tt.later {
				if last[i] < 0.8*Explore/float64(len(tt.later)) {
					t.Errorf("target %d gets %.3f: it is not explored", i, last[i])
				}
			}
		})
	}
}

func newRivals(seed uint64, ms []int) *rivals {
	v := &rivals{rng: rand.New(rand.NewPCG(seed, 1)), real: make([]time.Duration, len(ms)), measured: make([]resilience.Latency, len(ms))}
	for i := range ms {
		v.targets = append(v.targets, Target{Provider: "p", Model: fmt.Sprint(i)})
	}
	v.take(ms)
	return v
}

// take sets how long the targets take from now on.
func (v *rivals) take(ms []int) {
	for i := range ms {
		v.real[i] = time.Duration(ms[i]) * time.Millisecond
	}
}
