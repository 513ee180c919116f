package show_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"evergate/internal/sim"
	"evergate/internal/sim/show"
	"evergate/internal/testkit"
)

// R73: the same seed gives the same report, byte for byte and in every form; another seed gives another.
func TestSameSeedSameReport(t *testing.T) {
	t.Parallel()
	all := func(seed uint64) string {
		s := example(t, "../../../examples/scenarios/000-circuit-breaking.yaml")
		s.Seed = seed
		r := play(s)
		var out bytes.Buffer
		for _, write := range []func() error{
			func() error { return show.Table(&out, r) }, func() error { return show.JSON(&out, r) }, func() error { return show.HTML(&out, r) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	first := all(7)
	if first != all(7) {
		t.Error("the same seed gave two reports")
	}
	if first == all(8) {
		t.Error("another seed gave the same report")
	}
}

// small is a report with a bit of everything, and names that HTML must escape.
func small() *sim.Report {
	return &sim.Report{
		Name: `<b>"Tom" & Jerry</b>`, Seed: 3, Duration: 60_000, Step: 30_000,
		Overall: sim.Sums{
			Requests: 1200, Answered: 1190, Cut: 2, Left: 3, Failed: 5, Missed: 1, Availability: 0.994152, BestAchievable: 0.996658,
			Latency: sim.Spread{P50: 1500, P95: 61_000, P99: 90_500}, Attempts: 1300, PerRequest: 1.083333, Rescued: 40, Retries: 7,
			Waits: 4, Waited: 2500, Endings: []sim.Count{{What: "all_providers_failed", N: 5}, {What: "cut_short", N: 2}},
		},
		Models:   []sim.Sums{{Model: "a<b", Requests: 1200, Answered: 1190}, {Model: "other"}},
		Worst:    sim.Minute{At: 0, Requests: 1200, Attempts: 1300, Ratio: 1.083},
		Provider: []sim.ProviderSums{{Name: "blue", Attempts: 700, Answers: 600, Failures: []sim.Count{{What: "connect", N: 100}}, Opened: 1, Rested: 1, Locked: 1}},
		Weather:  []sim.Band{{Kind: "outage", Providers: []string{"blue"}, From: 10_000, To: 20_000}},
		Guards: []sim.Transition{
			{At: 10_500, Provider: "blue", Guard: "circuit_breaker", From: "closed", To: "open", Trip: "failures", Reason: "circuit_open", Until: 40_500, InFlight: 6},
			{At: 12_000, Provider: "blue", Guard: "credential_cooldown", Credential: "k<1>", From: "ok", To: "blocked", Reason: "rate_limited", Until: 14_000},
			{At: 13_000, Provider: "blue", Guard: "model_lockout", Credential: "k<1>", Model: "m", From: "ok", To: "blocked", Reason: "model_limited", Until: 73_000},
			{At: 41_000, Provider: "blue", Guard: "circuit_breaker", From: "open", To: "half_open"},
			{At: 42_000, Provider: "blue", Guard: "circuit_breaker", From: "half_open", To: "closed"},
		},
		Series: []sim.Point{
			{At: 0, Requests: 600, Answered: 590, Failed: 5, Cut: 2, Attempts: 700, Retries: 7, P50: 1500, P95: 61_000, ByProvider: []sim.Tries{{Attempts: 400, Failures: 100}}},
			{At: 30_000, Requests: 600, Answered: 600, Attempts: 600, P50: 1400, P95: 2000, ByProvider: []sim.Tries{{Attempts: 300}}},
		},
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	var table, page, doc bytes.Buffer
	if err := show.Table(&table, small()); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "small/table.txt", table.Bytes())
	if err := show.HTML(&page, small()); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "small/page.html", page.Bytes())
	if err := show.JSON(&doc, small()); err != nil {
		t.Fatal(err)
	}
	var back sim.Report
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || back.Overall.Answered != 1190 || len(back.Guards) != 5 {
		t.Errorf("JSON does not come back: %v, %+v", err, back.Overall)
	}
}

// The page is whole: nothing is fetched, names are escaped, and every drawing says in words what it shows.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := show.HTML(&out, small()); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, bad := range []string{"http://", "https://", "<script", "<link", "url(", "@import", "<b>", "k<1>", "a<b", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	drawings := strings.Count(page, `role="img"`)
	if drawings < 4 {
		t.Errorf("%d drawings, want 4", drawings)
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="(\S+) (\S+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `<title id="`+m[1]+`">`) || !strings.Contains(page, `<desc id="`+m[2]+`">`) {
			t.Errorf("no title or description for %q", m[0])
		}
		drawings--
	}
	if drawings != 0 {
		t.Errorf("%d drawings have no name", drawings)
	}
	for _, tag := range []string{"table", "section", "details", "svg", "main", "tr", "ul", "text", "path"} {
		opened := len(regexp.MustCompile(`<`+tag+`[ >]`).FindAllString(page, -1))
		closed := strings.Count(page, "</"+tag+">") + len(regexp.MustCompile(`<`+tag+` [^>]*/>`).FindAllString(page, -1))
		if opened != closed {
			t.Errorf("<%s> is opened %d times and closed %d times", tag, opened, closed)
		}
	}
}

// A report of nothing can be shown, too.
func TestNothingHappened(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &sim.Report{Duration: 1000, Step: 1000}
	if err := show.Table(&out, r); err != nil {
		t.Fatal(err)
	}
	if err := show.HTML(&out, r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
		t.Error("a number is none")
	}
}
