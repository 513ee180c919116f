//go:build race

package testkit

// Race says that the race detector watches, with which everything takes many times as long.
const Race = true
