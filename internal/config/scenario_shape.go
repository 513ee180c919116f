package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"evergate/internal/sim"
)

// scenarioFile is a scenario as written.
type scenarioFile struct {
	name      given[string]
	seed      given[int]
	duration  given[time.Duration]
	step      given[time.Duration]
	config    given[configPart]
	providers given[[]entry[climateFile]]
	traffic   given[[]given[trafficFile]]
	weather   given[[]given[weatherFile]]
}

// configPart is a gateway's configuration, or the name of its file.
type configPart struct {
	path   string
	inline *file
}

type climateFile struct {
	firstToken given[sim.Dist]
	speed      given[float64]
	errors     given[float64]
	cuts       given[float64]
	tags       given[[]given[string]]
}

type trafficFile struct {
	model    given[string]
	rate     given[sim.Rate]
	spikes   given[[]given[spikeFile]]
	clients  given[int]
	think    given[sim.Dist]
	streams  given[float64]
	tokens   given[sim.Dist]
	patience given[time.Duration]
	from, to given[time.Duration]
}

type spikeFile struct {
	at, lasts given[time.Duration]
	times     given[float64]
}

type weatherFile struct {
	kind       given[sim.Kind]
	provider   given[[]given[string]]
	tag        given[[]given[string]]
	model, key given[string]
	from, to   given[time.Duration]
	with       given[look]
	every      given[time.Duration]
	down       given[time.Duration]
	errors     given[float64]
	latency    given[float64]
	requests   given[int]
	per        given[time.Duration]
	retryAfter given[retryAfter]
}

// look is what a failure looks like: With, and the status where that is a status.
type look struct {
	with   sim.With
	status int
}

// retryAfter is what refusals say of when to come back; 0: how long it takes.
type retryAfter struct {
	told bool
	wait time.Duration
}

// scenarioShape is a whole scenario file.
func scenarioShape() shape[scenarioFile] {
	return object("scenario", "A scenario for evergate simulate.", []key[scenarioFile]{
		field("name", "What the report is headed with.", text("a name"), func(f *scenarioFile) *given[string] { return &f.name }),
		field("seed", "The same seed gives the same report.", whole(0, 1<<31), func(f *scenarioFile) *given[int] { return &f.seed }),
		field("duration", "How long requests arrive.", duration(time.Second), func(f *scenarioFile) *given[time.Duration] { return &f.duration }),
		field("step", "Width of a point of the charts.", duration(time.Second), func(f *scenarioFile) *given[time.Duration] { return &f.step }),
		field("config", "The gateway's configuration, or the name of its file.", configShape(), func(f *scenarioFile) *given[configPart] { return &f.config }),
		field("providers", "How providers behave in fair weather.", table("names of providers", climateShape()), func(f *scenarioFile) *given[[]entry[climateFile]] { return &f.providers }),
		field("traffic", "Who asks for what.", list("kinds of traffic", trafficShape()), func(f *scenarioFile) *given[[]given[trafficFile]] { return &f.traffic }),
		field("weather", "What befalls providers.", list("kinds of weather", weatherShape()), func(f *scenarioFile) *given[[]given[weatherFile]] { return &f.weather }),
	})
}

func configShape() shape[configPart] {
	inline := fileShape()
	return shape[configPart]{
		read: func(r *reader, n *node) (configPart, bool) {
			if n.kind == scalar {
				name, ok := text("a file name").read(r, n)
				return configPart{path: name}, ok
			}
			f, ok := inline.read(r, n)
			return configPart{inline: &f}, ok
		},
		schema: inline.schema,
	}
}

func climateShape() shape[climateFile] {
	return object("climate", "How a provider behaves in fair weather.", []key[climateFile]{
		field("first_token", "Time to the first content.", timesShape(), func(f *climateFile) *given[sim.Dist] { return &f.firstToken }),
		field("tokens_per_second", "How fast the rest comes.", number(0.1, 1e6), func(f *climateFile) *given[float64] { return &f.speed }),
		field("errors", "Share of requests answered with 500.", number(0, 1), func(f *climateFile) *given[float64] { return &f.errors }),
		field("cuts", "Share of streams cut after content.", number(0, 1), func(f *climateFile) *given[float64] { return &f.cuts }),
		field("tags", "For weather that befalls all with a tag, such as a region.", list("tags", text("a tag")), func(f *climateFile) *given[[]given[string]] { return &f.tags }),
	})
}

func trafficShape() shape[trafficFile] {
	return object("traffic", "Clients that ask for one model.", []key[trafficFile]{
		field("model", "As a client names it.", text("a model name"), func(f *trafficFile) *given[string] { return &f.model }),
		field("rate", "Arrivals, whoever they are.", rateShape(), func(f *trafficFile) *given[sim.Rate] { return &f.rate }),
		field("spikes", "When there are more of them.", list("spikes", object("spike", "A while with more arrivals.", []key[spikeFile]{
			field("at", "When it begins.", duration(0), func(f *spikeFile) *given[time.Duration] { return &f.at }),
			field("for", "How long it lasts.", duration(time.Second), func(f *spikeFile) *given[time.Duration] { return &f.lasts }),
			field("times", "How many times the rate.", number(0, 1000), func(f *spikeFile) *given[float64] { return &f.times }),
		})), func(f *trafficFile) *given[[]given[spikeFile]] { return &f.spikes }),
		field("clients", "In place of rate: so many, each of which waits for its answer.", whole(1, 1_000_000), func(f *trafficFile) *given[int] { return &f.clients }),
		field("think", "How long a client waits before it asks again.", timesShape(), func(f *trafficFile) *given[sim.Dist] { return &f.think }),
		field("streams", "Share of requests that stream.", number(0, 1), func(f *trafficFile) *given[float64] { return &f.streams }),
		field("tokens", "Length of an answer.", tokensShape(), func(f *trafficFile) *given[sim.Dist] { return &f.tokens }),
		field("patience", "When a client hangs up; 0: never.", duration(0), func(f *trafficFile) *given[time.Duration] { return &f.patience }),
		field("from", "When they begin.", duration(0), func(f *trafficFile) *given[time.Duration] { return &f.from }),
		field("to", "When they end.", duration(time.Second), func(f *trafficFile) *given[time.Duration] { return &f.to }),
	})
}

func weatherShape() shape[weatherFile] {
	var kinds []word[sim.Kind]
	for k := sim.Outage; k <= sim.Cuts; k++ {
		kinds = append(kinds, say(k.String(), k))
	}
	return object("weather", "Something that befalls providers for a while.", []key[weatherFile]{
		field("kind", "What it is.", choice(kinds...), func(f *weatherFile) *given[sim.Kind] { return &f.kind }),
		field("provider", "Whom it befalls, one or several; with no tag either: all.", oneOrMore("providers", text("a provider's name")), func(f *weatherFile) *given[[]given[string]] { return &f.provider }),
		field("tag", "And all with one of these tags.", oneOrMore("tags", text("a tag")), func(f *weatherFile) *given[[]given[string]] { return &f.tag }),
		field("model", "This upstream model only.", text("a model id"), func(f *weatherFile) *given[string] { return &f.model }),
		field("key", "This credential only.", text("a key's name"), func(f *weatherFile) *given[string] { return &f.key }),
		field("from", "When it begins.", duration(0), func(f *weatherFile) *given[time.Duration] { return &f.from }),
		field("to", "When it is over; without it: never.", duration(time.Millisecond), func(f *weatherFile) *given[time.Duration] { return &f.to }),
		field("with", "refuse, hang, or a status from 500 to 599.", lookShape(), func(f *weatherFile) *given[look] { return &f.with }),
		field("every", "flapping: a period.", duration(time.Second), func(f *weatherFile) *given[time.Duration] { return &f.every }),
		field("down", "flapping: the part of it that is down, at its beginning.", duration(time.Millisecond), func(f *weatherFile) *given[time.Duration] { return &f.down }),
		field("errors", "Share of requests, or for cuts of streams.", number(0, 1), func(f *weatherFile) *given[float64] { return &f.errors }),
		field("latency", "How many times as long answers take.", number(0.01, 10000), func(f *weatherFile) *given[float64] { return &f.latency }),
		field("requests", "What a key is answered before it is refused.", whole(0, 1_000_000_000), func(f *weatherFile) *given[int] { return &f.requests }),
		field("per", "rate_limit: in so long.", duration(time.Second), func(f *weatherFile) *given[time.Duration] { return &f.per }),
		field("retry_after", "told: refusals say how long it takes; a duration: they say that; none.", retryAfterShape(), func(f *weatherFile) *given[retryAfter] { return &f.retryAfter }),
	})
}

