//go:build !race

package resilience

const slow = false
