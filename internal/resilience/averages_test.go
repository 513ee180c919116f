package resilience

import (
	"math"
	"testing"
	"time"
)

// R67: an average is worth its samples, and less with age.
func TestWorth(t *testing.T) {
	for name, tt := range map[string]struct {
		samples float64
		age     time.Duration
		want    float64
	}{
		"fresh":            {8, 0, 8},
		"from the future":  {8, -time.Hour, 8},
		"a minute":         {8, time.Minute, 4},
		"three":            {8, 3 * time.Minute, 2},
		"nearly too old":   {10, 9 * time.Minute, 1},
		"too old":          {8, 10 * time.Minute, 0},
		"of nothing":       {0, 0, 0},
		"of less":          {-3, 0, 0},
		"of no number":     {math.NaN(), 0, 0},
		"at the zero time": {8, epoch.Sub(time.Time{}), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := Recency{Samples: tt.samples, At: epoch.Add(-tt.age)}
			if got := r.Worth(epoch); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	var r Recency
	for range 1000 {
		r.Add(epoch)
	}
	if r.Samples != ownSamples {
		t.Errorf("%v", r.Samples)
	}
	r.Add(epoch.Add(time.Minute))
	if r.Samples != ownSamples/2+1 || !r.At.Equal(epoch.Add(time.Minute)) {
		t.Errorf("%+v", r)
	}
}

func averages(first, total time.Duration, samples float64, age time.Duration) Averages {
	return Averages{FirstContent: first, Total: total, Recency: Recency{Samples: samples, At: epoch.Add(-age)}}
}

// R67: the weighted mean of one's own and the others' averages.
func TestWith(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct{ own, others, want Averages }{
		"own alone":              {averages(s, 2*s, 3, 0), Averages{}, averages(s, 2*s, 3, 0)},
		"own alone, and old":     {averages(s, 2*s, 3, time.Hour), Averages{}, averages(s, 2*s, 0, 0)},
		"the others alone":       {Averages{}, averages(s, 2*s, 16, 0), averages(s, 2*s, 16, 0)},
		"as many of each":        {averages(s, 2*s, 16, 0), averages(3*s, 4*s, 16, 0), averages(2*s, 3*s, 32, 0)},
		"own samples dominate":   {averages(s, s, 48, 0), averages(5*s, 5*s, 16, 0), averages(2*s, 2*s, 64, 0)},
		"fresh ones dominate":    {averages(s, s, 48, 2*time.Minute), averages(5*s, 5*s, 16, 0), averages(3*s, 3*s, 32, 0)},
		"the others' are old":    {averages(s, s, 1, 0), averages(5*s, 5*s, 16, 10*time.Minute), averages(s, s, 1, 0)},
		"own old, others fresh":  {averages(s, s, 64, 10*time.Minute), averages(5*s, 5*s, 1, 0), averages(5*s, 5*s, 1, 0)},
		"only totals of others'": {averages(s, s, 8, 0), averages(0, 3*s, 8, 0), averages(s, 2*s, 16, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.own.With(epoch, &tt.others); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	own, others := averages(s, s, 3, s), averages(5*s, 5*s, 8, s)
	if n := testing.AllocsPerRun(100, func() { own.With(epoch, &others) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// R67: several instances' averages in one.
func TestBlend(t *testing.T) {
	const s = time.Second
	var b Blend
	if got := b.Averages(epoch); got != averages(0, 0, 0, 0) {
		t.Errorf("of none: %+v", got)
	}
	for _, a := range []Averages{
		averages(s, 0, 2, 0), averages(4*s, 6*s, 2, time.Minute), // 2 and 1
		averages(time.Hour, time.Hour, 50, 10*time.Minute), averages(-s, s, 9, 0), averages(s, 25*time.Hour, 9, 0), // too old, and no times
	} {
		b.Add(epoch, &a)
	}
	if got := b.Averages(epoch); got != averages(2*s, 6*s, 3, 0) {
		t.Errorf("%+v", got)
	}
	loud := averages(8*s, 8*s, 1e300, 0)
	b.Add(epoch, &loud)
	if got := b.Averages(epoch); got.Samples != otherSamples || got.FirstContent > 8*s {
		t.Errorf("%+v", got)
	}
	if w := (3*2 + ownSamples*8.0) / (3 + ownSamples); b.Averages(epoch).FirstContent != time.Duration(w*float64(s)) {
		t.Errorf("one that boasts counts for %d at the most: %v", ownSamples, b.Averages(epoch).FirstContent)
	}
}
