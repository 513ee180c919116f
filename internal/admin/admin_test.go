package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/provider"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// sources are a healthy gateway's.
func sources() Sources {
	return Sources{
		Health:  outage,
		Ready:   func() (bool, string) { return true, "" },
		Reload:  func(string, string) []Problem { return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "metric 1") }),
	}
}

// ask sends a request as curl on this machine would; change adjusts it.
func ask(h http.Handler, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:50000"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}
func host(h string) func(*http.Request)    { return func(r *http.Request) { r.Host = h } }
func from(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }

// code gives the error code of a JSON error reply.
func code(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body struct{ Error errorBody }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error.Message == "" {
		t.Errorf("not an error body: %s", w.Body)
	}
	return body.Error.Code
}

// The shape of CONTRACT §4, byte for byte but for white space.
func TestHealthHasTheContractsShape(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 13, 0, 0, 123_987_000, time.FixedZone("CET", 3600))
	s := sources()
	s.Health = func() Health {
		return Health{
			Instance: "a1",
			Providers: map[string]Provider{
				"openai": NewProvider(resilience.View{
					Breaker:     resilience.BreakerView{FailuresTotal: 7},
					Credentials: []resilience.CredentialView{{Name: "default", State: "ok"}},
					Lockouts:    []resilience.LockoutView{{Model: "gpt-x", Until: at, Reason: resilience.ModelNotFound, Level: 1}},
				}, route.ProviderModels{Status: route.Healthy, LastChecked: at}, 3, Latency{412, 2210}),
				"groq": NewProvider(resilience.View{
					Breaker: resilience.BreakerView{
						State: resilience.Open, Trip: "cooldown", ConsecutiveFailures: 2, FailuresTotal: 12, OpenedAt: at, RetryAt: at.Add(time.Minute), Offences: 1,
					},
					Credentials: []resilience.CredentialView{{Name: "k", State: "cooldown", Level: 2, Until: at, Reason: resilience.RateLimited}},
				}, route.ProviderModels{Status: route.Degraded, Stale: true, Message: "timeout"}, 0, Latency{}),
			},
			Instances: []Instance{
				{ID: "a1", Self: true, Version: "v1", Started: Time(at), LastSeen: Time(at)},
				{ID: "b2", Version: "v1", Started: Time(at), LastSeen: Time(at), LagMS: 51000, Silent: true, Believes: map[string][]Belief{
					"groq": {{Guard: "circuit_breaker", Reason: "failures", Until: Time(at)}},
				}},
			},
			State: State{Store: "redis", Address: "redis://***@store:6379/0", Since: Time(at), LagMS: 7000, Errors: 2, Message: "connection refused"},
		}
	}
	w := ask(New(s, Options{}), "GET", "/admin/v1/health")
	var pretty map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &pretty); err != nil {
		t.Fatal(err)
	}
	const stamp = `"2026-03-01T12:00:00.123Z"`
	want := `{"instance":"a1","providers":{` +
		`"groq":{"status":"degraded","last_checked":null,"in_flight":0,"latency_ms":{"first_content":0,"total":0},` +
		`"breaker":{"state":"open","trip":"cooldown","consecutive_failures":2,"failures_total":12,"opened_at":` + stamp + `,"retry_at":"2026-03-01T12:01:00.123Z","offences":1},` +
		`"credentials":{"k":{"state":"cooldown","level":2,"cooldown_until":` + stamp + `,"reason":"rate_limited"}},"lockouts":[],"message":"timeout","stale":true},` +
		`"openai":{"status":"healthy","last_checked":` + stamp + `,"in_flight":3,"latency_ms":{"first_content":412,"total":2210},` +
		`"breaker":{"state":"closed","trip":"","consecutive_failures":0,"failures_total":7,"opened_at":null,"retry_at":null,"offences":0},` +
		`"credentials":{"default":{"state":"ok","level":0,"cooldown_until":null,"reason":""}},` +
		`"lockouts":[{"model":"gpt-x","credential":"","until":` + stamp + `,"reason":"model_not_found","level":1}]}},` +
		`"instances":[{"id":"a1","self":true,"version":"v1","started":` + stamp + `,"last_seen":` + stamp + `,"lag_ms":0},` +
		`{"id":"b2","self":false,"version":"v1","started":` + stamp + `,"last_seen":` + stamp + `,"lag_ms":51000,"silent":true,` +
		`"believes":{"groq":[{"guard":"circuit_breaker","reason":"failures","until":` + stamp + `}]}}],` +
		`"state":{"store":"redis","address":"redis://***@store:6379/0","reached":false,"since":` + stamp +
		`,"last_sync":null,"lag_ms":7000,"errors_total":2,"message":"connection refused"}}` + "\n"
	equal(t, "body", w.Body.String(), want)
	equal(t, "type", w.Header().Get("Content-Type"), "application/json")
	equal(t, "caching", w.Header().Get("Cache-Control"), "no-store")
}

func TestHealthIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(outage())
	if err != nil {
		t.Fatal(err)
	}
	var back Health
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "again", string(again), string(text))
	if err := json.Unmarshal([]byte(`{"providers":{"p":{"last_checked":"yesterday"}}}`), &back); err == nil {
		t.Error("took a time that is none")
	}
}

func TestAnEmptyHealthHasNoNulls(t *testing.T) {
	t.Parallel()
	s := sources()
	s.Health = func() Health { return Health{} }
	equal(t, "body", ask(New(s, Options{}), "GET", "/admin/v1/health").Body.String(), `{"instance":"","providers":{},"instances":[],`+
		`"state":{"store":"","reached":false,"since":null,"last_sync":null,"lag_ms":0,"errors_total":0}}`+"\n")
}

func TestReload(t *testing.T) {
	t.Parallel()
	s := sources()
	equal(t, "good", ask(New(s, Options{}), "POST", "/admin/v1/reload").Body.String(), `{"status":"reloaded"}`+"\n")

	s.Reload = func(string, string) []Problem {
		return []Problem{
			{File: "evergate.yaml", Line: 3, Column: 5, Path: "providers.openai.tpye", Message: "unknown key", Suggestion: "type"},
			{Message: "second"},
		}
	}
	w := ask(New(s, Options{}), "POST", "/admin/v1/reload")
	equal(t, "status", w.Code, 422)
	equal(t, "bad", w.Body.String(), `{"error":{"message":"the config has mistakes; the one in force stays","code":"invalid_config"},"problems":[`+
		`{"file":"evergate.yaml","line":3,"column":5,"path":"providers.openai.tpye","message":"unknown key","suggestion":"type"},{"message":"second"}]}`+"\n")

	s.Reload = nil
	w = ask(New(s, Options{}), "POST", "/admin/v1/reload")
	equal(t, "no file", []any{w.Code, code(t, w)}, []any{409, "no_config_file"})
}

