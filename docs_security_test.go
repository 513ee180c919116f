package evergate_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each claim of docs/security.md names a test that is there.
func TestSecurityNamesItsTests(t *testing.T) {
	named := regexp.MustCompile("`((?:internal|tests)/[a-z0-9/]+): ((?:Test|Fuzz)[A-Za-z0-9_]+)`").FindAllStringSubmatch(source(t, "docs/security.md"), -1)
	if len(named) < 30 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, n := range named {
		files, err := filepath.Glob(filepath.FromSlash(n[1]) + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(files, func(name string) bool { return strings.Contains(source(t, name), "\nfunc "+n[2]+"(") })
		if !there {
			t.Errorf("%s has no %s", n[1], n[2])
		}
	}
}
