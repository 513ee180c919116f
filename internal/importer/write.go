package importer

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The values that the writer knows. Whatever is made of the source's own words is a text: it is quoted where YAML would read something else in it, and
// what looks like a variable in it is escaped.
type (
	text string // a text, taken as it is
	raw  string // a text that may name variables
	bare string // a number, a truth value, a duration: written as it is
	list []any
	// mapping keeps its order. A flow mapping stands on one line.
	mapping struct {
		pairs []field
		flow  bool
	}
	field struct {
		key      string
		value    any
		comments []string
	}
)

// set adds a pair; comments stand above it.
func (m *mapping) set(key string, value any, comments ...string) {
	m.pairs = append(m.pairs, field{key, value, comments})
}

// setIf adds a pair where there is a value.
func (m *mapping) setIf(key string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case text:
		if v == "" {
			return
		}
	case raw:
		if v == "" {
			return
		}
	case bare:
		if v == "" {
			return
		}
	case list:
		if len(v) == 0 {
			return
		}
	case *mapping:
		if v == nil || len(v.pairs) == 0 {
			return
		}
	}
	m.set(key, value)
}

// find gives the mapping under a key, which is made if there is none.
func (m *mapping) find(key string) *mapping {
	for _, p := range m.pairs {
		if inner, ok := p.value.(*mapping); ok && p.key == key {
			return inner
		}
	}
	inner := &mapping{}
	m.set(key, inner)
	return inner
}

type writer struct{ strings.Builder }

func (w *writer) mapping(m *mapping, indent string) {
	for _, p := range m.pairs {
		for _, comment := range p.comments {
			w.WriteString(indent + "# " + clip(comment) + "\n")
		}
		w.WriteString(indent + quoted(p.key) + ":")
		w.value(p.value, indent)
	}
}

// value writes what stands behind a key, with the end of the line.
func (w *writer) value(v any, indent string) {
	switch v := v.(type) {
	case *mapping:
		switch {
		case len(v.pairs) == 0:
			w.WriteString(" {}\n")
		case v.flow:
			w.WriteString(" " + inline(v) + "\n")
		default:
			w.WriteString("\n")
			w.mapping(v, indent+"  ")
		}
	case list:
		if simple(v) {
			w.WriteString(" " + inline(v) + "\n")
			return
		}
		w.WriteString("\n")
		for _, item := range v {
			w.item(item, indent+"  ")
		}
	default:
		w.WriteString(" " + inline(v) + "\n")
	}
}

func (w *writer) item(v any, indent string) {
	m, ok := v.(*mapping)
	if !ok || m.flow || len(m.pairs) == 0 {
		w.WriteString(indent + "- " + inline(v) + "\n")
		return
	}
	one := *m
	one.pairs = slices.Clone(m.pairs)
	for _, comment := range one.pairs[0].comments {
		w.WriteString(indent + "# " + clip(comment) + "\n")
	}
	one.pairs[0].comments = nil
	inner := writer{}
	inner.mapping(&one, indent+"  ")
	w.WriteString(indent + "- " + strings.TrimPrefix(inner.String(), indent+"  "))
}

// simple says whether a list stands on one line.
func simple(l list) bool {
	length := 0
	for _, item := range l {
		switch item.(type) {
		case *mapping, list:
			return false
		}
		length += len(inline(item)) + 2
	}
	return length < 100
}

func inline(v any) string {
	switch v := v.(type) {
	case text:
		return quoted(strings.ReplaceAll(string(v), "${", "$${"))
	case raw:
		return quoted(string(v))
	case bare:
		return string(v)
	case list:
		var parts []string
		for _, item := range v {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *mapping:
		if len(v.pairs) == 0 {
			return "{}"
		}
		var parts []string
		for _, p := range v.pairs {
			parts = append(parts, quoted(p.key)+": "+inline(p.value))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return `""`
}

var (
	plainText  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./@+-]*$`)
	plainWords = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}
)

// quoted is a text as YAML has it: plain where that is read as the same text, else in double quotes.
func quoted(s string) string {
	if plainText.MatchString(s) && !plainWords[strings.ToLower(s)] {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || !strconv.IsPrint(r) && r < 0x10000:
			b.WriteString(`\u` + hex4(r))
		case !strconv.IsPrint(r):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex4(r rune) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", 4-len(s)) + s
}

func itoa(i int) string { return strconv.Itoa(i) }

// seconds is a duration; empty for none, or one that is no length of time.
func seconds(v float64) bare {
	if v <= 0 || v > 366*24*3600 {
		return ""
	}
	return span(time.Duration(v * float64(time.Second)))
}

// span writes a duration as a configuration has it: 90s, 10m, 1500ms.
func span(d time.Duration) bare {
	d = max(d.Round(time.Millisecond), time.Millisecond)
	switch {
	case d%time.Hour == 0:
		return bare(itoa(int(d/time.Hour)) + "h")
	case d%time.Minute == 0:
		return bare(itoa(int(d/time.Minute)) + "m")
	case d%time.Second == 0:
		return bare(itoa(int(d/time.Second)) + "s")
	}
	return bare(itoa(int(d/time.Millisecond)) + "ms")
}

// decimal writes a number without an exponent.
func decimal(v float64) bare { return bare(strconv.FormatFloat(v, 'f', -1, 64)) }

// sort orders pairs by key.
func (m *mapping) sort() {
	slices.SortFunc(m.pairs, func(a, b field) int { return strings.Compare(a.key, b.key) })
}

// round takes what binary fractions add to a price.
func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }
