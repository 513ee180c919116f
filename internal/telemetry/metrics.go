package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evergate/internal/journal"
)

const namespace = "evergate"

// other stands for every model once a family has maxSeries label sets.
const other = "other"

// Metrics counts facts in a Prometheus registry. Labels come from the bounded fields of the facts (Route, ModelLabel,
// provider names, words of ours), never from what a client wrote. Recording a request and its attempt takes well under
// a microsecond and allocates nothing once their label sets were seen. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	live     Live

	requests   *handles[requestKey, prometheus.Counter]
	failures   *handles[string, prometheus.Counter] // by model
	rescues    *handles[string, prometheus.Counter] // by model
	durations  *handles[durationKey, prometheus.Observer]
	attempts   *handles[attemptKey, attemptMetrics]
	failovers  *handles[failoverKey, prometheus.Counter]
	tokens     *handles[tokenKey, prometheus.Counter]
	costs      *handles[costKey, prometheus.Counter]
	affinity   *handles[affinityKey, affinityMetrics]
	moves      *handles[moveKey, prometheus.Counter]
	probes     *handles[probeKey, prometheus.Counter]
	mirrors    *handles[mirrorKey, mirrorMetrics]
	faults     *handles[faultKey, prometheus.Counter]
	cached     *handles[cacheKey, cacheMetrics]
	refused    *handles[journal.LimitRefusal, prometheus.Counter]
	guardrails *handles[guardrailKey, prometheus.Counter]

	retries  map[string]prometheus.Counter // by why; fixed
	hedges   map[bool]prometheus.Counter   // by won; fixed
	ttft     prometheus.Observer
	overhead prometheus.Observer
	dropped  prometheus.Counter
}

type (
	requestKey struct {
		model, provider string
		status          int
	}
	durationKey struct {
		dialect string
		stream  bool
	}
	attemptKey     struct{ provider, model, outcome string }
	attemptMetrics struct {
		count              prometheus.Counter
		duration, firstAns prometheus.Observer // the provider's
	}
	failoverKey     struct{ from, to, reason string }
	tokenKey        struct{ provider, model, kind string }
	affinityKey     struct{ model, result string }
	affinityMetrics struct{ count, input, cached prometheus.Counter }
	moveKey         struct{ provider, to string }
	probeKey        struct{ provider, result string }
	mirrorKey       struct{ model, provider, outcome string }
	faultKey        struct{ provider, shape string }
	mirrorMetrics   struct {
		count              prometheus.Counter
		duration, firstAns prometheus.Observer // whatever the outcome
	}
)

// Buckets. A language model answers in a tenth of a second to ten minutes, in seconds mostly; the gateway itself in
// tens of microseconds. Native histograms would need a scraper that asks for them; these need nothing.
var (
	answerBuckets = []float64{.05, .1, .25, .5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 120, 300, 600}
	firstBuckets  = []float64{.05, .1, .15, .2, .3, .4, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60}
	ownBuckets    = []float64{25e-6, 50e-6, 100e-6, 200e-6, 350e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1}
)

var _ journal.Sink = (*Metrics)(nil)

