package telemetry

import (
	"context"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"

	"evergate/internal/journal"
)

// Longest values in a line, in bytes, of what clients and upstreams choose.
const (
	maxAsked   = 200
	maxID      = 128
	maxMessage = 500
)

// Logs writes one line a request, one a guard's transition, one a probe, one a copy for a mirror and one a change of discovery, and at level debug one an
// attempt. The names of the fields are fixed; a value that is not known is null. No line holds a credential, a prompt
// or a reply, since no fact does. Safe for concurrent use.
type Logs struct {
	logger *slog.Logger
	quick  *handler // the logger's, if it is ours
}

var _ journal.Sink = (*Logs)(nil)

// NewLogs makes a sink that writes to logger; one made by NewLogger costs least.
func NewLogs(logger *slog.Logger) *Logs {
	h, _ := logger.Handler().(*handler)
	return &Logs{logger: logger, quick: h}
}

// RequestEnded writes the line of a request: a warning if the gateway answered 5xx or a committed stream died, else
// information.
func (l *Logs) RequestEnded(r *journal.Request) {
	level := slog.LevelInfo
	if r.Status >= 500 || (r.Code != "" && r.Status < 400) {
		level = slog.LevelWarn
	}
	if !l.enabled(level) {
		return
	}
	attempts := 0
	for i := range r.Trail {
		if !r.Trail[i].Skipped {
			attempts++
		}
	}
	var room [256]byte
	attrs := [...]slog.Attr{
		slog.String("request_id", cut(r.ID, maxID)),
		slog.String("dialect", r.Dialect),
		slog.Bool("stream", r.Stream),
		slog.String("model", cut(r.Asked, maxAsked)),
		slog.String("provider", r.Provider),
		slog.String("upstream_model", cut(r.Model, maxAsked)),
		slog.Int("status", r.Status),
		slog.String("code", r.Code),
		slog.Int("attempts", attempts),
		slog.String("trail", string(journal.AppendTrail(room[:0], r.Trail))),
		slog.Float64("duration_ms", millis(r.Duration)),
		known("first_content_ms", r.FirstContent > 0, slog.Float64Value(millis(r.FirstContent))),
		slog.Float64("overhead_ms", millis(r.Overhead)),
		known("input_tokens", r.Usage.Known, slog.Int64Value(r.Usage.Input)),
		known("output_tokens", r.Usage.Known, slog.Int64Value(r.Usage.Output)),
		known("cost_usd", r.Cost.Known, slog.Float64Value(float64(r.Cost.Nano)/1e9)),
		slog.String("key", r.Key),
		slog.String("upstream_request_id", cut(r.UpstreamRequestID, maxID)),
		{},
		{},
		{},
		{},
		{},
		{},
		{},
		{},
		{}, // the nine that are there only when there is something to say
	}
	n := len(attrs) - 9
	if r.Trace.Span != [8]byte{} {
		attrs[n] = slog.String("trace_id", hex.EncodeToString(r.Trace.ID[:]))
		n++
	}
	if r.Estimated {
		attrs[n] = slog.Bool("estimated", true)
		n++
	}
	if len(r.Lost) > 0 {
		attrs[n] = slog.String("lost", cut(strings.Join(r.Lost, ", "), maxMessage))
		n++
	}
	if r.Dropped > 0 {
		attrs[n] = slog.Int("dropped_events", r.Dropped)
		n++
	}
	if r.Code != "" {
		attrs[n] = slog.String("message", cut(lastMessage(r.Trail), maxMessage))
		n++
	}
	if r.Certificate != "" {
		attrs[n] = slog.String("client_certificate", cut(r.Certificate, maxAsked))
		n++
	}
	if r.Drill != "" {
		attrs[n] = slog.String("drill", r.Drill)
		n++
	}
	if r.Cache != "" {
		attrs[n] = slog.String("cache", r.Cache)
		n++
	}
	if len(r.Guardrails) > 0 {
		attrs[n] = slog.String("guardrails", cut(guardrailWords(r.Guardrails), maxMessage))
		n++
	}
	l.emit(level, "request", attrs[:n])
}

// AttemptEnded writes a line at level debug.
func (l *Logs) AttemptEnded(a *journal.Attempt) {
	if !l.enabled(slog.LevelDebug) {
		return
	}
	l.emit(slog.LevelDebug, "attempt", []slog.Attr{
		slog.String("request_id", cut(a.RequestID, maxID)),
		slog.String("provider", a.Provider),
		slog.String("upstream_model", cut(a.Model, maxAsked)),
		slog.String("credential", a.Credential),
		slog.String("outcome", a.Outcome),
		slog.String("why", a.Why),
		slog.Int("status", a.Status),
		slog.Float64("duration_ms", millis(a.Duration)),
		known("first_content_ms", a.FirstContent > 0, slog.Float64Value(millis(a.FirstContent))),
	})
}

// GuardChanged writes a line: a warning when something is blocked from now on, else information.
func (l *Logs) GuardChanged(g *journal.Guard) {
	level := slog.LevelInfo
	if g.To == "open" || g.To == "blocked" {
		level = slog.LevelWarn
	}
	if !l.enabled(level) {
		return
	}
	l.emit(level, "guard", []slog.Attr{
		slog.String("guard", g.Guard),
		slog.String("provider", g.Provider),
		slog.String("credential", g.Credential),
		slog.String("upstream_model", cut(g.Model, maxAsked)),
		slog.String("from", g.From),
		slog.String("to", g.To),
		slog.String("trip", g.Trip),
		slog.String("reason", g.Reason),
		known("until", !g.Until.IsZero(), slog.TimeValue(g.Until)),
		slog.Int("escalation", g.Level),
		slog.Bool("heard", g.Heard),
		known("request_id", g.RequestID != "", slog.StringValue(cut(g.RequestID, maxID))),
	})
}

