package deploy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const dashboardFile = "deploy/grafana/evergate.json"

// dashboard is what is held of Grafana's model.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct{ List []choice }
	Annotations   struct {
		List []struct{ Name, Expr string }
	}
	Panels []dashPanel
}

// choice is a variable of the dashboard.
type choice struct {
	Name, Type, Definition string
	IncludeAll, Multi      bool
}

type dashPanel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
}

var grafanaWords = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "6h")

// plain is a query with Grafana's own variables replaced, as Prometheus would get it.
func plain(expr string) string { return grafanaWords.Replace(expr) }

// The dashboard is one that Grafana reads, its queries are Prometheus', and every metric in them is there. The rules are those of
// Grafana's own linter for dashboards that others import.
func TestGrafanaDashboard(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(text(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 39 {
		t.Errorf("uid %q, title %q, schema %d", d.UID, d.Title, d.SchemaVersion)
	}
	known := families(t)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		if !v.IncludeAll || !v.Multi {
			t.Errorf("variable %s cannot be all or several", v.Name)
		}
		m := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s asks %q", v.Name, v.Definition)
			continue
		}
		checkExprOf(t, known, "variable "+v.Name, m[1])
	}
	names := []string{"datasource", "job", "instance", "provider", "model"}
	for i, v := range d.Templating.List {
		if i >= len(names) || v.Name != names[i] {
			t.Errorf("variable %d is %s", i, v.Name)
		}
	}
	for _, a := range d.Annotations.List {
		if a.Expr != "" {
			checkExpr(t, known, "annotation "+a.Name, plain(a.Expr))
		}
	}
	ids := map[int]bool{}
	for i := range d.Panels {
		p := &d.Panels[i]
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q has the id %d of another", p.Title, p.ID)
		}
		ids[p.ID] = true
		overlaps(t, d.Panels[:i], p)
		if p.Type != "row" {
			lintPanel(t, known, p)
		}
	}
}

// checkExprOf is checkExpr without the rule of rates: it is about a series, not its value.
func checkExprOf(t *testing.T, known map[string][]string, where, expr string) {
	t.Helper()
	for _, v := range selectors(t, where, expr) {
		if _, is := known[v.Name]; !is {
			t.Errorf("%s: there is no metric %q", where, v.Name)
		}
	}
}

func lintPanel(t *testing.T, known map[string][]string, p *dashPanel) {
	t.Helper()
	if p.Title == "" || p.Description == "" {
		t.Errorf("panel %d has the title %q and the description %q", p.ID, p.Title, p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" {
		t.Errorf("panel %q has no unit", p.Title)
	}
	if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
		t.Errorf("panel %q asks %q with %d queries", p.Title, p.Datasource.UID, len(p.Targets))
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		where := fmt.Sprintf("panel %q, query %s", p.Title, q.RefID)
		if refs[q.RefID] || q.Datasource.UID != "${datasource}" {
			t.Errorf("%s: twice, or it asks %q", where, q.Datasource.UID)
		}
		refs[q.RefID] = true
		if q.LegendFormat == "" && p.Type != "stat" {
			t.Errorf("%s has no legend", where)
		}
		checkExpr(t, known, where, plain(q.Expr))
		for _, v := range selectors(t, where, plain(q.Expr)) {
			chooses := func(name string) bool {
				return slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == name && m.Value == "$"+name })
			}
			recorded := strings.Contains(v.Name, ":")
			if !recorded && (!chooses("job") || !chooses("instance")) || recorded && !chooses("job") && v.Name != "evergate:availability:objective" {
				t.Errorf("%s: %s is not of the chosen job and instance", where, v.Name)
			}
		}
		legendLabels(t, where, q.Expr, q.LegendFormat)
	}
}

// legendLabels holds a legend to labels that its query leaves there.
func legendLabels(t *testing.T, where, expr, legend string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(legend, -1) {
		by := regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(expr, -1)
		kept := len(by) == 0
		for _, b := range by {
			kept = kept || slices.Contains(regexp.MustCompile(`\w+`).FindAllString(b[1], -1), m[1])
		}
		if !kept {
			t.Errorf("%s: the legend names %s, which the query drops", where, m[1])
		}
	}
}

// overlaps tells of panels that cover each other or leave the grid.
func overlaps(t *testing.T, before []dashPanel, p *dashPanel) {
	t.Helper()
	g := p.GridPos
	if g.X < 0 || g.X+g.W > 24 || g.W <= 0 || g.H <= 0 {
		t.Errorf("panel %q leaves the grid: %+v", p.Title, g)
	}
	for _, o := range before {
		if b := o.GridPos; g.X < b.X+b.W && b.X < g.X+g.W && g.Y < b.Y+b.H && b.Y < g.Y+g.H {
			t.Errorf("panels %q and %q cover each other", p.Title, o.Title)
		}
	}
}

// Counters are there from their first event on: where no request has failed yet, all were answered, and nothing is missing.
func TestGrafanaBeforeTheFirstFailure(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(text(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	s := newSeries()
	s.load(t, `evergate_requests_total{job="evergate",instance="a",model="m",provider="p",code="200"}`, "0+10x60", time.Minute)
	want := map[string]float64{"Availability": 1, "Rescued": 0}
	for _, p := range d.Panels {
		value, ok := want[p.Title]
		if !ok {
			continue
		}
		delete(want, p.Title)
		expr := strings.NewReplacer("$job", ".*", "$instance", ".*", "$model", ".*").Replace(plain(p.Targets[0].Expr))
		if got := s.query(t, expr, time.Hour); len(got) != 1 || got[0].F != value {
			t.Errorf("%s is %v, want %v", p.Title, got, value)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no panel for %v", want)
	}
}
