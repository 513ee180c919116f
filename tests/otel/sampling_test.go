package otel

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What a client said of its trace holds; what is not traced is passed on as it came; a stop sends what is left.
func TestSampling(t *testing.T) {
	u := startUpstreams(t)
	c := startCollector(t, "")
	g := serve(t, u, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+c.http, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0",
		"OTEL_BSP_SCHEDULE_DELAY=60000")
	u.asked()
	_, _, header := client(1, false)
	g.ask(t, "plain", false, header)
	g.ask(t, "plain", false, nil)
	wanted, _, taken := client(2, true)
	g.ask(t, "plain", false, taken)
	asked := u.asked()
	if len(asked) != 3 || asked[0].traceparent != header["traceparent"] || asked[0].tracestate != header["tracestate"] || asked[1].traceparent != "" {
		t.Errorf("the upstreams were told %v", asked)
	}
	if n := len(c.all()); n != 0 {
		t.Errorf("%d spans came before their batch was due", n)
	}
	g.stop(t)
	c.trace(t, wanted, 2)
	if n := len(c.all()); n != 2 {
		t.Errorf("%d spans, want those of one request", n)
	}
}

// Off means off, and the client's trace goes through the gateway.
func TestOff(t *testing.T) {
	u := startUpstreams(t)
	c := startCollector(t, "")
	for _, env := range [][]string{
		nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http, "OTEL_SDK_DISABLED=true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http, "OTEL_TRACES_EXPORTER=none"},
	} {
		g := serve(t, u, env...)
		u.asked()
		_, _, header := client(1, true)
		g.ask(t, "fallback", false, header)
		asked := u.asked()
		if len(asked) != 2 {
			t.Errorf("%v: %d requests went upstream", env, len(asked))
		}
		for _, a := range asked {
			if a.traceparent != header["traceparent"] || a.tracestate != header["tracestate"] || a.baggage != header["baggage"] {
				t.Errorf("%v: the upstream was told %v", env, a)
			}
		}
		g.stop(t)
	}
	if n := len(c.all()); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// A wrong variable is an error at the start that names it, and does not show what may be a secret.
func TestWrongVariables(t *testing.T) {
	u := startUpstreams(t)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "thrift", "OTEL_EXPORTER_OTLP_ENDPOINT": "collector:" + secret, "OTEL_EXPORTER_OTLP_HEADERS": "authorization " + secret,
		"OTEL_TRACES_SAMPLER": "jaeger_remote", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such/file",
	} {
		p := launchWith(t, u, "OTEL_TRACES_EXPORTER=otlp", name+"="+value)
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s=%s: it serves", name, value)
		}
		if out := p.out.String(); !strings.Contains(out, name) || strings.Contains(out, secret) || p.cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s=%s: exit code %d\n%s", name, value, p.cmd.ProcessState.ExitCode(), out)
		}
	}
}

// A collector that is not there holds nothing up: requests go on, and what is lost is counted.
func TestNoCollector(t *testing.T) {
	u := startUpstreams(t)
	g := serve(t, u, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freeAddress(t), "OTEL_BSP_MAX_QUEUE_SIZE=10")
	for range 40 {
		if resp := g.ask(t, "plain", false, nil); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	resp, err := http.Get(g.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var sent, dropped float64 = -1, -1
	for line := range strings.Lines(string(metrics)) {
		_, _ = fmt.Sscanf(line, "evergate_traces_sent_total %g", &sent)
		_, _ = fmt.Sscanf(line, "evergate_traces_dropped_total %g", &dropped)
	}
	if sent != 0 || dropped < 10 {
		t.Errorf("%v traces were sent and %v dropped", sent, dropped)
	}
	begin := time.Now()
	g.stop(t)
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if out := g.out.String(); strings.Count(out, "traces do not reach the collector") != 1 {
		t.Errorf("the log says:\n%s", out)
	}
}
