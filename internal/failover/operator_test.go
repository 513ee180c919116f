package failover

import (
	"testing"
	"time"

	"evergate/internal/resilience"
)

// R31, R51: what an operator holds open is never tried, and nobody says when it clears if nobody knows.
func TestHeldOpenByAnOperator(t *testing.T) {
	held := resilience.Block{Guard: resilience.CircuitBreaker, Reason: resilience.OperatorOpen, Until: t0.Add(1000 * time.Hour)}
	forever := held
	forever.Until = time.Time{}
	down := block(resilience.CircuitOpen, 20*time.Second, false)
	failFast := func(s *resilience.Settings) { s.WhenAllBlocked = resilience.FailFast }
	tests := []struct {
		name   string
		set    []func(*resilience.Settings)
		blocks [][]resilience.Block
		want   string
		after  time.Duration
	}{
		{"beside one that is only down", nil, [][]resilience.Block{{held}, {down}}, "1! ok", 0},
		{"the only one", nil, [][]resilience.Block{{held}}, "", 1000 * time.Hour},
		{"all of them, until further notice", nil, [][]resilience.Block{{forever}, {forever}}, "", 0},
		{"one of them with an end", nil, [][]resilience.Block{{forever}, {held}}, "", 1000 * time.Hour},
		{"fail_fast names the one that clears by itself", []func(*resilience.Settings){failFast}, [][]resilience.Block{{forever}, {down}}, "", 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			models := []string{"a", "b"}[:len(tt.blocks)]
			w := world{blocks: tt.blocks}
			got, final := play(Params{Targets: targets(models, tt.set...)}, &w, map[int][]result{0: {{}}, 1: {{}}}, 9)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if tt.want == "" && (final.Ending != CircuitOpen || final.RetryAfter != tt.after) {
				t.Errorf("%+v", final)
			}
		})
	}
}

// R31: a failed candidate that an operator has taken away since is not waited for.
func TestHeldOpenMeanwhile(t *testing.T) {
	held := resilience.Block{Guard: resilience.CircuitBreaker, Reason: resilience.OperatorOpen}
	failing := status(503)
	failing.block = &held
	got, final := play(Params{Targets: targets([]string{"a"}, noDoubt)}, &world{}, map[int][]result{0: {failing, {}}}, 9)
	if got != "0" || final.Ending != OneFailed {
		t.Errorf("%q %+v", got, final)
	}
}

// R34, R51: with nobody else there, a provider on its ramp is asked at once.
func TestRampingIsNotWaitedFor(t *testing.T) {
	ramping := resilience.Block{Guard: resilience.CircuitBreaker, Reason: resilience.Ramping, Until: t0.Add(2 * time.Second)}
	got, _ := play(Params{Targets: targets([]string{"a"})}, &world{blocks: [][]resilience.Block{{ramping}}}, map[int][]result{0: {{}}}, 9)
	if got != "0! ok" {
		t.Error(got)
	}
}