// oneOrMore is a list, or its only item.
func oneOrMore[V any](what string, s shape[V]) shape[[]given[V]] {
	long := list(what, s)
	return shape[[]given[V]]{
		read: func(r *reader, n *node) ([]given[V], bool) {
			if n.kind == sequence {
				return long.read(r, n)
			}
			v, ok := s.read(r, n)
			return []given[V]{{v: v, set: ok, wrong: !ok, at: n.at}}, ok
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"anyOf": []any{s.schema(d), long.schema(d)}}
		},
	}
}

func lookShape() shape[look] {
	const want = "refuse, hang, or a status from 500 to 599"
	return single(want, map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"refuse", "hang"}}, map[string]any{"type": "integer", "minimum": 500, "maximum": 599},
	}}, func(s string) (look, string, string) {
		switch s {
		case "refuse":
			return look{with: sim.Refuse}, "", ""
		case "hang":
			return look{with: sim.Hang}, "", ""
		}
		if n, err := strconv.Atoi(s); err == nil && n >= 500 && n <= 599 {
			return look{with: sim.Status, status: n}, "", ""
		}
		return look{}, "must be " + want, ""
	})
}

func retryAfterShape() shape[retryAfter] {
	const want = "told, none, or a duration such as 20s"
	return single(want, map[string]any{"type": "string"}, func(s string) (retryAfter, string, string) {
		switch s {
		case "told":
			return retryAfter{told: true}, "", ""
		case "none":
			return retryAfter{}, "", ""
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > maxDuration {
			return retryAfter{}, "must be " + want, ""
		}
		return retryAfter{told: true, wait: d}, "", ""
	})
}

// timesShape is a duration, a range of them, or a distribution by two of its percentiles.
func timesShape() shape[sim.Dist] {
	const want = "a duration such as 400ms, a range such as 200ms..2s, or { p50: 400ms, p99: 3s }"
	parse := func(s string) (float64, bool) {
		d, err := time.ParseDuration(s)
		return float64(d), err == nil && d >= 0 && d <= maxDuration
	}
	short := single(want, map[string]any{"type": "string"}, func(s string) (sim.Dist, string, string) { return rangeOf(s, want, parse) })
	type percentiles struct{ p50, p99 given[time.Duration] }
	long := object("times", "A log-normal distribution.", []key[percentiles]{
		field("p50", "The median.", duration(time.Millisecond), func(f *percentiles) *given[time.Duration] { return &f.p50 }),
		field("p99", "What one of a hundred exceeds.", duration(time.Millisecond), func(f *percentiles) *given[time.Duration] { return &f.p99 }),
	})
	return shape[sim.Dist]{
		read: func(r *reader, n *node) (sim.Dist, bool) {
			if n.kind == scalar {
				return short.read(r, n)
			}
			f, ok := long.read(r, n)
			switch {
			case !ok || f.p50.wrong || f.p99.wrong:
				return sim.Dist{}, false
			case !f.p50.set || !f.p99.set || f.p99.v < f.p50.v:
				r.problem(n.at, "", "needs p50 and a p99 that is not below it")
				return sim.Dist{}, false
			}
			return sim.LogNormal(float64(f.p50.v), float64(f.p99.v)), true
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"anyOf": []any{short.schema(d), long.schema(d)}}
		},
	}
}

