package resilience

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// machine is the one that is sold.
func machine(s Settings, c []Credential) subject { return New(s, RoundRobin, c) }

// mustHave are what histories have to come to, or they show nothing.
var mustHave = []string{
	"open", "half_open", "closed", "trip failures", "trip cooldown", "trip operator", "lease taken back", "proof", "disproof", "sound", "all slots taken",
	"two models", "turned away", "early refused", "order reset", "order open", "order close", "absorbed", "extend", "heard",
	"two models, one heard", "beside", "doubt", "vouched", "yields",
}

// R20-R31, R33-R35, R62: the machine and its twins agree on every number after every step of any history, in every scope.
// What fails here is shrunk.
func TestMachineAgreesWithItsTwin(t *testing.T) {
	seen := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		roll := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		y := newStory(roll, seen, machine)
		if wrong := y.tell(rapid.IntRange(30, 250).Draw(t, "steps")); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// The same a million times: R20-R31, R33-R35, R62.
func TestMachineAgreesWithItsTwinForAMillionSteps(t *testing.T) {
	const length = 200
	histories := 1_000_000 / length
	if slow || testing.Short() {
		histories /= 20
	}
	var steps atomic.Int64
	for half := range 2 {
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			t.Parallel()
			seen := make(map[string]int)
			for i := range histories / 2 {
				seed := uint64(2*i + half)
				y := newStory(cheapDice(seed), seen, machine)
				if wrong := y.tell(length); wrong != "" {
					t.Fatalf("seed %d: %s", seed, wrong)
				}
				steps.Add(int64(y.steps))
			}
			for _, what := range mustHave {
				if seen[what] == 0 {
					t.Errorf("no history had: %s", what)
				}
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d steps", steps.Load()) })
}
