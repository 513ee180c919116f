package resilience

import "time"

const (
	// averagesHalved is the age at which an average is worth half of its samples, averagesKept that at which it is worth nothing.
	averagesHalved = time.Minute
	averagesKept   = 10 * time.Minute
	// ownSamples is the most that an instance's own average is worth, otherSamples what all others' together are.
	ownSamples   = 64
	otherSamples = 16
	// longestAverage bounds what is believed of others.
	longestAverage = 24 * time.Hour
)

// Recency is how much a moving average is worth: how many samples are behind it, each the less the older it was when the next
// one came, and when the last came.
type Recency struct {
	Samples float64
	At      time.Time
}

// Worth is the samples at age 0, half of them at a minute, a third at two, and so on as 1/(1 + age/1 min); none from 10 minutes on.
func (r *Recency) Worth(now time.Time) float64 {
	age := max(now.Sub(r.At), 0)
	if age >= averagesKept || !(r.Samples > 0) { // nor is a NaN worth anything
		return 0
	}
	return r.Samples * float64(averagesHalved) / float64(averagesHalved+age)
}

// Add counts one more sample. Those of one second are of one age, so that a busy target's cost next to nothing.
func (r *Recency) Add(now time.Time) {
	if age := now.Sub(r.At); age < 0 || age >= time.Second {
		r.Samples, r.At = r.Worth(now), now
	}
	r.Samples = min(r.Samples+1, ownSamples)
}

// Averages are moving averages of a target's times, of one instance or of several; 0 is not measured.
type Averages struct {
	FirstContent, Total time.Duration
	Recency
}

// Sane says whether an average that somebody else told of can be one.
func (a *Averages) Sane() bool {
	return a.FirstContent >= 0 && a.FirstContent <= longestAverage && a.Total >= 0 && a.Total <= longestAverage
}

// With is what this instance goes by (R67): for each of the two times (own × w + others × v) / (w + v), where w and v are what
// they are Worth now and only what was measured counts. Since the others' together are worth 16 samples at the most and the own ones
// up to 64, who has fresh samples of its own goes by these, and who has none by what others say.
func (a *Averages) With(now time.Time, others *Averages) Averages {
	w, v := a.Worth(now), others.Worth(now)
	return Averages{
		FirstContent: mean(a.FirstContent, w, others.FirstContent, v), Total: mean(a.Total, w, others.Total, v),
		Recency: Recency{Samples: w + v, At: now},
	}
}

// mean is the weighted mean of two times. One's own alone counts however old it is.
func mean(own time.Duration, w float64, others time.Duration, v float64) time.Duration {
	switch {
	case others <= 0 || v <= 0:
		return own
	case own <= 0 || w <= 0:
		return others
	}
	return time.Duration((float64(own)*w + float64(others)*v) / (w + v))
}

// Blend adds up the averages of several instances. The zero Blend is of none.
type Blend struct {
	firstContent, firstWorth, total, totalWorth, worth float64
}

// Add takes those of one more instance, by what they are worth now.
func (b *Blend) Add(now time.Time, a *Averages) {
	w := min(a.Worth(now), ownSamples)
	if w <= 0 || !a.Sane() {
		return
	}
	b.worth += w
	if a.FirstContent > 0 {
		b.firstContent += w * float64(a.FirstContent)
		b.firstWorth += w
	}
	if a.Total > 0 {
		b.total += w * float64(a.Total)
		b.totalWorth += w
	}
}

// Averages are the weighted means, which together are worth 16 samples at the most.
func (b *Blend) Averages(now time.Time) Averages {
	a := Averages{Recency: Recency{Samples: min(b.worth, otherSamples), At: now}}
	if b.firstWorth > 0 {
		a.FirstContent = time.Duration(b.firstContent / b.firstWorth)
	}
	if b.totalWorth > 0 {
		a.Total = time.Duration(b.total / b.totalWorth)
	}
	return a
}
