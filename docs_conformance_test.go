package evergate_test

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"evergate/internal/config"
)

const conformance = "docs/conformance.md"

// Every statement of the reference documents has rules that are in force, settings that parse and stand in the block that the tests run,
// and tests that exist; or it is marked as not built.
func TestConformance(t *testing.T) {
	t.Parallel()
	rules := rulesInForce(t)
	for _, reference := range []string{"000", "001", "002", "003", "004"} {
		block := conformanceBlock(t, reference)
		rows := table(t, conformance, "statements: "+reference)
		if len(rows) < 15 {
			t.Errorf("reference %s has %d statements", reference, len(rows))
		}
		for _, row := range rows {
			if len(row) != 4 {
				t.Errorf("reference %s: %d cells in %v", reference, len(row), row)
				continue
			}
			tests, open := words(row[3]), strings.HasPrefix(row[3], "**not built yet**")
			if len(tests) == 0 && !open {
				t.Errorf("reference %s: no test for %q", reference, row[0])
			}
			for _, name := range tests {
				if pkg, test, ok := strings.Cut(name, "."); ok && strings.HasPrefix(test, "Test") && !testExists(t, pkg, test) {
					t.Errorf("reference %s: there is no %s", reference, name)
				}
			}
			for _, rule := range strings.Fields(row[1]) {
				if !open && !slices.Contains(rules, rule) {
					t.Errorf("reference %s: %s is not in force: %q", reference, rule, row[0])
				}
			}
			for _, setting := range words(row[2]) {
				checkSetting(t, reference, block, setting)
			}
		}
	}
}

// checkSetting parses one setting as a config, and looks for it in the block of its reference.
func checkSetting(t *testing.T, reference string, block map[string]any, setting string) {
	t.Helper()
	top := []string{"timeouts", "providers", "models", "state", "failover"}
	key, _, _ := strings.Cut(setting, ":")
	if !slices.Contains(top, key) {
		setting = "resilience: { " + setting + " }"
	}
	text := setting
	if key != "providers" {
		text += onePart
	}
	if _, err := config.Parse("reference "+reference, []byte(text), keysOnly); err != nil {
		t.Errorf("%v: %s", err, setting)
	}
	var said map[string]any
	if err := yaml.Unmarshal([]byte(setting), &said); err != nil {
		t.Fatal(err)
	}
	if (key == "timeouts" || !slices.Contains(top, key)) && !holds(block, said) {
		t.Errorf("reference %s: the block does not say %s", reference, setting)
	}
}

// holds says whether all that part says stands in whole; of a list each element.
func holds(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range part {
			ok = ok && holds(w[k], v)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, v := range part {
			ok = ok && slices.ContainsFunc(w, func(x any) bool { return holds(x, v) })
		}
		return ok
	}
	return reflect.DeepEqual(whole, part)
}

// conformanceBlock is the block of settings that begins with a reference's number.
func conformanceBlock(t *testing.T, reference string) map[string]any {
	t.Helper()
	for _, b := range blocks(conformance, source(t, conformance)) {
		if strings.HasPrefix(b.text, "# "+reference+"\n") {
			var out map[string]any
			if err := yaml.Unmarshal([]byte(b.text), &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("%s has no settings for reference %s", conformance, reference)
	return nil
}

func testExists(t *testing.T, pkg, test string) bool {
	t.Helper()
	dir := "internal/" + pkg
	if pkg == "e2e" {
		dir = "tests/e2e"
	}
	files, err := filepath.Glob(dir + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(name string) bool { return strings.Contains(source(t, name), "\nfunc "+test+"(t *testing.T)") })
}

// rulesInForce are those of the list that internal/app keeps.
func rulesInForce(t *testing.T) (out []string) {
	t.Helper()
	list := found(source(t, "internal/app/rules_test.go"), `const inForce = "([^"]+)"`)
	if len(list) != 1 {
		t.Fatalf("no list of rules in force: %v", list)
	}
	for _, m := range regexp.MustCompile(`R(\d+)(?:-R(\d+))?`).FindAllStringSubmatch(list[0], -1) {
		first, _ := strconv.Atoi(m[1])
		last, err := strconv.Atoi(m[2])
		if err != nil {
			last = first
		}
		for n := first; n <= last; n++ {
			out = append(out, "R"+strconv.Itoa(n))
		}
	}
	return out
}
