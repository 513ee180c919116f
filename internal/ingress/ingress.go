// Package ingress is the data plane: it takes a client's HTTP request, finds its dialect, checks the caller, reads the
// body, resolves the model and hands the call to attempt; and it is the sink that writes the answer, keeping the
// commit point. It knows no provider, no guard's state and no configuration file.
package ingress

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"evergate/internal/affinity"
	"evergate/internal/attempt"
	"evergate/internal/front"
	"evergate/internal/guardrail"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/mirror"
	"evergate/internal/quota"
	"evergate/internal/quota/meters"
	"evergate/internal/replies"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/threads"
	"evergate/internal/wire"
)

// Provider is one configured provider, ready to be asked.
type Provider struct {
	Guards   *health.Provider
	Upstream attempt.Upstream
	Settings *resilience.Settings
	// Raw takes passthrough requests, within Timeouts; nil: it takes none.
	Raw      attempt.RawUpstream
	Timeouts route.Timeouts
	// Stores says where it keeps things of a kind (files, batches, uploads): the escaped path below its base URL, empty for a
	// kind that it has not, and what the query must have. nil: it keeps nothing.
	Stores func(kind string) (path, query string)
	// Limit is what the config lets it have at a time; nil: as much as comes.
	Limit *meters.Gate
	// KeyHeader is where callers bring their own key for it, as KeyHeader gives it; empty: they cannot.
	KeyHeader string
}

// Config is what the data plane needs to know, frozen; a reload swaps it whole.
type Config struct {
	Table     *route.Table
	Providers map[string]*Provider
	Callers   *identity.Book // nil: callers need no key
	// Meters count what callers and models use against their limits; nil: nobody is limited. ModelLimits are those of virtual models, by name.
	Meters      *meters.Table
	ModelLimits map[string]quota.Limits
	// Foreign, if set, tells requests of web pages that may not ask: where callers need no key.
	Foreign func(*http.Request) bool
	MaxBody int64 // bytes
	// Keepalive is after how much silence an open stream gets a comment; 0: never.
	Keepalive time.Duration
	// WriteTimeout is how long a client may take no byte before it is taken for gone; 0: for ever.
	WriteTimeout time.Duration
	// ReadTimeout is how long a client may be silent, or send next to nothing, while it sends a body; 0: a minute.
	ReadTimeout time.Duration
	// Guesses hold off who tries keys; nil: nobody is held off.
	Guesses *front.Guesses
	// Bodies is how many bytes are kept of each request's body and of its answer; 0: nothing.
	Bodies int
	// Replies says which virtual models keep their answers; ReplyLimits how much of them.
	Replies     map[string]*ReplyRule
	ReplyLimits replies.Limits

	// Guardrails judge the words of requests and answers; nil: nothing does.
	Guardrails *guardrail.Set

	turns turns // set by Configure
}

// Discovery is what the data plane asks about models that providers were found to have.
type Discovery interface {
	// Snapshot is what is known now.
	Snapshot() *route.Inventory
	// Await has the providers asked for an id that nobody is known to have, waits a little, within ctx, and gives what is
	// known then.
	Await(ctx context.Context, model string) *route.Inventory
	// Look has one provider asked, and does not wait.
	Look(provider string)
}

// Handler serves the client API. Safe for concurrent use.
type Handler struct {
	config    atomic.Pointer[Config]
	dialects  *wire.Table
	routes    map[string]wire.Dialect
	verbs     map[string]Verb
	runner    *attempt.Runner
	journal   journal.Sink
	discovery Discovery
	threads   *threads.Store
	affinity  *affinity.Table
	copies    *mirror.Copies
	replies   replies.Cache
	random    func() float64 // numbers in [0, 1)
	inFlight  atomic.Int64
	copied    atomic.Int64 // bytes of bodies that are to be kept
	tracer    Tracer       // nil: nothing is traced
}

// Tracer decides which requests are traced. It must be safe for concurrent use.
type Tracer interface {
	// Begin draws the ids of a request that has just come, by the trace context in its headers; nil: it is not traced.
	Begin(h http.Header) *journal.Trace
}

// Verb is an operation of a dialect whose path holds the model, as Google's APIs have them: /v1beta/models/MODEL:VERB.
type Verb struct {
	Dialect wire.Dialect
	Stream  bool
}

// Routes says which dialects clients may speak, and where.
type Routes struct {
	// Dialects are found by path: /v1 and the dialect's own path, or without /v1.
	Dialects []wire.Dialect
	Verbs    map[string]Verb
}

