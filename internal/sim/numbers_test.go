package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestDistributions(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2)).Float64
	sample := func(d Dist) []float64 {
		out := make([]float64, 20_000)
		for i := range out {
			out[i] = d.draw(rnd)
		}
		slices.Sort(out)
		return out
	}
	near := func(what string, got, want, off float64) {
		t.Helper()
		if math.Abs(got-want) > off*want {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	all := sample(LogNormal(400, 3000))
	near("median", all[len(all)/2], 400, 0.03)
	near("99th", all[len(all)*99/100], 3000, 0.1)
	all = sample(Uniform(10, 20))
	if all[0] < 10 || all[len(all)-1] > 20 {
		t.Errorf("uniform from %g to %g", all[0], all[len(all)-1])
	}
	near("middle", all[len(all)/2], 15, 0.02)
	if all = sample(Fixed(7)); all[0] != 7 || all[len(all)-1] != 7 {
		t.Error("fixed is not")
	}
	if d := Fixed(1e300).duration(rnd); d <= 0 {
		t.Errorf("a huge time is %s", d)
	}
}

// Arrivals follow their rate: constant, growing, over a day, with a spike.
func TestRates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		rate        Rate
		first, last float64 // arrivals in the first and the last tenth of 1,000 s
	}{
		{"constant", Rate{Low: 10}, 1000, 1000},
		{"ramp", Rate{Shape: Ramp, Low: 0, High: 20}, 100, 1900},
		{"day", Rate{Shape: Day, Low: 1, High: 21, Period: 1000 * time.Second}, 165, 165},
		{"spike", Rate{Low: 10, Spikes: []Spike{{At: 0, For: 50 * time.Second, Times: 3}}}, 2000, 1000},
		{"none", Rate{}, 0, 0},
	} {
		rnd := rand.New(rand.NewPCG(1, 2)).Float64
		var n [10]float64
		end := 1000 * time.Second
		for at, ok := tt.rate.next(0, end, end, rnd); ok; at, ok = tt.rate.next(at, end, end, rnd) {
			n[at/(100*time.Second)]++
		}
		for _, c := range [][2]float64{{n[0], tt.first}, {n[9], tt.last}} {
			if math.Abs(c[0]-c[1]) > 5*math.Sqrt(c[1]) {
				t.Errorf("%s: %g, want about %g (%v)", tt.name, c[0], c[1], n)
			}
		}
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.at(0.5) != 0 {
		t.Error("an empty one has a median")
	}
	for i := range 10_000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for share, want := range map[float64]time.Duration{0.0001: time.Millisecond, 0.5: 5 * time.Second, 0.99: 9900 * time.Millisecond, 1: 10 * time.Second} {
		if got := h.at(share); math.Abs(float64(got-want)) > 0.033*float64(want) {
			t.Errorf("%g: %s, want about %s", share, got, want)
		}
	}
	h.add(1e6 * time.Hour) // is not lost, and nothing breaks
	h.add(-time.Second)
	if h.n != 10_002 || h.at(0) != 0 {
		t.Errorf("%d, least %s", h.n, h.at(0))
	}
}

// Events come by time, and those of one time as they were scheduled.
func TestQueue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var q queue
	for i := range 1000 {
		q.push(event{at: time.Duration(rng.IntN(50)), order: uint64(i)})
	}
	last := q.pop()
	for len(q) > 0 {
		e := q.pop()
		if e.before(&last) {
			t.Fatalf("%v after %v", e, last)
		}
		last = e
	}
}

// R53, R71: what came in the last 10 s.
func TestRecent(t *testing.T) {
	t.Parallel()
	r := newRecent(10 * time.Second)
	for at := time.Duration(0); at < 30*time.Second; at += time.Second / 2 {
		r.add(at)
	}
	for after, want := range []int64{20, 18, 16} {
		if got := r.count(29*time.Second + time.Duration(after)*time.Second); got != want {
			t.Errorf("%d s later: %d, want %d", after, got, want)
		}
	}
	if got := r.count(time.Hour); got != 0 {
		t.Errorf("an hour later: %d", got)
	}
}
