package provider

import (
	"net/http"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/journal"
)

// An attempt that is traced names its own span; the caller's tracestate goes along only where its traceparent counts.
func TestTraceHeaders(t *testing.T) {
	t.Parallel()
	c := newClient(t, "http://up.test/v1", nil, nil)
	caller := http.Header{"Traceparent": {"of the caller"}, "Tracestate": {"a=1"}, "Baggage": {"b=2"}}
	span := journal.NewSpan(7)
	own := "00-01000000000000000000000000000000-0000000000000007-01"
	cases := []struct {
		name          string
		trace         *journal.Trace
		parent, state string
	}{
		{"not traced", nil, "of the caller", "a=1"},
		{"within the caller's trace", &journal.Trace{ID: [16]byte{1}, Parent: journal.NewSpan(3)}, own, "a=1"},
		{"a trace of its own", &journal.Trace{ID: [16]byte{1}}, own, ""},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for how, h := range map[string]http.Header{
				"written": c.header(&attempt.Outgoing{Header: caller, Trace: k.trace, Span: span}, -1),
				"passed":  c.rawHeader(&attempt.Raw{Header: caller, Trace: k.trace, Span: span}, -1),
			} {
				if h.Get("Traceparent") != k.parent || h.Get("Tracestate") != k.state || h.Get("Baggage") != "b=2" {
					t.Errorf("%s: %v", how, h)
				}
			}
		})
	}
	if caller.Get("Traceparent") != "of the caller" || caller.Get("Tracestate") != "a=1" {
		t.Error("the caller's headers are shared by all attempts, and must stay as they are")
	}
}
