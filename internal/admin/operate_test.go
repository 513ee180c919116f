package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"evergate/internal/provider"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// operated is a gateway that remembers the orders it was given.
type operated struct {
	provider, by string
	order        resilience.Order
	n            int
	err          error
}

func (o *operated) sources() Sources {
	s := sources()
	s.Operate = func(p string, order resilience.Order, by string) error {
		o.provider, o.order, o.by = p, order, by
		o.n++
		return o.err
	}
	return s
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Type", "application/json")
	}
}

// R31: an order reaches the machine as it was said, and the answer is the provider's health.
func TestOperate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       resilience.Order // Until: how long from now
		length     time.Duration
	}{
		{"open for a while", `{"action":"open","reason":" maintenance ","for":"30m"}`, resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance"}, 30 * time.Minute},
		{"close until further notice", `{"action":"close","reason":"they say it is fine"}`, resilience.Order{Action: resilience.ForceClosed, Reason: "they say it is fine"}, 0},
		{"reset of a model", `{"action":"reset","reason":"fixed","model":"m1"}`, resilience.Order{Action: resilience.Reset, Reason: "fixed", Model: "m1"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o operated
			began := time.Now()
			w := ask(New(o.sources(), Options{}), "POST", "/admin/v1/providers/openai/breaker", body(tt.body))
			var p Provider
			if err := json.Unmarshal(w.Body.Bytes(), &p); w.Code != 200 || err != nil || p.Status != "healthy" || p.Breaker.State != "closed" {
				t.Fatalf("%d %v %s", w.Code, err, w.Body)
			}
			until := o.order.Until
			o.order.Until = time.Time{}
			if o.n != 1 || o.provider != "openai" || o.order != tt.want || o.by != "127.0.0.1" {
				t.Errorf("%+v", o)
			}
			if tt.length == 0 && !until.IsZero() || tt.length > 0 && (until.Before(began.Add(tt.length)) || until.After(time.Now().Add(tt.length))) {
				t.Errorf("until %v", until)
			}
		})
	}
}

func TestOperateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, body string
		err              error
		status           int
		code, param      string
		message          string
	}{
		{"unknown provider", "opnai", `{}`, nil, 404, "unknown_provider", "", `did you mean \"openai\"?`},
		{"no body", "openai", ``, nil, 400, "invalid_request", "", `such as`},
		{"not an object", "openai", `[1]`, nil, 400, "invalid_request", "", `must be a JSON object`},
		{"broken", "openai", `{"action":`, nil, 400, "invalid_request", "", `not valid JSON`},
		{"two objects", "openai", `{"action":"reset","reason":"x"} {}`, nil, 400, "invalid_request", "", `more than one`},
		{"unknown field", "openai", `{"action":"reset","reasons":"x"}`, nil, 400, "invalid_request", "reasons", `did you mean \"reason\"?`},
		{"wrong type", "openai", `{"action":"open","reason":"x","for":30}`, nil, 400, "invalid_request", "for", `must be text`},
		{"no action", "openai", `{"reason":"x"}`, nil, 400, "invalid_request", "action", `action is missing`},
		{"unknown action", "openai", `{"action":"opne","reason":"x"}`, nil, 400, "invalid_request", "action", `did you mean \"open\"?`},
		{"no reason", "openai", `{"action":"open","reason":" "}`, nil, 400, "invalid_request", "reason", `reason is missing`},
		{"a long reason", "openai", `{"action":"open","reason":"` + strings.Repeat("x", 501) + `"}`, nil, 400, "invalid_request", "reason", `longer`},
		{"no duration", "openai", `{"action":"open","reason":"x","for":"30"}`, nil, 400, "invalid_request", "for", `such as`},
		{"a negative one", "openai", `{"action":"open","reason":"x","for":"-1s"}`, nil, 400, "invalid_request", "for", `such as`},
		{"a reset for a time", "openai", `{"action":"reset","reason":"x","for":"1m"}`, nil, 400, "invalid_request", "for", `leave it out`},
		{"a body without end", "openai", `{"reason":"` + strings.Repeat("x", 20<<10) + `"}`, nil, 400, "invalid_request", "", `cannot be read`},
		{"one breaker", "openai", `{"action":"open","reason":"x","model":"m"}`, resilience.ErrOneBreaker, 400, "invalid_request", "model", `circuit_breaker.scope`},
		{"something else", "openai", `{"action":"open","reason":"x"}`, errors.New("no"), 409, "conflict", "", `no`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := operated{err: tt.err}
			w := ask(New(o.sources(), Options{}), "POST", "/admin/v1/providers/"+tt.path+"/breaker", body(tt.body))
			var reply struct{ Error errorBody }
			_ = json.Unmarshal(w.Body.Bytes(), &reply)
			if w.Code != tt.status || reply.Error.Code != tt.code || reply.Error.Param != tt.param || !strings.Contains(w.Body.String(), tt.message) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if tt.err == nil && o.n != 0 {
				t.Error("it was carried out")
			}
		})
	}
}

