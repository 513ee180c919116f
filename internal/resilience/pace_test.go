package resilience

import (
	"testing"
	"time"
)

// R50: routing believes soon that a target has become quicker, but not because of one quick answer.
func TestPace(t *testing.T) {
	t.Parallel()
	s := time.Second
	for _, tt := range []struct {
		name    string
		answers []time.Duration
		want    time.Duration
	}{
		{"nothing", nil, 0},
		{"what was not measured", []time.Duration{0, -s}, 0},
		{"the mean of a few", []time.Duration{s, 2 * s, 3 * s}, 2 * s},
		{"one quick answer is averaged in", []time.Duration{8 * s, 8 * s, 8 * s, 0, s}, 6250 * time.Millisecond},
		{"one now and one then, too", []time.Duration{9 * s, 9 * s, s, 11666666666, s}, 6333333333},
		{"two in a row count alone", []time.Duration{9 * s, 9 * s, 9 * s, 2 * s, s}, 1500 * time.Millisecond},
		{"slow ones never do", []time.Duration{s, s, 9 * s, 9 * s}, 5 * s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var l Latency
			for _, d := range tt.answers {
				l.Add(0, d, 0)
			}
			got, known := l.Pace()
			if (got-tt.want).Abs() > 2 || known != (tt.want > 0) {
				t.Errorf("%v %v, want %v", got, known, tt.want)
			}
		})
	}
}
