package admin

import (
	"net/http"
	"strings"
)

func (a *handler) healthz(w http.ResponseWriter, _ *http.Request) {
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

func (a *handler) readyz(w http.ResponseWriter, r *http.Request) {
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

func (a *handler) metrics(w http.ResponseWriter, r *http.Request) {
	if a.sources.Metrics == nil {
		writeError(w, http.StatusNotFound, "not_found", "metrics are turned off")
		return
	}
	a.sources.Metrics.ServeHTTP(w, r)
}

func (a *handler) health(w http.ResponseWriter, _ *http.Request) {
	h := a.sources.Health()
	if h.Providers == nil {
		h.Providers = map[string]Provider{}
	}
	if h.Instances == nil {
		h.Instances = []Instance{}
	}
	writeJSON(w, http.StatusOK, h)
}

func (a *handler) reload(w http.ResponseWriter, r *http.Request) {
	if a.sources.Reload == nil {
		writeError(w, http.StatusConflict, "no_config_file", "the gateway runs without a config file: there is nothing to reload")
		return
	}
	var in struct {
		Reason string `json:"reason"`
	}
	if wrong := readBody(w, r, &in, `{"reason": "new keys"}`, "reason"); wrong != nil {
		wrong.write(w)
		return
	}
	if in.Reason = strings.TrimSpace(in.Reason); len(in.Reason) > maxReason {
		invalid("reason", "reason is longer than %d bytes", maxReason).write(w)
		return
	}
	problems := func() []Problem {
		a.reloading.Lock()
		defer a.reloading.Unlock()
		return a.sources.Reload(in.Reason, a.who(r))
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
	text := encode(body)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that is gone needs no reply
}