// Who may not ask is not even told which providers there are; a page of another origin orders nothing.
func TestOperateIsGuarded(t *testing.T) {
	t.Parallel()
	const path, order = "/admin/v1/providers/openai/breaker", `{"action":"open","reason":"x"}`
	tests := []struct {
		name   string
		token  provider.Secret
		change func(*http.Request)
		status int
		by     string
	}{
		{"a page of another origin", "", header("Origin", "https://evil.example"), 403, ""},
		{"a page of another site", "", header("Sec-Fetch-Site", "cross-site"), 403, ""},
		{"another machine", "", from("10.0.0.9:1234"), 403, ""},
		{"without the token", "secret", from("10.0.0.9:1234"), 401, ""},
		{"with it", "secret", func(r *http.Request) { r.RemoteAddr = "10.0.0.9:1234"; r.Header.Set("X-Admin-Token", "secret") }, 200, "holder of the admin token at 10.0.0.9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o operated
			w := ask(New(o.sources(), Options{Token: tt.token}), "POST", path, body(order), tt.change)
			if w.Code != tt.status || o.by != tt.by || (o.n == 1) != (tt.status == 200) {
				t.Errorf("%d %s, by %q", w.Code, w.Body, o.by)
			}
		})
	}
	for _, path := range []string{path + "/x", "/admin/v1/providers//breaker", "/admin/v1/providers/a/b/breaker", "/admin/v1/providers/openai"} {
		if w := ask(New(sources(), Options{}), "POST", path, body(order)); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := ask(New(sources(), Options{}), "GET", path)
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %s", w.Code, w.Header().Get("Allow"))
	}
}

// R31, R34, R35: what the guards' view says of orders, ramps and models comes through.
func TestNewProviderShowsOrders(t *testing.T) {
	t.Parallel()
	v := resilience.View{
		Scope: resilience.Auto,
		Breaker: resilience.BreakerView{
			State: resilience.Open, Trip: "operator", OpenedAt: noon,
			Order: resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", Until: noon.Add(time.Hour)},
		},
		Models: []resilience.ModelBreakerView{{Model: "m1", BreakerView: resilience.BreakerView{RampUntil: noon.Add(time.Minute)}}},
	}
	p := NewProvider(v, route.ProviderModels{Status: route.Healthy}, 0, Latency{})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"operator":{"action":"open","reason":"maintenance","until":"2026-03-01T13:00:00.000Z"}`, `"trip":"operator"`,
		`"breakers":{"m1":{"state":"closed"`, `"ramp_until":"2026-03-01T12:01:00.000Z"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	plain, _ := json.Marshal(NewProvider(resilience.View{}, route.ProviderModels{Status: route.Healthy}, 0, Latency{}))
	for _, absent := range []string{"operator", "ramp_until", `"breakers"`} {
		if strings.Contains(string(plain), absent) {
			t.Errorf("%s in %s", absent, plain)
		}
	}
}
