package traces

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
)

// A copy's attempt is a span below the request that was copied, a probe a trace of its own; neither brings a request's span, and a copy of what is not traced brings
// none.
func TestAsides(t *testing.T) {
	t.Parallel()
	settings, err := FromEnvironment(environ())
	if err != nil {
		t.Fatal(err)
	}
	tr := New(settings, Options{Version: "1", Instance: "i", Place: places})
	trace := journal.Trace{ID: [16]byte{1, 2}, Span: span8(1), Parent: span8(9), State: "a=1"}
	copied := &journal.Mirror{
		RequestID: "req_1", Start: begin, Route: "fast", Dialect: "messages", Stream: true, Provider: "groq", Model: "new", Credential: "main", Outcome: "ok", Status: 200,
		Message: "words of an upstream", Duration: time.Second, FirstContent: 300 * time.Millisecond, Usage: journal.Usage{Known: true, Input: 7, Output: 3},
		Cost: journal.Cost{Nano: 5, Known: true}, Finish: "stop", Trace: trace, Span: span8(6),
	}
	untold := *copied
	untold.Trace, untold.Span = journal.Trace{}, [8]byte{}
	var seen []span
	for _, fact := range []func(){
		func() { tr.MirrorEnded(copied) }, func() { tr.MirrorEnded(&untold) },
		func() {
			tr.ProbeEnded(&journal.Probe{At: begin, Provider: "azure", Credential: "eu", Result: "timeout", Duration: time.Second})
		},
		func() {
			tr.ProbeEnded(&journal.Probe{At: begin, Provider: "azure", Model: "gpt-4o", Result: "ok", Status: 200, Duration: time.Second})
		},
	} {
		fact()
		for len(tr.queue) > 0 {
			var s span
			tr.origin.spans(&s, <-tr.queue, func(one *span) { seen = append(seen, *one) })
		}
	}
	if len(seen) != 3 {
		t.Fatalf("%d spans", len(seen))
	}
	for i, want := range []struct {
		name, why string
		failed    bool
		end       time.Duration
	}{{"chat new", "mirror", false, time.Second}, {"models", "probe", true, time.Second}, {"chat gpt-4o", "probe", false, time.Second}} {
		s := &seen[i]
		why := ""
		for _, a := range s.attrs {
			if a.key == "evergate.attempt.why" {
				why = a.text
			}
			if strings.Contains(a.text, "words") {
				t.Errorf("%s says %q", a.key, a.text)
			}
		}
		if s.name != want.name || why != want.why || s.failed != want.failed || s.kind != kindClient || s.end.Sub(s.start) != want.end {
			t.Errorf("%q, %q, failed: %t, kind %d, %s", s.name, why, s.failed, s.kind, s.end.Sub(s.start))
		}
	}
	if s := &seen[0]; s.trace != trace.ID || s.parent != trace.Span || s.id != span8(6) || s.state != "a=1" || s.remote {
		t.Errorf("the copy's place is %+v", s)
	}
	if a, b := &seen[1], &seen[2]; a.trace == b.trace || a.parent != [8]byte{} || a.id == b.id || a.trace == [16]byte{} {
		t.Errorf("the probes' places are %x/%x below %x and %x/%x", a.trace, a.id, a.parent, b.trace, b.id)
	}
}
