// Package admin owns what operators and their tools ask the gateway over HTTP: liveness, readiness, metrics, the admin
// API's health and reload, profiles; and who may ask. It also renders the health reply as the table of `evergate
// status`. It must not know how any of it comes about: everything it shows or does is a function it is given.
package admin

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/drill/running"
	"evergate/internal/explain"
	"evergate/internal/feed"
	"evergate/internal/front"
	"evergate/internal/ledger"
	"evergate/internal/provider"
	"evergate/internal/resilience"
)

// Sources are what the handler shows and does. All functions are safe for concurrent use; Health and Ready are called
// on every request and must not wait for anything.
type Sources struct {
	Health func() Health
	// Ready says whether the instance takes requests (config loaded, listener up, not draining), and if not, why.
	Ready func() (ok bool, reason string)
	// Reload loads the config anew and returns when it is in force, or says what is wrong with it; why is what the operator says, or
	// empty, and by who it is. Calls come one at a time. nil: there is no config file to reload.
	Reload func(why, by string) []Problem
	// Operate carries out an operator's order on a breaker of a provider that Health names (R31), by whom. Its errors are those
	// of resilience.Machine.Operate.
	Operate func(provider string, o resilience.Order, by string) error
	// Explain says what a request would come to if it came now; an *explain.QuestionError is the asker's fault (R72). nil: nobody
	// can say.
	Explain func(context.Context, explain.Question) (*explain.Answer, error)
	// Request gives a request of the past, by its row or its id; false: none is kept.
	Request func(ctx context.Context, id string) (*ledger.Request, bool, error)
	// Past says in words what became of it.
	Past func(*ledger.Request) *explain.Past
	// Drills are the fault rules (R74); nil: none were started.
	Drills *running.Drills
	// Metrics serves /metrics.
	Metrics http.Handler
	// Instance and Version are this process's.
	Instance, Version string
	// Ledger gives what is asked for requests, the timeline and usage; nil while its store is not reached.
	Ledger func() ledger.Store
	// Dropped is how many rows the ledger could not keep.
	Dropped func() uint64
	// Feed is what happens, as it happens.
	Feed *feed.Feed
	// Targets are the availabilities that models are to have, 0 to 1, by name.
	Targets func() map[string]float64
	// Config is the config in force, without its secrets; Models are the virtual models as they stand now.
	Config func() Config
	Models func(context.Context) (*Models, error)
	AlertSources
	CacheSources
	LimitSources
	UsageSources
	KeySources
	// Simulate plays a scenario, of which it reads nothing but the text; what it gives is written as JSON. ErrTooLong: ctx ended before it did.
	Simulate func(ctx context.Context, scenario []byte) (report any, problems []Problem, err error)
}

// Options say who may ask.
type Options struct {
	// Token opens the admin API from anywhere; without one it answers this machine only.
	Token provider.Secret
	// Hosts are names, besides localhost and loopback addresses, that the Host header may have when there is no token:
	// the host that the gateway is configured to listen on.
	Hosts []string
	// Pprof serves /debug/pprof/.
	Pprof bool
	// NoDrills refuses to start a drill.
	NoDrills bool
	// Guesses hold off who tries tokens; nil: nobody is held off.
	Guesses *front.Guesses
	// MaxBody bounds a request that is to be explained, in bytes; 0: 32 MiB.
	MaxBody int64
}

// Problem is one mistake in a config.
type Problem struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Path       string `json:"path,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Owns says whether a path belongs to this handler, for a listener that it shares with the data plane.
func Owns(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/metrics", "/admin":
		return true
	}
	return strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, "/debug/pprof/")
}

// New makes the handler. It is safe for concurrent use and keeps nothing between requests but overviews, for seconds.
func New(s Sources, o Options) http.Handler {
	if s.Drills == nil {
		s.Drills = &running.Drills{}
	}
	s.KeySources = s.settled()
	a := &handler{sources: s, guard: newGuard(o), maxBody: cmp.Or(o.MaxBody, 32<<20), noDrills: o.NoDrills}
	a.paths = gather(a.operations(o.Pprof))
	return a
}

type handler struct {
	sources   Sources
	guard     guard
	maxBody   int64
	noDrills  bool
	paths     []*path
	reloading sync.Mutex // held while a reload is under way
	playing   sync.Mutex // held while a scenario is played
	lookout   lookout
	exports   atomic.Int64 // under way
}

// ServeHTTP implements http.Handler.
func (a *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	p := a.find(r)
	if p == nil {
		limit(w, r, false)
		// Who may not ask is not told which paths exist.
		if no := a.guard.operator(r); no != nil && strings.HasPrefix(r.URL.Path, "/admin") {
			no.write(w)
			return
		}
		writeError(w, http.StatusNotFound, "not_found", "there is nothing at this path")
		return
	}
	o := p.methods[r.Method]
	limit(w, r, o != nil && o.slow)
	if no := a.admits(p, o, r); no != nil {
		no.write(w)
		return
	}
	switch {
	case o != nil:
		o.serve(w, r)
	case r.Method == http.MethodOptions:
		h.Set("Allow", p.allow+", OPTIONS")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", p.allow)
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "this path answers "+p.allow+" only")
	}
}

// admits refuses who may not ask, and bodies of a type that is not taken. o is nil where the path has no such method: then those
// are refused who may ask for nothing there.
func (a *handler) admits(p *path, o *operation, r *http.Request) *refusal {
	asked := o
	if asked == nil {
		for _, one := range p.methods {
			asked = one
			break
		}
	}
	who := asked.who
	if who == nil {
		who = a.guard.operator
	}
	if no := who(r); no != nil || o == nil {
		return no
	}
	return o.refuses(r)
}

const (
	bodyTimeout  = 5 * time.Second  // for a body, which is small or not read at all
	writeTimeout = 30 * time.Second // for a client to take its answer
)

// limit bounds how long a client may keep its connection busy without taking part.
func limit(w http.ResponseWriter, r *http.Request, slow bool) {
	control, now := http.NewResponseController(w), time.Now()
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(now.Add(bodyTimeout)) // a writer without deadlines (tests) has no slow client either
	}
	if !slow {
		_ = control.SetWriteDeadline(now.Add(writeTimeout)) // as above
	}
}
