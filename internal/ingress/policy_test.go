package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/explain"
	"evergate/internal/fault"
	"evergate/internal/identity"
	"evergate/internal/route"
)

// moody is an upstream that does all that sends a request on to another: it fails, refuses, is slow, or breaks off.
type moody struct {
	instant
	name  string
	moods *moods
}

// moods are what a world's moody upstreams share: hedges ask several at once.
type moods struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	asked  []string
	copies int // how many of these were for the mirror
}

// draw notes who was asked, and draws its mood.
func (m *moods) draw(name, model string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, name)
	if model == mirrorModel {
		m.copies++
	}
	return m.rnd.IntN(20)
}

func (m *moods) who() (asked []string, copies int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked), m.copies
}

// mirrorModel is what no request but a copy is for.
const mirrorModel = "new"

const someText = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"some "},"finish_reason":null}]}` + "\n\n"

func (u *moody) Send(ctx context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	r.Release()
	mood := u.moods.draw(u.name, r.Model)
	body := `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	if r.Stream {
		body = someText + strings.Replace(someText, `"finish_reason":null`, `"finish_reason":"stop"`, 1) + "data: [DONE]\n\n"
	}
	status := http.StatusOK
	switch n := mood; {
	case n < 9:
		status, body = []int{500, 503, 429, 401, 404, 400, 402, 413, 502}[n], ""
	case n < 13: // a hedge is started beside it, or its time runs out
		select {
		case <-time.After([]time.Duration{12 * time.Second, 2 * time.Minute}[n%2]):
		case <-ctx.Done():
			return nil, u.ReadFault(ctx, ctx.Err())
		}
	case n < 17 && r.Stream: // it breaks off
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(io.MultiReader(strings.NewReader(someText), broken{})), ContentLength: -1,
		}, nil
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (u *moody) ReadFault(ctx context.Context, err error) *fault.Fault {
	if f := (*fault.Fault)(nil); errors.As(context.Cause(ctx), &f) {
		return f
	}
	return &fault.Fault{Class: fault.Reset, Cause: err}
}

func (u *moody) Classify(status int, _ http.Header, _ []byte, _, _ string) *fault.Fault {
	class := map[int]fault.Class{
		429: fault.RateLimited, 401: fault.Auth, 402: fault.Quota, 404: fault.ModelMissing, 400: fault.ContextLength, 413: fault.ContentFilter,
	}[status]
	if class == fault.Unknown {
		class = fault.Upstream
	}
	return &fault.Fault{Class: class, Status: status}
}

// govern gives a world's providers attributes, and policies to what a request is about. It gives the policies that hold for a
// request for m that names more models after it and, in its header, a policy.
func (w *world) govern(rnd *rand.Rand) (cfg *Config, holding []*route.Policy, header string, models []string) {
	open := *w.h.config.Load()
	cfg = &open
	t := cfg.Table
	t.Policies = map[string]*route.Policy{}
	attach := func(chance int) string {
		if rnd.IntN(chance) > 0 {
			return ""
		}
		name := fmt.Sprint("q", len(t.Policies))
		p := &route.Policy{Name: name, NoTraining: rnd.IntN(3) == 0}
		if rnd.IntN(2) == 0 {
			p.Regions = []string{"eu", "us"}[:1+rnd.IntN(2)]
		}
		if rnd.IntN(3) == 0 {
			p.Retention = route.Retention{Known: true, For: []time.Duration{0, time.Hour}[rnd.IntN(2)]}
		}
		if rnd.IntN(3) == 0 {
			p.Deny = []string{"p0", "p1", "p2"}[:1+rnd.IntN(3)]
		}
		t.Policies[name] = p
		holding = append(holding, p)
		return name
	}
	for i := range t.Providers {
		t.Providers[i].Attributes = route.Attributes{
			Region: []string{"", "eu", "eu", "us"}[rnd.IntN(4)], Training: route.Answer(rnd.IntN(3)),
			Retention: route.Retention{Known: rnd.IntN(3) > 0, For: []time.Duration{0, time.Minute, 24 * time.Hour}[rnd.IntN(3)]},
		}
	}
	m := t.Virtual["m"]
	m.Resume = rnd.IntN(2) == 0
	m.Hedge = []route.Hedge{{}, route.DefaultHedge(), {Max: 2, After: time.Second, Budget: 1}}[rnd.IntN(3)]
	if rnd.IntN(2) == 0 {
		mirror := route.DefaultMirror()
		mirror.Share = 1
		mirror.Target = route.Target{Provider: w.names[rnd.IntN(len(w.names))], Model: mirrorModel, Timeouts: route.DefaultTimeouts()}
		m.Mirror = &mirror
	}
	other := *m
	other.Name, other.Targets = "other", slices.Clone(m.Targets)
	slices.Reverse(other.Targets)
	t.Virtual["other"] = &other
	t.Policy, m.Policy = attach(4), attach(3)
	if models = []string{"p0/x0"}; rnd.IntN(2) == 0 {
		models, other.Policy = append(models, "other"), attach(2)
	}
	caller := identity.Principal{Name: "caller"}
	if name := attach(3); name != "" {
		caller.Policies = []string{name}
	}
	cfg.Callers = identity.NewBook()
	cfg.Callers.Configure([]identity.Own{{Principal: caller, Value: "secret"}}, nil)
	if name := attach(4); name != "" {
		header = "policy=" + name
	}
	return cfg, holding, header, models
}

