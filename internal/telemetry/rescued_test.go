package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

type candidates int

func (n candidates) Candidates() int               { return int(n) }
func (candidates) Candidate(int) journal.Candidate { return journal.Candidate{} }

// R77: rescues are counted by model, from 0 where a model can have any.
func TestRescues(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	failed, ok := journal.Step{Reason: "reset", Why: "first"}, journal.Step{Status: 200, Reason: "ok", Why: "next_candidate"}
	for _, r := range []journal.Request{
		{Route: "two", Status: 200, Candidates: candidates(2), Trail: []journal.Step{ok}},
		{Route: "fast", Status: 200, Candidates: candidates(2), Trail: []journal.Step{failed, ok}},
		{Route: "fast", Status: 200, Candidates: candidates(2), Trail: []journal.Step{failed, failed, ok}},
		{Route: "fast", Status: 502, Code: "all_providers_failed", Candidates: candidates(2), Trail: []journal.Step{failed, failed}},
		{Route: "one", Status: 200, Candidates: candidates(1), Trail: []journal.Step{ok}},
		{Route: "none", Status: 404, Code: "model_not_found"},
	} {
		m.RequestEnded(&r)
	}
	equal(t, "rescues", scrape(t, m, "evergate_requests_rescued_total"), []string{
		`evergate_requests_rescued_total{model="fast"} 2`, `evergate_requests_rescued_total{model="two"} 0`,
	})
}

// Receivers of alerts are read at a scrape; without any there is no series.
func TestAlertFigures(t *testing.T) {
	t.Parallel()
	equal(t, "none", scrape(t, NewMetrics(prometheus.NewRegistry(), Live{}), "evergate_alerts_"), []string(nil))
	m := NewMetrics(prometheus.NewRegistry(), Live{Alerts: func() []AlertState {
		return []AlertState{{Receiver: "ops", Delivered: 3, Failed: 2, Dropped: 1, Waiting: 4}, {Receiver: "\xff"}}
	}})
	equal(t, "two", scrape(t, m, "evergate_alerts_")[:4], []string{
		`evergate_alerts_total{receiver="?",result="delivered"} 0`, `evergate_alerts_total{receiver="?",result="dropped"} 0`,
		`evergate_alerts_total{receiver="?",result="failed"} 0`, `evergate_alerts_total{receiver="ops",result="delivered"} 3`,
	})
}
