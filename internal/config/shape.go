package config

import (
	"fmt"
	"strings"

	"evergate/internal/nearest"
)

// given is a value that may have been written, with its place.
type given[V any] struct {
	v V
	// set: written and sound. wrong: written, and a problem was reported.
	set, wrong bool
	at         place
}

// pointer is the value, nil where none was written.
func (g given[V]) pointer() *V {
	if !g.set {
		return nil
	}
	return &g.v
}

// or is the value, or a default where none was written.
func (g given[V]) or(otherwise V) V {
	if g.set {
		return g.v
	}
	return otherwise
}

// absent says that nothing was written at all.
func (g given[V]) absent() bool { return !g.set && !g.wrong }

// entry is one named entry of a table such as providers:.
type entry[V any] struct {
	name  string
	at    place // of the name
	v     V
	wrong bool // a problem was reported; only the name counts
}

// shape is what a value may look like. It is the one source of truth for reading values strictly and for the JSON
// Schema of the same values.
type shape[V any] struct {
	// read takes a value; false means that a problem was reported and there is no value.
	read func(r *reader, n *node) (V, bool)
	// schema describes the value.
	schema func(s *schemas) map[string]any
	// keys are the paths of all keys below it, if it is an object with fixed keys.
	keys []string
}

// reader reads the node tree by shapes.
type reader struct {
	report
	visits int
}

// maxVisits bounds the work of aliases within aliases.
const maxVisits = 100_000

func (r *reader) enter(n *node) bool {
	r.visits++
	if r.visits == maxVisits {
		r.problem(n.at, "", "the document unfolds to more than %d values; use fewer aliases", maxVisits)
	}
	return r.visits < maxVisits && !n.broken
}

// key is one key of an object that is read into a T.
type key[T any] struct {
	name, doc string
	// later: the contract names it, and this version refuses it.
	later  bool
	keys   []string // paths below it
	read   func(r *reader, n *node, into *T)
	schema func(s *schemas) map[string]any
}

// field is a key with its shape and where its value goes.
func field[T, V any](name, doc string, s shape[V], where func(*T) *given[V]) key[T] {
	return key[T]{
		name: name, doc: doc, keys: s.keys, schema: s.schema,
		read: func(r *reader, n *node, into *T) {
			g := where(into)
			g.at = n.at
			if n.kind == null && !n.broken {
				return
			}
			g.v, g.set = s.read(r, n)
			g.wrong = !g.set
		},
	}
}

// later is a key that is named in the contract but not built yet.
func later[T any](name string) key[T] { return key[T]{name: name, later: true} }

// within lifts the keys of a part of T to keys of T.
func within[T, P any](part func(*T) *P, keys []key[P]) []key[T] {
	out := make([]key[T], len(keys))
	for i, k := range keys {
		out[i] = key[T]{name: k.name, doc: k.doc, later: k.later, keys: k.keys, schema: k.schema}
		if k.read != nil {
			out[i].read = func(r *reader, n *node, into *T) { k.read(r, n, part(into)) }
		}
	}
	return out
}

// object is a mapping with fixed keys. Its name is that of its definition in the JSON Schema.
func object[T any](name, doc string, keys []key[T]) shape[T] {
	var names, paths []string
	for _, k := range keys {
		if k.later {
			continue
		}
		names, paths = append(names, k.name), append(paths, k.name)
		for _, below := range k.keys {
			paths = append(paths, k.name+"."+below)
		}
	}
	return shape[T]{
		keys: paths,
		read: func(r *reader, n *node) (T, bool) {
			var v T
			if !r.enter(n) {
				return v, false
			}
			if n.kind == null {
				return v, true
			}
			if n.kind != mapping {
				r.problem(n.at, "", "must be a mapping of %s, not %s", some(names), n.kind)
				return v, false
			}
			readKeys(r, n, keys, func(unknown string) string { return meant(unknown, names, paths) }, &v)
			return v, true
		},
		schema: func(s *schemas) map[string]any {
			return s.define(name, func() map[string]any {
				properties := map[string]any{}
				for _, k := range keys {
					if !k.later {
						properties[k.name] = s.describe(k.schema(s), name+"."+k.name, k.doc)
					}
				}
				return map[string]any{
					"type": "object", "description": doc, "properties": properties,
					"patternProperties": map[string]any{"^x-": map[string]any{}}, "additionalProperties": false,
				}
			})
		},
	}
}

