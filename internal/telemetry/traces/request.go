package traces

import (
	"time"

	"evergate/internal/journal"
)

// scope is who makes these spans.
const scope = "evergate"

// maxEvents is how many events a span has at most, as in OpenTelemetry's SDKs.
const maxEvents = 128

// statusError is OTLP's code of a span that failed.
const statusError = 2

// origin is what all spans of a process have in common.
type origin struct {
	resource []Pair
	version  string
	place    func(provider string) Place
}

// Place is where a provider is asked.
type Place struct {
	Type    string // the provider's, as configured, such as "openai" or "groq"
	Address string // host name; empty: not known
	Port    int
}

// spans gives the spans of a request: its own, then one an attempt. The span given is good for the call alone.
func (o *origin) spans(s *span, r *journal.Request, each func(*span)) {
	if !asideOnly(r) {
		o.request(s, r)
		each(s)
	}
	made := 0
	for i := range r.Trail {
		if step := &r.Trail[i]; !step.Skipped && step.Span != [8]byte{} {
			made++
			o.attempt(s, r, step, made)
			each(s)
		}
	}
}

// request makes the span of a client's request. Tokens and money are its attempts': what sums them over all spans must not
// count them twice.
func (o *origin) request(s *span, r *journal.Request) {
	s.reset()
	operation := operationOf(r.Dialect)
	s.trace, s.id, s.parent, s.state = r.Trace.ID, r.Trace.Span, r.Trace.Parent, r.Trace.State
	s.remote = s.parent != [8]byte{}
	s.kind, s.start, s.end = kindServer, r.Start, r.Start.Add(r.Duration)
	s.title(operation, r.Route) // the route, since names of spans must be few
	s.set(attr{key: "gen_ai.operation.name", text: operation}, number("http.response.status_code", int64(r.Status)))
	if r.Dialect == "passthrough" { // it names a method and a path, and no model
		s.say("evergate.passthrough", r.Asked)
	} else {
		s.say("gen_ai.request.model", r.Asked)
	}
	s.set(flag("gen_ai.request.stream", r.Stream))
	if r.Provider != "" {
		s.set(attr{key: "gen_ai.provider.name", text: providerName(o.place(r.Provider).Type)})
	}
	s.say("gen_ai.response.model", r.Model)
	s.finish(r.Finish)
	if r.Stream && r.FirstContent > 0 {
		s.set(seconds("gen_ai.response.time_to_first_chunk", r.FirstContent))
	}
	s.say("error.type", r.Code)
	// A client's own mistakes, and its leaving, are no failures of a server. A stream that broke has the status 200 and a code.
	s.failed = r.Status >= 500 || r.Code != "" && r.Status < 400
	s.say("evergate.request.id", r.ID)
	s.say("evergate.dialect", r.Dialect)
	s.say("evergate.key", r.Key)
	s.say("evergate.model", r.Route)
	s.say("evergate.provider", r.Provider)
	s.say("evergate.order", r.Order)
	s.say("evergate.affinity", r.Affinity)
	s.say("evergate.cache", r.Cache)
	s.say("evergate.upstream.request_id", r.UpstreamRequestID)
	s.set(seconds("evergate.overhead", r.Overhead), seconds("evergate.waits", r.Waits))
	s.list("evergate.dropped", r.Lost)
	o.trail(s, r)
}

// trail adds what the request's own span tells of its trail: how many attempts, and the candidates that were skipped.
func (o *origin) trail(s *span, r *journal.Request) {
	attempts, failovers := 0, 0
	for i := range r.Trail {
		step := &r.Trail[i]
		if !step.Skipped {
			attempts++
			if step.Why != "hedge" && attempts > 1 {
				failovers++
			}
			continue
		}
		if len(s.events) == maxEvents {
			continue
		}
		e := event{at: step.Start, name: "evergate.skip", attrs: []attr{text("evergate.provider", step.Provider), text("evergate.reason", step.Reason)}}
		if step.Model != "" {
			e.attrs = append(e.attrs, text("gen_ai.request.model", step.Model))
		}
		if step.Credential != "" {
			e.attrs = append(e.attrs, text("evergate.credential", step.Credential))
		}
		if !step.Until.IsZero() {
			e.attrs = append(e.attrs, attr{key: "evergate.until", text: step.Until.UTC().Format("2006-01-02T15:04:05.000Z")})
		}
		s.events = append(s.events, e)
	}
	s.set(number("evergate.attempts", int64(attempts)), number("evergate.failovers", int64(failovers)))
}

