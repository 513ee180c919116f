package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

type (
	cacheKey     struct{ model, result string }
	cacheMetrics struct{ count, input, output prometheus.Counter }
)

// newCached counts requests of models that keep answers, and what hits saved.
func newCached(registry *prometheus.Registry) *handles[cacheKey, cacheMetrics] {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	count := counters("cache_requests_total", "Requests of models that keep answers: hit (the answer was kept), miss (it was not), or bypass (it may not be).", "model", "result")
	saved := counters("cache_saved_tokens_total", "Tokens that the kept answers took when they were made, once for each hit.", "model", "kind")
	return newHandles(func(k cacheKey) cacheMetrics {
		model := valid(k.model)
		return cacheMetrics{
			count: count.WithLabelValues(model, valid(k.result)),
			input: saved.WithLabelValues(model, "input"), output: saved.WithLabelValues(model, "output"),
		}
	}, func(k cacheKey) cacheKey { k.model = other; return k })
}

// kept counts a request of a model that keeps answers.
func (m *Metrics) kept(r *journal.Request) {
	h := m.cached.get(cacheKey{r.Route, r.Cache})
	h.count.Inc()
	if r.Saved.Known {
		h.input.Add(float64(max(r.Saved.Input, 0)))
		h.output.Add(float64(max(r.Saved.Output, 0)))
	}
}

// CacheState is how many answers are kept, and the bytes that they take.
type CacheState struct {
	Entries int
	Bytes   int64
}

// cacheCollector makes metrics of the cache of answers at a scrape.
type cacheCollector struct {
	read           func() CacheState
	entries, bytes *prometheus.Desc
}

func newCacheCollector(read func() CacheState) *cacheCollector {
	return &cacheCollector{
		read:    read,
		entries: prometheus.NewDesc(namespace+"_cache_entries", "Answers that are kept.", nil, nil),
		bytes:   prometheus.NewDesc(namespace+"_cache_bytes", "Memory that the answers which are kept take, about.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *cacheCollector) Describe(to chan<- *prometheus.Desc) { to <- c.entries; to <- c.bytes }

// Collect implements prometheus.Collector.
func (c *cacheCollector) Collect(to chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	s := c.read()
	to <- prometheus.MustNewConstMetric(c.entries, prometheus.GaugeValue, float64(s.Entries))
	to <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(s.Bytes))
}
