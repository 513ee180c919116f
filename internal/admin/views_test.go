package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"evergate/api"
	"evergate/internal/ledger"
	"evergate/internal/testkit/openapi"
)

// Every reply is as the document says, and holds what is kept.
func TestViews(t *testing.T) {
	t.Parallel()
	doc := openapi.Load(t, api.Admin)
	h := New(kept(t), Options{})
	row := string(ended(time.Now(), "x").Row)
	tests := []struct {
		name, target, path string // path as in the document; empty: the target's
		status             int
		want               []string
	}{
		{"requests", "requests", "", 200, []string{
			`"id":"req_1"`, `"id":"req_2"`, `"dropped":3`, `"duration_ms":900`, `"first_content_ms":350.5`, `"first_content_ms":null`, `"overhead_ms":0.125`,
			`"attempts":2`, `"rescued":true`, `"added_ms":32`, `"added_cost_usd":0`, `"cost_usd":0.00125`, `"cost_usd":null`,
			`"tokens":{"input":100,"output":20,"cached_input":10,"cache_write":0,"reasoning":0,"estimated":false}`,
			`"trail":"azure/gpt-4o=circuit_open, groq/llama=503, openai/gpt-4o=200"`, `"trace_id":"ab000000000000000000000000000001"`,
		}},
		{"one page", "requests?limit=1", "", 200, []string{`"next":"0`, "req_1"}},
		{"failed", "requests?failed=true", "", 200, []string{"req_2", "!req_1"}},
		{"not only failed", "requests?failed=false", "", 200, []string{"req_2", "req_1"}},
		{"rescued", "requests?rescued=true", "", 200, []string{"req_1", "!req_2"}},
		{"of a class", "requests?status=5xx", "", 200, []string{"req_2", "!req_1"}},
		{"of a status", "requests?status=200", "", 200, []string{"req_1", "!req_2"}},
		{"of a code", "requests?code=all_providers_failed", "", 200, []string{"req_2", "!req_1"}},
		{"of a key", "requests?key=app", "", 200, []string{"req_1", "!req_2"}},
		{"of a provider that failed", "requests?provider=groq&model=llama", "", 200, []string{"req_1", "req_2"}},
		{"of a route", "requests?route=smart&q=OPENAI", "", 200, []string{"req_1", "!req_2"}},
		{"by the beginning of an id", "requests?id=req_1", "", 200, []string{"req_1", "!req_2"}},
		{"of a drill", "requests?drill=true", "", 200, []string{`"requests":[]`}},
		{"since a while", "requests?from=1h", "", 200, []string{"req_1", "!req_2"}},
		{"between", "requests?from=3h&to=1h", "", 200, []string{"req_2", "!req_1"}},
		{"since a time", "requests?from=2026-01-01T00:00:00%2B01:00", "", 200, nil},
		{"a cursor", "requests?cursor=" + row, "", 200, []string{"req_1"}},

		{"a request", "requests/req_1", "requests/{id}", 200, []string{
			`"steps":[{"provider":"azure"`, `"offset_ms":32`, `"first_content_ms":318`, `"candidates":[`, `"on":"context_length"`, `"order":"declared"`, `"lost":["logit_bias"]`,
			`"upstream_ms":890`, `\u003cimg src=x onerror=alert(1)\u003e\u001b[2J`, "!body",
		}},
		{"no such request", "requests/req_9", "requests/{id}", 404, []string{"no request of this id is kept"}},
		{"an odd id", "requests/a%2Fb%00", "requests/{id}", 404, nil},

		{"timeline", "timeline", "", 200, []string{`"kind":"guard"`, `"kind":"order"`, `"kind":"change"`, `"kind":"discovery"`, `"request_id":"req_1"`, `"next":""`}},
		{"kinds", "timeline?kinds=guard,discovery", "", 200, []string{`"kind":"guard"`, `"kind":"discovery"`, `!"kind":"order"`}},
		{"of a provider", "timeline?provider=groq&limit=500", "", 200, []string{`"kind":"guard"`, `!"kind":"discovery"`}},
		{"of a request", "timeline?request_id=req_1", "", 200, []string{`"kind":"guard"`, `!"kind":"order"`}},
		{"audit", "audit", "", 200, []string{`"by":"10.0.0.1"`, `"reason":"maintenance"`, `"guard":"reload"`, `!"kind":"guard"`}},

		{"usage in all", "usage", "", 200, []string{`"rows":[{"requests":2,"attempts":3`, `"cost_usd":0.00125`, `"availability":0.5`, `!"key"`, `!"at"`}},
		{"usage by all", "usage?group_by=key,route,model,provider&step=hour", "", 200, []string{`"key":"app"`, `"provider":"openai"`, `"at":"`, `"input_tokens":100`}},
		{"usage of one", "usage?provider=openai&from=24h", "", 200, []string{`"rows":[{"requests":1,"attempts":1`}},
		{"usage of nothing", "usage?key=none", "", 200, []string{`"rows":[]`, `"availability":null`, `"p95":null`}},
		{"usage as a table", "usage?group_by=key&format=csv", "", 200, []string{"key,requests,attempts,", "app,1,2,100,20,10,", "'=cmd()"}},

		{"overview", "overview", "", 200, []string{`"step_ms":900000`, `"attempts_per_request":1.5`, `"route":"smart","requests":2,"failed":1,"availability":0.5,"target":0.99,"budget_left":-48.9`, `"route":"unused","requests":0`}},
		{"of minutes", "overview?window=1h", "", 200, []string{`"step_ms":60000`, `"requests":1`}},
		{"of a quarter", "overview?window=2160h", "", 200, []string{`"step_ms":3600000`}},

		{"models", "models", "", 200, []string{`"weight":2.5`, `"availability":0.99`, `"plain":2`}},
		{"config", "config", "", 200, []string{`"yaml":"providers: {}\n"`}},
		{"health", "health", "", 200, nil},
		{"past", "explain/req_1", "explain/{id}", 200, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, _, _ := strings.Cut(tt.target, "?")
			if tt.path != "" {
				path = tt.path
			}
			w := ask(h, "GET", "/admin/v1/"+tt.target)
			equal(t, "status", w.Code, tt.status)
			doc.Check(t, "GET", "/admin/v1/"+path, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
			for _, want := range tt.want {
				if unwanted, not := strings.CutPrefix(want, "!"); not == strings.Contains(w.Body.String(), map[bool]string{true: unwanted, false: want}[not]) {
					t.Errorf("%s: %s", want, w.Body)
				}
			}
		})
	}
}