// New makes a handler; Configure must be called before it serves. dialects are all that upstreams may be asked in.
func New(dialects *wire.Table, routes Routes, runner *attempt.Runner, j journal.Sink, d Discovery) *Handler {
	h := &Handler{dialects: dialects, routes: map[string]wire.Dialect{}, verbs: routes.Verbs, runner: runner, journal: j, discovery: d, threads: threads.New(threads.DefaultLimits()), affinity: affinity.New(), copies: mirror.New(runner, j), random: rand.Float64}
	for _, dialect := range routes.Dialects {
		h.routes["/v1"+dialect.Path()] = dialect
		h.routes[dialect.Path()] = dialect
	}
	return h
}

// Configure swaps the configuration; requests under way keep the one they began with.
func (h *Handler) Configure(c *Config) {
	var known turns
	if old := h.config.Load(); old != nil {
		known = old.turns
	}
	c.turns = newTurns(c.Table, known, h.random)
	h.replies.Limit(c.ReplyLimits)
	h.config.Store(c)
}

// Trace has requests traced; it must be called before the handler serves.
func (h *Handler) Trace(t Tracer) { h.tracer = t }

// Affinity is the memory of conversations (R47).
func (h *Handler) Affinity() *affinity.Table { return h.affinity }

// Threads are the answers that are kept.
func (h *Handler) Threads() *threads.Store { return h.threads }

// InFlight is the number of client requests being served.
func (h *Handler) InFlight() int64 { return h.inFlight.Load() }

// ServeHTTP serves one client request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	cfg := h.config.Load()
	x := &exchange{h: h, cfg: cfg, w: w, r: r, control: http.NewResponseController(w), start: time.Now(), id: requestID(r.Header)}
	if h.tracer != nil {
		x.call.Trace = h.tracer.Begin(r.Header)
	}
	if cfg.Bodies > 0 {
		x.kept = newCopies(cfg.Bodies, r.Header, &h.copied)
		defer x.kept.end()
	}
	if dialect, ok := h.routes[r.URL.Path]; ok {
		x.dialect = dialect
		x.serve()
		return
	}
	if x.findVerb() {
		x.serve()
		return
	}
	if rest, d := h.belowAnswers(r.URL.Path); d != nil {
		x.dialect = d
		x.serveAnswer(rest)
		return
	}
	if kind, rest := storedKind(r.URL.EscapedPath()); kind != "" {
		x.serveStored(kind, rest)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), passRoot); ok {
		x.servePassthrough(rest)
		return
	}
	x.dialect = h.dialectOf(r)
	x.serveOther()
}

// belowAnswers finds the dialect that keeps answers under a path, and what of the path is below its route.
func (h *Handler) belowAnswers(path string) (rest string, d wire.Dialect) {
	path = strings.TrimPrefix(path, "/v1")
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if d, ok := h.routes[path[:i]].(threaded); ok {
				return path[i+1:], d
			}
			break
		}
	}
	return "", nil
}

// findVerb finds the operation of a path that holds the model.
func (x *exchange) findVerb() bool {
	path := x.r.URL.Path
	// The last is for clients that take a name with a slash in it for a whole resource name (Vercel's ai package).
	for _, prefix := range [...]string{"/v1beta/models/", "/v1/models/", "/v1alpha/models/", "/models/", "/v1beta/"} {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		i := strings.LastIndexByte(rest, ':')
		if i <= 0 {
			return false
		}
		verb, ok := x.h.verbs[rest[i+1:]]
		if !ok {
			return false
		}
		x.dialect, x.inPath = verb.Dialect, place{model: rest[:i], stream: verb.Stream, found: true}
		// Without alt=sse Google's APIs answer a stream as one JSON array; ours then has one element.
		if verb.Stream && x.r.URL.Query().Get("alt") != "sse" {
			x.inPath.stream, x.out.array = false, true
		}
		return true
	}
	return false
}

// dialectOf is the dialect in whose words an error is said where the path is none's: that of the SDK which asks.
func (h *Handler) dialectOf(r *http.Request) wire.Dialect {
	name := "/v1/chat/completions"
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1beta/"), r.Header.Get("X-Goog-Api-Key") != "", r.Header.Get("X-Goog-Api-Client") != "":
		if v, ok := h.verbs["generateContent"]; ok {
			return v.Dialect
		}
	case r.Header.Get("Anthropic-Version") != "":
		name = "/v1/messages"
	}
	return h.routes[name]
}
