package otel

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// client is the trace context of a client, with a trace of its own for each n.
func client(n int, sampled bool) (trace, span string, header map[string]string) {
	flags := "00"
	if sampled {
		flags = "01"
	}
	trace, span = fmt.Sprintf("4bf92f3577b34da6a3ce929d%08x", n), "00f067aa0ba902b7"
	return trace, span, map[string]string{
		"traceparent": "00-" + trace + "-" + span + "-" + flags, "tracestate": "vendor=1,other=2", "baggage": "user=7",
		"x-request-id": fmt.Sprintf("request-%d", n),
	}
}

// Every way to speak OTLP: a request that fails over, one that is hedged, a stream and one that fails, each within a client's
// trace.
func TestTraces(t *testing.T) {
	u := startUpstreams(t)
	c := startCollector(t, "")
	for i, way := range []struct {
		name string
		env  []string
	}{
		{"protobuf", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http}},
		{"protobuf with gzip", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.http + "/", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}},
		{"json", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + c.http + "/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}},
		{"grpc", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}},
		{"grpc with gzip", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.grpc, "OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			g := serve(t, u, append(way.env, "OTEL_SERVICE_NAME=edge", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test%20bed")...)
			u.asked()
			base := (i + 1) << 16
			t.Run("failover", func(t *testing.T) { failover(t, g, c, u, base+1) })
			t.Run("hedge", func(t *testing.T) { hedge(t, g, c, u, base+2) })
			t.Run("stream", func(t *testing.T) { stream(t, g, c, base+3) })
			t.Run("failure", func(t *testing.T) { failure(t, g, c, base+4) })
		})
	}
	for _, s := range c.all() {
		for _, attrs := range []map[string]any{s.attrs, s.resource} {
			if said := fmt.Sprint(attrs); strings.Contains(said, prompt) || strings.Contains(said, secret) {
				t.Fatalf("a span holds what none may: %v", said)
			}
		}
		if s.attrs["evergate.drill"] != nil {
			t.Errorf("a drill in %v", s.attrs)
		}
	}
}

func failover(t *testing.T, g *program, c *collector, u *upstreams, n int) {
	trace, parent, header := client(n, true)
	before := time.Now()
	if resp := g.ask(t, "fallback", false, header); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	after := time.Now()
	spans := c.trace(t, trace, 3)
	request, attempts := split(t, spans)
	if request.ParentSpanID().String() != parent || request.TraceState().AsRaw() != "vendor=1,other=2" || request.Flags()&0x300 != 0x300 {
		t.Errorf("the request's parent is %s, its state %q, its flags %#x", request.ParentSpanID(), request.TraceState().AsRaw(), request.Flags())
	}
	inside(t, "the request", request, before, after)
	wants(t, request, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "fallback", "gen_ai.response.model": "mock-chat", "gen_ai.provider.name": "openai",
		"gen_ai.request.stream": false, "gen_ai.response.finish_reasons": []any{"stop"}, "http.response.status_code": int64(200),
		"evergate.request.id": fmt.Sprintf("request-%d", n), "evergate.attempts": int64(2), "evergate.failovers": int64(1), "evergate.dialect": "chat",
		"error.type": nil, "gen_ai.usage.input_tokens": nil,
	})
	if request.Name() != "chat fallback" || request.Status().Code() != ptrace.StatusCodeUnset {
		t.Errorf("%s is %s", request.Name(), request.Status().Code())
	}
	bad, good := attempts[0], attempts[1]
	wants(t, bad, map[string]any{
		"gen_ai.provider.name": "openai-compatible", "gen_ai.request.model": "mock-503", "evergate.provider": "bad", "evergate.credential": "default",
		"http.response.status_code": int64(503), "error.type": "upstream_error", "evergate.outcome": "upstream_error",
		"evergate.attempt.why": "first", "evergate.attempt": int64(1), "server.address": "127.0.0.1", "gen_ai.response.model": nil,
	})
	wants(t, good, map[string]any{
		"gen_ai.provider.name": "openai", "evergate.provider": "good", "http.response.status_code": int64(200), "error.type": nil,
		"evergate.attempt.why": "next_candidate", "evergate.attempt": int64(2), "gen_ai.response.model": "mock-chat",
	})
	if bad.Status().Code() != ptrace.StatusCodeError || good.Status().Code() != ptrace.StatusCodeUnset {
		t.Errorf("the attempts are %s and %s", bad.Status().Code(), good.Status().Code())
	}
	if in, ok := good.attrs["gen_ai.usage.input_tokens"].(int64); !ok || in <= 0 {
		t.Errorf("no usage on the attempt that answered: %v", good.attrs)
	}
	for _, a := range attempts {
		inside(t, a.Name(), a, request.StartTimestamp().AsTime(), request.EndTimestamp().AsTime())
	}
	if good.StartTimestamp() < bad.EndTimestamp() {
		t.Error("the second attempt began before the first one ended")
	}
	asked := u.asked()
	if len(asked) != 2 {
		t.Fatalf("%d requests went upstream", len(asked))
	}
	for i, a := range attempts { // each upstream was told of the span of its own attempt
		want := sighting{a.attrs["evergate.provider"].(string), "00-" + trace + "-" + a.SpanID().String() + "-01", "vendor=1,other=2", "user=7"}
		if asked[i] != want {
			t.Errorf("upstream %d was told %v, want %v", i, asked[i], want)
		}
	}
	if s := request; s.scope != "evergate" || s.resource["service.name"] != "edge" || s.resource["deployment.environment.name"] != "test bed" || s.resource["service.instance.id"] == nil {
		t.Errorf("scope %s, resource %v", s.scope, s.resource)
	}
}

