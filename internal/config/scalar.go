package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/provider"
)

// fromEnv is the JSON Schema of a value that holds a variable.
func fromEnv() map[string]any { return map[string]any{"type": "string", "pattern": `\$\{`} }

// orFromEnv is the JSON Schema of a value that may hold a variable instead.
func orFromEnv(s map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{s, fromEnv()}}
}

// single builds a shape of one scalar. parse gives the value, or what is wrong with it and what may have been meant.
func single[V any](want string, schema map[string]any, parse func(text string) (v V, wrong, suggestion string)) shape[V] {
	return shape[V]{
		read: func(r *reader, n *node) (V, bool) {
			var none V
			if !r.enter(n) {
				return none, false
			}
			if n.kind != scalar {
				r.problem(n.at, "", "must be %s, not %s", want, n.kind)
				return none, false
			}
			v, wrong, suggestion := parse(n.text)
			if wrong != "" {
				r.problem(n.at, suggestion, "%s %s", show(n), wrong)
				return none, false
			}
			return v, true
		},
		schema: func(*schemas) map[string]any { return schema },
	}
}

// typed is single for values that YAML gives a type, which quotes would take away.
func typed[V any](want string, schema map[string]any, parse func(text string) (v V, wrong, suggestion string)) shape[V] {
	s := single(want, schema, parse)
	read := s.read
	s.read = func(r *reader, n *node) (V, bool) {
		if n.kind == scalar && !n.plain && !n.expanded && !n.broken {
			var none V
			if _, wrong, _ := parse(n.text); wrong == "" {
				r.problem(n.at, "", "is text; write %s without quotes", n.text)
				return none, false
			}
		}
		return read(r, n)
	}
	return s
}

// text is any text but the empty one.
func text(want string) shape[string] {
	return single(want, map[string]any{"type": "string", "minLength": 1}, func(s string) (string, string, string) {
		if s == "" {
			return "", "is empty; it must be " + want, ""
		}
		return s, "", ""
	})
}

// optionalText is text that may be empty, which is the same as absent.
func optionalText(want string) shape[string] {
	return single(want, map[string]any{"type": "string"}, func(s string) (string, string, string) { return s, "", "" })
}

// secretText is a credential as written.
type secretText struct {
	value provider.Secret
	// fromEnv: it came from the environment, so that an empty one is a mistake and not an omission.
	fromEnv bool
}

// secret is a credential; it is never shown.
func secret(want string) shape[secretText] {
	return shape[secretText]{
		read: func(r *reader, n *node) (secretText, bool) {
			n.hidden = true
			if !r.enter(n) {
				return secretText{}, false
			}
			if n.kind != scalar {
				r.problem(n.at, "", "must be %s, not %s", want, n.kind)
				return secretText{}, false
			}
			if strings.ContainsFunc(n.text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
				r.problem(n.at, "", "holds a space, a line break or a control character, which no credential has; give the bare value, without a prefix such as Bearer")
				return secretText{}, false
			}
			return secretText{provider.Secret(n.text), n.expanded}, true
		},
		schema: func(*schemas) map[string]any { return map[string]any{"type": "string"} },
	}
}

func boolean() shape[bool] {
	return typed("true or false", orFromEnv(map[string]any{"type": "boolean"}), func(s string) (bool, string, string) {
		switch strings.ToLower(s) {
		case "true":
			return true, "", ""
		case "false":
			return false, "", ""
		case "yes", "on":
			return false, "must be true or false", "true"
		case "no", "off":
			return false, "must be true or false", "false"
		}
		return false, "must be true or false", ""
	})
}

// whole is an integer from least to most, both included.
func whole(least, most int) shape[int] {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	schema := orFromEnv(map[string]any{"type": "integer", "minimum": least, "maximum": most})
	return typed(want, schema, func(s string) (int, string, string) {
		v, err := strconv.Atoi(s)
		if err != nil || v < least || v > most {
			return 0, "must be " + want, ""
		}
		return v, "", ""
	})
}

