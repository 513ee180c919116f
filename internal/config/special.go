package config

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/wire"
)

// ownParams are request fields that the gateway itself decides.
var ownParams = []string{"model", "stream"}

// paramsShape is a mapping of request fields to any JSON value, in order of name.
func paramsShape() shape[[]wire.Param] {
	return shape[[]wire.Param]{
		read: func(r *reader, n *node) ([]wire.Param, bool) {
			if !r.enter(n) {
				return nil, false
			}
			if n.kind != mapping {
				r.problem(n.at, "", "must be a mapping of request fields such as { temperature: 0.2 }, not %s", n.kind)
				return nil, false
			}
			var out []wire.Param
			for _, p := range n.pairs {
				switch {
				case slices.Contains(ownParams, p.key):
					r.problem(p.at, "", "is decided by the gateway; name the model in target, and leave stream to the client")
					continue
				case slices.ContainsFunc(out, func(q wire.Param) bool { return q.Name == p.key }):
					r.problem(p.at, "", "is written twice; keep one")
					continue
				}
				value, ok := toJSON(r, p.value)
				if !ok {
					continue
				}
				raw, err := json.Marshal(value)
				if err != nil {
					r.problem(p.at, "", "cannot be said in JSON")
					continue
				}
				out = append(out, wire.Param{Name: p.key, Value: raw})
			}
			slices.SortFunc(out, func(a, b wire.Param) int { return strings.Compare(a.Name, b.Name) })
			return out, true
		},
		schema: func(*schemas) map[string]any {
			return map[string]any{"type": "object", "propertyNames": map[string]any{"not": map[string]any{"enum": ownParams}}}
		},
	}
}

// toJSON turns YAML into the JSON value that means the same.
func toJSON(r *reader, n *node) (any, bool) {
	if !r.enter(n) {
		return nil, false
	}
	switch n.kind {
	case null:
		return nil, true
	case scalar:
		if !n.plain {
			return n.text, true
		}
		v, ok := plainJSON(n.text)
		if !ok {
			r.problem(n.at, "", "%s is a number that JSON cannot say", show(n))
		}
		return v, ok
	case sequence:
		out, sound := make([]any, 0, len(n.items)), true
		for _, item := range n.items {
			v, ok := toJSON(r, item)
			out, sound = append(out, v), sound && ok
		}
		return out, sound
	case mapping:
		out, sound := make(map[string]any, len(n.pairs)), true
		for _, p := range n.pairs {
			v, ok := toJSON(r, p.value)
			out[p.key], sound = v, sound && ok
		}
		return out, sound
	}
	return nil, false
}

// plainJSON gives an unquoted scalar the type that YAML's core schema gives it.
func plainJSON(s string) (any, bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "-.inf", "-.Inf", "-.INF", "+.inf", "+.Inf", "+.INF":
		return nil, false
	}
	if strings.Trim(s[:1], "+-.0123456789") != "" {
		return s, true
	}
	if json.Valid([]byte(s)) {
		return json.Number(s), true
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil && !strings.Contains(s, "_") && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0o")) {
		return i, true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !strings.ContainsAny(s, "_xX") && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f, true
	}
	return s, true
}
