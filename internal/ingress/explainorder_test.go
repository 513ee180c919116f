package ingress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/affinity"
	"evergate/internal/attempt"
	"evergate/internal/explain"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
)

// failing is an upstream that fails every request as an explanation assumes, and notes who was asked.
type failing struct {
	instant
	name  string
	asked *[]string
}

func (u *failing) Send(_ context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	r.Release()
	*u.asked = append(*u.asked, u.name+"/"+r.Model+" "+r.Credential)
	return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), ContentLength: 0}, nil
}

func (u *failing) Classify(status int, _ http.Header, _ []byte, _, _ string) *fault.Fault {
	return &fault.Fault{Class: fault.Upstream, Status: status, ShouldRetry: fault.No}
}

// world is a gateway with a past, drawn from a seed.
type world struct {
	deaf
	h      *Handler
	health *health.Health
	names  []string
	asked  []string
	last   journal.Request // as the journal heard of it
}

// RequestEnded implements journal.Sink.
func (w *world) RequestEnded(f *journal.Request) { w.last = *f }

// R72: whatever the targets, their settings and what blocks them, an explanation names the candidates and the keys in the
// order in which the live path tries them, when all of them fail; where nobody is asked it names the answer that the client gets; and it
// moves nothing.
func TestExplainTellsTheOrderOfTheLivePath(t *testing.T) {
	const cases = 10_000
	var asked, none, forced, unable, spread, waited, kept int
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(cases) {
			rnd := rand.New(rand.NewPCG(72, seed))
			w := draw(rnd)
			q := explain.Question{Model: "m", Stream: rnd.IntN(2) == 0, Strict: rnd.IntN(6) == 0}
			body := fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":"hi"}],"logit_bias":{"1":2},"prompt_cache_key":"k"}`, q.Stream)
			if rnd.IntN(8) == 0 {
				body = strings.Replace(body, `"m"`, `"p0/x0"`, 1)
				q.Model = "p0/x0"
			}
			for _, name := range w.names {
				if rnd.IntN(5) == 0 {
					q.Brings = append(q.Brings, name)
				}
			}
			if q.Prefer = drawWishes(rnd); rnd.IntN(6) == 0 {
				body = strings.Replace(body, "{", `{"models":["p0/x0","m"],`, 1)
			}
			q.Body = []byte(body)
			var before []any
			look := seed%10 == 0 // it takes longer than all the rest
			if look {
				before = w.state()
			}
			a, err := w.h.Explain(t.Context(), q)
			if err != nil {
				t.Fatalf("case %d: %v", seed, err)
			}
			if look {
				if after := w.state(); !reflect.DeepEqual(before, after) {
					t.Fatalf("case %d: explaining moved\n%+v\nto\n%+v", seed, before, after)
				}
			}
			status, code := w.serve(body, &q)
			var want []string
			for i := range a.Candidates {
				c := &a.Candidates[i]
				switch {
				case c.Position == 0 && (c.Why == "" || c.Blocked == nil && c.On == ""):
					t.Errorf("case %d: nobody knows why %s/%s is not asked: %q", seed, c.Provider, c.Model, c.Why)
				case c.Position > 0:
					want = append(want, c.Provider+"/"+c.Model+" "+c.Credential)
				case c.Blocked != nil && c.Blocked.Guard == "capability":
					unable++
				}
				if strings.Contains(c.Why, "(affinity)") {
					kept++
				}
				if c.Forced {
					forced++
				}
				if c.WaitMS > 0 {
					waited++
				}
			}
			if !slices.Equal(w.asked, want) {
				text, _ := json.MarshalIndent(a, "", " ")
				t.Fatalf("case %d: the live path asked\n%q, the explanation said\n%q\n%s", seed, w.asked, want, text)
			}
			if len(want) == 0 && (a.Refused == nil || a.Refused.Status != status || a.Refused.Code != code) || len(want) > 0 && a.Refused != nil {
				t.Fatalf("case %d: the client got %d %s, the explanation said %+v", seed, status, code, a.Refused)
			}
			if got, want := w.skips(), told(a); !maps.Equal(got, want) {
				text, _ := json.MarshalIndent(a, "", " ")
				t.Fatalf("case %d: the live path passed over\n%v, the explanation said\n%v\n%s", seed, got, want, text)
			}
			if len(want) > 0 {
				asked++
			} else {
				none++
			}
			if len(want) > 2 {
				spread++
			}
		}
	})
	t.Logf("%d asked somebody, %d of them three or more; %d nobody; %d forced, %d waited for, %d unable, %d kept", asked, spread, none, forced, waited, unable, kept)
	for what, n := range map[string]int{"asked": asked, "none": none, "forced": forced, "unable": unable, "three or more": spread, "waited for": waited, "kept": kept} {
		if n < cases/100 {
			t.Errorf("%s: %d cases are too few to tell anything", what, n)
		}
	}
}

