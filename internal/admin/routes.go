package admin

import (
	"net/http"
	"net/http/pprof" // its registration with the default mux is never served; ours asks who is there
	"net/url"
	"strings"
)

// operation is one method of one path.
type operation struct {
	method string // GET answers HEAD, too
	// pattern is the path. A part of it in braces, such as {id}, stands for any one part; r.PathValue gives it.
	pattern string
	serve   http.HandlerFunc
	// who refuses those who may not ask; nil: the operator's rules.
	who func(*http.Request) *refusal
	// takes are the types of body that it takes. nil: JSON. Browsers send no other than three types to a foreign origin
	// without asking there first, none of which may be among them where something is changed.
	takes []string
	slow  bool // it takes as long as it is asked to
}

// operations are all that is served.
func (a *handler) operations(profiles bool) []operation {
	all := []operation{
		{method: "GET", pattern: "/healthz", serve: a.healthz, who: anyone},
		{method: "GET", pattern: "/readyz", serve: a.readyz, who: anyone},
		{method: "GET", pattern: "/metrics", serve: a.metrics, who: a.guard.scraper},

		{method: "GET", pattern: "/admin/v1/health", serve: a.health},
		{method: "POST", pattern: "/admin/v1/providers/{provider}/breaker", serve: a.breaker},
		{method: "POST", pattern: "/admin/v1/explain", serve: a.explain, takes: anyType},
		{method: "GET", pattern: "/admin/v1/explain/{id}", serve: a.explainPast},
		{method: "POST", pattern: "/admin/v1/reload", serve: a.reload},
		{method: "GET", pattern: "/admin/v1/config", serve: a.config},
		{method: "GET", pattern: "/admin/v1/models", serve: a.models},
		{method: "GET", pattern: "/admin/v1/overview", serve: a.overview},
		{method: "GET", pattern: "/admin/v1/requests", serve: a.requests},
		{method: "GET", pattern: "/admin/v1/requests/{id}", serve: a.request},
		{method: "GET", pattern: "/admin/v1/timeline", serve: a.timeline},
		{method: "GET", pattern: "/admin/v1/audit", serve: a.audit},
		{method: "GET", pattern: "/admin/v1/usage", serve: a.usage},
		{method: "GET", pattern: "/admin/v1/usage/export", serve: a.export, slow: true},
		{method: "GET", pattern: "/admin/v1/limits", serve: a.limits},
		{method: "GET", pattern: "/admin/v1/cache", serve: a.cache},
		{method: "DELETE", pattern: "/admin/v1/cache", serve: a.purge},
		{method: "GET", pattern: "/admin/v1/events", serve: a.events, slow: true},
		{method: "POST", pattern: "/admin/v1/simulate", serve: a.simulate, takes: []string{"application/yaml", "application/json"}},
		{method: "GET", pattern: "/admin/v1/openapi.json", serve: a.openAPI},
		{method: "GET", pattern: "/admin/v1/alerts", serve: a.alerts},
		{method: "POST", pattern: "/admin/v1/alerts/test", serve: a.testAlert},
		{method: "GET", pattern: "/admin/v1/keys", serve: a.keys},
		{method: "POST", pattern: "/admin/v1/keys", serve: a.createKey},
		{method: "GET", pattern: "/admin/v1/keys/{id}", serve: a.key},
		{method: "PATCH", pattern: "/admin/v1/keys/{id}", serve: a.patchKey},
		{method: "DELETE", pattern: "/admin/v1/keys/{id}", serve: a.revokeKey},
		{method: "POST", pattern: "/admin/v1/keys/{id}/rotate", serve: a.rotateKey},
		{method: "GET", pattern: "/admin/v1/faults", serve: a.faults},
		{method: "POST", pattern: "/admin/v1/faults", serve: a.startFault},
		{method: "GET", pattern: "/admin/v1/faults/{id}", serve: a.fault},
		{method: "DELETE", pattern: "/admin/v1/faults/{id}", serve: a.stopFault},
	}
	if profiles {
		all = append(all, a.profiles()...)
	}
	return all
}

// anyType is any type of body: for what changes nothing.
var anyType = []string{""}

// profiles are Go's own, by their usual paths.
func (a *handler) profiles() []operation {
	const root = "/debug/pprof/"
	all := []operation{{method: "POST", pattern: root + "symbol", serve: pprof.Symbol, takes: anyType}}
	add := func(name string, h http.HandlerFunc) {
		all = append(all, operation{method: "GET", pattern: root + name, serve: h, slow: name != "symbol"})
	}
	add("", pprof.Index)
	add("cmdline", pprof.Cmdline)
	add("profile", pprof.Profile)
	add("trace", pprof.Trace)
	add("symbol", pprof.Symbol)
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		add(name, pprof.Handler(name).ServeHTTP)
	}
	return all
}

// path is all that is served at one pattern.
type path struct {
	parts   []string // those in braces stand for any
	methods map[string]*operation
	allow   string // as the header says it
}

// gather puts the operations of a pattern together.
func gather(all []operation) []*path {
	var paths []*path
	at := map[string]*path{}
	for i := range all {
		o := &all[i]
		p := at[o.pattern]
		if p == nil {
			p = &path{parts: strings.Split(o.pattern, "/"), methods: map[string]*operation{}}
			at[o.pattern] = p
			paths = append(paths, p)
		}
		p.methods[o.method] = o
		if o.method == http.MethodGet {
			p.methods[http.MethodHead] = o
		}
	}
	for _, p := range paths {
		var names []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			if p.methods[m] != nil {
				names = append(names, m)
			}
		}
		p.allow = strings.Join(names, ", ")
	}
	return paths
}

// find gives what is served at the path of a request, and puts the parts in braces into it; a path in which all parts are as
// they are written comes before one that takes any.
func (a *handler) find(r *http.Request) *path {
	parts := strings.Split(r.URL.EscapedPath(), "/") // a slash in a name is none between parts
	for i, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil {
			parts[i] = plain
		}
	}
	var found *path
	for _, p := range a.paths {
		loose, ok := p.fits(parts)
		if ok && !loose {
			return p
		}
		if ok && found == nil {
			found = p
		}
	}
	if found != nil {
		for i, part := range found.parts {
			if name, ok := placeholder(part); ok {
				r.SetPathValue(name, parts[i])
			}
		}
	}
	return found
}

// fits says whether the parts of a path are these; loose: by a part that stands for any.
func (p *path) fits(parts []string) (loose, ok bool) {
	if len(parts) != len(p.parts) {
		return false, false
	}
	for i, part := range p.parts {
		if part == parts[i] {
			continue
		}
		if _, is := placeholder(part); !is || parts[i] == "" {
			return false, false
		}
		loose = true
	}
	return loose, true
}

func placeholder(part string) (name string, ok bool) {
	if len(part) > 2 && part[0] == '{' && part[len(part)-1] == '}' {
		return part[1 : len(part)-1], true
	}
	return "", false
}
