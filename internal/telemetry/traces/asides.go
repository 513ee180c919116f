package traces

import (
	"math/rand/v2"

	"evergate/internal/journal"
)

// An aside is an exchange with an upstream that answers no client: a copy of a request, or a probe. On its way to the collector it is a request without a
// span of its own, of which only the attempt's is sent.

// MirrorEnded takes the attempt of a copy, in the trace of the request that was copied, which may have ended before it.
func (t *Tracer) MirrorEnded(m *journal.Mirror) {
	if m.Span == [8]byte{} {
		return
	}
	t.aside(&journal.Request{
		Start: m.Start, Dialect: m.Dialect, Stream: m.Stream, Duration: m.Duration, Finish: m.Finish,
		Trace: journal.Trace{ID: m.Trace.ID, Parent: m.Trace.Span, State: m.Trace.State},
		Trail: []journal.Step{{
			Provider: m.Provider, Model: m.Model, Credential: m.Credential, Status: m.Status, Reason: m.Outcome, Why: "mirror", Usage: m.Usage, Estimated: m.Estimated,
			Cost: m.Cost, Start: m.Start, Duration: m.Duration, FirstContent: m.FirstContent, Span: m.Span,
		}},
	})
}

// ProbeEnded takes a probe, as a trace of its own, for as many of them as of requests without one. Its upstream is told no trace.
func (t *Tracer) ProbeEnded(p *journal.Probe) {
	id := newTrace()
	if !t.settings.sampler.samples(remote{}, false, id) {
		return
	}
	dialect := "models" // it asked for the list
	if p.Model != "" {
		dialect = "chat"
	}
	t.aside(&journal.Request{
		Start: p.At, Dialect: dialect, Duration: p.Duration, Trace: journal.Trace{ID: id},
		Trail: []journal.Step{{
			Provider: p.Provider, Model: p.Model, Credential: p.Credential, Status: p.Status, Reason: p.Result, Why: "probe", Usage: p.Usage, Estimated: p.Estimated,
			Cost: p.Cost, Start: p.At, Duration: p.Duration, Span: journal.NewSpan(rand.Uint64()), //nolint:gosec // an id, not a secret
		}},
	})
}

// aside puts one where requests wait; where too many do, it is dropped and counted.
func (t *Tracer) aside(r *journal.Request) {
	select {
	case t.queue <- r:
	default:
		t.dropped.Add(1)
	}
}

// asideOnly says whether a record has no span of its own.
func asideOnly(r *journal.Request) bool { return r.Trace.Span == [8]byte{} }
