package otel

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// collector is a running OpenTelemetry collector.
type collector struct {
	http, grpc string // addresses of its receivers
	mu         sync.Mutex
	spans      []span
}

// span is one span with what it came in.
type span struct {
	ptrace.Span
	resource, attrs map[string]any
	scope, version  string
}

// kept is the exporter that keeps what came.
type kept struct {
	component.StartFunc
	component.ShutdownFunc
	to *collector
}

func (kept) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (k kept) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	k.to.mu.Lock()
	defer k.to.mu.Unlock()
	whole := ptrace.NewTraces() // what it is given is its only for the call
	td.CopyTo(whole)
	for _, rs := range whole.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				k.to.spans = append(k.to.spans, span{
					Span: s, resource: rs.Resource().Attributes().AsRaw(), attrs: s.Attributes().AsRaw(),
					scope: ss.Scope().Name(), version: ss.Scope().Version(),
				})
			}
		}
	}
	return nil
}

// startCollector runs a collector until the test ends. more is added to the settings of the receiver's HTTP side.
func startCollector(t *testing.T, more string) *collector {
	t.Helper()
	c := &collector{http: freeAddress(t), grpc: freeAddress(t)}
	config := fmt.Sprintf(`
receivers:
  otlp:
    protocols:
      http: { endpoint: "%s"%s }
      grpc: { endpoint: "%s" }
exporters: { kept: {} }
service:
  telemetry: { metrics: { level: none }, logs: { level: error } }
  pipelines: { traces: { receivers: [otlp], exporters: [kept] } }
`, c.http, more, c.grpc)
	kind := component.MustNewType("kept")
	keep := exporter.NewFactory(kind, func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return kept{to: c}, nil
		}, component.StabilityLevelStable))
	col, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.BuildInfo{Command: "collector", Version: "test"},
		DisableGracefulShutdown: true,
		Factories: func() (otelcol.Factories, error) {
			otlp := otlpreceiver.NewFactory()
			return otelcol.Factories{
				Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
				Exporters: map[component.Type]exporter.Factory{kind: keep},
				Telemetry: otelconftelemetry.NewFactory(),
			}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"yaml:" + config}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- col.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		col.Shutdown()
		if err := <-ended; err != nil {
			t.Errorf("collector: %v", err)
		}
	})
	for begin := time.Now(); col.GetState() != otelcol.StateRunning; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("collector: %v", err)
		default:
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the collector does not start")
		}
	}
	return c
}

// trace waits until n spans of a trace are there, and gives them.
func (c *collector) trace(t *testing.T, id string, n int) []span {
	t.Helper()
	var got []span
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		got = nil
		c.mu.Lock()
		for _, s := range c.spans {
			if s.TraceID().String() == id {
				got = append(got, s)
			}
		}
		c.mu.Unlock()
		if len(got) >= n {
			break
		}
	}
	if len(got) != n {
		t.Fatalf("%d spans of trace %s, want %d: %v", len(got), id, n, names(got))
	}
	return got
}

// all are the spans that came so far.
func (c *collector) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]span(nil), c.spans...)
}

func names(spans []span) (out []string) {
	for _, s := range spans {
		out = append(out, s.Name())
	}
	return out
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
