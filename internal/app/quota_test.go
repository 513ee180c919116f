package app

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/explain"
	"evergate/internal/mock"
	"evergate/internal/quota/meters"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
)

// limited is twoProviders with a key that has limits or a budget, and more.
func limited(ofKey string, more ...string) string {
	text := strings.Replace(twoProviders, "auth: {allow_anonymous: true}", "auth: {keys: [{name: ci, value: sk-client-0123456789, "+ofKey+"}]}", 1)
	return text + "catalog: {m: {input_price: 1, output_price: 2}, m2: {input_price: 3, output_price: 4}}\n" + strings.Join(more, "\n")
}

const clientKey = "Bearer sk-client-0123456789"

// pay sends a chat request with the key.
func (s *stack) pay(more ...string) answer {
	s.t.Helper()
	return s.payIn(context.Background(), more...)
}

func (s *stack) payIn(ctx context.Context, more ...string) answer {
	return s.post(ctx, "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi"}]`+strings.Join(more, "")+`}`, "Authorization", clientKey)
}

func bothAnswer() map[string]mock.Script {
	return map[string]mock.Script{"a": answers(), "b": answers()}
}

// Who waits as long as Retry-After says is let in; a millisecond earlier nobody is.
func TestRetryAfterIsTrue(t *testing.T) {
	for _, early := range []time.Duration{0, time.Millisecond} {
		t.Run(early.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, limited("limits: {requests_per_minute: 2}"), bothAnswer())
				for range 2 {
					if a := s.pay(); a.status != 200 {
						t.Fatalf("%d %s", a.status, a.body)
					}
					time.Sleep(3217 * time.Millisecond)
				}
				a := s.pay()
				ms, err := strconv.Atoi(a.header.Get("Retry-After-Ms"))
				if a.status != 429 || a.errCode != "rate_limit_exceeded" || err != nil || !strings.Contains(a.body, `the key \"ci\" may use 2 requests in 60 seconds`) {
					t.Fatalf("%d %v %s", a.status, a.header, a.body)
				}
				if whole, _ := strconv.Atoi(a.header.Get("Retry-After")); whole != (ms+999)/1000 {
					t.Errorf("Retry-After is %d, for %d ms", whole, ms)
				}
				if r := s.facts.last(); r.Refusal.Scope != "key" || r.Refusal.Limit != "requests" {
					t.Errorf("the journal has %+v", r.Refusal)
				}
				time.Sleep(time.Duration(ms)*time.Millisecond - early)
				want := 200
				if early > 0 {
					want = 429
				}
				if a := s.pay(); a.status != want {
					t.Errorf("%d instead of %d: %s", a.status, want, a.body)
				}
			})
		})
	}
}

