// Package quota is how much callers, models and providers may use: limits of any 60 seconds, budgets of calendar periods, and what one
// instance of a fleet may let in of a limit that all share. It is pure: the time comes in as an argument, and it knows no request, no store and
// no HTTP. Package meters counts with it.
package quota
