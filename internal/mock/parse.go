package mock

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ParseScript reads a script in YAML, in the format of the package comment. The error holds every problem, one a line,
// with line and path. An empty script is the zero Script.
func ParseScript(data []byte) (Script, error) {
	var s Script
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // pairs finds them, with the other problems
	if err != nil {
		if bad := (*yaml.SyntaxError)(nil); errors.As(err, &bad) && bad.Token != nil {
			return s, fmt.Errorf("line %d: not YAML: %s", bad.Token.Position.Line, bad.Message)
		}
		return s, fmt.Errorf("not YAML: %w", err)
	}
	r := reader{}
	docs := slices.DeleteFunc(slices.Clone(file.Docs), func(d *ast.DocumentNode) bool { return isEmpty(d.Body) })
	switch len(docs) {
	case 0:
	case 1:
		r.script(docs[0].Body, &s)
	default:
		r.problem(docs[1].Body, "", errors.New("a script is one document"))
	}
	if err := errors.Join(r.problems...); err != nil {
		return Script{}, err
	}
	return s, nil
}

// reader walks a script's nodes and collects problems.
type reader struct{ problems []error }

func (r *reader) problem(n ast.Node, path string, err error) {
	where := ""
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		where = fmt.Sprintf("line %d: ", n.GetToken().Position.Line)
	}
	if path != "" {
		path += ": "
	}
	r.problems = append(r.problems, fmt.Errorf("%s%s%w", where, path, err))
}

func (r *reader) script(n ast.Node, s *Script) {
	// The rules start from the defaults, wherever those stand in the file.
	var rules ast.Node
	r.mapping(n, "", map[string]setter{
		"name":    setString(&s.Name),
		"lenient": setBool(&s.Lenient),
		"seed": setParsed(&s.Seed, func(v string) (uint64, error) {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%q is not a whole number", v)
			}
			return n, nil
		}),
	}, map[string]func(ast.Node, string){
		"replay": func(n ast.Node, path string) {
			r.mapping(n, path, map[string]setter{"dir": setString(&s.Replay)}, nil)
		},
		"models":   func(n ast.Node, path string) { s.Models = r.words(n, path) },
		"keys":     func(n ast.Node, path string) { s.Keys = r.words(n, path) },
		"defaults": func(n ast.Node, path string) { r.behaviour(n, path, &s.Defaults) },
		"rules":    func(n ast.Node, _ string) { rules = n },
	})
	if isEmpty(rules) {
		return
	}
	for i, n := range r.sequence(rules, "rules") {
		path := fmt.Sprintf("rules[%d]", i)
		rule := Rule{Do: s.Defaults}
		rule.Do.Header = s.Defaults.Header.Clone()
		r.mapping(n, path, rule.fields(), map[string]func(ast.Node, string){
			"do": func(n ast.Node, path string) { r.behaviour(n, path, &rule.Do) },
		})
		s.Rules = append(s.Rules, rule)
	}
}

func (r *reader) behaviour(n ast.Node, path string, b *Behaviour) {
	before := len(r.problems)
	r.mapping(n, path, b.fields(), map[string]func(ast.Node, string){
		"headers": func(n ast.Node, path string) {
			for _, kv := range r.pairs(n, path) {
				at := path + "." + kv.key
				if v, ok := r.scalar(kv.value, at); ok {
					if b.Header == nil {
						b.Header = http.Header{}
					}
					b.Header.Set(kv.key, v)
				}
			}
		},
	})
	if err := b.check(); err != nil && len(r.problems) == before {
		r.problem(n, path, err)
	}
}

// mapping reads a mapping whose keys are those of scalars and nested together.
func (r *reader) mapping(n ast.Node, path string, scalars map[string]setter, nested map[string]func(ast.Node, string)) {
	for _, kv := range r.pairs(n, path) {
		at := strings.TrimPrefix(path+"."+kv.key, ".")
		if read, ok := nested[kv.key]; ok {
			if !isEmpty(kv.value) {
				read(kv.value, at)
			}
			continue
		}
		set, ok := scalars[kv.key]
		if !ok {
			known := slices.Concat(slices.Collect(maps.Keys(scalars)), slices.Collect(maps.Keys(nested)))
			r.problem(kv.node, path, unknown(kv.key, known))
			continue
		}
		if v, ok := r.scalar(kv.value, at); ok {
			if err := set(v); err != nil {
				r.problem(kv.value, at, err)
			}
		}
	}
}

type pair struct {
	key   string
	node  ast.Node
	value ast.Node
}

func (r *reader) pairs(n ast.Node, path string) []pair {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.problem(n, path, errors.New("a mapping (key: value) belongs here"))
		return nil
	}
	var out []pair
	for _, v := range values {
		if v.Key.IsMergeKey() {
			r.problem(v.Key, path, errors.New("merge keys are not supported here"))
			continue
		}
		key, ok := r.scalar(v.Key, path)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(p pair) bool { return p.key == key }) {
			r.problem(v.Key, path, fmt.Errorf("%s is said twice", key))
			continue
		}
		out = append(out, pair{key, v.Key, v.Value})
	}
	return out
}

func (r *reader) sequence(n ast.Node, path string) []ast.Node {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(n, path, errors.New("a list belongs here"))
		return nil
	}
	return seq.Values
}

func (r *reader) words(n ast.Node, path string) []string {
	var out []string
	for i, n := range r.sequence(n, path) {
		if v, ok := r.scalar(n, fmt.Sprintf("%s[%d]", path, i)); ok {
			out = append(out, v)
		}
	}
	return out
}

// scalar gives a scalar's text as it was written, so that 2, "2" and true need no types.
func (r *reader) scalar(n ast.Node, path string) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.MappingKeyNode:
		return r.scalar(n.Value, path)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode:
		r.problem(n, path, errors.New("the value is missing"))
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		r.problem(n, path, errors.New("anchors, aliases and tags are not supported here"))
	default:
		r.problem(n, path, errors.New("a single value belongs here"))
	}
	return "", false
}

func isEmpty(n ast.Node) bool {
	if n == nil {
		return true
	}
	switch n.Type() {
	case ast.NullType, ast.CommentType:
		return true
	default:
		return false
	}
}

func unknownKey[T any](key string, known map[string]T) error {
	return unknown(key, slices.Collect(maps.Keys(known)))
}

// unknown says that a key is not known, and which one may have been meant.
func unknown(key string, known []string) error {
	slices.Sort(known)
	for _, k := range known {
		if len(key) > 2 && (strings.HasPrefix(k, key) || strings.HasPrefix(key, k) || nearby(key, k)) {
			return fmt.Errorf("unknown key %q; did you mean %q?", key, k)
		}
	}
	return fmt.Errorf("unknown key %q; known are %s", key, strings.Join(known, ", "))
}

// nearby: one letter more, less or other, or case and separators.
func nearby(a, b string) bool {
	fold := strings.NewReplacer("-", "", "_", "", " ", "")
	a, b = strings.ToLower(fold.Replace(a)), strings.ToLower(fold.Replace(b))
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:]
	case 1:
		return a[i:] == b[i+1:]
	default:
		return false
	}
}

func list[T any](words map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(words)), ", ")
}