// skips are the targets that the live path passed over: why, and until when.
func (w *world) skips() map[string]string {
	out := map[string]string{}
	for i := range w.last.Trail {
		s := &w.last.Trail[i]
		name := s.Provider + "/" + s.Model
		if !s.Skipped || out[name] != "" && s.Reason != "unable" { // which is the last word
			continue
		}
		out[name] = s.Reason
		if s.Start.Equal(w.last.Start) && !s.Until.IsZero() {
			out[name] += " " + s.Until.UTC().Truncate(time.Millisecond).String()
		}
	}
	return out
}

// told is the same by an explanation.
func told(a *explain.Answer) map[string]string {
	out := map[string]string{}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		if c.Blocked == nil || c.On != "" || c.Dialect == "" || c.Blocked.Guard == "credentials" || c.Blocked.Guard == "time_limit" {
			continue
		}
		out[c.Provider+"/"+c.Model] = c.Blocked.Reason
		if !c.Blocked.Until.IsZero() {
			out[c.Provider+"/"+c.Model] += " " + c.Blocked.Until.String()
		}
	}
	return out
}

// state is all that an explanation could move.
func (w *world) state() []any {
	now := time.Now()
	var out []any
	for _, name := range w.names {
		p := w.health.Provider(name)
		m := p.Copy()
		view, _ := m.View(now, nil)
		out = append(out, m, view, p.Snapshot(now).InFlight)
	}
	budget, requests := w.health.Retries(now)
	return append(out, budget, requests, w.visit(), w.h.config.Load().turns["m"].Load())
}

// serve makes the request and gives what the client gets.
func (w *world) serve(body string, q *explain.Question) (status int, code string) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Evergate-Prefer", q.Prefer)
	for _, name := range q.Brings {
		r.Header.Set("X-Evergate-Key-"+name, "sk-of-the-caller")
	}
	if q.Strict {
		r.Header.Add("X-Evergate-Prefer", "strict")
	}
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	var reply struct{ Error struct{ Code string } }
	_ = json.Unmarshal(rec.Body.Bytes(), &reply)
	return rec.Code, reply.Error.Code
}

// drawWishes draws the preferences of a request, which most have none of.
func drawWishes(rnd *rand.Rand) string {
	if rnd.IntN(3) > 0 {
		return ""
	}
	var words []string
	for _, word := range []string{
		"order=p0", "order=p0,p0", "fallbacks=no", "ignore=p0", "only=p0", "timeout=3s", "timeout=1h", "strategy=weighted", "strategy=ordered",
		"data_collection=deny", "sort=latency",
	} {
		if rnd.IntN(8) == 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, "; ")
}

