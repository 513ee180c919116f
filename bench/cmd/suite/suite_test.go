package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSummaryReadsWhatTheMeasurerWrites(t *testing.T) {
	var report struct{ Summary []summary }
	in := `{"summary":[{"target":"evergate","cpu_us_per_req":50,"p50_ms":1.5,"errors":2,"ratio_to_ref":{"cpu":{"min":1,"median":1.2,"max":1.5},"rps":{"min":1,"median":1,"max":1}}}]}`
	if err := json.Unmarshal([]byte(in), &report); err != nil {
		t.Fatal(err)
	}
	s := report.Summary[0]
	if s.Target != "evergate" || s.CPUMicros != 50 || s.P50 != 1.5 || s.Errors != 2 || s.Ratio.CPU != (spread{1, 1.2, 1.5}) {
		t.Errorf("%+v", s)
	}
}

func TestMarkdownShowsRatiosGoalsAndErrors(t *testing.T) {
	var d document
	d.add(measurement{title: "Small", unit: "µs"}, []row{
		{Target: "bare", Value: 40},
		{Target: "evergate", Value: 50, Ratio: &spread{1, 1.25, 1.5}, Goal: "≤ 1.35", Errors: 3},
	})
	got := d.markdown(&settings{rounds: 15})
	for _, want := range []string{"| Small | bare | 40.00 µs |  |", "| evergate | 50.00 µs | 1.25 (1.00–1.50) | ≤ 1.35 |", "**3 ERRORS**"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Error(got)
	}
}

func TestMeasurementNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measurements {
		if seen[m.name] || m.title == "" || m.unit == "" {
			t.Errorf("%+v", m.name)
		}
		seen[m.name] = true
	}
}