// What is wrong with a parameter is said, and which one it is.
func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	h := New(kept(t), Options{})
	tests := []struct{ target, param, message string }{
		{"requests?limit=0", "limit", "from 1 to 500"},
		{"requests?limit=501", "limit", "from 1 to 500"},
		{"requests?limit=ten", "limit", "from 1 to 500"},
		{"requests?limit=1&limit=2", "limit", "once is enough"},
		{"requests?cursor=x", "cursor", "next of the page before"},
		{"requests?cursor=' OR 1=1", "cursor", "next of the page before"},
		{"requests?from=yesterday", "from", "2026-01-31T12:00:00Z"},
		{"requests?from=-5m", "from", "2026-01-31T12:00:00Z"},
		{"requests?from=0001-01-01T00:00:00Z", "from", "2026-01-31T12:00:00Z"},
		{"requests?from=1h&to=2h", "to", "after from"},
		{"requests?failed=yes", "failed", "true or false"},
		{"requests?status=6xx", "status", "5xx"},
		{"requests?status=99", "status", "5xx"},
		{"requests?status=xxx", "status", "5xx"},
		{"requests?status=-1x", "status", "5xx"},
		{"requests?modell=x", "modell", `did you mean \"model\"?`},
		{"requests?" + strings.Repeat("x", 500) + "=1", strings.Repeat("x", 40) + "…", "there is no parameter"},
		{"requests?q=" + strings.Repeat("x", 257), "q", "longer than 256 bytes"},
		{"requests?a=%zz", "", "cannot be read"},
		{"requests?a=1;b=2", "", "cannot be read"},
		{"requests?q=a%00", "q", "has a NUL"},
		{"requests?key=%ff", "key", "is not UTF-8"},
		{"requests/req_1?x=1", "x", "there is no parameter"},
		{"timeline?kinds=guards", "kinds", `did you mean \"guard\"?`},
		{"timeline?kinds=guard,guard", "kinds", "twice"},
		{"timeline?kinds=guard,", "kinds", "there is no word"},
		{"audit?kinds=guard", "kinds", "there is no parameter"},
		{"usage?group_by=keys", "group_by", `did you mean \"key\"?`},
		{"usage?step=week", "step", "minute or hour or day"},
		{"usage?step=minute&from=72h", "step", "48 hours"},
		{"usage?format=xml", "format", "json or csv"},
		{"overview?window=1m", "window", "10m to 2160h"},
		{"overview?window=9999h", "window", "10m to 2160h"},
		{"overview?window=x", "window", "10m to 2160h"},
		{"models?x=1", "x", "there is no parameter"},
		{"config?x=1", "x", "there is no parameter"},
		{"events?kinds=guards", "kinds", `did you mean \"guard\"?`},
	}
	doc := openapi.Load(t, api.Admin)
	for _, tt := range tests {
		t.Run(tt.target[:min(len(tt.target), 50)], func(t *testing.T) {
			t.Parallel()
			path, query, _ := strings.Cut(tt.target, "?")
			w := ask(h, "GET", "/admin/v1/"+path, func(r *http.Request) { r.URL = &url.URL{Path: "/admin/v1/" + path, RawQuery: query} })
			var reply struct{ Error errorBody }
			_ = json.Unmarshal(w.Body.Bytes(), &reply)
			if w.Code != 400 || reply.Error.Code != "invalid_request" || reply.Error.Param != tt.param || !strings.Contains(w.Body.String(), tt.message) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			doc.CheckSchema(t, "Error", w.Body.Bytes())
		})
	}
}

