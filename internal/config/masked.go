package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mask stands in the place of what is not shown.
const mask = "***"

// leastHidden is how long a secret must be to be looked for in what is none: shorter ones are in too many words.
const leastHidden = 6

// hidden is a value that is never shown, as in secret.
func hidden[V any](s shape[V]) shape[V] {
	read := s.read
	s.read = func(r *reader, n *node) (V, bool) {
		n.hidden = true
		return read(r, n)
	}
	return s
}

var (
	reference = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
	userinfo  = regexp.MustCompile(`://[^/?#\s]*@`) // to the last @: a password may have one
	parameter = regexp.MustCompile(`([?&][^=&\s]*=)[^&#\s]+`)
	plainText = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+-]*(:[A-Za-z0-9_./+-]+)*$`)
)

// masked writes a document that was read anew: as it was written, with its variables, but without its comments, with aliases
// unfolded, and with *** for secrets. The name of a variable is not one. Of keys that are not read neither is anything shown:
// it may be a secret that was in use once, or unfold to more than there is room for.
func masked(root *node) string {
	m := &masker{}
	m.collect(root)
	m.value(root, 0, false)
	return m.out.String()
}

type masker struct {
	out     strings.Builder
	secrets []string // as written
}

// collect finds what is secret, which might stand in what is not.
func (m *masker) collect(n *node) {
	if n.unread {
		return
	}
	if n.hidden && n.kind == scalar && len(n.raw) >= leastHidden && !reference.MatchString(n.raw) && !slices.Contains(m.secrets, n.raw) {
		m.secrets = append(m.secrets, n.raw)
	}
	for _, i := range n.items {
		m.collect(i)
	}
	for _, p := range n.pairs {
		m.collect(p.value)
	}
}

// value writes a value whose line has begun, or not.
func (m *masker) value(n *node, indent int, begun bool) {
	if n.unread {
		m.out.WriteString(" " + quoted(mask, false) + "\n")
		return
	}
	switch n.kind {
	case null:
		m.out.WriteString("\n")
	case scalar:
		if begun {
			m.out.WriteByte(' ')
		}
		m.out.WriteString(m.shown(n) + "\n")
	case sequence:
		m.sequence(n, indent, begun)
	case mapping:
		if len(n.pairs) == 0 {
			m.out.WriteString(" {}\n")
			return
		}
		if begun {
			m.out.WriteString("\n")
		}
		m.pairs(n, indent, false)
	}
}

// pairs writes a mapping's; the first on the line that has begun, after a dash.
func (m *masker) pairs(n *node, indent int, begun bool) {
	for i, p := range n.pairs {
		if !begun || i > 0 {
			m.indent(indent)
		}
		m.out.WriteString(quoted(p.key, true) + ":")
		m.value(p.value, indent+1, true)
	}
}

func (m *masker) sequence(n *node, indent int, begun bool) {
	scalars := !slices.ContainsFunc(n.items, func(i *node) bool { return i.kind != scalar })
	if scalars { // also an empty one
		texts := make([]string, len(n.items))
		for i, item := range n.items {
			texts[i] = m.shown(item)
		}
		if begun {
			m.out.WriteByte(' ')
		}
		m.out.WriteString("[" + strings.Join(texts, ", ") + "]\n")
		return
	}
	if begun {
		m.out.WriteString("\n")
	}
	for _, item := range n.items {
		m.indent(indent)
		m.out.WriteString("-")
		if item.kind == mapping && len(item.pairs) > 0 {
			m.out.WriteByte(' ')
			m.pairs(item, indent+1, true)
		} else {
			m.value(item, indent+1, true)
		}
	}
}

func (m *masker) indent(n int) { m.out.WriteString(strings.Repeat("  ", n)) }

// shown is a scalar as it may be shown.
func (m *masker) shown(n *node) string {
	if n.hidden {
		if reference.MatchString(n.raw) {
			return quoted(n.raw, false)
		}
		return quoted(mask, false)
	}
	text := n.raw
	for _, s := range m.secrets {
		text = strings.ReplaceAll(text, s, mask)
	}
	text = userinfo.ReplaceAllString(text, "://"+mask+"@")
	if strings.Contains(text, "://") {
		text = parameter.ReplaceAllString(text, "${1}"+mask)
	}
	return quoted(text, n.plain)
}

// quoted writes a scalar; plain: it had no quotes, and YAML gives it a type.
func quoted(text string, plain bool) string {
	if plainText.MatchString(text) && (plain || !typedText(text)) {
		return text
	}
	return strconv.Quote(text)
}

// typedText says whether a text without quotes would be something else than text.
func typedText(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return text[0] >= '0' && text[0] <= '9' || text[0] == '.' || text[0] == '-' || text[0] == '+'
}
