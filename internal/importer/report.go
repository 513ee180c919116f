package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind says what a note of the report is about.
type Kind string

// The kinds of notes.
const (
	// Left has no equivalent, or none that is known, and was left out.
	Left Kind = "left"
	// Approximated is carried over as what comes nearest.
	Approximated Kind = "approximated"
	// Hand needs somebody who knows what was meant.
	Hand Kind = "hand"
	// Secret stood in the source and became a variable.
	Secret Kind = "secret"
)

// Note is one thing to know about the conversion. It never holds a secret's value.
type Note struct {
	Kind Kind   `json:"kind"`
	Path string `json:"path,omitempty"`
	// Line and Column count from 1; 0 where a note is about the whole.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	// Keys is how many values of the source it stands for.
	Keys int `json:"keys,omitempty"`
}

// Variable is an environment variable that the configuration needs.
type Variable struct {
	Name string `json:"name"`
	// From is the path of the source's value that it stands for; empty where the source had none.
	From string `json:"from,omitempty"`
	// Literal: the value stood in the source itself.
	Literal bool `json:"literal,omitempty"`
}

// Report is what became of each value of a source.
type Report struct {
	Format string `json:"format"`
	File   string `json:"file"`
	// Keys is how many values the source has: Carried, Approximated and Left together.
	Keys         int        `json:"keys"`
	Carried      int        `json:"carried"`
	Approximated int        `json:"approximated"`
	Left         int        `json:"left"`
	Variables    []Variable `json:"variables"`
	Notes        []Note     `json:"notes"`
}

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d values: %d carried over, %d approximated, %d left out\n", clean(r.File), r.Keys, r.Carried, r.Approximated, r.Left)
	for _, part := range []struct {
		kind  Kind
		title string
	}{
		{Hand, "needs a hand"}, {Secret, "secrets that stand in the file; put them into variables"}, {Approximated, "approximated"}, {Left, "left out"},
	} {
		first := true
		for _, n := range r.Notes {
			if n.Kind != part.kind {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s:\n", part.title)
				first = false
			}
			b.WriteString("  " + n.place(r.File) + n.Message + "\n")
		}
	}
	if len(r.Variables) > 0 {
		b.WriteString("\nvariables to set:\n")
		for _, v := range r.Variables {
			from := ""
			if v.From != "" {
				from = "  (" + v.From + ")"
			}
			b.WriteString("  " + v.Name + from + "\n")
		}
	}
	return b.String()
}

func (n *Note) place(file string) string {
	if n.Line == 0 {
		return ""
	}
	if n.Path == "" {
		return fmt.Sprintf("%s:%d: ", clean(file), n.Line)
	}
	return fmt.Sprintf("%s:%d: %s: ", clean(file), n.Line, n.Path)
}

// carry says of values that they are carried over as they are.
func (c *conversion) carry(nodes ...*node) {
	for _, n := range nodes {
		if n != nil && n.mark == unread {
			n.mark = carried
		}
	}
}

// approx says of a value what it became.
func (c *conversion) approx(n *node, format string, args ...any) {
	c.told(n, Approximated, approximated, format, args...)
}

// leave says of a value why it is left out.
func (c *conversion) leave(n *node, format string, args ...any) {
	c.told(n, Left, left, format, args...)
}

// hand says of a value what somebody has to do about it.
func (c *conversion) hand(n *node, format string, args ...any) {
	c.told(n, Hand, approximated, format, args...)
}

func (c *conversion) told(n *node, kind Kind, m mark, format string, args ...any) {
	if n == nil {
		return
	}
	n.mark = m
	c.note(n, kind, format, args...)
}

func (c *conversion) note(n *node, kind Kind, format string, args ...any) {
	c.notes = append(c.notes, Note{Kind: kind, Path: n.path, Line: n.line, Column: n.col, Message: clip(fmt.Sprintf(format, args...)), Keys: leaves(n)})
}

// general is a note that is about no place.
func (c *conversion) general(kind Kind, format string, args ...any) {
	c.notes = append(c.notes, Note{Kind: kind, Message: clip(fmt.Sprintf(format, args...))})
}

// clip keeps a message on one line.
func clip(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

func leaves(n *node) int {
	if n.leaf() {
		return 1
	}
	sum := 0
	n.children(func(child *node) { sum += leaves(child) })
	return sum
}

// finish counts what became of the values, and reports those that nobody looked at.
func (c *conversion) finish() Report {
	r := Report{Format: c.src.Format, File: c.src.Name, Variables: c.variables(), Notes: slices.Clone(c.notes)}
	c.count(&r, c.root, unread)
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	r.Keys = r.Carried + r.Approximated + r.Left
	return r
}

func (c *conversion) count(r *Report, n *node, above mark) {
	if n.counted {
		return
	}
	n.counted = true
	if n.mark != unread {
		above = n.mark
	}
	if above == unread && untouched(n) && n != c.root {
		keys := leaves(n)
		r.Left += keys
		r.Notes = append(r.Notes, Note{Kind: Left, Path: n.path, Line: n.line, Column: n.col, Keys: keys, Message: "is unknown to this importer, and left out"})
		return
	}
	if n.leaf() {
		switch above {
		case carried:
			r.Carried++
		case approximated:
			r.Approximated++
		case left, unread:
			r.Left++
		}
		return
	}
	n.children(func(child *node) { c.count(r, child, above) })
}

// untouched says whether nobody looked at a value, or anything below it.
func untouched(n *node) bool {
	if n.mark != unread {
		return false
	}
	free := true
	n.children(func(child *node) { free = free && untouched(child) })
	return free
}
