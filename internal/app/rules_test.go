package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inForce are the resilience rules that the gateway keeps today (R20-R31 stands for all from R20 to R31). A rule that is built
// is added here, and is then named by the test that holds it.
const inForce = "R1-R18 R20-R35 R41-R47 R50-R59 R60-R67 R70-R75 R77"

// Every rule in force is named by a test, as a word of its own: a range such as R20-R30 names its ends alone.
func TestEveryRuleHasATest(t *testing.T) {
	root := filepath.Join("..", "..")
	named := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "rules_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, rule := range ruleWord.FindAllString(string(text), -1) {
			named[rule] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := rulesOf(inForce)
	if len(rules) != 66 {
		t.Errorf("%d rules in force: %v", len(rules), rules)
	}
	for _, rule := range rules {
		if !named[rule] {
			t.Errorf("no test names %s", rule)
		}
	}
}

var ruleWord = regexp.MustCompile(`\bR[0-9]+\b`)

// rulesOf gives the rules of a list of rules and ranges.
func rulesOf(list string) []string {
	var out []string
	for _, part := range strings.Fields(list) {
		first, last := 0, 0
		if n, _ := fmt.Sscanf(part, "R%d-R%d", &first, &last); n == 1 {
			last = first
		}
		for n := first; n <= last; n++ {
			out = append(out, fmt.Sprint("R", n))
		}
	}
	return out
}
