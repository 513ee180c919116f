// Package evergate_test holds what must be true of the repository as a whole: which way imports point, what pure
// packages may touch, how long files get, and that the paths named in the documents exist..
package evergate_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "evergate"

// rings says where each room stands; an import may only go to the same or a lower ring. A room's subpackages stand with
// it. A package that is in no room fails the test: decide where it belongs first.
var rings = map[string]int{
	// 0: words
	"internal/fault": 0, "internal/llm": 0, "api": 0,
	// 1: pure logic
	"internal/jsonscan": 1, "internal/nearest": 1, "internal/sse": 1, "internal/wire": 1, "internal/openaiwords": 1, "internal/resilience": 1,
	"internal/route": 1, "internal/failover": 1, "internal/journal": 1, "internal/sim": 1, "internal/explain": 1, "internal/prefer": 1,
	"internal/modelfacts": 1, "internal/drill": 1, "internal/quota": 1,
	// 2: services
	"internal/http1": 2, "internal/reach": 2, "internal/drill/running": 2, "internal/quota/meters": 2, "internal/guardrail": 2, "internal/replies": 2, "internal/parquet": 2,
	"internal/catalog": 2, "internal/threads": 2, "internal/affinity": 2, "internal/mirror": 2, "internal/health": 2, "internal/attempt": 2, "internal/probing": 2, "internal/alert": 2, "internal/identity": 2,
	"internal/replica": 2, "internal/ledger": 2, "internal/feed": 2,
	// 3: adapters
	"internal/provider": 3, "internal/store": 3, "internal/telemetry": 3, "internal/mock": 3, "internal/handover": 3, "internal/coredump": 3, "internal/front": 3, "internal/guardrail/webhook": 3,
	// 4: surfaces
	"internal/ingress": 4, "internal/admin": 4, "internal/dashboard": 4, "internal/commandline": 4,
	// 5: composition
	"internal/config": 5, "internal/importer": 5, "internal/app": 5,
	// 6: the program
	"cmd/evergate": 6,
	// tests only: may use anything, used by nobody but tests
	"internal/testkit": 6,
}

// testOnly are the packages that only tests import: the shared kit and the contract suites.
var testOnly = []string{"internal/testkit", "internal/testkit/servers", "internal/wire/wiretest", "internal/provider/providertest", "internal/store/storetest"}

// pureStd is all of the standard library that rings 0 and 1 may use. Nothing in it reads a clock, waits, draws a random
// number, logs or talks to the world; of time only types and arithmetic are allowed (see impurities). What embed brings in
// is there when the program is built.
var pureStd = []string{
	"bytes", "cmp", "embed", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "io", "iter", "maps", "math", "math/bits",
	"net/url", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf16",
	"unicode/utf8",
}

// clock are the members of package time that read the clock or wait.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

const (
	maxLines    = 600 // of any Go file
	maxCmdLines = 120 // of a file of cmd/evergate: main only starts the program
)

// goPackage is what `go list -json` says of a package; Imports are direct ones, tests excluded.
type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
}

