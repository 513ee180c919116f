package ingress

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/modelfacts"
	"evergate/internal/quota"
	"evergate/internal/quota/meters"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

func TestAskedTokens(t *testing.T) {
	for _, c := range []struct {
		body string
		want int64
	}{
		{`{"model":"m"}`, 0},
		{`{"model":"m","max_tokens":12}`, 12},
		{`{"max_completion_tokens":7,"max_tokens":5}`, 7},
		{`{"max_output_tokens":9,"input":"\"max_tokens\":500"}`, 9},
		{`{"generationConfig":{"temperature":1,"maxOutputTokens":33},"contents":[{"max_tokens":500}]}`, 33},
		{`{"generationConfig":null,"max_tokens":null}`, 0},
		{`{"generationConfig":[{"maxOutputTokens":3}],"max_tokens":4}`, 4},
		{`{"max_tokens":1e9}`, 0},
		{`{"max_tokens":-4}`, 0},
		{`{"max_tokens":99999999999999999999}`, 0},
		{`[]`, 0},
		{`not JSON`, 0},
	} {
		if got := askedTokens([]byte(c.body)); got != c.want {
			t.Errorf("%s: %d instead of %d", c.body, got, c.want)
		}
	}
}

// What a request may use is bounded, whatever it says.
func TestForesee(t *testing.T) {
	facts := &modelfacts.Facts{OutputLimit: 4000, Prices: modelfacts.Prices{Input: modelfacts.Price{Known: true, USD: 1}, Output: modelfacts.Price{Known: true, USD: 2}}}
	for _, c := range []struct {
		name, more  string
		facts       *modelfacts.Facts
		choices     int
		least, most int64
	}{
		{"a usual answer", "", facts, 0, 1024, 1100},
		{"as long as asked", `,"max_tokens":200`, facts, 0, 200, 300},
		{"as long as the model may", `,"max_tokens":1000000`, facts, 0, 4000, 4100},
		{"of a model that nobody knows", `,"max_tokens":1000000`, nil, 0, 32 << 10, 33 << 10},
		{"several answers", `,"max_tokens":100`, facts, 3, 300, 400},
		{"more answers than anybody gives", `,"max_tokens":100`, facts, 1 << 30, 12800, 12900},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &exchange{dialect: openaichat.Chat{}}
			x.call.Request = wire.Request{Body: []byte(`{"model":"m","messages":[]` + c.more + `}`), Choices: c.choices}
			x.call.Legs = []attempt.Leg{{Target: route.Target{Facts: c.facts}}}
			got := x.foresee()
			if got.Tokens < c.least || got.Tokens > c.most {
				t.Errorf("%d tokens, not %d to %d", got.Tokens, c.least, c.most)
			}
			if c.facts != nil && (got.Nano < 1000*c.least || got.Nano > 2000*c.most) {
				t.Errorf("%d billionths for %d tokens", got.Nano, got.Tokens)
			}
		})
	}
}

// Where nobody is limited, limits cost nothing.
func TestNoLimitsCostNothing(t *testing.T) {
	x := &exchange{dialect: openaichat.Chat{}, cfg: &Config{Meters: meters.New(meters.Options{})}, who: &identity.Principal{Name: "ci"}, w: discard{}}
	x.call.Legs = make([]attempt.Leg, 2)
	if got := testing.AllocsPerRun(100, func() {
		if x.admit() != nil {
			t.Error("refused")
		}
		x.settle(nil)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

type discard struct{ http.ResponseWriter }

func (discard) Header() http.Header { return http.Header{} }

// BenchmarkAdmission is what it costs a request to find its caller, its limits and its budget, and to settle them.
func BenchmarkAdmission(b *testing.B) {
	l := quota.Limits{RequestsPerMinute: 1 << 40, TokensPerMinute: 1 << 50, Concurrent: 1 << 20}
	budgets := []quota.Budget{{Nano: 1 << 58, Per: quota.Month, Warn: 0.8}}
	book := identity.NewBook()
	book.Configure([]identity.Own{{Principal: identity.Principal{Name: "ci", Team: "web", Limits: l, Budgets: budgets}, Value: "sk-client-0123456789"}},
		[]identity.Team{{Name: "web", Limits: l, Budgets: budgets}})
	cfg := &Config{Meters: meters.New(meters.Options{}), Callers: book}
	facts := &modelfacts.Facts{Prices: modelfacts.Prices{Input: modelfacts.Price{Known: true, USD: 1}, Output: modelfacts.Price{Known: true, USD: 2}}}
	body := []byte(`{"model":"demo","messages":[{"role":"user","content":"` + strings.Repeat("word ", 400) + `"}],"max_tokens":300}`)
	steps := []journal.Step{{Usage: journal.Usage{Known: true, Input: 500, Output: 100}, Cost: journal.Cost{Known: true, Nano: 1000}}}
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer sk-client-0123456789"}}, RemoteAddr: "127.0.0.1:1"}
	legs := []attempt.Leg{{Target: route.Target{Facts: facts}}}
	b.ReportAllocs()
	for b.Loop() {
		x := &exchange{dialect: openaichat.Chat{}, cfg: cfg, r: r, w: discard{}, start: time.Now()}
		if f := x.authenticate(); f != nil {
			b.Fatal(f.Message)
		}
		x.call.Request.Body, x.call.Legs = body, legs
		if f := x.admit(); f != nil {
			b.Fatal(f.Message)
		}
		x.settle(steps)
	}
}

// buggyRaw is a provider's raw side with a bug in how it looks at paths.
type buggyRaw struct{ attempt.RawUpstream }

func (buggyRaw) Reach(string) error { panic("a bug in Reach") }

// R33: a bug on the way of a passthrough request leaves nothing held.
func TestPassageCrashSettles(t *testing.T) {
	table, facts := meters.New(meters.Options{}), &heard{}
	book := identity.NewBook()
	book.Configure([]identity.Own{{Principal: identity.Principal{Name: "ci", Limits: quota.Limits{Concurrent: 1}}, Value: "sk-client-0123456789"}}, nil)
	guards := health.New(deaf{})
	h := New(wire.NewTable(openaichat.Chat{}), Routes{Dialects: []wire.Dialect{openaichat.Chat{}}}, &attempt.Runner{Health: guards, Journal: deaf{}}, facts, noDiscovery{})
	h.Configure(&Config{
		Table: &route.Table{}, Callers: book, Meters: table, MaxBody: 1 << 20,
		Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: &instant{"", []string{"chat"}}, Raw: buggyRaw{}}},
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the bug is hidden")
			}
		}()
		r := httptest.NewRequest(http.MethodGet, "/passthrough/up/v1/things", nil)
		r.Header.Set("Authorization", "Bearer sk-client-0123456789")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if v := table.Views(time.Now()); len(v) != 1 || v[0].Concurrent.Held != 0 {
		t.Errorf("held: %+v", v)
	}
	if len(facts.requests) != 1 || facts.requests[0].Status != http.StatusInternalServerError {
		t.Errorf("told: %+v", facts.requests)
	}
}