func hedge(t *testing.T, g *program, c *collector, u *upstreams, n int) {
	trace, _, header := client(n, true)
	g.ask(t, "hedged", true, header)
	request, attempts := split(t, c.trace(t, trace, 3))
	slow, fast := attempts[0], attempts[1]
	wants(t, slow, map[string]any{
		"evergate.provider": "slow", "gen_ai.provider.name": "groq", "evergate.outcome": "cancelled", "error.type": nil, "evergate.hedge": nil,
	})
	wants(t, fast, map[string]any{"evergate.provider": "good", "evergate.hedge": true, "evergate.attempt.why": "hedge", "evergate.outcome": "ok"})
	wants(t, request, map[string]any{"evergate.attempts": int64(2), "evergate.failovers": int64(0), "gen_ai.request.stream": true})
	if slow.Status().Code() != ptrace.StatusCodeUnset {
		t.Error("an attempt that another outran is no failure")
	}
	if fast.StartTimestamp() >= slow.EndTimestamp() {
		t.Error("the hedge did not run beside the first attempt")
	}
	if asked := u.asked(); len(asked) != 2 || asked[0].traceparent == asked[1].traceparent {
		t.Errorf("the upstreams were told %v", asked)
	}
}

// A stream of a request without a trace of its own: the gateway begins one, and a tracestate that belongs to none goes no further.
func stream(t *testing.T, g *program, c *collector, n int) {
	id := fmt.Sprintf("request-%d", n)
	known := len(c.all())
	g.ask(t, "plain", true, map[string]string{"x-request-id": id, "traceparent": "00-nonsense-01", "tracestate": "a=b"})
	var found span
	for begin := time.Now(); found.attrs == nil && time.Since(begin) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		for _, s := range c.all()[known:] {
			if s.attrs["evergate.request.id"] == id {
				found = s
			}
		}
	}
	if found.attrs == nil {
		t.Fatal("no span")
	}
	request, attempts := split(t, c.trace(t, found.TraceID().String(), 2))
	if !request.ParentSpanID().IsEmpty() || request.TraceState().AsRaw() != "" || request.Flags()&0x200 != 0 {
		t.Errorf("the request has the parent %s and the state %q", request.ParentSpanID(), request.TraceState().AsRaw())
	}
	first, ok := attempts[0].attrs["gen_ai.response.time_to_first_chunk"].(float64)
	took := attempts[0].EndTimestamp().AsTime().Sub(attempts[0].StartTimestamp().AsTime()).Seconds()
	if !ok || first <= 0 || first > took {
		t.Errorf("the first content came after %v of %v s", first, took)
	}
	events := attempts[0].Events()
	if events.Len() != 1 || events.At(0).Name() != "evergate.first_content" {
		t.Fatalf("%d events", events.Len())
	}
	at := events.At(0).Timestamp().AsTime()
	if at.Before(attempts[0].StartTimestamp().AsTime()) || at.After(attempts[0].EndTimestamp().AsTime()) {
		t.Error("the first content came outside of its attempt")
	}
}