// draw makes a gateway with a past. Blocks that are waited for end on half seconds, away from what jitter reaches.
func draw(rnd *rand.Rand) *world {
	w := &world{health: health.New(deaf{})}
	cfg := &Config{MaxBody: 1 << 20, Providers: map[string]*Provider{}, Table: &route.Table{}}
	var configs []health.Config
	var targets []route.Target
	for i := range 1 + rnd.IntN(5) {
		name := fmt.Sprint("p", i)
		w.names = append(w.names, name)
		set := drawSettings(rnd)
		c := health.Config{Name: name, Settings: set, Strategy: resilience.KeyStrategy(rnd.IntN(4))}
		for k := range rnd.IntN(4) {
			cred := resilience.Credential{Name: fmt.Sprint("k", k), Weight: rnd.IntN(3)}
			if rnd.IntN(5) == 0 {
				cred.Models = []string{"x0"}
			}
			c.Credentials = append(c.Credentials, cred)
		}
		configs = append(configs, c)
		speaks := [][]string{{"chat"}, {"chat"}, {"chat"}, {"chat"}, {"chat"}, {"messages"}, {"messages"}, {}}[rnd.IntN(8)]
		cfg.Providers[name] = &Provider{Upstream: &failing{instant{speaks: speaks}, name, &w.asked}, Settings: &configs[len(configs)-1].Settings, KeyHeader: KeyHeader(name)}
		cfg.Table.Providers = append(cfg.Table.Providers, route.Provider{Name: name, Disabled: rnd.IntN(12) == 0, Timeouts: route.DefaultTimeouts(), BYOK: route.BYOK(max(0, rnd.IntN(20)-17))})
		cfg.Table.BYOK = cfg.Table.BYOK || cfg.Table.Providers[i].BYOK != route.AllowKeys
		for m := range 1 + rnd.IntN(2) {
			target := route.Target{Provider: name, Model: fmt.Sprint("x", m), Weight: float64(rnd.IntN(4)), Disabled: rnd.IntN(12) == 0, Timeouts: route.DefaultTimeouts()}
			target.Timeouts.Total = []time.Duration{0, time.Hour, 2300 * time.Millisecond}[rnd.IntN(3)]
			targets = append(targets, target)
		}
	}
	rnd.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	v := &route.Virtual{Name: "m", Strategy: route.Strategy(rnd.IntN(7)), Targets: targets}
	if len(targets) > 2 && rnd.IntN(3) == 0 { // a model within the model
		from := rnd.IntN(len(targets) - 1)
		for i := range targets[from : from+2] {
			targets[from+i].Group = 1
		}
		v.Groups = []route.Group{{Name: "inner", Strategy: route.Strategy(rnd.IntN(7)), Weight: float64(rnd.IntN(3))}}
	}
	if n := len(targets); n > 1 && rnd.IntN(3) == 0 {
		v.Targets, v.On = targets[:n-1], []route.Target{targets[n-1]}
		v.On[0].On, v.On[0].Group = route.ContextLength, 0
	}
	v.HoldDown = []time.Duration{0, time.Minute}[rnd.IntN(2)]
	cfg.Table.Virtual = map[string]*route.Virtual{"m": v}
	rule := slices.Clone(targets)
	for i := range rule {
		rule[i].Group = 0
	}
	cfg.Table.Failover = map[string][]route.Target{"p0/x0": rule}
	w.health.Apply(configs)
	for name, p := range cfg.Providers {
		p.Guards = w.health.Provider(name)
	}
	w.live(rnd, targets)
	number := rnd.Float64()
	constant := func() float64 { return number }
	runner := &attempt.Runner{Health: w.health, Journal: deaf{}, Random: constant}
	w.h = New(wire.NewTable(openaichat.Chat{}, anthropic.Messages{}), Routes{Dialects: []wire.Dialect{openaichat.Chat{}}}, runner, w, noDiscovery{})
	w.h.random = constant
	w.h.Configure(cfg)
	if v.Affinity = route.DefaultAffinity(); rnd.IntN(3) == 0 { // R47
		target, visit := &targets[rnd.IntN(len(targets))], w.visit()
		w.h.affinity.Answered(time.Now(), &visit, target.Provider, target.Model, rnd.IntN(4), "")
	}
	return w
}

