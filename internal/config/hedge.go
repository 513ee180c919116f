package config

import (
	"strconv"
	"strings"
	"time"

	"evergate/internal/route"
)

// hedge is what a model's settings come to (R71).
func (f *hedgeFile) hedge() route.Hedge {
	h := route.DefaultHedge()
	if f.max.set {
		h.Max = f.max.v
	}
	if f.budget.set {
		h.Budget = f.budget.v
	}
	h.After, h.Percentile = f.after.v.wait, f.after.v.percentile
	return h
}

const auto = "auto"

// hedgeAfterShape is auto, a duration, or a percentile such as p95.
func hedgeAfterShape() shape[hedgeAfter] {
	const want = "auto, a duration such as 800ms, or a percentile from p50 to p99"
	return single(want, map[string]any{"type": "string"}, func(s string) (hedgeAfter, string, string) {
		var none hedgeAfter
		if s == auto {
			return none, "", ""
		}
		if p, ok := strings.CutPrefix(s, "p"); ok {
			n, err := strconv.Atoi(p)
			if err != nil || n < 50 || n > 99 {
				return none, "must be " + want, ""
			}
			return hedgeAfter{percentile: n}, "", ""
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			if n, err := strconv.Atoi(s); err == nil && n > 0 {
				return none, "has no unit; it must be " + want, s + "s"
			}
			return none, "must be " + want, ""
		case d < time.Millisecond:
			return none, "is too short; the least is 1ms (hedge: {max: 0} turns hedging off)", ""
		case d > maxDuration:
			return none, "is longer than a year; it must be " + want, ""
		}
		return hedgeAfter{wait: d}, "", ""
	})
}

// resumeShape is off or continue; true is continue.
func resumeShape() shape[bool] {
	const want = "off or continue"
	return single(want, orFromEnv(map[string]any{"enum": []any{"off", false, "continue"}}), func(s string) (bool, string, string) {
		switch s {
		case "continue":
			return true, "", ""
		case "off", "false": // YAML 1.1 tools write false for off
			return false, "", ""
		}
		return false, "must be " + want, ""
	})
}
