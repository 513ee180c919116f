// Package show writes a simulation's report for people and programs: as a table, as JSON, and as one HTML page with charts
// that needs nothing from anywhere. It only reads the report.
package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"evergate/internal/sim"
)

// shownGuards is how many transitions the table lists.
const shownGuards = 40

// JSON writes the report as one JSON object.
func JSON(w io.Writer, r *sim.Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// Table writes the report as text.
func Table(w io.Writer, r *sim.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s of traffic, seed %d\n\n", r.Name, clock(r.Duration), r.Seed)
	summary(&b, r)
	latencies(&b, r)
	work(&b, r)
	providers(&b, r)
	endings(&b, r)
	guards(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// rows are all models and, where there are several, their sum.
func rows(r *sim.Report) []sim.Sums {
	if len(r.Models) == 1 {
		return r.Models
	}
	all := r.Overall
	all.Model = "all"
	return append([]sim.Sums{all}, r.Models...)
}

func summary(b *strings.Builder, r *sim.Report) {
	g := grid{{"MODEL", "REQUESTS", "ANSWERED", "FAILED", "CUT", "LEFT", "AVAILABILITY", "BEST ACHIEVABLE"}}
	for _, s := range rows(r) {
		g = append(g, []string{
			s.Model, number(s.Requests), number(s.Answered), number(s.Failed), number(s.Cut), number(s.Left),
			percent(s.Availability), percent(s.BestAchievable),
		})
	}
	g.write(b)
}

func latencies(b *strings.Builder, r *sim.Report) {
	g := grid{{"LATENCY", "P50", "P95", "P99", "FIRST CONTENT P50", "P95", "P99"}}
	for _, s := range rows(r) {
		g = append(g, []string{
			s.Model, span(s.Latency.P50), span(s.Latency.P95), span(s.Latency.P99),
			span(s.FirstContent.P50), span(s.FirstContent.P95), span(s.FirstContent.P99),
		})
	}
	g.write(b)
}

func work(b *strings.Builder, r *sim.Report) {
	g := grid{{"ATTEMPTS", "ALL", "A REQUEST", "RESCUED", "RETRIES", "HEDGES", "WAITS", "WAITED"}}
	for _, s := range rows(r) {
		g = append(g, []string{
			s.Model, number(s.Attempts), fmt.Sprintf("%.3f", s.PerRequest), number(s.Rescued), number(s.Retries), number(s.Hedges),
			number(s.Waits), span(s.Waited),
		})
	}
	g.write(b)
	if m := r.Worst; m.Requests > 0 {
		fmt.Fprintf(b, "Most attempts for its requests: the minute at %s, %s for %s.\n\n", clock(m.At), number(m.Attempts), number(m.Requests))
	}
}

func providers(b *strings.Builder, r *sim.Report) {
	g := grid{{"PROVIDER", "ATTEMPTS", "ANSWERS", "MOST IN FLIGHT", "BREAKER OPENED", "KEYS RESTED", "MODELS LOCKED", "FAILURES"}}
	for i := range r.Provider {
		p := &r.Provider[i]
		g = append(g, []string{
			p.Name, number(p.Attempts), number(p.Answers), number(p.MostOpen), number(p.Opened), number(p.Rested), number(p.Locked), counts(p.Failures),
		})
	}
	g.write(b)
}

func endings(b *strings.Builder, r *sim.Report) {
	if len(r.Overall.Endings) > 0 {
		fmt.Fprintf(b, "Not answered: %s.\n\n", counts(r.Overall.Endings))
	}
}

func guards(b *strings.Builder, r *sim.Report) {
	if len(r.Guards) == 0 {
		b.WriteString("No guard moved.\n")
		return
	}
	g := grid{{"AT", "PROVIDER", "GUARD", "KEY, MODEL", "FROM", "TO", "WHY", "FOR"}}
	for i := range min(len(r.Guards), shownGuards) {
		t := &r.Guards[i]
		g = append(g, []string{clock(t.At), t.Provider, t.Guard, about(t), t.From, t.To, why(t), lasts(t)})
	}
	g.write(b)
	if more := len(r.Guards) - shownGuards + r.GuardsLeftOut; more > 0 {
		fmt.Fprintf(b, "… and %s more; --format json has them.\n", number(more))
	}
}

// about is the key and the model of a transition.
func about(t *sim.Transition) string {
	switch {
	case t.Credential != "" && t.Model != "":
		return t.Credential + ", " + t.Model
	case t.Credential != "":
		return t.Credential
	}
	return t.Model
}

// why is what opened a breaker, or else why a guard blocks.
func why(t *sim.Transition) string {
	if t.To == "open" {
		return t.Trip
	}
	return t.Reason
}

// lasts is how long a block holds unless something ends it.
func lasts(t *sim.Transition) string {
	if t.Until > t.At {
		return span(t.Until - t.At)
	}
	return ""
}

func counts(list []sim.Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s %s", number(c.N), c.What)
	}
	return strings.Join(parts, ", ")
}
