//go:build !race

package ingress

const underRace = false
