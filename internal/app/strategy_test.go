package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// R50: where a hundred streams go, one after the other, by strategy, among a quick and dear provider and a slow and cheap one; and when the
// quick one has become the slow one.
func TestStrategies(t *testing.T) {
	t.Parallel()
	const text = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [gpt-4o]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [gpt-4o-mini]}
models:
  m: {strategy: STRATEGY, affinity: off, targets: [a/gpt-4o, b/gpt-4o-mini]}
  around: {strategy: round_robin, affinity: off, targets: [b/gpt-4o-mini, m]}
`
	for _, tt := range []struct {
		strategy    string
		model       string
		first, last [2]int // requests of a hundred that a gets, at least and at most: while it is quick, and once it is slow
	}{
		{"ordered", "m", [2]int{100, 100}, [2]int{100, 100}},
		{"round_robin", "m", [2]int{50, 50}, [2]int{50, 50}},
		{"weighted", "m", [2]int{30, 70}, [2]int{30, 70}},
		{"least_latency", "m", [2]int{75, 100}, [2]int{0, 40}},
		{"least_busy", "m", [2]int{30, 70}, [2]int{30, 70}},
		{"least_cost", "m", [2]int{0, 0}, [2]int{0, 0}},
		{"auto", "m", [2]int{30, 100}, [2]int{0, 30}},
		{"ordered", "around", [2]int{50, 50}, [2]int{50, 50}},
		{"round_robin", "around", [2]int{25, 25}, [2]int{25, 25}},
		{"least_cost", "around", [2]int{0, 0}, [2]int{0, 0}},
	} {
		t.Run(tt.model+" "+tt.strategy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script := func(first time.Duration) mock.Script {
					b := steady()
					b.FirstToken = first
					return mock.Script{Defaults: b}
				}
				s := newStack(t, strings.Replace(text, "STRATEGY", tt.strategy, 1), map[string]mock.Script{"a": script(200 * time.Millisecond), "b": script(time.Second)})
				ask := func(within [2]int) {
					before := len(s.chats("a"))
					for range 100 {
						if a := s.ask(tt.model, true); a.status != 200 {
							t.Fatal(a.story())
						}
					}
					if n := len(s.chats("a")) - before; n < within[0] || n > within[1] {
						t.Errorf("a gets %d, want %v", n, within)
					}
					if got := fmt.Sprint(s.facts.last().Order); tt.model == "m" && got != strings.Replace(tt.strategy, "ordered", "declared", 1) {
						t.Errorf("the order is said to be %s", got)
					}
				}
				ask(tt.first)
				s.mocks["a"].SetScript(script(4 * time.Second))
				ask(tt.last)
			})
		})
	}
}