// visit is the next request's part in its conversation.
func (w *world) visit() affinity.Visit {
	a, by := affinity.Asked{Model: "m", Dialect: openaichat.Chat{}, Request: &wire.Request{Body: []byte(`{"prompt_cache_key":"k"}`)}}, route.DefaultAffinity()
	return w.h.affinity.Recall(time.Now(), &a, &by)
}

func drawSettings(rnd *rand.Rand) resilience.Settings {
	s := resilience.Defaults()
	s.WhenAllBlocked = resilience.WhenAllBlocked(rnd.IntN(5) / 4)
	s.Retry.MaxRetries = rnd.IntN(3)
	s.Retry.Streams = rnd.IntN(2) == 0
	s.Breaker.FailureThreshold = []int{0, 1, 2, 5}[rnd.IntN(4)]
	s.Breaker.SuccessThreshold = 1 + rnd.IntN(2)
	s.Breaker.Timeout = []time.Duration{2 * time.Second, 15 * time.Second, 30 * time.Second}[rnd.IntN(3)]
	s.Breaker.HalfOpenMaxProbes = rnd.IntN(3)
	s.Breaker.Scope = resilience.Scope(rnd.IntN(3))
	s.Breaker.KeptFor = []time.Duration{0, 0, 5 * time.Second}[rnd.IntN(3)]
	s.Breaker.Ramp = []time.Duration{0, 20 * time.Second}[rnd.IntN(2)]
	s.Cooldown.Failures = []int{0, 3}[rnd.IntN(2)]
	return s
}

// live gives the guards a past: attempts that came to something or are under way still, operators' orders, a spent budget.
func (w *world) live(rnd *rand.Rand, targets []route.Target) {
	outcomes := []resilience.Outcome{
		{Success: true},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
		{Class: fault.Connect},
		{Class: fault.Connect},
		{Class: fault.Quota},
		{Class: fault.Auth},
		{Class: fault.ModelMissing},
		named(fault.RateLimited, 1500*time.Millisecond), named(fault.RateLimited, 40*time.Second), named(fault.RateLimited, 2*time.Second),
		named(fault.ModelLimited, 2500*time.Millisecond), named(fault.ModelLimited, 100*time.Second),
	}
	spent := time.Duration(0)
	for range rnd.IntN(25) {
		target := &targets[rnd.IntN(len(targets))]
		p, now := w.health.Provider(target.Provider), time.Now()
		if c, _, ok := p.Pick(now, target.Model, rnd.Float64(), nil); c >= 0 {
			permit, b := p.Admit(now, c, target.Model, now.Add(time.Minute), !ok)
			if !b.Blocked() && rnd.IntN(12) > 0 {
				permit.Settle(now, outcomes[rnd.IntN(len(outcomes))], health.Measured{FirstContent: time.Duration(rnd.IntN(4)) * time.Second, Output: int64(rnd.IntN(3))})
			}
		}
		if step := []time.Duration{0, 0, 0, time.Second, 2500 * time.Millisecond, 8 * time.Second}[rnd.IntN(6)]; spent+step < 40*time.Second {
			spent += step
			time.Sleep(step)
		}
	}
	for range rnd.IntN(3) / 2 {
		o := resilience.Order{Action: []resilience.Action{resilience.ForceOpen, resilience.ForceClosed}[rnd.IntN(2)], Reason: "maintenance"}
		if rnd.IntN(2) == 0 {
			o.Until = time.Now().Add(time.Minute)
		}
		_ = w.health.Provider(w.names[rnd.IntN(len(w.names))]).Operate(time.Now(), o, "test")
	}
	for range []int{0, 0, 0, 98, 99, 100}[rnd.IntN(6)] {
		w.health.DrawRetry(time.Now(), 0.2)
	}
}

func named(c fault.Class, d time.Duration) resilience.Outcome {
	return resilience.Outcome{Class: c, Wait: fault.Wait{Named: true, For: d}}
}
