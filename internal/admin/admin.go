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
	"time"

	"evergate/internal/explain"
	"evergate/internal/provider"
	"evergate/internal/resilience"
)

// Sources are what the handler shows and does. All functions are safe for concurrent use; Health and Ready are called
// on every request and must not wait for anything.
type Sources struct {
	Health func() Health
	// Ready says whether the instance takes requests (config loaded, listener up, not draining), and if not, why.
	Ready func() (ok bool, reason string)
	// Reload loads the config anew and returns when it is in force, or says what is wrong with it. Calls come one at a
	// time. nil: there is no config file to reload.
	Reload func() []Problem
	// Operate carries out an operator's order on a breaker of a provider that Health names (R31), by whom. Its errors are those
	// of resilience.Machine.Operate.
	Operate func(provider string, o resilience.Order, by string) error
	// Explain says what a request would come to if it came now; an *explain.QuestionError is the asker's fault (R72). nil: nobody
	// can say.
	Explain func(context.Context, explain.Question) (*explain.Answer, error)
	// Past says what became of a request of the past, by its id; false: it is not remembered.
	Past func(id string) (*explain.Past, bool)
	// Metrics serves /metrics.
	Metrics http.Handler
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

// New makes the handler. It is safe for concurrent use and keeps nothing between requests.
func New(s Sources, o Options) http.Handler {
	a := &api{sources: s, guard: newGuard(o), maxBody: cmp.Or(o.MaxBody, 32<<20)}
	a.routes = map[string]endpoint{
		"/healthz": {get: a.healthz},
		"/readyz":  {get: a.readyz},
		"/metrics": {get: a.metrics, who: a.guard.scraper},

		"/admin/v1/health":  {get: a.health, who: a.guard.operator},
		"/admin/v1/reload":  {post: a.reload, who: a.guard.operator},
		"/admin/v1/explain": {post: a.explain, who: a.guard.operator},
	}
	if o.Pprof {
		a.profiles()
	}
	return a
}

// endpoint is what one path answers; who refuses those who may not ask, nil refuses nobody.
type endpoint struct {
	get, post http.HandlerFunc
	who       func(*http.Request) *refusal
	slow      bool // it takes as long as it is asked to
}

func (e endpoint) allow() string {
	var methods []string
	if e.get != nil {
		methods = append(methods, "GET", "HEAD")
	}
	if e.post != nil {
		methods = append(methods, "POST")
	}
	return strings.Join(methods, ", ")
}

type api struct {
	sources   Sources
	guard     guard
	maxBody   int64
	routes    map[string]endpoint
	reloading sync.Mutex // held while a reload is under way
}

// route is what a path answers.
func (a *api) route(path string) (endpoint, bool) {
	if name, ok := breakerPath(path); ok {
		return endpoint{post: func(w http.ResponseWriter, r *http.Request) { a.breaker(w, r, name) }, who: a.guard.operator}, true
	}
	if id, ok := pastID(path); ok {
		return endpoint{get: func(w http.ResponseWriter, _ *http.Request) { a.explainPast(w, id) }, who: a.guard.operator}, true
	}
	e, ok := a.routes[path]
	return e, ok
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, ok := a.route(r.URL.Path)
	limit(w, r, e.slow)
	if !ok {
		// Who may not ask is not told which paths exist.
		if no := a.guard.operator(r); no != nil && strings.HasPrefix(r.URL.Path, "/admin") {
			no.write(w)
			return
		}
		writeError(w, http.StatusNotFound, "not_found", "there is nothing at this path")
		return
	}
	if e.who != nil {
		if no := e.who(r); no != nil {
			no.write(w)
			return
		}
	}
	var serve http.HandlerFunc
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		serve = e.get
	case http.MethodPost:
		serve = e.post
	}
	if serve == nil {
		w.Header().Set("Allow", e.allow())
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "this path answers "+e.allow()+" only")
		return
	}
	serve(w, r)
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