// attempt makes the span of one exchange with an upstream.
func (o *origin) attempt(s *span, r *journal.Request, step *journal.Step, nth int) {
	s.reset()
	operation, place := operationOf(r.Dialect), o.place(step.Provider)
	s.trace, s.id, s.parent, s.state = r.Trace.ID, step.Span, r.Trace.Span, r.Trace.State
	if asideOnly(r) {
		s.parent = r.Trace.Parent // the span of the request that was copied
	}
	s.kind, s.start, s.end = kindClient, step.Start, step.Start.Add(step.Duration)
	if step.Duration == 0 { // it is still under way: a hedge that was called off and did not say its end in time
		s.end = r.Start.Add(r.Duration)
	}
	s.title(operation, step.Model)
	s.set(attr{key: "gen_ai.operation.name", text: operation}, attr{key: "gen_ai.provider.name", text: providerName(place.Type)})
	s.say("gen_ai.request.model", step.Model)
	s.set(flag("gen_ai.request.stream", r.Stream))
	if place.Address != "" {
		s.set(text("server.address", place.Address), number("server.port", int64(place.Port)))
	}
	s.count("http.response.status_code", int64(step.Status))
	s.outcome(step)
	s.used(step)
	if step.FirstContent > 0 {
		if r.Stream {
			s.set(seconds("gen_ai.response.time_to_first_chunk", step.FirstContent))
		}
		s.events = append(s.events, event{at: step.Start.Add(step.FirstContent), name: "evergate.first_content"})
	}
	if step.Reason == "ok" {
		s.say("gen_ai.response.model", step.Model)
		s.finish(r.Finish)
	}
	s.say("evergate.provider", step.Provider)
	s.say("evergate.credential", step.Credential)
	s.set(number("evergate.attempt", int64(nth)))
	s.say("evergate.attempt.why", step.Why)
	s.say("evergate.drill", step.Drill)
	if step.Why == "hedge" {
		s.set(flag("evergate.hedge", true))
	}
	if step.Why == "resume" {
		s.set(number("evergate.resumed_at", int64(step.Seam)))
	}
}

// title names a span; passthrough has no model.
func (s *span) title(operation, model string) {
	if s.name = operation; model != "" {
		s.name = clean(operation + " " + model)
	}
}

// outcome says how an attempt ended. One that another outran, or whose client left, did not fail.
func (s *span) outcome(step *journal.Step) {
	s.say("evergate.outcome", step.Reason)
	switch step.Reason {
	case "ok", "cancelled", "client_gone", "":
	default:
		s.failed = true
		s.say("error.type", step.Reason)
	}
}

// used says what an attempt cost.
func (s *span) used(step *journal.Step) {
	if u := &step.Usage; u.Known || step.Estimated {
		s.set(number("gen_ai.usage.input_tokens", u.Input), number("gen_ai.usage.output_tokens", u.Output))
		s.count("gen_ai.usage.cache_read.input_tokens", u.CachedInput)
		s.count("gen_ai.usage.cache_write.input_tokens", u.CacheWrite)
		s.count("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
		s.count("gen_ai.usage.audio.input_tokens", u.AudioInput)
		s.count("gen_ai.usage.audio.output_tokens", u.AudioOutput)
		if step.Estimated {
			s.set(flag("evergate.usage.estimated", true))
		}
	}
	if step.Cost.Known {
		s.set(attr{key: "evergate.cost_usd", kind: floatKind, f: float64(step.Cost.Nano) / 1e9})
	}
}

func (s *span) finish(reason string) {
	if reason != "" {
		s.set(attr{key: "gen_ai.response.finish_reasons", kind: listKind, list: []string{clean(reason)}})
	}
}

// list sets an attribute of several values unless there is none.
func (s *span) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	a := attr{key: key, kind: listKind}
	for _, v := range values[:min(len(values), 32)] {
		a.list = append(a.list, clean(v))
	}
	s.set(a)
}

func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}
