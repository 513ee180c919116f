package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is one value of the document, with environment variables put in.
type node struct {
	kind nodeKind
	at   place
	text string // of a scalar
	raw  string // the same as written, with its variables
	// plain: written without quotes, so that YAML gives it a type.
	plain bool
	// expanded: it holds the value of an environment variable; its text is never shown.
	expanded bool
	// hidden: it is a secret.
	hidden bool
	// unread: its key is the user's own, and nobody looks at it.
	unread bool
	// broken: a problem with it was reported already.
	broken bool
	items  []*node
	pairs  []pair
}

type pair struct {
	key   string
	at    place // of the key
	value *node
}

type nodeKind uint8

const (
	null nodeKind = iota
	scalar
	sequence
	mapping
)

// String is the word for error messages.
func (k nodeKind) String() string {
	switch k {
	case null:
		return "nothing"
	case scalar:
		return "a single value"
	case sequence:
		return "a list"
	case mapping:
		return "a mapping"
	}
	return ""
}

const (
	maxFile  = 256 << 10 // bytes; the parser takes quadratic time
	maxDepth = 64        // nested mappings and lists
)

// readTree parses the document. Mistakes of syntax end in one problem and no tree; everything else goes on.
func readTree(rep *report, file string, data []byte, env Lookup) *node {
	top := place{file: file, line: 1, column: 1}
	if len(data) > maxFile {
		rep.problem(top, "", "is larger than 256 KiB: that is no configuration")
		return nil
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	f, err := parse(data)
	if err != nil {
		rep.problems = append(rep.problems, syntaxProblem(top, err, data))
		return nil
	}
	var bodies []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		rep.problem(top, "", "the file is empty; name at least one provider under providers:, or say detect: true")
		return nil
	case 1:
	default:
		at := top
		at.line, at.column = position(bodies[1])
		rep.problem(at, "", "a second document begins here; a configuration is one document, so remove the ---")
	}
	t := treeReader{rep: rep, file: file, env: env, anchors: map[string]*node{}}
	return t.read(bodies[0], "", 0)
}

// parse guards against a parser that panics on odd input: the caller's file must never end the process.
func parse(data []byte) (f *ast.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the file cannot be read as YAML (%v)", v)
		}
	}()
	switch {
	case nesting(data) > maxDepth:
		return nil, fmt.Errorf("brackets are nested deeper than %d", maxDepth)
	case indicators(data) > maxDepth:
		return nil, fmt.Errorf("a line has more than %d lists, anchors or tags within each other", maxDepth)
	}
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// nesting is the depth of [ and { in the text, quoted ones included: a cheap guard before the recursive parser.
func nesting(data []byte) int {
	depth, deepest := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

// indicators is how many dashes, question marks, anchors and tags stand one behind the other in a line at most. Each opens a level of its
// own, for which the parser takes room in proportion to its depth: 16 KiB of dashes would take 150 MB.
func indicators(data []byte) int {
	run, most := 0, 0
	for line := range bytes.Lines(data) {
		run = 0
		for word := range bytes.FieldsSeq(line) {
			if len(word) == 1 && (word[0] == '-' || word[0] == '?') || word[0] == '&' || word[0] == '!' {
				run++
				most = max(most, run)
			} else {
				run = 0
			}
		}
	}
	return most
}

func syntaxProblem(at place, err error, data []byte) Problem {
	message := err.Error()
	var ye yaml.Error
	if errors.As(err, &ye) {
		message = ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			at.line, at.column = max(1, t.Position.Line), max(1, t.Position.Column)
		}
	}
	hint := ""
	lines := strings.Split(string(data), "\n")
	if at.line <= len(lines) {
		switch line := lines[at.line-1]; {
		case strings.Contains(message, "\t") || strings.HasPrefix(strings.TrimLeft(line, " "), "\t"):
			message, hint = "a tab cannot indent in YAML", "; use spaces"
		case strings.Contains(line, "${") && strings.ContainsAny(line, "{["):
			hint = "; inside { } and [ ] put \"${…}\" in quotes"
		}
	}
	return at.problem("", "YAML syntax: %s%s", message, hint)
}

// treeReader turns the parser's tree into nodes.
type treeReader struct {
	rep     *report
	file    string
	env     Lookup
	anchors map[string]*node
	merged  int // pairs that merge keys brought
}

