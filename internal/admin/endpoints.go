package admin

import (
	"encoding/json"
	"net/http"
	"net/http/pprof" // its registration with the default mux is never served; ours asks who is there
)

func (a *api) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the reply of /readyz.
type readiness struct {
	Status string `json:"status"` // ready, or not_ready
	Reason string `json:"reason,omitempty"`
	// Providers are the upstreams' discovery status and breaker state. They count with ?providers=1 only: an instance
	// whose upstreams are down still answers, and taking it away would not bring them back.
	Providers map[string]upstream `json:"providers"`
}

type upstream struct {
	Status  string `json:"status"`
	Breaker string `json:"breaker"`
}

func (a *api) readyz(w http.ResponseWriter, r *http.Request) {
	ok, reason := a.sources.Ready()
	reply := readiness{Status: "ready", Reason: reason, Providers: map[string]upstream{}}
	usable := 0
	for name, p := range a.sources.Health().Providers {
		if p.Disabled {
			continue
		}
		reply.Providers[name] = upstream{Status: p.Status, Breaker: p.Breaker.State}
		if p.usable() {
			usable++
		}
	}
	if ok && usable == 0 && r.URL.Query().Get("providers") == "1" {
		ok, reply.Reason = false, "no provider is usable"
	}
	status := http.StatusOK
	if !ok {
		status, reply.Status = http.StatusServiceUnavailable, "not_ready"
	}
	writeJSON(w, status, reply)
}

func (a *api) metrics(w http.ResponseWriter, r *http.Request) {
	if a.sources.Metrics == nil {
		writeError(w, http.StatusNotFound, "not_found", "metrics are turned off")
		return
	}
	a.sources.Metrics.ServeHTTP(w, r)
}

func (a *api) health(w http.ResponseWriter, _ *http.Request) {
	h := a.sources.Health()
	if h.Providers == nil {
		h.Providers = map[string]Provider{}
	}
	if h.Instances == nil {
		h.Instances = []Instance{}
	}
	writeJSON(w, http.StatusOK, h)
}

func (a *api) reload(w http.ResponseWriter, _ *http.Request) {
	if a.sources.Reload == nil {
		writeError(w, http.StatusConflict, "no_config_file", "the gateway runs without a config file: there is nothing to reload")
		return
	}
	problems := func() []Problem {
		a.reloading.Lock()
		defer a.reloading.Unlock()
		return a.sources.Reload()
	}()
	if len(problems) == 0 {
		writeJSON(w, http.StatusOK, map[string]string{"status": "reloaded"})
		return
	}
	writeJSON(w, http.StatusUnprocessableEntity, struct {
		Error    errorBody `json:"error"`
		Problems []Problem `json:"problems"`
	}{errorBody{"the config has mistakes; the one in force stays", "invalid_config", ""}, problems})
}

func (a *api) profiles() {
	const root = "/debug/pprof/"
	add := func(name string, h http.HandlerFunc) {
		a.routes[root+name] = endpoint{get: h, who: a.guard.operator, slow: true}
	}
	add("", pprof.Index)
	add("cmdline", pprof.Cmdline)
	add("profile", pprof.Profile)
	add("trace", pprof.Trace)
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		add(name, pprof.Handler(name).ServeHTTP)
	}
	a.routes[root+"symbol"] = endpoint{get: pprof.Symbol, post: pprof.Symbol, who: a.guard.operator}
}

// errorBody is what is wrong; Param names the field of the request that is.
type errorBody struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Param   string `json:"param,omitempty"`
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]errorBody{"error": {message, code, ""}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic("BUG: admin reply cannot be encoded: " + err.Error()) //nolint:forbidigo // all replies are types of ours
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no reply
}