func tokensShape() shape[sim.Dist] {
	const want = "a number of tokens such as 200, or a range such as 50..400"
	return single(want, map[string]any{"type": []any{"integer", "string"}}, func(s string) (sim.Dist, string, string) {
		return rangeOf(s, want, func(s string) (float64, bool) {
			n, err := strconv.ParseUint(s, 10, 32)
			return float64(n), err == nil && n >= 1
		})
	})
}

// rangeOf is one value, or low..high.
func rangeOf(s, want string, parse func(string) (float64, bool)) (d sim.Dist, wrong, suggestion string) {
	first, last, ranged := strings.Cut(s, "..")
	low, ok := parse(strings.TrimSpace(first))
	if !ok {
		return d, "must be " + want, ""
	}
	if !ranged {
		return sim.Fixed(low), "", ""
	}
	high, ok := parse(strings.TrimSpace(last))
	switch {
	case !ok:
		return d, "must be " + want, ""
	case high < low:
		return d, "ends below its beginning", fmt.Sprintf("%s..%s", last, first)
	}
	return sim.Uniform(low, high), "", ""
}

// rateShape is a constant rate, a ramp or a day.
func rateShape() shape[sim.Rate] {
	type rateFile struct {
		from, to, low, high given[float64]
		period              given[time.Duration]
	}
	short := perSecond()
	long := object("rate", "A rate that changes: from and to are a ramp; low, high and period a day that begins at its least.", []key[rateFile]{
		field("from", "At the beginning.", short, func(f *rateFile) *given[float64] { return &f.from }),
		field("to", "At the end.", short, func(f *rateFile) *given[float64] { return &f.to }),
		field("low", "The least of a day.", short, func(f *rateFile) *given[float64] { return &f.low }),
		field("high", "The most of a day.", short, func(f *rateFile) *given[float64] { return &f.high }),
		field("period", "Length of a day; without it 24h.", duration(time.Second), func(f *rateFile) *given[time.Duration] { return &f.period }),
	})
	return shape[sim.Rate]{
		read: func(r *reader, n *node) (sim.Rate, bool) {
			if n.kind == scalar {
				v, ok := short.read(r, n)
				return sim.Rate{Low: v}, ok
			}
			f, ok := long.read(r, n)
			ramp, day := f.from.set && f.to.set, f.low.set && f.high.set
			switch {
			case !ok || f.from.wrong || f.to.wrong || f.low.wrong || f.high.wrong || f.period.wrong:
				return sim.Rate{}, false
			case ramp && f.low.absent() && f.high.absent() && f.period.absent():
				return sim.Rate{Shape: sim.Ramp, Low: f.from.v, High: f.to.v}, true
			case day && f.from.absent() && f.to.absent():
				return sim.Rate{Shape: sim.Day, Low: f.low.v, High: f.high.v, Period: f.period.or(24 * time.Hour)}, true
			}
			r.problem(n.at, "", "must have from and to (a ramp), or low and high, and maybe period (a day)")
			return sim.Rate{}, false
		},
		schema: func(d *schemas) map[string]any {
			return map[string]any{"anyOf": []any{short.schema(d), long.schema(d)}}
		},
	}
}

// perSecond is a number a second, a minute or an hour.
func perSecond() shape[float64] {
	const want = "a rate such as 5/s, 90/m or 200/h"
	return single(want, map[string]any{"type": "string"}, func(s string) (float64, string, string) {
		number, unit, ok := strings.Cut(s, "/")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		per := map[string]float64{"s": 1, "m": 60, "h": 3600}[strings.TrimSpace(unit)]
		switch {
		case err == nil && !ok:
			return 0, "has no unit; it must be " + want, s + "/s"
		case err != nil || per == 0 || v < 0 || v/per > 1e5:
			return 0, "must be " + want, ""
		}
		return v / per, "", ""
	})
}