func (p goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// room gives the entry of rings that a path belongs to, the longest one that fits.
func room(path string) (name string, ring int, ok bool) {
	for p := path; p != "." && p != "/"; p = filepath.Dir(p) {
		if r, found := rings[p]; found {
			return p, r, true
		}
	}
	return "", 0, false
}

func isTestOnly(path string) bool { return slices.Contains(testOnly, path) }

// arrowProblems checks imports. Each problem names the package, the import and the rule.
func arrowProblems(pkgs []goPackage) []string {
	var out []string
	for _, p := range pkgs {
		path := p.path()
		_, ring, ok := room(path)
		if !ok {
			out = append(out, fmt.Sprintf("%s stands in no ring: give it a place in arrows_test.go", path))
			continue
		}
		for _, imp := range p.Imports {
			own := strings.TrimPrefix(imp, module+"/")
			var rule string
			switch {
			case own != imp:
				rule = ownImportProblem(path, own)
			case ring <= 1 && !isTestOnly(path) && !slices.Contains(pureStd, imp):
				rule = "rings 0 and 1 use only a short list of pure packages of the standard library"
			}
			if rule != "" {
				out = append(out, fmt.Sprintf("%s imports %s: %s", path, own, rule))
			}
		}
	}
	return out
}

// ownImportProblem gives the rule that an import of one of our packages by another breaks, or "".
func ownImportProblem(from, to string) string {
	fromRoom, fromRing, _ := room(from)
	toRoom, toRing, ok := room(to)
	composes := fromRoom == "internal/app" || fromRoom == "cmd/evergate"
	switch {
	case !ok:
		return "it stands in no ring"
	case isTestOnly(to) && !isTestOnly(from):
		return "only tests import it"
	case isTestOnly(from):
		return ""
	case toRing > fromRing:
		return fmt.Sprintf("ring %d may not import ring %d", fromRing, toRing)
	case toRoom == "internal/wire" && fromRoom == "internal/wire" && from != "internal/wire" && to != "internal/wire":
		return "dialects do not import each other"
	case toRing == 3 && fromRing == 3 && (toRoom != fromRoom || to != toRoom):
		return "adapters are blind to each other"
	case !composes && fromRoom != "internal/importer" && toRoom == "internal/config" && from != to:
		return "only app and importer import config"
	case !composes && (toRoom == "internal/telemetry" || isAdapter(to)) && fromRoom != toRoom:
		return "only app imports this adapter"
	}
	return ""
}

// isAdapter says whether path is one provider's or one store's package, not the room they share.
func isAdapter(path string) bool {
	return strings.HasPrefix(path, "internal/provider/") || strings.HasPrefix(path, "internal/store/")
}

// impurities gives the places in a file of ring 0 or 1 that start a goroutine, read the clock or wait.
func impurities(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	timeName := ""
	for _, imp := range file.Imports {
		if imp.Path.Value == `"time"` {
			timeName = "time"
			if imp.Name != nil {
				timeName = imp.Name.Name
			}
		}
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, fmt.Sprintf("%s: starts a goroutine", fset.Position(n.Pos())))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				out = append(out, fmt.Sprintf("%s: uses time.%s", fset.Position(n.Pos()), n.Sel.Name))
			}
		}
		return true
	})
	if timeName == "." {
		out = append(out, name+": imports time with a dot, so that its use cannot be checked")
	}
	return out, nil
}

// sleepProblem says that a test waits in real time, or "". In a bubble of testing/synctest a sleep takes no time.
func sleepProblem(name string, src []byte) (string, error) {
	if bytes.Contains(src, []byte(`"testing/synctest"`)) {
		return "", nil
	}
	found, err := impurities(name, src)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(found, func(s string) bool { return strings.HasSuffix(s, "time.Sleep") }); i >= 0 {
		return found[i] + " outside of a bubble", nil
	}
	return "", nil
}

// lengthProblem says that a file is too long, or "".
func lengthProblem(path string, src []byte) string {
	limit := maxLines
	if strings.HasPrefix(filepath.ToSlash(path), "cmd/evergate/") && !strings.HasSuffix(path, "_test.go") {
		limit = maxCmdLines
	}
	if n := bytes.Count(src, []byte("\n")); n > limit {
		return fmt.Sprintf("%s has %d lines, the limit is %d", path, n, limit)
	}
	return ""
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Doc,GoFiles,CgoFiles,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		case p.ImportPath != module: // this package: tests only
			pkgs = append(pkgs, p)
		}
	}
}

func TestArrows(t *testing.T) {
	t.Parallel()
	pkgs := listPackages(t)
	if len(pkgs) < 8 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	for _, problem := range arrowProblems(pkgs) {
		t.Error(problem)
	}
	for _, p := range pkgs {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.path())
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo", p.path())
		}
		if _, ring, ok := room(p.path()); !ok || ring > 1 || isTestOnly(p.path()) {
			continue
		}
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			found, err := impurities(p.path()+"/"+name, src)
			if err != nil {
				t.Error(err)
			}
			for _, problem := range found {
				t.Errorf("%s (rings 0 and 1 get the time as an argument and start nothing)", problem)
			}
		}
	}
}

func TestFilesAreShortAndTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "bin", "out"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		files++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if problem := lengthProblem(path, src); problem != "" {
			t.Error(problem)
		}
		if own := strings.HasPrefix(path, "internal") || strings.HasPrefix(path, "cmd") || !strings.Contains(path, "/"); own && strings.HasSuffix(path, "_test.go") {
			problem, err := sleepProblem(path, src)
			if err != nil || problem != "" {
				t.Error(problem, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d Go files were looked at", files)
	}
}

// TestArrowRulesBite plants one violation of each rule and expects it to be named, beside its nearest lawful neighbour.
func TestArrowRulesBite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, imports string
		want                string // a part of the problem; "" = lawful
	}{
		{"up", "internal/route", "evergate/internal/attempt", "ring 1 may not import ring 2"},
		{"down", "internal/attempt", "evergate/internal/route", ""},
		{"same ring", "internal/failover", "evergate/internal/route", ""},
		{"service to adapter", "internal/threads", "evergate/internal/telemetry", "ring 2 may not import ring 3"},
		{"no ring", "internal/helpers", "fmt", "stands in no ring"},
		{"no ring, imported", "internal/app", "evergate/internal/helpers", "stands in no ring"},
		{"impure std in ring 1", "internal/sse", "net/http", "pure packages"},
		{"third party in ring 1", "internal/wire/openaichat", "github.com/x/y", "pure packages"},
		{"impure std in ring 0", "internal/fault", "os", "pure packages"},
		{"pure std in ring 1", "internal/sse", "bytes", ""},
		{"impure std in a subpackage of ring 1", "internal/resilience/breaker", "sync", "pure packages"},
		{"std in ring 2", "internal/attempt", "net/http", ""},
		{"dialect to dialect", "internal/wire/gemini", "evergate/internal/wire/anthropic", "dialects"},
		{"dialect to wire", "internal/wire/gemini", "evergate/internal/wire", ""},
		{"provider to provider", "internal/provider/azure", "evergate/internal/provider/openai", "blind"},
		{"provider to its parent", "internal/provider/azure", "evergate/internal/provider", ""},
		{"parent to provider", "internal/provider", "evergate/internal/provider/openai", "blind"},
		{"store to provider", "internal/store/redis", "evergate/internal/provider", "blind"},
		{"telemetry to mock", "internal/telemetry", "evergate/internal/mock", "blind"},
		{"surface to provider", "internal/ingress", "evergate/internal/provider/openai", "only app"},
		{"surface to store", "internal/admin", "evergate/internal/store/sqlite", "only app"},
		{"surface to telemetry", "internal/admin", "evergate/internal/telemetry", "only app"},
		{"config to provider", "internal/config", "evergate/internal/provider", ""},
		{"config to one provider", "internal/config", "evergate/internal/provider/openai", "only app"},
		{"app to one provider", "internal/app", "evergate/internal/provider/openai", ""},
		{"app to config", "internal/app", "evergate/internal/config", ""},
		{"surface to config", "internal/admin", "evergate/internal/config", "ring 4 may not import ring 5"},
		{"cmd to config", "cmd/evergate", "evergate/internal/config", ""},
		{"app to testkit", "internal/app", "evergate/internal/testkit", "only tests"},
		{"dialect to contract suite", "internal/wire/gemini", "evergate/internal/wire/wiretest", "only tests"},
		{"testkit to anything", "internal/testkit", "evergate/internal/ingress", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := arrowProblems([]goPackage{{ImportPath: module + "/" + tt.from, Imports: []string{tt.imports}}})
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("lawful import refused: %v", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("got %v, want one problem with %q", got, tt.want)
			}
		})
	}
}

func TestPurityRulesBite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"goroutine", `package p; func f() { go f() }`, "starts a goroutine"},
		{"now", `package p; import "time"; var t = time.Now()`, "time.Now"},
		{"function value", `package p; import "time"; var now = time.Now`, "time.Now"},
		{"renamed", `package p; import clock "time"; func f() { clock.Sleep(1) }`, "time.Sleep"},
		{"timer", `package p; import "time"; func f() { <-time.After(1) }`, "time.After"},
		{"dot", `package p; import . "time"; var t = Now()`, "with a dot"},
		{"arithmetic", `package p; import "time"; func f(t time.Time) time.Time { return t.Add(time.Second) }`, ""},
		{"another Now", `package p; type c struct{ Now int }; func f(time c) int { return time.Now }`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := impurities("p.go", []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %v, want %q", got, cmp.Or(tt.want, "nothing"))
			}
		})
	}
}

func TestSleepRuleBites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		bad       bool
	}{
		{"sleep", `package p; import "time"; func f() { time.Sleep(1) }`, true},
		{"in a bubble", `package p; import ("time"; "testing/synctest"); func f() { time.Sleep(1) }`, false},
		{"timer", `package p; import "time"; func f() { <-time.After(1) }`, false},
	} {
		if got, err := sleepProblem("p_test.go", []byte(tt.src)); err != nil || (got != "") != tt.bad {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

func TestLengthRuleBites(t *testing.T) {
	t.Parallel()
	lines := func(n int) []byte { return bytes.Repeat([]byte("\n"), n) }
	for _, tt := range []struct {
		path string
		n    int
		bad  bool
	}{
		{"internal/a/a.go", 600, false},
		{"internal/a/a.go", 601, true},
		{"internal/a/a_test.go", 601, true},
		{"cmd/evergate/serve.go", 120, false},
		{"cmd/evergate/serve.go", 121, true},
		{"cmd/evergate/serve_test.go", 121, false},
	} {
		if got := lengthProblem(tt.path, lines(tt.n)); (got != "") != tt.bad {
			t.Errorf("%s with %d lines: %q", tt.path, tt.n, got)
		}
	}
}