// number is a decimal from least to most, both included.
func number(least, most float64) shape[float64] {
	want := fmt.Sprintf("a number from %g to %g", least, most)
	schema := orFromEnv(map[string]any{"type": "number", "minimum": least, "maximum": most})
	return typed(want, schema, func(s string) (float64, string, string) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || v < least || v > most {
			return 0, "must be " + want, ""
		}
		return v, "", ""
	})
}

const (
	durationWant = "a duration such as 500ms, 30s, 5m or 1h"
	maxDuration  = 8760 * time.Hour
)

// duration is a time with its unit, or 0; least says whether 0 is one.
func duration(least time.Duration) shape[time.Duration] {
	want := durationWant
	plain := []any{map[string]any{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$|^0$|\$\{`}}
	if least == 0 {
		want += ", or 0"
		plain = append(plain, map[string]any{"const": 0})
	}
	return single(want, map[string]any{"anyOf": plain}, func(s string) (time.Duration, string, string) {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			if n, err := strconv.Atoi(s); err == nil && n > 0 {
				return 0, "has no unit; it must be " + want, s + "s"
			}
			return 0, "must be " + want, ""
		case d < 0:
			return 0, "is negative; it must be " + want, ""
		case d < least:
			return 0, "is too short; the least is " + formatDuration(least), ""
		case d > maxDuration:
			return 0, "is longer than a year; it must be " + want, ""
		}
		return d, "", ""
	})
}

// formatDuration is the way a person writes it: 1h instead of 1h0m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if d == 0 {
		return "0"
	}
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// seconds is a whole number of seconds (003's environment variables).
func seconds() shape[time.Duration] {
	return typed("a whole number of seconds", map[string]any{"type": "integer", "minimum": 0}, func(s string) (time.Duration, string, string) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || time.Duration(n) > maxDuration/time.Second {
			return 0, "must be a whole number of seconds, without a unit", ""
		}
		return time.Duration(n) * time.Second, "", ""
	})
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

const sizeWant = "a size such as 32MiB, 10MB or 1024B, at least 1B and at most 1024GiB"

// size is a number of bytes with an optional unit.
func size() shape[int64] {
	schema := map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 1},
		map[string]any{"type": "string", "pattern": `^[0-9]+ ?([kKmMgG]i?)?[bB]?$|\$\{`},
	}}
	return single(sizeWant, schema, func(s string) (int64, string, string) {
		digits := strings.TrimRight(s, "KMGiBkmgb ")
		unit, factor := strings.TrimSpace(s[len(digits):]), int64(1)
		if unit != "" {
			factor = 0
			for _, u := range sizeUnits {
				if strings.EqualFold(unit, u.name) {
					factor = u.bytes
				}
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		switch {
		case err == nil && factor == 0 && n > 0:
			return 0, "has an unknown unit; it must be " + sizeWant, digits + "MiB"
		case err != nil || factor == 0 || n < 1 || n > 1<<40/factor:
			return 0, "must be " + sizeWant, ""
		}
		return n * factor, "", ""
	})
}

// word is one word of a choice.
type word[V any] struct {
	text string
	v    V
}

func say[V any](text string, v V) word[V] { return word[V]{text: text, v: v} }

// choice is one of a few words.
func choice[V any](words ...word[V]) shape[V] {
	var now []string
	var enum []any
	for _, w := range words {
		now = append(now, w.text)
		enum = append(enum, w.text)
	}
	want := "one of " + strings.Join(now, ", ")
	switch {
	case len(now) == 1:
		want = now[0]
	case len(now) > 8:
		want = "one of " + some(now) + " (evergate schema has them all)"
	}
	return single(want, orFromEnv(map[string]any{"enum": enum}), func(s string) (V, string, string) {
		var none V
		for _, w := range words {
			if w.text == s {
				return w.v, "", ""
			}
		}
		if near := nearest.Names(s, now, 1); len(near) > 0 {
			return none, "must be " + want, near[0]
		}
		return none, "must be " + want, ""
	})
}

// pattern is a regular expression.
func pattern() shape[string] {
	return single("a regular expression", map[string]any{"type": "string"}, func(s string) (string, string, string) {
		if _, err := regexp.Compile(s); err != nil {
			return "", "is no regular expression of Go's syntax: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "), ""
		}
		return s, "", ""
	})
}