func TestReloadsComeOneAtATime(t *testing.T) {
	t.Parallel()
	running, calls := 0, 0 // not locked: the race detector sees two at once
	s := sources()
	s.Reload = func(string, string) []Problem {
		running++
		calls += running
		running--
		if calls == 5 {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	h := New(s, Options{})
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			defer func() { _ = recover() }()
			ask(h, "POST", "/admin/v1/reload")
		})
	}
	work.Wait()
	equal(t, "calls", calls, 20)
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	with := func(providers map[string]Provider) func() Health {
		return func() Health { return Health{Providers: providers} }
	}
	down := map[string]Provider{
		"a": {Status: "unhealthy", Breaker: Breaker{State: "closed"}},
		"b": {Status: "healthy", Breaker: Breaker{State: "open"}},
		"c": {Status: "healthy", Breaker: Breaker{State: "closed"}, Disabled: true},
	}
	cases := []struct {
		name   string
		path   string
		ok     bool
		reason string
		health func() Health
		status int
		body   string
	}{
		{
			"ready", "/readyz", true, "", with(map[string]Provider{"a": {Status: "degraded", Breaker: Breaker{State: "half_open"}}}), 200,
			`{"status":"ready","providers":{"a":{"status":"degraded","breaker":"half_open"}}}`,
		},
		{"draining", "/readyz", false, "draining", with(nil), 503, `{"status":"not_ready","reason":"draining","providers":{}}`},
		{
			"upstreams do not count", "/readyz", true, "", with(down), 200,
			`{"status":"ready","providers":{"a":{"status":"unhealthy","breaker":"closed"},"b":{"status":"healthy","breaker":"open"}}}`,
		},
		{
			"unless asked", "/readyz?providers=1", true, "", with(down), 503,
			`{"status":"not_ready","reason":"no provider is usable","providers":{"a":{"status":"unhealthy","breaker":"closed"},"b":{"status":"healthy","breaker":"open"}}}`,
		},
		{"one is enough", "/readyz?providers=1", true, "", with(map[string]Provider{
			"a": {Status: "degraded", Breaker: Breaker{State: "half_open"}}, "b": {Status: "unhealthy"},
		}), 200, `{"status":"ready","providers":{"a":{"status":"degraded","breaker":"half_open"},"b":{"status":"unhealthy","breaker":""}}}`},
		{
			"the reason of the instance comes first", "/readyz?providers=1", false, "draining", with(nil), 503,
			`{"status":"not_ready","reason":"draining","providers":{}}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sources()
			s.Health, s.Ready = c.health, func() (bool, string) { return c.ok, c.reason }
			w := ask(New(s, Options{Token: "t"}), "GET", c.path, from("203.0.113.9:1"), host("gw.example"))
			equal(t, "status", w.Code, c.status)
			equal(t, "body", w.Body.String(), c.body+"\n")
		})
	}
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	h := New(sources(), Options{Pprof: true})
	cases := []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/healthz", 200, ""},
		{"HEAD", "/healthz", 200, ""},
		{"POST", "/healthz", 405, "GET, HEAD"},
		{"DELETE", "/readyz", 405, "GET, HEAD"},
		{"GET", "/metrics", 200, ""},
		{"PUT", "/metrics", 405, "GET, HEAD"},
		{"HEAD", "/admin/v1/health", 200, ""},
		{"POST", "/admin/v1/health", 405, "GET, HEAD"},
		{"GET", "/admin/v1/reload", 405, "POST"},
		{"OPTIONS", "/admin/v1/reload", 204, "POST, OPTIONS"},
		{"GET", "/admin/v1/health/", 404, ""},
		{"GET", "/admin/v2/health", 404, ""},
		{"GET", "/admin", 404, ""},
		{"GET", "/debug/pprof/", 200, ""},
		{"GET", "/debug/pprof/goroutine", 200, ""},
		{"GET", "/debug/pprof/cmdline", 200, ""},
		{"POST", "/debug/pprof/symbol", 200, ""},
		{"POST", "/debug/pprof/heap", 405, "GET, HEAD"},
		{"GET", "/debug/pprof/nothing", 404, ""},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			if !Owns(c.path) {
				t.Error("not owned")
			}
			w := ask(h, c.method, c.path)
			equal(t, "status", w.Code, c.status)
			equal(t, "allow", w.Header().Get("Allow"), c.allow)
			if c.status >= 400 {
				code(t, w)
			}
		})
	}
	for _, path := range []string{"/", "/v1/models", "/healthzz", "/adminer", "/metrics/", ""} {
		if Owns(path) {
			t.Errorf("owns %q", path)
		}
	}
	if w := ask(New(sources(), Options{}), "GET", "/debug/pprof/"); w.Code != 404 {
		t.Errorf("profiles without being turned on: %d", w.Code)
	}
	s := sources()
	s.Metrics = nil
	if w := ask(New(s, Options{}), "GET", "/metrics"); w.Code != 404 {
		t.Errorf("metrics without metrics: %d", w.Code)
	}
}

func TestNoReplyHoldsTheToken(t *testing.T) {
	t.Parallel()
	const token = "planted-token-1234"
	h := New(sources(), Options{Token: provider.Secret(token)})
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/admin/v1/health", "/admin/v1/nothing"} {
		for _, given := range []string{"", token, token + "x"} {
			w := ask(h, "GET", path, header("X-Admin-Token", given))
			if text := fmt.Sprint(w.Header(), w.Body); strings.Contains(text, token) {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
	if text := fmt.Sprintf("%+v %#v", h, h); strings.Contains(text, token) {
		t.Error("the handler prints its token")
	}
}
