package evergate_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the documents that users read; docs/adr is for contributors, docs/performance.md is measured.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range append(names, "README.md") {
		if name != "docs/performance.md" {
			out[filepath.ToSlash(name)] = source(t, name)
		}
	}
	return out
}

func source(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sources are all files that match, joined.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	var b strings.Builder
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			b.WriteString(source(t, name))
		}
	}
	return b.String()
}

// block is a fenced block of a document. Its marker is the HTML comment right before it: what the tests may do with it.
type block struct {
	place, marker, lang, text string
}

var (
	markerLine = regexp.MustCompile(`^<!-- (.*) -->$`)
	fenceLine  = regexp.MustCompile("^\\s*```(\\w*)\\s*$")
)

func blocks(doc, text string) []block {
	var out []block
	var open *block
	marker := ""
	for i, line := range strings.Split(text, "\n") {
		f := fenceLine.FindStringSubmatch(line)
		switch m := markerLine.FindStringSubmatch(line); {
		case f != nil && open == nil:
			open = &block{place: fmt.Sprintf("%s:%d", doc, i+1), marker: marker, lang: f[1]}
		case f != nil:
			out = append(out, *open)
			open, marker = nil, ""
		case open != nil:
			open.text += line + "\n"
		case m != nil:
			marker = m[1]
		case strings.TrimSpace(line) != "":
			marker = ""
		}
	}
	return out
}

// table gives the rows, without the heading, of every table of a document that stands right after a marker.
func table(t *testing.T, doc, marker string) [][]string {
	t.Helper()
	var rows [][]string
	inside, heading := false, 0
	for line := range strings.Lines(source(t, doc)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "<!-- "+marker+" -->":
			inside, heading = true, 2
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && heading > 0:
			heading--
		case inside:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s has no table after <!-- %s -->", doc, marker)
	}
	return rows
}

// words are what stands in code style in a cell.
func words(cell string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// column are the words of one column of a table.
func column(rows [][]string, i int) []string {
	var out []string
	for _, row := range rows {
		out = append(out, words(row[i])...)
	}
	return out
}

// found are the first groups of a pattern's matches, each once.
func found(text, pattern string) []string {
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		seen[m[1]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// same reports what is documented and is not there, and the other way round.
func same(t *testing.T, what string, documented, there []string) {
	t.Helper()
	if len(there) == 0 {
		t.Errorf("%s: nothing found to compare with", what)
	}
	for _, name := range documented {
		if !slices.Contains(there, name) {
			t.Errorf("%s: %s is documented and does not exist", what, name)
		}
	}
	for _, name := range there {
		if !slices.Contains(documented, name) {
			t.Errorf("%s: %s exists and is not documented", what, name)
		}
	}
}

func TestDocumentParts(t *testing.T) {
	t.Parallel()
	text := "<!-- config part -->\n```yaml\na: 1\n```\nwords\n\n<!-- gone -->\nwords\n  ```sh\n  x\n  ```\n"
	got := blocks("d.md", text)
	want := []block{{"d.md:2", "config part", "yaml", "a: 1\n"}, {"d.md:9", "", "sh", "  x\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := words("`a`, and `b/c`"); !slices.Equal(got, []string{"a", "b/c"}) {
		t.Errorf("words: %q", got)
	}
}
