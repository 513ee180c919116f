package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

// large is the metrics of a gateway with 50 providers of 200 models each, all of which were asked, some of them without success.
func large() *Metrics {
	const providers, models = 50, 200
	states := make([]ProviderState, providers)
	for p := range states {
		states[p] = ProviderState{Name: fmt.Sprint("provider-", p), Breaker: "closed", Health: "healthy"}
	}
	m := NewMetrics(prometheus.NewRegistry(), Live{Providers: func() []ProviderState { return states }})
	for p := range states {
		for n := range models {
			model := fmt.Sprintf("model-%d-of-%d", n, p)
			r := &journal.Request{Dialect: "chat", Route: model, Provider: states[p].Name, Status: 200, Duration: time.Second}
			a := &journal.Attempt{
				Provider: states[p].Name, ModelLabel: model, Outcome: "ok", Duration: time.Second, FirstContent: time.Millisecond,
				Usage: journal.Usage{Known: true, Input: 10, Output: 10}, Cost: journal.Cost{Nano: 7, Known: true},
			}
			m.AttemptEnded(a)
			m.RequestEnded(r)
			if n%20 == 0 {
				a.Outcome, r.Status = "timeout", 504
				m.AttemptEnded(a)
				m.RequestEnded(r)
			}
		}
	}
	return m
}

// How many series a large gateway has, as docs/observability.md says; BenchmarkScrapeOfALargeGateway says how long a scrape takes.
func TestSeriesOfALargeGateway(t *testing.T) {
	t.Parallel()
	if n := len(scrape(t, large(), "evergate_")); n < 50_000 || n > 60_000 {
		t.Errorf("%d series", n)
	}
}

func BenchmarkScrapeOfALargeGateway(b *testing.B) {
	serve := large().Handler()
	for b.Loop() {
		w := &counted{header: http.Header{}}
		serve.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		b.ReportMetric(float64(w.n), "bytes")
	}
}

// counted takes a reply and keeps its length.
type counted struct {
	header http.Header
	n      int
}

func (c *counted) Header() http.Header         { return c.header }
func (c *counted) WriteHeader(int)             {}
func (c *counted) Write(p []byte) (int, error) { c.n += len(p); return io.Discard.Write(p) }