// Clients are told how their own limits stand, in the form that their SDKs know, in place of the upstream's.
func TestLimitHeaders(t *testing.T) {
	upstream := mock.Script{Rules: []mock.Rule{{Do: mock.Behaviour{Header: http.Header{
		"X-Ratelimit-Limit-Requests": {"9999"}, "X-Ratelimit-Remaining-Tokens": {"777"}, "Anthropic-Ratelimit-Requests-Limit": {"888"},
	}}}}, Defaults: steady()}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, limited("limits: {requests_per_minute: 5, tokens_per_minute: 100000}"), map[string]mock.Script{"a": upstream, "b": upstream})
		h := s.pay(`,"stream":true,"max_tokens":100`).header
		for name, want := range map[string]string{
			"X-Ratelimit-Limit-Requests": "5", "X-Ratelimit-Remaining-Requests": "4", "X-Ratelimit-Limit-Tokens": "100000", "Anthropic-Ratelimit-Requests-Limit": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s is %q instead of %q", name, got, want)
			}
		}
		if left, _ := strconv.Atoi(h.Get("X-Ratelimit-Remaining-Tokens")); left > 99900 || left < 99000 {
			t.Errorf("%d tokens are left", left)
		}
		if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-Requests")); err != nil || d < time.Minute || d > time.Minute+time.Second/2 {
			t.Errorf("reset in %v, %v", d, err)
		}
		a := s.post(t.Context(), "/v1/messages", `{"model":"demo","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, "X-Api-Key", "sk-client-0123456789")
		if got := a.header.Get("Anthropic-Ratelimit-Requests-Remaining"); got != "3" || a.header.Get("X-Ratelimit-Limit-Requests") != "" {
			t.Errorf("%d, headers %v", a.status, a.header)
		}
		if at, err := time.Parse(time.RFC3339, a.header.Get("Anthropic-Ratelimit-Requests-Reset")); err != nil || time.Until(at) > time.Minute+time.Second {
			t.Errorf("reset at %v, %v", at, err)
		}
	})
}

// A caller without limits gets the upstream's headers as they are.
func TestUpstreamLimitHeadersPassWithoutOwn(t *testing.T) {
	upstream := mock.Script{Rules: []mock.Rule{{Do: mock.Behaviour{Header: http.Header{"X-Ratelimit-Limit-Requests": {"9999"}}}}}, Defaults: steady()}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, limited("budget: {usd: 5}"), map[string]mock.Script{"a": upstream, "b": upstream})
		if h := s.pay().header; h.Get("X-Ratelimit-Limit-Requests") != "9999" {
			t.Errorf("headers %v", h)
		}
	})
}

// A provider that has all that it may have is passed over, and refused only where none is left.
func TestProviderLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(limited(""), "models: [m]}", "models: [m], limits: {requests_per_minute: 1}}", 1)
		text = strings.Replace(text, "models: [m2]}", "models: [m2], limits: {requests_per_minute: 2}}", 1)
		s := newStack(t, text, bothAnswer())
		for i, want := range []string{"a/m=200", "a/m=limit_reached, b/m2=200", "a/m=limit_reached, b/m2=200"} {
			if a := s.pay(); a.status != 200 || a.header.Get("X-Evergate-Trail") != want {
				t.Errorf("request %d: %d %q", i, a.status, a.header.Get("X-Evergate-Trail"))
			}
		}
		var e explain.Answer
		s.admin("POST", "explain", `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`, &e)
		if len(e.Candidates) != 2 || e.Candidates[0].Blocked == nil || e.Candidates[0].Blocked.Reason != "limit_reached" || e.Candidates[0].Blocked.Until.IsZero() {
			t.Errorf("explained as %+v", e)
		}
		a := s.pay()
		if a.status != 429 || a.errCode != "all_providers_rate_limited" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || wait < 50 || wait > 61 {
			t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
		}
		time.Sleep(time.Duration(wait) * time.Second)
		if a := s.pay(); a.status != 200 || a.header.Get("X-Evergate-Provider") != "a" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A provider's limit that clears soon is waited for, as a guard that does.
func TestProviderLimitIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(limited(""), "targets: [a/m, b/m2]", "targets: [a/m]", 1)
		s := newStack(t, strings.Replace(text, "models: [m]}", "models: [m], limits: {requests_per_minute: 1}}", 1), bothAnswer())
		s.pay()
		time.Sleep(59 * time.Second)
		if a := s.pay(); a.status != 200 || a.took < time.Second/2 || a.took > 3*time.Second {
			t.Errorf("%d after %v: %s", a.status, a.took, a.body)
		}
	})
}

func TestModelLimitRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, "targets: [a/m, b/m2]}", "targets: [a/m, b/m2], limits: {requests_per_minute: 1}}", 1)
		s := newStack(t, text, bothAnswer())
		if a := s.ask("demo", false); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if a := s.ask("demo", false); a.status != 429 || !strings.Contains(a.body, `the model \"demo\"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := s.ask("a/m", false); a.status != 200 {
			t.Errorf("another name of the target: %d %s", a.status, a.body)
		}
	})
}

// Nobody can tell what a passthrough request costs: who has a budget may not send it.
func TestBudgetForbidsPassthrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, limited("budget: {usd: 5}"), bothAnswer())
		a := s.post(t.Context(), "/passthrough/a/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Authorization", clientKey)
		if a.status != 403 || a.errCode != "route_not_allowed" || len(s.chats("a")) != 0 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, limited("limits: {requests_per_minute: 1}"), bothAnswer())
		for _, want := range []int{200, 429} {
			a := s.post(t.Context(), "/passthrough/a/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Authorization", clientKey)
			if a.status != want {
				t.Errorf("%d instead of %d: %s", a.status, want, a.body)
			}
		}
	})
}

