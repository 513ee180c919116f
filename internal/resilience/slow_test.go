//go:build race

package resilience

// slow says that the race detector is on: each step takes ten times as long.
const slow = true
