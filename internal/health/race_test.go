//go:build race

package health

// slack is how much slower this build may be.
const slack = 20