// While the store cannot be read the ledger's routes say so, and nothing of what the store says; all others answer.
func TestTheLedgerCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]ledger.Store{"lost": nil, "failing": failing{}} {
		s := kept(t)
		s.Ledger, s.Request = func() ledger.Store { return store }, found(store)
		h := New(s, Options{})
		for _, path := range []string{"requests", "requests/req_1", "explain/req_1", "timeline", "audit", "usage", "usage?format=csv", "overview"} {
			w := ask(h, "GET", "/admin/v1/"+path)
			if w.Code != 503 || code(t, w) != "ledger_unavailable" || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "password") {
				t.Errorf("%s %s: %d %s", name, path, w.Code, w.Body)
			}
		}
		for _, path := range []string{"health", "models", "config"} {
			equal(t, path, ask(h, "GET", "/admin/v1/"+path).Code, 200)
		}
	}
}

type failing struct{ ledger.Store }

var errStore = errors.New("dial with password hunter2")

func (failing) Requests(context.Context, ledger.RequestQuery) (ledger.RequestPage, error) {
	return ledger.RequestPage{}, errStore
}

func (failing) Request(context.Context, string) (*ledger.Request, bool, error) {
	return nil, false, errStore
}

func (failing) Timeline(context.Context, ledger.TimelineQuery) (ledger.TimelinePage, error) {
	return ledger.TimelinePage{}, errStore
}

func (failing) Usage(context.Context, ledger.UsageQuery) ([]ledger.UsageRow, error) {
	return nil, errStore
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	yaml := header("Content-Type", "application/yaml; charset=utf-8")
	tests := []struct {
		body   string
		change func(*http.Request)
		status int
		want   string
	}{
		{"fine", yaml, 200, `"name":"fine"`},
		{"wrong", yaml, 422, `"problems":[{"line":1,"message":"has no traffic"}]`},
		{"long", yaml, 400, "takes too long"},
		{"bug", yaml, 500, "internal_error"},
		{strings.Repeat("x", 65<<10), yaml, 400, "at most 64 KiB"},
		{"fine", header("Content-Type", "text/plain"), 415, "application/yaml or application/json"},
	}
	h := New(kept(t), Options{})
	for _, tt := range tests {
		w := ask(h, "POST", "/admin/v1/simulate", body(tt.body), tt.change)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%.20s: %d %s", tt.body, w.Code, w.Body)
		}
	}
}

// One scenario is played at a time.
func TestOneSimulationAtATime(t *testing.T) {
	t.Parallel()
	s := kept(t)
	began, end := make(chan struct{}), make(chan struct{})
	s.Simulate = func(context.Context, []byte) (any, []Problem, error) { close(began); <-end; return nil, nil, nil }
	h := New(s, Options{})
	done := make(chan struct{})
	go func() { defer close(done); ask(h, "POST", "/admin/v1/simulate", body("a")) }()
	<-began
	equal(t, "second", ask(h, "POST", "/admin/v1/simulate", body("b")).Code, 409)
	close(end)
	<-done
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for nano, want := range map[int64]string{
		0: "0", 1: "0.000000001", 1_500_000_000: "1.5", -2_050_000_000: "-2.05", 12_000_000_000: "12", 1<<63 - 1: "9223372036.854775807", -1 << 63: "-9223372036.854775808",
	} {
		text, err := json.Marshal(usd(nano))
		equal(t, want, fmt.Sprint(string(text), err), want+"<nil>")
	}
}
