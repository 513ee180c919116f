package app

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
	"evergate/internal/telemetry/traces"
)

// traced is a span as a collector reads it in OTLP's JSON.
type traced struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string
	Kind         int
	Attributes   []struct {
		Key   string
		Value map[string]any
	}
}

func (s *traced) attr(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// spans is a collector in the stack's network.
type spans struct {
	mu    sync.Mutex
	all   []traced
	bytes strings.Builder
}

func (c *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var batch struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []traced }
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.bytes.Write(body) // a builder takes all
	if json.Unmarshal(body, &batch) == nil {
		for _, rs := range batch.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.all = append(c.all, ss.Spans...)
			}
		}
	}
}

// newTracedStack is newStack with a collector.
func newTracedStack(t *testing.T, text string, scripts map[string]mock.Script) (*stack, *spans) {
	t.Helper()
	settings, err := traces.FromEnvironment(func(name string) (string, bool) {
		v, ok := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &spans{}
	return newStackWith(t, parse(t, text), scripts, slog.New(slog.DiscardHandler), func(s *stack) {
		s.traces = settings
		s.net.Serve(t, "collector:4318", c)
	}), c
}

// Each request has a span, each attempt one below it, and the fact has the ids of both: a failover, passthrough, and requests that came
// to no attempt. Nothing in a span is a key or a prompt.
func TestTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newTracedStack(t, twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503, Message: "your prompt hi-there broke us"}), "b": answers()})
		const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
		ask := func(path, body, id string) answer {
			return s.post(t.Context(), path, body, "x-request-id", id, "traceparent", "00-"+trace+"-"+parent+"-01", "authorization", "Bearer sk-key-of-a-client")
		}
		ask("/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi-there"}]}`, "failover")
		ask("/v1/chat/completions", `{"model":"nobody-has-this","messages":[]}`, "unknown")
		ask("/v1/chat/completions", `{"model":`, "broken")
		ask("/passthrough/b/chat/completions", `{"model":"m2","messages":[{"role":"user","content":"hi-there"}]}`, "passthrough")
		time.Sleep(time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		got := map[string][]string{}
		own := map[string]string{} // span → request
		for i := range c.all {
			if sp := &c.all[i]; sp.Kind == 2 {
				own[sp.SpanID] = sp.attr("evergate.request.id")
				if sp.ParentSpanID != parent || sp.TraceID != trace {
					t.Errorf("%s is in trace %s below %s", own[sp.SpanID], sp.TraceID, sp.ParentSpanID)
				}
				got[own[sp.SpanID]] = append([]string{sp.Name}, got[own[sp.SpanID]]...)
			}
		}
		for i := range c.all {
			if sp := &c.all[i]; sp.Kind == 3 {
				id := own[sp.ParentSpanID]
				got[id] = append(got[id], sp.Name+" "+sp.attr("evergate.provider")+" "+sp.attr("evergate.outcome"))
			}
		}
		for id, want := range map[string][]string{
			"failover": {"chat demo", "chat m a upstream_error", "chat m a upstream_error", "chat m2 b ok"}, "unknown": {"chat other"}, "broken": {"chat other"},
			"passthrough": {"passthrough", "passthrough b ok"},
		} {
			if strings.Join(got[id], ", ") != strings.Join(want, ", ") {
				t.Errorf("%s: %q, want %q", id, got[id], want)
			}
		}
		for _, word := range []string{"hi-there", "sk-key"} {
			if strings.Contains(c.bytes.String(), word) {
				t.Errorf("%q is in a span", word)
			}
		}
		if f := s.facts.last(); fmt.Sprintf("%x", f.Trace.ID) != trace || f.Trail[0].Span == [8]byte{} {
			t.Errorf("the fact has the trace %x and the span %x", f.Trace.ID, f.Trail[0].Span)
		}
	})
}

// Whatever clients send, the metrics have no more series for it than a bounded number: labels are words of the configuration, of
// discovery and of the gateway.
func TestMetricsOfHostileClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		storm := func(from int) {
			for i := from; i < from+150; i++ {
				name := fmt.Sprintf("m%d\\u0000<img>\\\"{}=%d", i, i)
				s.post(t.Context(), "/v1/chat/completions", fmt.Sprintf(`{"model":"%s","messages":[{"role":"user","content":"x"}]}`, name),
					"authorization", fmt.Sprint("Bearer sk-", i), "x-request-id", fmt.Sprint("id-", i), "user-agent", fmt.Sprint("agent/", i), "traceparent", fmt.Sprint(i))
				s.ask(fmt.Sprintf("a/unlisted-%d", i), false)
				s.ask(fmt.Sprintf("stranger-%d/m", i), i%2 == 0)
				s.post(t.Context(), fmt.Sprintf("/v1/%d", i), `{}`)
				s.post(t.Context(), fmt.Sprintf("/passthrough/a/thing/%d", i), `{}`)
				s.post(t.Context(), fmt.Sprintf("/passthrough/nobody-%d/x", i), `{}`)
			}
		}
		storm(0)
		before := len(s.metrics("evergate_"))
		storm(1000)
		after := s.metrics("evergate_")
		if len(after) != before {
			t.Errorf("%d series became %d", before, len(after))
		}
		for _, line := range after {
			if strings.Contains(line, "img") || strings.Contains(line, "unlisted") || strings.Contains(line, "stranger") || strings.Contains(line, "nobody-") || strings.Contains(line, "sk-") {
				t.Error(line)
			}
		}
	})
}
