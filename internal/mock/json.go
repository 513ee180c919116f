package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is a value in a request's JSON and where it stands. The zero node is one that is not there; whatever is asked of
// a node of another kind gives nothing, so that a reader needs no checks of its own.
type node struct {
	v     any
	path  string // from the root, with slashes: messages/0/content
	there bool
}

// parseNode reads one JSON value and nothing after it.
func parseNode(body []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	n := node{there: true}
	if err := d.Decode(&n.v); err != nil {
		return node{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("more than one value")
	}
	return n, nil
}

func (n node) step(name string) string {
	if n.path == "" {
		return name
	}
	return n.path + "/" + name
}

// at is a member of an object.
func (n node) at(names ...string) node {
	for _, name := range names {
		m, _ := n.v.(map[string]any)
		v, ok := m[name]
		n = node{v, n.step(name), ok}
	}
	return n
}

// has says whether an object has a member that is not null.
func (n node) has(name string) bool { return n.at(name).v != nil }

// each is a list's elements.
func (n node) each() []node {
	list, _ := n.v.([]any)
	out := make([]node, len(list))
	for i, v := range list {
		out[i] = node{v, n.step(strconv.Itoa(i)), true}
	}
	return out
}

// names are an object's members, sorted.
func (n node) names() []string {
	m, _ := n.v.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// str is a string, or the empty one.
func (n node) str() string { s, _ := n.v.(string); return s }

// yes says whether it is true.
func (n node) yes() bool { b, _ := n.v.(bool); return b }

// no says whether it is false (and there).
func (n node) no() bool { b, ok := n.v.(bool); return ok && !b }

// num is a number; ok is false for anything else.
func (n node) num() (f float64, ok bool) {
	j, ok := n.v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := j.Float64()
	return f, err == nil
}

// whole is a number's whole part, 0 for anything else.
func (n node) whole() int { f, _ := n.num(); return int(f) }

// raw is the value as JSON again, nil if it is not there or null.
func (n node) raw() json.RawMessage {
	if n.v == nil {
		return nil
	}
	return encode(n.v)
}

// The kinds of JSON values as errors name them.
const (
	isNull   = "null"
	isBool   = "boolean"
	isNumber = "number"
	isString = "string"
	isList   = "array"
	isObject = "object"
)

func (n node) kind() string {
	switch n.v.(type) {
	case bool:
		return isBool
	case json.Number:
		return isNumber
	case string:
		return isString
	case []any:
		return isList
	case map[string]any:
		return isObject
	}
	return isNull
}

// unknown is the first member that is none of the known, which are given in one string with spaces between.
func (n node) unknown(known string) (node, bool) {
	list := strings.Fields(known)
	for _, name := range n.names() {
		if !slices.Contains(list, name) {
			return n.at(name), true
		}
	}
	return node{}, false
}

// dots is the path as Anthropic and AWS write it: messages.0.content.
func (n node) dots() string { return strings.ReplaceAll(n.path, "/", ".") }

// brackets is the path as OpenAI and Google write it: messages[0].content.
func (n node) brackets() string {
	var out strings.Builder
	for i, s := range strings.Split(n.path, "/") {
		switch _, err := strconv.Atoi(s); {
		case err == nil:
			out.WriteString("[" + s + "]")
		case i > 0:
			out.WriteString("." + s)
		default:
			out.WriteString(s)
		}
	}
	return out.String()
}

// texts are the strings of a list, or the one string.
func (n node) texts() []string {
	if s, ok := n.v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, e := range n.each() {
		if s, ok := e.v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
