package deploy

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"sigs.k8s.io/yaml"
)

const (
	rulesFile  = "deploy/prometheus/rules.yml"
	alertsFile = "deploy/prometheus/alerts.yml"
)

// ruleGroups are those of a file, by Prometheus' own reader.
func ruleGroups(t *testing.T, file string) []rulefmt.RuleGroup {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(text(t, file)), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Errorf("%s: %v", file, err)
	}
	if groups == nil {
		t.FailNow()
	}
	return groups.Groups
}

// ruleTests is a file of promtool's tests.
type ruleTests struct {
	RuleFiles          []string `json:"rule_files"`
	EvaluationInterval string   `json:"evaluation_interval"`
	Tests              []struct {
		Name        string
		Interval    string
		InputSeries []struct{ Series, Values string } `json:"input_series"`
		AlertTests  []struct {
			Alertname string
			EvalTime  string `json:"eval_time"`
			ExpAlerts []struct {
				ExpLabels      map[string]string `json:"exp_labels"`
				ExpAnnotations map[string]string `json:"exp_annotations"`
			} `json:"exp_alerts"`
		} `json:"alert_rule_test"`
		ExprTests []struct {
			Expr       string
			EvalTime   string `json:"eval_time"`
			ExpSamples []struct {
				Labels string
				Value  float64
			} `json:"exp_samples"`
		} `json:"promql_expr_test"`
	}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := model.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// alert is one that fires.
type alert struct{ Labels, Annotations map[string]string }

// evaluation is the state of rules as they are evaluated.
type evaluation struct {
	t      *testing.T
	series *series
	since  map[string]time.Duration // of an alert and its labels: when it began
	firing map[string][]alert       // by name, after the last step
}

// step evaluates the groups at a time, as Prometheus does.
func (e *evaluation) step(groups []rulefmt.RuleGroup, at time.Duration) {
	e.firing = map[string][]alert{}
	for _, g := range groups {
		if every := time.Duration(g.Interval); every > 0 && at%every != 0 {
			continue
		}
		for _, r := range g.Rules {
			found := e.series.query(e.t, r.Expr, at)
			if r.Record != "" {
				for _, s := range found {
					l := labels.NewBuilder(s.Metric).Set(model.MetricNameLabel, r.Record)
					for k, v := range r.Labels {
						l.Set(k, v)
					}
					e.series.add(l.Labels(), sample{at.Milliseconds(), s.F})
				}
				continue
			}
			e.alerts(&r, found, at)
		}
	}
}

// alerts takes what an alert's expression gives.
func (e *evaluation) alerts(r *rulefmt.Rule, found promql.Vector, at time.Duration) {
	active := map[string]bool{}
	for _, s := range found {
		l := labels.NewBuilder(s.Metric).Del(model.MetricNameLabel)
		for k, v := range r.Labels {
			l.Set(k, v)
		}
		key := r.Alert + l.Labels().String()
		active[key] = true
		if _, known := e.since[key]; !known {
			e.since[key] = at
		}
		state := "pending"
		if at-e.since[key] >= time.Duration(r.For) {
			state = "firing"
			e.firing[r.Alert] = append(e.firing[r.Alert], alert{l.Labels().Map(), e.annotations(r, s)})
		}
		e.series.add(l.Set(model.MetricNameLabel, "ALERTS").Set("alertname", r.Alert).Set("alertstate", state).Labels(), sample{at.Milliseconds(), 1})
	}
	maps.DeleteFunc(e.since, func(key string, _ time.Duration) bool { return strings.HasPrefix(key, r.Alert+"{") && !active[key] })
}

func (e *evaluation) annotations(r *rulefmt.Rule, s promql.Sample) map[string]string {
	out := map[string]string{}
	defs := "{{$labels := .Labels}}{{$value := .Value}}"
	data := template.AlertTemplateData(s.Metric.Map(), nil, "", s)
	for name, words := range r.Annotations {
		said, err := template.NewTemplateExpander(e.t.Context(), defs+words, r.Alert, data, 0, nil, &url.URL{}, nil).Expand()
		if err != nil {
			e.t.Errorf("%s: %s: %v", r.Alert, name, err)
		}
		out[name] = said
	}
	return out
}

// Every test of the rules passes, and every alert is seen to fire in one.
func TestPrometheusRules(t *testing.T) {
	var tests ruleTests
	if err := yaml.UnmarshalStrict([]byte(text(t, "deploy/prometheus/tests.yml")), &tests); err != nil {
		t.Fatal(err)
	}
	var groups []rulefmt.RuleGroup
	for _, f := range tests.RuleFiles {
		groups = append(groups, ruleGroups(t, "deploy/prometheus/"+f)...)
	}
	fired := map[string]bool{}
	every := duration(t, tests.EvaluationInterval)
	for _, test := range tests.Tests {
		t.Run(test.Name, func(t *testing.T) {
			e := &evaluation{t: t, series: newSeries(), since: map[string]time.Duration{}}
			for _, s := range test.InputSeries {
				e.series.load(t, s.Series, s.Values, duration(t, test.Interval))
			}
			var last time.Duration
			for _, a := range test.AlertTests {
				last = max(last, duration(t, a.EvalTime))
			}
			for _, x := range test.ExprTests {
				last = max(last, duration(t, x.EvalTime))
			}
			for at := time.Duration(0); at <= last; at += every {
				e.step(groups, at)
				for _, a := range test.AlertTests {
					if duration(t, a.EvalTime) != at {
						continue
					}
					want := []alert{}
					for _, x := range a.ExpAlerts {
						want = append(want, alert{x.ExpLabels, x.ExpAnnotations})
						fired[a.Alertname] = true
					}
					got := append([]alert{}, e.firing[a.Alertname]...)
					slices.SortFunc(got, func(a, b alert) int { return cmp.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)) })
					slices.SortFunc(want, func(a, b alert) int { return cmp.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)) })
					if diff := gocmp.Diff(want, got); diff != "" {
						t.Errorf("%s at %s (-want +got):\n%s", a.Alertname, a.EvalTime, diff)
					}
				}
			}
			for _, x := range test.ExprTests {
				got := e.series.query(t, x.Expr, duration(t, x.EvalTime))
				if len(got) != len(x.ExpSamples) {
					t.Errorf("%s gives %v, want %d", x.Expr, got, len(x.ExpSamples))
					continue
				}
				for i, want := range x.ExpSamples {
					l, err := parser.NewParser(parser.Options{}).ParseMetric(want.Labels)
					if err != nil {
						t.Fatal(err)
					}
					if !labels.Equal(l, got[i].Metric) || math.Abs(got[i].F-want.Value) > 1e-6*max(1, math.Abs(want.Value)) {
						t.Errorf("%s gives %v, want %s %v", x.Expr, got[i], want.Labels, want.Value)
					}
				}
			}
		})
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" && !fired[r.Alert] {
				t.Errorf("no test sees %s fire", r.Alert)
			}
		}
	}
}

// Every alert says what it is and what to do, and how bad it is.
func TestAlertsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, g := range ruleGroups(t, alertsFile) {
		for _, r := range g.Rules {
			if r.Alert == "" {
				t.Errorf("%s: a recording rule among alerts", g.Name)
			}
			if names[r.Alert] {
				t.Errorf("%s is there twice", r.Alert)
			}
			names[r.Alert] = true
			if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s has no summary or description", r.Alert)
			}
		}
	}
}
