package ledger

import (
	"math"
	"time"

	"evergate/internal/journal"
)

// Sums are what the rows of a bucket come to. All are plain sums: those of two buckets added are those of both.
type Sums struct {
	// Requests are those of clients; OK and Failed are as in Account.
	Requests, OK, Failed, Rescued int64
	// Attempts are those of clients' requests, Failovers those of them that went to another target than the one before. Asides are mirrors and probes.
	Attempts, Failovers, Asides int64
	// Tokens of all attempts and asides; EstimatedTokens is the part of input and output that nobody said.
	Input, Output, CachedInput, CacheWrite, Reasoning, AudioInput, AudioOutput, EstimatedTokens int64
	// CostNano is billionths of a dollar of all attempts whose price is known; Unpriced is how many have tokens and no price.
	CostNano, Unpriced int64
	// What failover, hedges and abandoned attempts added to requests (R77).
	AddedMillis, AddedCostNano int64
	// Durations of requests, and the time in Evergate itself.
	DurationMillis, OverheadMicros int64
	// Firsts are the requests whose first content came, FirstMillis the time that it took them.
	Firsts, FirstMillis int64
	// FirstWithin counts them by that time: at most FirstBounds[i] milliseconds, the last one more.
	FirstWithin [len(FirstBounds) + 1]int64
}

// FirstBounds are the upper bounds of FirstWithin, in milliseconds.
var FirstBounds = [8]int64{100, 200, 400, 800, 1600, 3200, 6400, 12800}

// SumCount is how many numbers Sums are.
const SumCount = 23 + len(FirstBounds) + 1

// SumNames are the numbers' names, in the order of Numbers: those of columns and fields in stores. New ones are added at the end.
func SumNames() [SumCount]string {
	return [SumCount]string{
		"requests", "ok", "failed", "rescued", "attempts", "failovers", "asides",
		"input", "output", "cached_input", "cache_write", "reasoning", "audio_input", "audio_output", "estimated_tokens",
		"cost_nano", "unpriced", "added_ms", "added_cost_nano", "duration_ms", "overhead_us", "firsts", "first_ms",
		"first_100", "first_200", "first_400", "first_800", "first_1600", "first_3200", "first_6400", "first_12800", "first_more",
	}
}

// Numbers are pointers to the numbers, in the order of SumNames.
func (s *Sums) Numbers() [SumCount]*int64 {
	f := &s.FirstWithin
	return [SumCount]*int64{
		&s.Requests, &s.OK, &s.Failed, &s.Rescued, &s.Attempts, &s.Failovers, &s.Asides,
		&s.Input, &s.Output, &s.CachedInput, &s.CacheWrite, &s.Reasoning, &s.AudioInput, &s.AudioOutput, &s.EstimatedTokens,
		&s.CostNano, &s.Unpriced, &s.AddedMillis, &s.AddedCostNano, &s.DurationMillis, &s.OverheadMicros, &s.Firsts, &s.FirstMillis,
		&f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6], &f[7], &f[8],
	}
}

// Add adds other sums. A number that would not fit stays at the largest one.
func (s *Sums) Add(o *Sums) {
	to, from := s.Numbers(), o.Numbers()
	for i := range to {
		if *from[i] > math.MaxInt64-*to[i] {
			*to[i] = math.MaxInt64
			continue
		}
		*to[i] += *from[i]
	}
}

// FirstQuantile reckons the time within which the share q (0 to 1) of the first contents came, along a straight line within a bound; 0: none came.
// Beyond the last bound it is that bound.
func (s *Sums) FirstQuantile(q float64) time.Duration {
	rank := q * float64(s.Firsts)
	below, lower := 0.0, 0.0
	for i, n := range s.FirstWithin {
		if i == len(FirstBounds) {
			break
		}
		upper := float64(FirstBounds[i])
		if count := float64(n); count > 0 && below+count >= rank {
			return time.Duration((lower + (upper-lower)*max(rank-below, 0)/count) * float64(time.Millisecond))
		}
		below, lower = below+float64(n), upper
	}
	if s.Firsts == 0 {
		return 0
	}
	return time.Duration(lower) * time.Millisecond
}

// Group is what sums are kept by: who asked for what, and who was asked. Model is the bounded name that metrics have, too: an id that
// nobody lists is "other".
type Group struct{ Key, Route, Model, Provider string }

