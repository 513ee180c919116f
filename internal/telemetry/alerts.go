package telemetry

import "github.com/prometheus/client_golang/prometheus"

// AlertState is one receiver of alerts at the time of a scrape. The counts are of alerts so far.
type AlertState struct {
	Receiver                   string
	Delivered, Failed, Dropped uint64
	Waiting                    int
}

// alertCollector reads the receivers of alerts at a scrape; nil: there are none.
type alertCollector struct {
	read            func() []AlertState
	counts, waiting *prometheus.Desc
}

func newAlertCollector(read func() []AlertState) *alertCollector {
	return &alertCollector{
		read: read,
		counts: prometheus.NewDesc(namespace+"_alerts_total", "Alerts by receiver and result: delivered, failed (refused, or given up after an hour), dropped (too many waited).",
			[]string{"receiver", "result"}, nil),
		waiting: prometheus.NewDesc(namespace+"_alerts_waiting", "Alerts that wait for their receiver.", []string{"receiver"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *alertCollector) Describe(to chan<- *prometheus.Desc) { to <- c.counts; to <- c.waiting }

// Collect implements prometheus.Collector.
func (c *alertCollector) Collect(to chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	for _, a := range c.read() {
		name := valid(a.Receiver)
		count := func(n uint64, result string) {
			to <- prometheus.MustNewConstMetric(c.counts, prometheus.CounterValue, float64(n), name, result)
		}
		count(a.Delivered, "delivered")
		count(a.Failed, "failed")
		count(a.Dropped, "dropped")
		to <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(a.Waiting), name)
	}
}