func failure(t *testing.T, g *program, c *collector, n int) {
	trace, _, header := client(n, true)
	resp := g.ask(t, "lost", false, header)
	spans := c.trace(t, trace, 2)
	request, _ := split(t, spans)
	wants(t, request, map[string]any{"http.response.status_code": int64(resp.StatusCode), "evergate.provider": nil, "gen_ai.response.model": nil})
	if request.Status().Code() != ptrace.StatusCodeError || request.attrs["error.type"] == nil {
		t.Errorf("the request is %s with %v", request.Status().Code(), request.attrs["error.type"])
	}
	g.trip(t)
	trace, _, header = client(n+100, true)
	g.ask(t, "fallback", false, header)
	request, _ = split(t, c.trace(t, trace, 2))
	if request.Events().Len() != 1 {
		t.Fatalf("%d events, want the skip of what is blocked", request.Events().Len())
	}
	skip := request.Events().At(0)
	if a := skip.Attributes().AsRaw(); skip.Name() != "evergate.skip" || a["evergate.provider"] != "bad" || a["evergate.reason"] != "operator_open" || a["evergate.until"] == nil {
		t.Errorf("the event is %s %v", skip.Name(), a)
	}
}

// trip opens the breaker of the provider that fails.
func (p *program) trip(t *testing.T) {
	t.Helper()
	resp, err := http.Post(p.url+"/admin/v1/providers/bad/breaker", "application/json", strings.NewReader(`{"action":"open","reason":"a test","for":"1h"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// split finds the request's own span, and its attempts in the order of their begin.
func split(t *testing.T, spans []span) (request span, attempts []span) {
	t.Helper()
	for _, s := range spans {
		if s.Kind() == ptrace.SpanKindServer {
			request = s
		} else {
			attempts = append(attempts, s)
		}
	}
	if request.attrs == nil || len(attempts) != len(spans)-1 {
		t.Fatalf("no span of the request in %v", names(spans))
	}
	slices.SortFunc(attempts, func(a, b span) int { return int(a.StartTimestamp()) - int(b.StartTimestamp()) })
	for _, a := range attempts {
		if a.ParentSpanID() != request.SpanID() || a.Kind() != ptrace.SpanKindClient {
			t.Errorf("%s is a %s below %s, want one of a client below %s", a.Name(), a.Kind(), a.ParentSpanID(), request.SpanID())
		}
	}
	return request, attempts
}

// wants compares some attributes; nil: it is not there.
func wants(t *testing.T, s span, attrs map[string]any) {
	t.Helper()
	for key, want := range attrs {
		if got := s.attrs[key]; fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
			t.Errorf("%s: %s is %v (%T), want %v", s.Name(), key, got, got, want)
		}
	}
}

func inside(t *testing.T, what string, s span, from, to time.Time) {
	t.Helper()
	if start, end := s.StartTimestamp().AsTime(), s.EndTimestamp().AsTime(); start.Before(from.Add(-time.Millisecond)) || end.After(to.Add(time.Millisecond)) || end.Before(start) {
		t.Errorf("%s lasted from %v to %v, outside of %v to %v", what, start, end, from, to)
	}
}
