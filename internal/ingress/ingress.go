// Package ingress is the data plane: it takes a client's HTTP request, finds its dialect, checks the caller, reads the
// body, resolves the model and hands the call to attempt; and it is the sink that writes the answer, keeping the
// commit point. It knows no provider, no guard's state and no configuration file.
package ingress

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// Provider is one configured provider, ready to be asked.
type Provider struct {
	Guards   *health.Provider
	Upstream attempt.Upstream
	Settings *resilience.Settings
}

// Config is what the data plane needs to know, frozen; a reload swaps it whole.
type Config struct {
	Table     *route.Table
	Providers map[string]*Provider
	Keys      *Keys // nil: callers need no key
	// Foreign, if set, tells requests of web pages that may not ask: where callers need no key.
	Foreign func(*http.Request) bool
	MaxBody int64 // bytes
	// Keepalive is after how much silence an open stream gets a comment; 0: never.
	Keepalive time.Duration
	// WriteTimeout is how long a client may take no byte before it is taken for gone; 0: for ever.
	WriteTimeout time.Duration
}

// Discovery is what the data plane asks about models that providers were found to have.
type Discovery interface {
	// Snapshot is what is known now.
	Snapshot() *route.Inventory
	// Await waits, within ctx, until the model is known or every provider was asked once, and gives what is known then.
	Await(ctx context.Context, model string) *route.Inventory
}

// Handler serves the client API. Safe for concurrent use.
type Handler struct {
	config    atomic.Pointer[Config]
	routes    map[string]wire.Dialect
	runner    *attempt.Runner
	journal   journal.Sink
	discovery Discovery
	inFlight  atomic.Int64
}

// New makes a handler; Configure must be called before it serves. dialects are found by path: /v1 and the dialect's own
// path, or without /v1.
func New(dialects []wire.Dialect, runner *attempt.Runner, j journal.Sink, d Discovery) *Handler {
	h := &Handler{routes: map[string]wire.Dialect{}, runner: runner, journal: j, discovery: d}
	for _, dialect := range dialects {
		h.routes["/v1"+dialect.Path()] = dialect
		h.routes[dialect.Path()] = dialect
	}
	return h
}

// Configure swaps the configuration; requests under way keep the one they began with.
func (h *Handler) Configure(c *Config) { h.config.Store(c) }

// InFlight is the number of client requests being served.
func (h *Handler) InFlight() int64 { return h.inFlight.Load() }

// ServeHTTP serves one client request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	cfg := h.config.Load()
	if dialect, ok := h.routes[r.URL.Path]; ok {
		x := &exchange{
			h: h, cfg: cfg, w: w, r: r, control: http.NewResponseController(w), dialect: dialect, start: time.Now(), id: requestID(r.Header),
		}
		x.serve()
		return
	}
	h.serveOther(cfg, w, r)
}

// anyDialect is the dialect in whose words an error is said where the path is none's.
func (h *Handler) anyDialect() wire.Dialect { return h.routes["/v1/chat/completions"] }