// DiscoveryChanged writes a line: information when a provider is healthy, else a warning.
func (l *Logs) DiscoveryChanged(d *journal.Discovery) {
	level := slog.LevelWarn
	if d.To == "healthy" {
		level = slog.LevelInfo
	}
	if !l.enabled(level) {
		return
	}
	l.emit(level, "discovery", []slog.Attr{
		slog.String("provider", d.Provider),
		slog.String("from", d.From),
		slog.String("to", d.To),
		slog.Int("models", d.Models),
		slog.String("message", cut(d.Message, maxMessage)),
	})
}

// BreakerOperated writes the line that tells who changed a breaker by hand, and why; always as a warning, so that it is there
// when somebody asks (R31).
func (l *Logs) BreakerOperated(o *journal.Order) {
	if !l.enabled(slog.LevelWarn) {
		return
	}
	l.emit(slog.LevelWarn, "operator", []slog.Attr{
		slog.String("provider", o.Provider),
		slog.String("upstream_model", cut(o.Model, maxAsked)),
		slog.String("action", o.Action),
		slog.String("reason", cut(o.Reason, maxMessage)),
		slog.String("by", o.By),
		known("until", !o.Until.IsZero(), slog.TimeValue(o.Until)),
		slog.Bool("heard", o.Heard),
	})
}

// ProbeEnded writes the line of a probe (R75): information if the provider answered as it should, else a warning.
func (l *Logs) ProbeEnded(p *journal.Probe) {
	level := slog.LevelInfo
	if p.Result != "ok" {
		level = slog.LevelWarn
	}
	if !l.enabled(level) {
		return
	}
	l.emit(level, "probe", []slog.Attr{
		slog.String("provider", p.Provider),
		slog.String("upstream_model", cut(p.Model, maxAsked)),
		slog.String("credential", p.Credential),
		slog.String("result", p.Result),
		slog.Int("status", p.Status),
		slog.Float64("duration_ms", millis(p.Duration)),
		slog.String("message", cut(p.Message, maxMessage)),
	})
}

// MirrorEnded writes the line of a copy that was sent: a warning if it was not answered as it should be, else information. One that
// was not sent is told of at level debug: when there is no room, there are many.
func (l *Logs) MirrorEnded(m *journal.Mirror) {
	level := slog.LevelWarn
	switch m.Outcome {
	case "ok":
		level = slog.LevelInfo
	case "dropped", "blocked":
		level = slog.LevelDebug
	}
	if !l.enabled(level) {
		return
	}
	l.emit(level, "mirror", []slog.Attr{
		slog.String("request_id", cut(m.RequestID, maxID)),
		slog.String("dialect", m.Dialect),
		slog.Bool("stream", m.Stream),
		slog.String("model", cut(m.Route, maxAsked)),
		slog.String("provider", m.Provider),
		slog.String("upstream_model", cut(m.Model, maxAsked)),
		slog.String("credential", m.Credential),
		slog.String("outcome", m.Outcome),
		slog.Int("status", m.Status),
		slog.Float64("duration_ms", millis(m.Duration)),
		known("first_content_ms", m.FirstContent > 0, slog.Float64Value(millis(m.FirstContent))),
		known("input_tokens", m.Usage.Known, slog.Int64Value(m.Usage.Input)),
		known("output_tokens", m.Usage.Known, slog.Int64Value(m.Usage.Output)),
		slog.String("finish", m.Finish),
		slog.String("message", cut(m.Message, maxMessage)),
	})
}

func (l *Logs) enabled(level slog.Level) bool {
	if l.quick != nil {
		return l.quick.Enabled(context.Background(), level)
	}
	return l.logger.Enabled(context.Background(), level)
}

func (l *Logs) emit(level slog.Level, msg string, attrs []slog.Attr) {
	if l.quick != nil {
		_ = l.quick.emit(time.Now(), level, msg, attrs) // a log that cannot be written has nowhere to say so
		return
	}
	l.logger.LogAttrs(context.Background(), level, msg, append([]slog.Attr(nil), attrs...)...) //nolint:sloglint // one of seven literals
}

// known is an attribute that is null when its value is not known.
func known(key string, is bool, v slog.Value) slog.Attr {
	if !is {
		v = slog.Value{}
	}
	return slog.Attr{Key: key, Value: v}
}

// lastMessage is what the last attempt that failed was told.
func lastMessage(trail []journal.Step) string {
	for i := len(trail) - 1; i >= 0; i-- {
		if s := &trail[i]; !s.Skipped && s.Reason != "ok" && s.Message != "" {
			return s.Message
		}
	}
	return ""
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cut shortens a value that a client or an upstream chose, never within a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}

// Changed writes the line of what somebody did to the gateway, a warning if it did not work.
func (l *Logs) Changed(c *journal.Change) {
	level := slog.LevelInfo
	if c.Result != "ok" {
		level = slog.LevelWarn
	}
	if !l.enabled(level) {
		return
	}
	l.emit(level, "change", []slog.Attr{
		slog.String("action", c.Action),
		slog.String("subject", cut(c.Subject, maxAsked)),
		slog.String("reason", cut(c.Reason, maxMessage)),
		slog.String("by", c.By),
		slog.String("result", cut(c.Result, maxMessage)),
		slog.Bool("heard", c.Heard),
	})
}