func (t *treeReader) read(n ast.Node, path string, depth int) *node {
	out := &node{at: t.place(n, path)}
	if depth > maxDepth {
		t.rep.problem(out.at, "", "is nested deeper than %d", maxDepth)
		out.broken = true
		return out
	}
	switch v := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		t.mapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		t.mapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.kind = sequence
		for i, item := range v.Values {
			out.items = append(out.items, t.read(item, out.at.item(i), depth+1))
		}
	case *ast.AnchorNode:
		out = t.read(v.Value, path, depth+1)
		if v.Name != nil {
			t.anchors[v.Name.GetToken().Value] = out
		}
	case *ast.AliasNode:
		if target := t.anchors[v.Value.GetToken().Value]; target != nil {
			alias := *target // what it holds is shared; the path is its own
			alias.at.path = path
			return &alias
		}
		t.rep.problem(out.at, "", "the alias *%s has no anchor &%s before it", v.Value.GetToken().Value, v.Value.GetToken().Value)
		out.broken = true
	case *ast.TagNode:
		out = t.read(v.Value, path, depth+1)
		out.plain = out.plain && v.Start.Value != "!!str"
	case *ast.LiteralNode:
		t.scalar(out, v.Value.Value, false)
	case *ast.StringNode:
		t.scalar(out, v.Value, v.Token.Type == token.StringType)
	case ast.ScalarNode:
		t.scalar(out, v.GetToken().Value, true)
	default:
		t.rep.problem(out.at, "", "is not a kind of value that a configuration has")
		out.broken = true
	}
	return out
}

func (t *treeReader) scalar(out *node, text string, plain bool) {
	out.kind, out.plain, out.raw = scalar, plain, text
	var err error
	out.text, out.expanded, err = expand(text, t.env)
	if err != nil {
		out.broken = true
		for _, line := range strings.Split(err.Error(), "\n") {
			t.rep.problem(out.at, "", "%s", line)
		}
	}
}

// mapping reads pairs; what a merge key (<<) brings stands behind the mapping's own keys and never replaces one.
func (t *treeReader) mapping(out *node, values []*ast.MappingValueNode, depth int) {
	out.kind = mapping
	var merged []pair
	for _, mv := range values {
		if mv.Key.IsMergeKey() {
			merged = append(merged, t.merge(mv.Value, out.at, depth)...)
			continue
		}
		key, ok := keyText(mv.Key)
		at := t.place(mv.Key, out.at.key(key))
		if !ok {
			t.rep.problem(at, "", "a key must be plain text")
			continue
		}
		out.pairs = append(out.pairs, pair{key: key, at: at, value: t.read(mv.Value, at.path, depth+1)})
	}
	own := map[string]bool{}
	for _, p := range out.pairs {
		own[p.key] = true
	}
	for _, p := range merged {
		if !own[p.key] {
			own[p.key] = true
			p.at.path = out.at.key(p.key)
			out.pairs = append(out.pairs, p)
		}
	}
}

func (t *treeReader) merge(n ast.Node, at place, depth int) []pair {
	from := t.read(n, at.path, depth+1)
	switch {
	case from.kind == mapping:
		return t.bounded(from.at, from.pairs)
	case from.kind == sequence:
		var all []pair
		for _, item := range from.items {
			all = append(all, t.bounded(item.at, item.pairs)...)
		}
		return all
	case !from.broken:
		t.rep.problem(from.at, "", "<< merges mappings; give it an alias of one")
	}
	return nil
}

// bounded gives pairs that are merged, as long as all that are do not come to too many.
func (t *treeReader) bounded(at place, pairs []pair) []pair {
	within := t.merged <= maxVisits
	if t.merged += len(pairs); t.merged <= maxVisits {
		return pairs
	}
	if within {
		t.rep.problem(at, "", "merge keys (<<) bring more than %d values; use fewer", maxVisits)
	}
	return nil
}

// keyText is the key as written; env variables have no place in keys.
func keyText(n ast.MapKeyNode) (string, bool) {
	switch k := n.(type) {
	case *ast.MappingKeyNode:
		if inner, ok := k.Value.(ast.MapKeyNode); ok {
			return keyText(inner)
		}
		return "", false
	case *ast.StringNode:
		return k.Value, true
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return "", false
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (t *treeReader) place(n ast.Node, path string) place {
	at := place{file: t.file, path: path}
	at.line, at.column = position(n)
	return at
}

// position is where a value begins; a block mapping begins at its first key.
func position(n ast.Node) (line, column int) {
	switch v := n.(type) {
	case nil:
		return 1, 1
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			n = v.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = v.Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return 1, 1
}
