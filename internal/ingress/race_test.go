//go:build race

package ingress

// underRace: pools forget at random, so allocations cannot be counted.
const underRace = true
