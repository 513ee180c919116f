package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// FrontState is the front door at the time of a scrape.
type FrontState struct {
	// Refused are the connections that were not taken so far, by why.
	Refused map[string]uint64
	// Certificates are when those of listeners end, by the setting that names the listener.
	Certificates map[string]time.Time
}

// frontCollector makes metrics of the front door at a scrape.
type frontCollector struct {
	read          func() FrontState
	refused, ends *prometheus.Desc
}

func newFrontCollector(read func() FrontState) *frontCollector {
	return &frontCollector{
		read:    read,
		refused: prometheus.NewDesc(namespace+"_connections_refused_total", "Connections of clients that were closed at once, by the limit that they met.", []string{"reason"}, nil),
		ends:    prometheus.NewDesc(namespace+"_certificate_end_timestamp_seconds", "When the certificate that a listener shows ends, in Unix time.", []string{"listener"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *frontCollector) Describe(to chan<- *prometheus.Desc) { to <- c.refused; to <- c.ends }

// Collect implements prometheus.Collector.
func (c *frontCollector) Collect(to chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	s := c.read()
	for why, n := range s.Refused {
		to <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n), why)
	}
	for listener, end := range s.Certificates {
		to <- prometheus.MustNewConstMetric(c.ends, prometheus.GaugeValue, float64(end.Unix()), listener)
	}
}