// A budget that is used up refuses until its period ends, also by an instance that was started since, and one that is reloaded.
func TestBudgetOutlivesProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		text := limited("budget: {tokens: 10, per: hour}", sharedState)
		start := func() *stack {
			return newStackWith(t, parse(t, text), bothAnswer(), slog.New(slog.DiscardHandler), func(s *stack) {
				s.open = func(context.Context, config.State) (replica.Store, error) { return at.Peer(), nil }
			})
		}
		s := start()
		if a := s.pay(); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		a := s.pay()
		if a.status != 402 || a.errCode != "budget_exceeded" || !strings.Contains(a.body, "has used up its budget of 10 tokens an hour; the next hour begins at 2000-01-01T01:00:00Z") {
			t.Fatalf("%d %s", a.status, a.body)
		}
		s.next = parse(t, text)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if a := s.pay(); a.status != 402 {
			t.Errorf("after a reload: %d", a.status)
		}
		if err := s.app.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := start()
		if a := second.pay(); a.status != 402 {
			t.Errorf("after a restart: %d %s", a.status, a.body)
		}
		var limits struct {
			Shared bool
			Scopes []struct {
				Budgets []struct {
					SpentTokens int64 `json:"spent_tokens"`
				}
			}
		}
		if second.admin("GET", "limits", "", &limits); !limits.Shared || len(limits.Scopes) != 1 || limits.Scopes[0].Budgets[0].SpentTokens < 10 {
			t.Errorf("GET /admin/v1/limits: %+v", limits)
		}
		until := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(until))
		if a := second.pay(); a.status != 200 {
			t.Errorf("in the next hour: %d %s", a.status, a.body)
		}
	})
}

// Whatever becomes of a request, what it held is settled exactly once, with what its attempts used: over failovers, hedges, resumed and cut streams, clients that
// leave, and panics.
func TestSettledExactlyOnce(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { settledOnce(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func settledOnce(t *testing.T, rnd *rand.Rand) {
	behaviours := []mock.Behaviour{
		{},
		{Status: 500},
		{Status: 429},
		{Cut: mock.After(3)},
		{Reset: mock.AfterHeaders},
		{Hang: mock.After(2)},
		{FirstToken: 15 * time.Second},
		{Cut: mock.AfterFinish},
		{Error: mock.After(1)},
		{Status: 400, Code: "context_length_exceeded"},
	}
	script := func() mock.Script {
		out := mock.Script{Defaults: steady()}
		for i := range 9 {
			out.Rules = append(out.Rules, mock.Rule{Nth: mock.Nth{Every: 2 + i}, Do: behaviours[rnd.IntN(len(behaviours))]})
		}
		return out
	}
	text := strings.Replace(limited("limits: {requests_per_minute: 100000, tokens_per_minute: 100000000, concurrent: 1000}, budget: {usd: 1000, tokens: 100000000, per: month}"),
		"targets: [a/m, b/m2]", "targets: [a/m, b/m2], resume: continue, hedge: {after: 2s, budget: 1}", 1)
	text = strings.Replace(text, "models: [m]}", "models: [m], limits: {concurrent: 3, tokens_per_minute: 10000000}}", 1)
	s := newStackWith(t, parse(t, text+"timeouts: {first_chunk: 20s, idle: 5s, total: 60s}\n"), map[string]mock.Script{"a": script(), "b": script()},
		slog.New(slog.DiscardHandler), func(s *stack) { s.facts.bug = rnd.IntN(3) * 11 })
	var all sync.WaitGroup
	for range 60 {
		stream, leaves, later := rnd.IntN(2) == 0, time.Duration(rnd.IntN(20_000))*time.Millisecond, time.Duration(rnd.IntN(30_000))*time.Millisecond
		stays := rnd.IntN(3) > 0
		all.Go(func() {
			time.Sleep(later)
			ctx := context.Background()
			if !stays {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, leaves)
				defer cancel()
			}
			s.payIn(ctx, fmt.Sprintf(`,"stream":%t`, stream))
		})
	}
	all.Wait()
	time.Sleep(3 * time.Minute) // whatever is under way ends
	synctest.Wait()
	s.facts.mu.Lock()
	requests := s.facts.requests
	s.facts.mu.Unlock()
	var want meters.Amount
	for i := range requests {
		for _, step := range requests[i].Trail {
			if !step.Skipped {
				want.Tokens += step.Usage.Input + step.Usage.Output
				want.Nano += step.Cost.Nano
			}
		}
	}
	for _, v := range s.app.meters.Views(time.Now()) {
		if v.Requests.Held != 0 || v.Tokens.Held != 0 || v.Concurrent.Held != 0 {
			t.Errorf("%s %s still holds %+v", v.Kind, v.Name, v)
		}
		if v.Kind != meters.Key {
			continue
		}
		b := v.Budgets[0]
		if b.Nano.Used != want.Nano || b.Tokens.Used != want.Tokens || b.Nano.Held != 0 || b.Tokens.Held != 0 || want.Nano == 0 {
			t.Errorf("it counts %+v and %+v, the attempts come to %+v", b.Nano, b.Tokens, want)
		}
	}
	if n := s.app.health.Provider("a").Snapshot(time.Now()).SettledTwice; n != 0 {
		t.Errorf("%d permits were settled twice", n)
	}
}