func readKeys[T any](r *reader, n *node, keys []key[T], meant func(string) string, into *T) {
	seen := map[string]place{}
	for _, p := range n.pairs {
		if strings.HasPrefix(p.key, "x-") {
			p.value.unread = true // the user's own, such as a place for anchors
			continue
		}
		if first, twice := seen[p.key]; twice {
			r.problem(p.at, "", "is written twice (first on line %d); keep one", first.line)
			continue
		}
		seen[p.key] = p.at
		k := find(keys, p.key)
		switch {
		case k == nil:
			r.problem(p.at, meant(p.key), "unknown key")
		case k.later:
			r.problem(p.at, "", "is not built yet in this version; leave it out")
		default:
			k.read(r, p.value, into)
		}
	}
}

func find[T any](keys []key[T], name string) *key[T] {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// meant is the known key that an unknown one probably stands for: one with a similar name, or the same name further
// down.
func meant(unknown string, names, paths []string) string {
	below := ""
	for _, p := range paths {
		if strings.HasSuffix(p, "."+unknown) && (below == "" || strings.Count(p, ".") < strings.Count(below, ".")) {
			below = p
		}
	}
	if near := nearest.Names(unknown, names, 1); below == "" && len(near) > 0 {
		return near[0]
	}
	return below
}

// some lists a few names for a message.
func some(names []string) string {
	out := ""
	for i, name := range names {
		switch {
		case i == 4 && len(names) > 5:
			return out + ", …"
		case i > 0:
			out += ", "
		}
		out += name
	}
	return out
}

// table is a mapping with names of the user's own, in the order of the file.
func table[V any](what string, s shape[V]) shape[[]entry[V]] {
	return shape[[]entry[V]]{
		read: func(r *reader, n *node) ([]entry[V], bool) {
			if !r.enter(n) {
				return nil, false
			}
			if n.kind != mapping {
				r.problem(n.at, "", "must be a mapping with %s as keys, not %s", what, n.kind)
				return nil, false
			}
			seen := map[string]place{}
			var out []entry[V]
			for _, p := range n.pairs {
				if first, twice := seen[p.key]; twice {
					r.problem(p.at, "", "is written twice (first on line %d); keep one", first.line)
					continue
				}
				seen[p.key] = p.at
				v, ok := s.read(r, p.value)
				out = append(out, entry[V]{name: p.key, at: p.at, v: v, wrong: !ok})
			}
			return out, true
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"type": "object", "additionalProperties": s.schema(d)}
		},
	}
}

// list is a sequence.
func list[V any](what string, s shape[V]) shape[[]given[V]] {
	return shape[[]given[V]]{
		read: func(r *reader, n *node) ([]given[V], bool) {
			if !r.enter(n) {
				return nil, false
			}
			if n.kind != sequence {
				r.problem(n.at, "", "must be a list of %s, not %s", what, n.kind)
				return nil, false
			}
			var out []given[V]
			for i, item := range n.items {
				if item.kind == null && !item.broken {
					item.at.path = n.at.item(i)
					r.problem(item.at, "", "is empty; fill it or remove the line")
					continue
				}
				if v, ok := s.read(r, item); ok {
					out = append(out, given[V]{v: v, set: true, at: item.at})
				}
			}
			return out, true
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"type": "array", "items": s.schema(d)}
		},
	}
}

// shorthand is either an object or a single value that stands for an object with one key.
func shorthand[V, S any](short shape[S], wrap func(given[S]) V, long shape[V]) shape[V] {
	return shape[V]{
		keys: long.keys,
		read: func(r *reader, n *node) (V, bool) {
			if n.kind != scalar {
				return long.read(r, n)
			}
			v, ok := short.read(r, n)
			return wrap(given[S]{v: v, set: ok, wrong: !ok, at: n.at}), ok
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"anyOf": []any{short.schema(d), long.schema(d)}}
		},
	}
}

// off accepts nothing but "off": the rest of the setting is not built yet.
func off() shape[struct{}] {
	return shape[struct{}]{
		read: func(r *reader, n *node) (struct{}, bool) {
			if !r.enter(n) {
				return struct{}{}, false
			}
			if n.kind != scalar || (n.text != "off" && n.text != "false") { // YAML 1.1 tools write false for off
				r.problem(n.at, "", "is not built yet in this version; leave it out or say off")
				return struct{}{}, false
			}
			return struct{}{}, true
		},
		schema: func(*schemas) map[string]any { return map[string]any{"enum": []any{"off", false}} },
	}
}

// show quotes what was written, unless it might hold a secret: it came out of the environment, or is a URL with a
// password.
func show(n *node) string {
	switch {
	case n.expanded:
		return "the value from the environment"
	case strings.Contains(n.text, "@"):
		return "the value"
	}
	text := []rune(n.text)
	if len(text) > 40 {
		return fmt.Sprintf("%q…", string(text[:40]))
	}
	return fmt.Sprintf("%q", n.text)
}
