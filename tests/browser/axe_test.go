package browser

import (
	"fmt"
	"os"
	"strings"
)

// axeFile is axe-core, which scripts/install-browser installs.
const axeFile = "node_modules/axe-core/axe.min.js"

// violation is what axe finds wrong, and where.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
		Target         []any
	}
}

func (v *violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", v.ID, v.Impact, v.Help)
	for i, n := range v.Nodes {
		if i == 3 {
			fmt.Fprintf(&b, "\n    and %d more", len(v.Nodes)-i)
			break
		}
		fmt.Fprintf(&b, "\n    %v %.200s\n    %s", n.Target, n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", " "))
	}
	return b.String()
}

// accessible fails the test for whatever axe finds.
func (p *page) accessible(what string, rules ...string) {
	p.t.Helper()
	for _, v := range p.violations(rules...) {
		p.t.Errorf("%s: %s", what, v.String())
	}
}

// violations are what axe finds against WCAG 2.2, levels A and AA, and its own best practices; or against some rules alone.
func (p *page) violations(rules ...string) []violation {
	p.t.Helper()
	if !eval[bool](p, `'axe' in window`) {
		script, err := os.ReadFile(axeFile)
		if err != nil {
			p.t.Fatalf("%v (scripts/install-browser installs it)", err)
		}
		eval[bool](p, string(script)+"\n; 'axe' in window")
	}
	only := `{type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}`
	if len(rules) > 0 {
		only = fmt.Sprintf(`{type: 'rule', values: ['%s']}`, strings.Join(rules, "', '"))
	}
	return eval[[]violation](p, `axe.run(document, {preload: false, resultTypes: ['violations'], runOnly: `+only+`}).then(r => r.violations)`)
}
