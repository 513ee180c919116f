package evergate_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence    = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```[^\n]*$")
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	plain    = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?$`)
)

// topLevel are the folders whose paths in the documents are checked; made are those that exist only after a build.
var (
	topLevel = []string{"api", "bench", "cmd", "deploy", "docs", "examples", "internal", "scripts", "tests", "ui"}
	made     = []string{"bench/out"}
)

// brokenPaths gives the repository paths that a document names, as a link or as inline code, and that do not exist.
// Fenced blocks are not read: they hold commands and drawings.
func brokenPaths(doc, text string, exists func(string) bool) []string {
	var out []string
	text = fence.ReplaceAllString(text, "")
	for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		if !exists(path.Join(path.Dir(doc), target)) {
			out = append(out, fmt.Sprintf("%s links to %s, which does not exist", doc, m[1]))
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		name := strings.TrimSuffix(m[1], "/")
		top, _, nested := strings.Cut(name, "/")
		if !plain.MatchString(m[1]) || !nested || !slices.Contains(topLevel, top) || slices.Contains(made, name) {
			continue
		}
		if !exists(name) {
			out = append(out, fmt.Sprintf("%s names %s, which does not exist", doc, m[1]))
		}
	}
	return out
}

func TestDocumentsNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	exists := func(name string) bool { _, err := os.Stat(filepath.FromSlash(name)); return err == nil }
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" || name == "CHANGELOG.md" { // a changelog names what is gone
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, problem := range brokenPaths(filepath.ToSlash(name), string(text), exists) {
			t.Error(problem)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocumentRuleBites(t *testing.T) {
	t.Parallel()
	exists := func(name string) bool {
		return slices.Contains([]string{"docs/config.md", "internal/fault", "README.md"}, name)
	}
	for _, tt := range []struct {
		name, doc, text string
		want            int
	}{
		{"good span", "README.md", "see `internal/fault` and `internal/fault/`", 0},
		{"gone span", "README.md", "see `internal/gone`", 1},
		{"good link", "README.md", "[c](docs/config.md#top)", 0},
		{"gone link", "README.md", "[c](docs/gone.md)", 1},
		{"link from a folder", "docs/a.md", "[c](config.md), [r](../README.md)", 0},
		{"gone from a folder", "docs/a.md", "[c](docs/config.md)", 1},
		{"elsewhere", "README.md", "[w](https://example.org/docs/gone.md) [h](#here)", 0},
		{"not a path of ours", "README.md", "`openai/gpt-4o-mini`, `internal/{a,b}`, `internal`", 0},
		{"fenced", "README.md", "```\n`internal/gone`\n```\n", 0},
		{"after a fence", "README.md", "```sh\nx\n```\n`internal/gone`\n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := brokenPaths(tt.doc, tt.text, exists); len(got) != tt.want {
				t.Errorf("got %q, want %d problems", got, tt.want)
			}
		})
	}
}