// NewMetrics registers Evergate's families, and those of the Go runtime and the process, with the registry, which must
// be new. live is what is read at the time of a scrape.
func NewMetrics(registry *prometheus.Registry, live Live) *Metrics {
	m := &Metrics{registry: registry, live: live}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		registry.MustRegister(c)
		return c
	}
	histograms := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
		registry.MustRegister(h)
		return h
	}

	requests := counters("requests_total", "Client requests at their end, by model, provider that answered (empty: none) and HTTP status.",
		"model", "provider", "code")
	m.requests = newHandles(func(k requestKey) prometheus.Counter {
		return requests.WithLabelValues(valid(k.model), valid(k.provider), strconv.Itoa(k.status))
	}, func(k requestKey) requestKey { k.model = other; return k })

	durations := histograms("request_duration_seconds", "Client requests from their arrival to their end.", answerBuckets, "dialect", "stream")
	m.durations = newHandles(func(k durationKey) prometheus.Observer {
		return durations.WithLabelValues(valid(k.dialect), strconv.FormatBool(k.stream))
	}, func(durationKey) durationKey { return durationKey{dialect: other} })

	attempts := counters("attempts_total", "Exchanges with upstreams, by provider, model and outcome (ok, or a fault's class).",
		"provider", "model", "outcome")
	attemptTime := histograms("attempt_duration_seconds", "Exchanges with upstreams, from start to end.", answerBuckets, "provider")
	attemptFirst := histograms("attempt_first_content_seconds", "Exchanges with upstreams, from start to the first content.", firstBuckets, "provider")
	m.attempts = newHandles(func(k attemptKey) attemptMetrics {
		return attemptMetrics{
			count:    attempts.WithLabelValues(valid(k.provider), valid(k.model), valid(k.outcome)),
			duration: attemptTime.WithLabelValues(valid(k.provider)),
			firstAns: attemptFirst.WithLabelValues(valid(k.provider)),
		}
	}, func(k attemptKey) attemptKey { k.model = other; return k })

	failovers := counters("failovers_total", "Attempts that went on from a failed one to another candidate; from and to are providers.",
		"from", "to", "reason")
	m.failovers = newHandles(func(k failoverKey) prometheus.Counter {
		return failovers.WithLabelValues(valid(k.from), valid(k.to), valid(k.reason))
	}, func(k failoverKey) failoverKey { return failoverKey{other, other, k.reason} })

	retries := counters("retries_total", "Attempts that repeated a candidate that had failed, by why: same_target, short_wait, round.", "why")
	m.retries = make(map[string]prometheus.Counter)
	for _, why := range []string{"same_target", "short_wait", "round"} {
		m.retries[why] = retries.WithLabelValues(why)
	}

	hedges := counters("hedges_total", "Attempts that were started beside one that brought no content, by whether theirs was the answer.", "won")
	m.hedges = map[bool]prometheus.Counter{false: hedges.WithLabelValues("false"), true: hedges.WithLabelValues("true")}

	tokens := counters("tokens_total", "Tokens as upstreams counted them: cached_input and audio_input are parts of input, reasoning and audio_output of output.",
		"provider", "model", "kind")
	m.tokens = newHandles(func(k tokenKey) prometheus.Counter {
		return tokens.WithLabelValues(valid(k.provider), valid(k.model), valid(k.kind))
	}, func(k tokenKey) tokenKey { k.model = other; return k })

	affinity := counters("affinity_total", "Requests of conversations that were answered, by whether the target that had served the conversation last did: hit, moved to another, or miss (none was remembered).",
		"model", "result")
	prompt := counters("affinity_prompt_tokens_total", "Input tokens of the requests in evergate_affinity_total, as upstreams counted them: cached_input is a part of input.",
		"model", "result", "kind")
	m.affinity = newHandles(func(k affinityKey) affinityMetrics {
		model, result := valid(k.model), valid(k.result)
		return affinityMetrics{
			count: affinity.WithLabelValues(model, result),
			input: prompt.WithLabelValues(model, result, "input"), cached: prompt.WithLabelValues(model, result, "cached_input"),
		}
	}, func(k affinityKey) affinityKey { k.model = other; return k })

	moves := counters("circuit_breaker_transitions_total", "Transitions of a provider's circuit breaker.", "provider", "to")
	m.moves = newHandles(func(k moveKey) prometheus.Counter {
		return moves.WithLabelValues(valid(k.provider), valid(k.to))
	}, func(k moveKey) moveKey { k.provider = other; return k })

	probes := counters("probes_total", "Requests of the gateway's own to providers whose circuit breaker was half-open, by result (ok, or a fault's class).",
		"provider", "result")
	m.probes = newHandles(func(k probeKey) prometheus.Counter {
		return probes.WithLabelValues(valid(k.provider), valid(k.result))
	}, func(k probeKey) probeKey { k.provider = other; return k })

	faults := counters("faults_injected_total", "Attempts that met the fault of a drill, by what it looks like.", "provider", "shape")
	m.faults = newHandles(func(k faultKey) prometheus.Counter {
		return faults.WithLabelValues(valid(k.provider), valid(k.shape))
	}, func(k faultKey) faultKey { k.shape = other; return k })

	mirrors := counters("mirrors_total", "Copies of requests for a model's mirror, by outcome: ok, a fault's class, blocked, dropped (there was no room for it), late, stopped or bug.",
		"model", "provider", "outcome")
	mirrorTime := histograms("mirror_duration_seconds", "Copies of requests for a model's mirror that were sent, from start to end.", answerBuckets, "model", "provider")
	mirrorFirst := histograms("mirror_first_content_seconds", "Copies of requests for a model's mirror, from start to the first content.", firstBuckets, "model", "provider")
	m.mirrors = newHandles(func(k mirrorKey) mirrorMetrics {
		model, provider := valid(k.model), valid(k.provider)
		return mirrorMetrics{
			count:    mirrors.WithLabelValues(model, provider, valid(k.outcome)),
			duration: mirrorTime.WithLabelValues(model, provider), firstAns: mirrorFirst.WithLabelValues(model, provider),
		}
	}, func(k mirrorKey) mirrorKey { k.model = other; return k })

	m.ttft = histograms("time_to_first_token_seconds", "Streamed client requests, from their arrival to the first content, failovers included.", firstBuckets).WithLabelValues()
	m.overhead = histograms("overhead_seconds", "Time of a client request spent in Evergate itself.", ownBuckets).WithLabelValues()
	m.dropped = counters("malformed_events_total", "Stream events dropped because they were not valid JSON.").WithLabelValues()

	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(newLiveCollector(live), newAlertCollector(live.Alerts), newLedgerCollector(live.Ledger), newCacheCollector(live.Cache), newBudgetCollector(live.Budgets), newFrontCollector(live.Front))
	m.cached = newCached(registry)
	m.refused = newRefused(registry)
	m.guardrails = newGuardrails(registry)
	m.costs = newCosts(registry)
	m.failures, m.rescues = newFailures(registry), newRescues(registry)
	return m
}

