package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// environment stands in Problem.File for a mistake in an environment variable; Path is then its name.
const environment = "environment"

// Problem is one mistake, or one doubt if it is among the warnings. It never holds a secret's value.
type Problem struct {
	File string `json:"file"`
	// Line and Column count from 1; 0 where the mistake has no place in a file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path is the place in the document, such as providers.openai.keys[0].value.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Suggestion is what was probably meant; it may be empty.
	Suggestion string `json:"suggestion,omitempty"`
	cause      error  // for errors.Is; nil unless an error of another package was met
}

// String is file:line:column: path: message; did you mean suggestion?
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		b.WriteString("; did you mean " + p.Suggestion + "?")
	}
	return b.String()
}

// Problems is every mistake of a configuration, in the order of the file. It is the error of Load, Parse and Detect.
type Problems []Problem

// Error lists them, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors of other packages behind the problems, such as fs.ErrNotExist.
func (p Problems) Unwrap() []error {
	var causes []error
	for _, q := range p {
		if q.cause != nil {
			causes = append(causes, q.cause)
		}
	}
	return causes
}

// place is where something stands in a file or, without a line, in the environment.
type place struct {
	file         string
	line, column int
	path         string
}

// key is the place's path one key further down.
func (p place) key(name string) string {
	if !bare(name) {
		name = fmt.Sprintf("%q", name)
	}
	if p.path == "" {
		return name
	}
	return p.path + "." + name
}

// item is the place's path one list item further down.
func (p place) item(i int) string { return fmt.Sprintf("%s[%d]", p.path, i) }

// bare says whether a key needs no quotes in a path.
func bare(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// report collects problems and warnings while a configuration is read and built. Not safe for concurrent use.
type report struct {
	problems, warnings Problems
}

func (r *report) problem(at place, suggestion, format string, args ...any) {
	r.problems = append(r.problems, at.problem(suggestion, format, args...))
}

func (r *report) warn(at place, format string, args ...any) {
	r.warnings = append(r.warnings, at.problem("", format, args...))
}

func (p place) problem(suggestion, format string, args ...any) Problem {
	return Problem{
		File: p.file, Line: p.line, Column: p.column, Path: p.path,
		Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	}
}

// inOrder sorts problems as the file has them, the environment's last.
func inOrder(p Problems) Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(boolInt(a.File == environment), boolInt(b.File == environment)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(p)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
