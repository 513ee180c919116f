package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// families are the metrics that the documents name, with their labels; a test of the program itself holds that they are those that it
// has. A recording rule is one, too.
func families(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	_, table, _ := strings.Cut(text(t, "docs/operations.md"), "<!-- metrics -->")
	table, _, _ = strings.Cut(strings.TrimSpace(table), "\n\n")
	row := regexp.MustCompile("(?m)^\\| `(evergate_\\w+)` \\|([^|]*)\\|")
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		var names []string
		for _, l := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[2], -1) {
			names = append(names, l[1])
		}
		out[m[1]] = names
		if strings.HasSuffix(m[1], "_seconds") {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				out[m[1]+part] = append(slices.Clone(names), "le")
			}
		}
	}
	if len(out) < 30 {
		t.Fatalf("only %d metrics are documented", len(out))
	}
	for _, g := range ruleGroups(t, rulesFile) {
		for _, r := range g.Rules {
			out[r.Record] = nil
		}
	}
	return out
}

// fromElsewhere are metrics that Prometheus and its Go library have.
var fromElsewhere = regexp.MustCompile(`^(up|ALERTS|go_\w+|process_\w+)$`)

// selectors are those of an expression.
func selectors(t *testing.T, where, expr string) (out []*parser.VectorSelector) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, expr)
		return nil
	}
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			out = append(out, v)
		}
		return nil
	})
	return out
}

// checkExpr holds an expression to the metrics that are there and the labels that they have.
func checkExpr(t *testing.T, known map[string][]string, where, expr string) {
	t.Helper()
	for _, v := range selectors(t, where, expr) {
		own, is := known[v.Name]
		if !is {
			if !fromElsewhere.MatchString(v.Name) {
				t.Errorf("%s: there is no metric %q", where, v.Name)
			}
			continue
		}
		for _, m := range v.LabelMatchers {
			switch {
			case m.Name == "__name__", m.Name == "job", m.Name == "instance", strings.Contains(v.Name, ":"), slices.Contains(own, m.Name):
			default:
				t.Errorf("%s: %s has no label %s", where, v.Name, m.Name)
			}
		}
	}
	rates(t, where, expr)
}

// rates holds that counters are only looked at as rates, and gauges never: what counts resets with its process.
func rates(t *testing.T, where, expr string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return // was said
	}
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok || strings.Contains(v.Name, ":") || fromElsewhere.MatchString(v.Name) {
			return nil
		}
		counter := regexp.MustCompile(`_(total|bucket|sum|count)$`).MatchString(v.Name)
		rated := false
		for _, p := range path {
			if c, ok := p.(*parser.Call); ok {
				rated = rated || slices.Contains([]string{"rate", "increase", "irate"}, c.Func.Name)
			}
		}
		if counter != rated {
			t.Errorf("%s: %s as a rate: %v", where, v.Name, rated)
		}
		return nil
	})
}

func TestRulesNameMetricsThatExist(t *testing.T) {
	known := families(t)
	for _, file := range []string{rulesFile, alertsFile} {
		for _, g := range ruleGroups(t, file) {
			for _, r := range g.Rules {
				checkExpr(t, known, file+": "+r.Record+r.Alert, r.Expr)
			}
		}
	}
}