// valid makes a string fit for a label value: the client library panics at one that is not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "?") }

// Handler serves the registry's metrics.
func (m *Metrics) Handler() http.Handler {
	serve := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:      m.registry,
		ErrorHandling: promhttp.ContinueOnError, // one family that cannot be read does not hide the others
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.know()
		serve.ServeHTTP(w, r)
	})
}

// know makes the transitions of every provider exist at 0, since a rate misses the step from nothing to 1.
func (m *Metrics) know() {
	if m.live.Providers == nil {
		return
	}
	for _, p := range m.live.Providers() {
		for _, to := range []string{"open", "half_open", "closed"} {
			m.moves.get(moveKey{p.Name, to})
		}
	}
}

// RequestEnded counts a request.
func (m *Metrics) RequestEnded(r *journal.Request) {
	m.requests.get(requestKey{r.Route, r.Provider, r.Status}).Inc()
	if c := m.failures.get(r.Route); failed(r) { // it exists from a model's first request on: a rate misses the step from nothing to 1
		c.Inc()
	}
	m.rescued(r)
	m.durations.get(durationKey{r.Dialect, r.Stream}).Observe(r.Duration.Seconds())
	m.overhead.Observe(r.Overhead.Seconds())
	if r.Stream && r.FirstContent > 0 {
		m.ttft.Observe(r.FirstContent.Seconds())
	}
	if r.Dropped > 0 {
		m.dropped.Add(float64(r.Dropped))
	}
	if r.Affinity != "" {
		m.stayed(r)
	}
	if r.Cache != "" {
		m.kept(r)
	}
	if r.Refusal != (journal.LimitRefusal{}) {
		m.refused.get(r.Refusal).Inc()
	}
	if len(r.Guardrails) > 0 {
		m.guarded(r)
	}
}