// Fold gives the sums of a row to add, by group: the request counts where it was answered, with an empty Model and Provider if nobody did, and each attempt
// where it was made.
func Fold(r *Request, add func(Group, *Sums)) {
	var own Sums
	own.addRequest(r)
	add(r.answeredIn(), &own)
	var before *journal.Step
	for i := range r.Trail {
		if s := &r.Trail[i]; !s.Skipped {
			var sums Sums
			sums.addAttempt(r, before, s)
			add(r.madeIn(s), &sums)
			before = s
		}
	}
}

// Fold adds a row, as the function Fold gives it.
func (b Bundle) Fold(r *Request) {
	group := r.answeredIn()
	to := b.of(group)
	to.addRequest(r)
	var before *journal.Step
	for i := range r.Trail {
		s := &r.Trail[i]
		if s.Skipped {
			continue
		}
		if g := r.madeIn(s); g != group {
			group, to = g, b.of(g)
		}
		to.addAttempt(r, before, s)
		before = s
	}
}

func (r *Request) answeredIn() Group { return Group{r.Key, r.Route, r.answeredAs(), r.Provider} }

func (r *Request) madeIn(s *journal.Step) Group { return Group{r.Key, r.Route, s.Label, s.Provider} }

// more adds a number that is not negative. What would not fit stays at the largest one.
func more(to *int64, n int64) {
	if n > math.MaxInt64-*to {
		n = math.MaxInt64 - *to
	}
	*to += n
}

// answeredAs is the label of the model that answered.
func (r *Request) answeredAs() string {
	for i := len(r.Trail) - 1; i >= 0; i-- {
		if s := &r.Trail[i]; !s.Skipped && s.Provider == r.Provider && s.Model == r.Model {
			return s.Label
		}
	}
	return ""
}

// addRequest adds a request without its attempts. What is no client's is none.
func (s *Sums) addRequest(r *Request) {
	if r.Kind != KindRequest {
		return
	}
	more(&s.Requests, 1)
	more(&s.OK, one(r.Account.OK))
	more(&s.Failed, one(r.Account.Failed))
	more(&s.Rescued, one(r.Account.Rescued))
	more(&s.AddedMillis, max(r.Account.AddedTime.Milliseconds(), 0))
	more(&s.AddedCostNano, min(max(r.Account.AddedCost.Nano, 0), maxNano))
	more(&s.DurationMillis, max(r.Duration.Milliseconds(), 0))
	more(&s.OverheadMicros, max(r.Overhead.Microseconds(), 0))
	if r.FirstContent > 0 {
		first := r.FirstContent.Milliseconds()
		more(&s.Firsts, 1)
		more(&s.FirstMillis, first)
		at := 0
		for at < len(FirstBounds) && first > FirstBounds[at] {
			at++
		}
		more(&s.FirstWithin[at], 1)
	}
}

// What one attempt can come to at most, so that no sum of many grows out of its column: a thousand billion tokens, a million dollars.
const (
	maxTokens = 1e12
	maxNano   = 1e15
)

// addAttempt adds an attempt, the one before it being nil for the first. An upstream may say anything of what it used.
func (s *Sums) addAttempt(r *Request, before, step *journal.Step) {
	switch {
	case r.Kind != KindRequest:
		more(&s.Asides, 1)
	case before != nil && (before.Provider != step.Provider || before.Model != step.Model):
		more(&s.Failovers, 1)
		fallthrough
	default:
		more(&s.Attempts, 1)
	}
	u := &step.Usage
	tokens := func(to *int64, n int64) { more(to, min(max(n, 0), maxTokens)) }
	tokens(&s.Input, u.Input)
	tokens(&s.Output, u.Output)
	tokens(&s.CachedInput, u.CachedInput)
	tokens(&s.CacheWrite, u.CacheWrite)
	tokens(&s.Reasoning, u.Reasoning)
	tokens(&s.AudioInput, u.AudioInput)
	tokens(&s.AudioOutput, u.AudioOutput)
	if step.Estimated {
		tokens(&s.EstimatedTokens, u.Input)
		tokens(&s.EstimatedTokens, u.Output)
	}
	switch {
	case step.Cost.Known:
		more(&s.CostNano, min(max(step.Cost.Nano, 0), maxNano))
	case u.Known || step.Estimated:
		more(&s.Unpriced, 1)
	}
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
