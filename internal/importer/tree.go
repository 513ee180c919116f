package importer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"evergate/internal/config"
)

// node is one value of a source, and what became of it.
type node struct {
	kind nodeKind
	// text is a scalar's; typed: it was written without quotes, so that it may be a number or a truth value.
	text  string
	typed bool
	path  string
	line  int
	col   int
	items []*node
	pairs []pair
	mark  mark
	// counted: the report has it already. What a config says for all its targets stands below each of them.
	counted bool
}

type pair struct {
	key   string
	value *node
}

type nodeKind uint8

const (
	nullNode nodeKind = iota
	scalarNode
	listNode
	mappingNode
)

// mark is what became of a value; it holds for all below it that have none.
type mark uint8

const (
	unread mark = iota
	carried
	approximated
	left
)

// maxNodes bounds what aliases and merge keys can make of a short text.
const maxNodes = 100_000

// readSource reads a source in the syntax of its format.
func readSource(src Source) (*node, error) {
	switch {
	case src.Format == "portkey" || src.Format == "bifrost":
		return readJSON(src.Name, src.Data)
	case src.Format == "gomodel" && isEnvFile(src.Name, src.Data):
		return readEnv(src.Name, src.Data)
	}
	return readYAML(src.Name, src.Data)
}

func readYAML(name string, data []byte) (*node, error) {
	f, err := config.Document(name, data)
	if err != nil {
		return nil, err
	}
	t := yamlReader{name: name, anchors: map[string]ast.Node{}}
	root := &node{line: 1, col: 1}
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if root.kind != nullNode {
			line, _ := config.Position(d.Body)
			return nil, fmt.Errorf("%s:%d: a second document begins here; give one at a time", name, line)
		}
		if root, err = t.read(d.Body, "", 0); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// yamlReader turns the parser's tree into nodes. An alias is read again where it stands: its values have places, and become something, of their own.
type yamlReader struct {
	name    string
	anchors map[string]ast.Node
	count   int
}

func (t *yamlReader) read(n ast.Node, path string, depth int) (*node, error) {
	out := &node{path: path}
	out.line, out.col = config.Position(n)
	t.count++
	if t.count > maxNodes || depth > 128 {
		return nil, fmt.Errorf("%s:%d: aliases make more of this file than a configuration can be", t.name, out.line)
	}
	switch v := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		return out, t.mapping(out, v.Values, depth)
	case *ast.MappingValueNode:
		return out, t.mapping(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.kind = listNode
		for i, item := range v.Values {
			child, err := t.read(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, child)
		}
	case *ast.AnchorNode:
		if v.Name != nil {
			t.anchors[v.Name.GetToken().Value] = v.Value
		}
		return t.read(v.Value, path, depth+1)
	case *ast.AliasNode:
		target, ok := t.anchors[v.Value.GetToken().Value]
		if !ok {
			return nil, fmt.Errorf("%s:%d: the alias *%s has no anchor before it", t.name, out.line, clean(v.Value.GetToken().Value))
		}
		return t.read(target, path, depth+1)
	case *ast.TagNode:
		return t.read(v.Value, path, depth+1)
	case *ast.LiteralNode:
		out.kind, out.text = scalarNode, v.Value.Value
	case *ast.StringNode:
		out.kind, out.text, out.typed = scalarNode, v.Value, v.Token.Type == token.StringType
	case ast.ScalarNode:
		out.kind, out.text, out.typed = scalarNode, v.GetToken().Value, true
	default:
		return nil, fmt.Errorf("%s:%d: is not a kind of value that a configuration has", t.name, out.line)
	}
	return out, nil
}

// mapping reads pairs. What a merge key brings stands behind the mapping's own keys, and of a key that stands twice the last counts, as in most readers.
func (t *yamlReader) mapping(out *node, values []*ast.MappingValueNode, depth int) error {
	out.kind = mappingNode
	places := map[string]int{}
	var merged []pair
	for _, mv := range values {
		if mv.Key.IsMergeKey() {
			from, err := t.read(mv.Value, out.path, depth+1)
			if err != nil {
				return err
			}
			merged = append(merged, from.pairs...)
			for _, item := range from.items {
				merged = append(merged, item.pairs...)
			}
			continue
		}
		key, ok := config.KeyText(mv.Key)
		if !ok {
			line, _ := config.Position(mv.Key)
			return fmt.Errorf("%s:%d: a key must be plain text", t.name, line)
		}
		child, err := t.read(mv.Value, join(out.path, key), depth+1)
		if err != nil {
			return err
		}
		child.line, child.col = config.Position(mv.Key)
		out.place(places, key, child)
	}
	for _, p := range merged {
		if _, own := places[p.key]; !own {
			out.place(places, p.key, p.value)
		}
	}
	return nil
}

// place puts a pair into a mapping of which places knows where each key stands: a file may have thousands.
func (n *node) place(places map[string]int, key string, value *node) {
	if i, known := places[key]; known {
		n.pairs[i].value = value
		return
	}
	places[key] = len(n.pairs)
	n.pairs = append(n.pairs, pair{key, value})
}

// join is the path of a key of a mapping.
func join(path, key string) string {
	if path == "" {
		return clean(key)
	}
	return path + "." + clean(key)
}

func (n *node) put(key string, value *node) {
	for i := range n.pairs {
		if n.pairs[i].key == key {
			n.pairs[i].value = value
			return
		}
	}
	n.pairs = append(n.pairs, pair{key, value})
}

// get gives the value of the first of these keys that there is; nil, if there is none, or n is no mapping.
func (n *node) get(keys ...string) *node {
	if n == nil {
		return nil
	}
	for _, key := range keys {
		for i := range n.pairs {
			if n.pairs[i].key == key {
				return n.pairs[i].value
			}
		}
	}
	return nil
}

// list gives the items of a list; of a single value, that.
func (n *node) list() []*node {
	switch {
	case n == nil || n.kind == nullNode:
		return nil
	case n.kind == listNode:
		return n.items
	}
	return []*node{n}
}

// set says whether there is a value.
func (n *node) set() bool {
	return n != nil && n.kind != nullNode && (n.kind != scalarNode || n.text != "")
}

// str is the text of a scalar.
func (n *node) str() string {
	if n == nil || n.kind != scalarNode {
		return ""
	}
	return strings.TrimSpace(n.text)
}

// number reads a scalar; ok is false for what is no finite number.
func (n *node) number() (v float64, ok bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(n.str(), "_", ""), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// truth says whether a scalar says yes.
func (n *node) truth() bool {
	switch strings.ToLower(n.str()) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// leaf says whether a value is counted in the report: a scalar, or what is empty.
func (n *node) leaf() bool { return len(n.items) == 0 && len(n.pairs) == 0 }

// children calls f for each value right below.
func (n *node) children(f func(*node)) {
	for _, item := range n.items {
		f(item)
	}
	for _, p := range n.pairs {
		f(p.value)
	}
}

// clean is a text of the source as it may stand in a message: short, and of printable characters.
func clean(s string) string {
	out := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(out); len(r) > 80 {
		out = string(r[:80]) + "…"
	}
	return out
}