// stayed counts a request of a conversation, and what of its prompt was in its provider's cache (R47).
func (m *Metrics) stayed(r *journal.Request) {
	h := m.affinity.get(affinityKey{r.Route, r.Affinity})
	h.count.Inc()
	if r.Usage.Known && r.Usage.Input > 0 {
		h.input.Add(float64(r.Usage.Input))
		h.cached.Add(float64(max(r.Usage.CachedInput, 0)))
	}
}

// AttemptEnded counts an attempt, the move that led to it, and its tokens.
func (m *Metrics) AttemptEnded(a *journal.Attempt) {
	h := m.attempts.get(attemptKey{a.Provider, a.ModelLabel, a.Outcome})
	h.count.Inc()
	h.duration.Observe(a.Duration.Seconds())
	if a.FirstContent > 0 {
		h.firstAns.Observe(a.FirstContent.Seconds())
	}
	if a.FromProvider != "" {
		m.moved(a)
	}
	if a.Hedge {
		m.hedges[a.Won].Inc()
	}
	if a.Drill != "" {
		m.faults.get(faultKey{a.Provider, a.Shape}).Inc()
	}
	if a.Usage.Known && !a.Estimated {
		m.used(a)
	}
	m.spend(a.Provider, a.ModelLabel, a.Cost)
}

// moved counts an attempt that follows a failed one: as a retry if it repeats a candidate, else as a failover.
func (m *Metrics) moved(a *journal.Attempt) {
	if c, ok := m.retries[a.Why]; ok {
		c.Inc()
		return
	}
	m.failovers.get(failoverKey{a.FromProvider, a.Provider, a.FromReason}).Inc()
}

func (m *Metrics) used(a *journal.Attempt) {
	u := &a.Usage
	for _, t := range [...]struct {
		kind string
		n    int64
	}{
		{"input", u.Input},
		{"output", u.Output},
		{"cached_input", u.CachedInput},
		{"cache_write", u.CacheWrite},
		{"reasoning", u.Reasoning},
		{"audio_input", u.AudioInput},
		{"audio_output", u.AudioOutput},
	} {
		if t.n > 0 { // an upstream may say anything; a counter that is told to sink panics
			m.tokens.get(tokenKey{a.Provider, a.ModelLabel, t.kind}).Add(float64(t.n))
		}
	}
}

// GuardChanged counts a circuit breaker's transition; what the other guards block is read at the scrape.
func (m *Metrics) GuardChanged(g *journal.Guard) {
	if g.Guard == "circuit_breaker" {
		m.moves.get(moveKey{g.Provider, g.To}).Inc()
	}
}

// DiscoveryChanged needs no count: the health of providers is read at the scrape.
func (m *Metrics) DiscoveryChanged(*journal.Discovery) {}

// ProbeEnded counts a probe.
func (m *Metrics) ProbeEnded(p *journal.Probe) {
	m.probes.get(probeKey{p.Provider, p.Result}).Inc()
	m.spend(p.Provider, p.Model, p.Cost)
}

// MirrorEnded counts a copy. Its attempt and its tokens are counted as any attempt's.
func (m *Metrics) MirrorEnded(f *journal.Mirror) {
	h := m.mirrors.get(mirrorKey{f.Route, f.Provider, f.Outcome})
	h.count.Inc()
	if f.Duration > 0 {
		h.duration.Observe(f.Duration.Seconds())
	}
	if f.FirstContent > 0 {
		h.firstAns.Observe(f.FirstContent.Seconds())
	}
}

// Changed implements journal.Sink: nothing is counted.
func (*Metrics) Changed(*journal.Change) {}

// BreakerOperated implements journal.Sink: what it changes comes as a transition.
func (m *Metrics) BreakerOperated(*journal.Order) {}