// R50, R51, R70, R71: whatever providers do and whatever blocks them, no attempt of a request, be it a failover, a hedge, a target for a
// refusal, one that goes on with a broken stream, one that is forced or a copy for a mirror, leaves the policies that hold for it; and where they leave
// nobody, the request is denied.
func TestNoAttemptLeavesThePolicies(t *testing.T) {
	const cases = 10_000
	var asked, several, denied, fell, explained, copied, uncopied int
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(cases) {
			rnd := rand.New(rand.NewPCG(51, seed))
			w := draw(rnd)
			moods := &moods{rnd: rand.New(rand.NewPCG(52, seed))}
			for _, name := range w.names {
				p := w.h.config.Load().Providers[name]
				p.Upstream = &moody{p.Upstream.(*failing).instant, name, moods}
			}
			cfg, holding, header, models := w.govern(rnd)
			w.h.Configure(cfg)
			allowed := func(provider string) bool {
				p := cfg.Table.Providers[slices.IndexFunc(cfg.Table.Providers, func(p route.Provider) bool { return p.Name == provider })]
				return !slices.ContainsFunc(holding, func(q *route.Policy) bool {
					rule, _ := q.Refuses(&p)
					return rule != ""
				})
			}
			body := fmt.Sprintf(`{"models":["%s"],"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, strings.Join(models, `","`), rnd.IntN(2) == 0)
			a, err := w.h.Explain(t.Context(), explain.Question{Body: []byte(body), Key: "caller", Prefer: header})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer secret")
			if header != "" {
				r.Header.Set("X-Evergate-Prefer", header)
			}
			rec := httptest.NewRecorder()
			w.h.ServeHTTP(rec, r)
			time.Sleep(time.Hour) // whatever was under way is over
			who, copies := moods.who()
			for _, provider := range who {
				if !allowed(provider) {
					t.Fatalf("case %d: %s was asked, which the policies refuse: %+v", seed, provider, who)
				}
			}
			left := slices.ContainsFunc(w.names, func(name string) bool {
				return allowed(name) && slices.ContainsFunc(cfg.Table.Virtual["m"].Targets, func(tg route.Target) bool {
					return tg.Provider == name && !cfg.Table.Disabled(&tg)
				})
			})
			wasDenied := rec.Code == http.StatusForbidden && strings.Contains(rec.Body.String(), `"policy_denied"`)
			if !left && len(who) == 0 && rec.Code == http.StatusForbidden != wasDenied || left && wasDenied {
				t.Fatalf("case %d: somebody is left: %t; %d %s", seed, left, rec.Code, rec.Body)
			}
			for i := range a.Candidates {
				c := &a.Candidates[i]
				if (c.Blocked != nil && c.Blocked.Guard == "policy") && allowed(c.Provider) || c.Position > 0 && !allowed(c.Provider) {
					t.Fatalf("case %d: the explanation says of %s: %+v", seed, c.Provider, c)
				}
				if c.Blocked != nil && c.Blocked.Guard == "policy" {
					explained++
				}
			}
			if m := a.Mirror; copies > 1 || copies == 1 && !m.Copied || m != nil && m.Copied && !allowed(m.Provider) ||
				m != nil && !m.Copied && allowed(m.Provider) && strings.Contains(m.Why, "policy") {
				t.Fatalf("case %d: %d copies, and the explanation says %+v", seed, copies, a.Mirror)
			}
			copied += copies
			if a.Mirror != nil && !a.Mirror.Copied {
				uncopied++
			}
			switch {
			case wasDenied:
				denied++
			case len(who) > 1:
				several++
			case len(who) > 0:
				asked++
			}
			if len(holding) > 0 && !wasDenied {
				fell++
			}
		}
	})
	t.Logf("%d asked one, %d several, %d were denied, %d under a policy, %d candidates explained; %d copies, %d could not be made", asked, several, denied, fell, explained, copied, uncopied)
	for what, n := range map[string]int{"one": asked, "several": several, "denied": denied, "under a policy": fell, "explained": explained, "copies": copied, "no copy": uncopied} {
		if n < cases/100 {
			t.Errorf("%s: %d cases are too few to tell anything", what, n)
		}
	}
}
