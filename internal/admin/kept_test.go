package admin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"evergate/internal/explain"
	"evergate/internal/feed"
	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/store/memory"
)

// rows makes rows as a writer does.
var rows = ledger.NewNumbers("i1")

// ended is a request that ended at a time, after a failover.
func ended(at time.Time, id string) ledger.Request {
	start := at.Add(-900 * time.Millisecond)
	cost := journal.Cost{Nano: 1_250_000, Known: true}
	used := journal.Usage{Known: true, Input: 100, Output: 20, CachedInput: 10}
	return ledger.Request{
		Row: rows.Row(at), Instance: "i1", Kind: ledger.KindRequest,
		Request: journal.Request{
			ID: id, Start: start, Dialect: "chat", Stream: true, Key: "app", Asked: "smart", Route: "smart", Provider: "openai", Model: "gpt-4o", Status: 200,
			Duration: 900 * time.Millisecond, FirstContent: 350500 * time.Microsecond, Upstream: 890 * time.Millisecond, Overhead: 125 * time.Microsecond,
			Usage: used, Cost: cost, Finish: "stop", Trace: journal.Trace{ID: [16]byte{0xab, 15: 1}}, Order: "declared", Affinity: "hit", Lost: []string{"logit_bias"},
			Trail: []journal.Step{
				{Provider: "azure", Model: "gpt-4o", Skipped: true, Reason: "circuit_open", Until: at.Add(time.Minute)},
				{
					Provider: "groq", Model: "llama", Label: "llama", Credential: "east", Status: 503, Reason: "upstream_error", Why: "first", Start: start.Add(time.Millisecond),
					Duration: 31 * time.Millisecond, Message: "<img src=x onerror=alert(1)>\x1b[2J",
				},
				{
					Provider: "openai", Model: "gpt-4o", Label: "gpt-4o", Credential: "default", Status: 200, Reason: "ok", Why: "next_candidate", Start: start.Add(32 * time.Millisecond),
					Duration: 860 * time.Millisecond, FirstContent: 318 * time.Millisecond, Usage: used, Cost: cost,
				},
			},
		},
		Targets: []journal.Candidate{{Provider: "groq", Model: "llama"}, {Provider: "openai", Model: "gpt-4o"}, {Provider: "big", Model: "m", On: "context_length"}},
		Account: ledger.Account{OK: true, Rescued: true, AddedTime: 32 * time.Millisecond, AddedCost: journal.Cost{Known: true}},
	}
}

// refused is a request that nobody answered, and whose price nobody knows.
func refused(at time.Time, id string) ledger.Request {
	r := ended(at, id)
	r.Provider, r.Model, r.Status, r.Code, r.FirstContent, r.Finish, r.Usage, r.Cost = "", "", 503, "all_providers_failed", 0, "", journal.Usage{}, journal.Cost{}
	r.Trail, r.Trace, r.Key = r.Trail[1:2], journal.Trace{}, "=cmd()"
	r.Account = ledger.Account{Failed: true}
	return r
}

func opened(at time.Time) ledger.Entry {
	return ledger.Entry{
		Row: rows.Row(at), At: at, Instance: "i1", Kind: ledger.EntryGuard, Provider: "groq", Guard: "circuit_breaker", From: "closed", To: "open", Trip: "failures",
		Reason: "upstream_error", Until: at.Add(time.Minute), RequestID: "req_1",
	}
}

// kept are sources with a ledger of two requests, a minute ago and two hours ago, and of four entries.
func kept(t testing.TB) Sources {
	t.Helper()
	now := time.Now().Truncate(time.Millisecond)
	store := memory.NewLedger(time.Now)
	batch := ledger.Batch{
		Requests: []ledger.Request{ended(now.Add(-time.Minute), "req_1"), refused(now.Add(-2*time.Hour), "req_2")},
		Entries: []ledger.Entry{
			opened(now.Add(-time.Minute)),
			{Row: rows.Row(now.Add(-time.Hour)), At: now.Add(-time.Hour), Instance: "i1", Kind: ledger.EntryOrder, Provider: "groq", Guard: "open", Reason: "maintenance", By: "10.0.0.1"},
			{Row: rows.Row(now.Add(-2 * time.Hour)), At: now.Add(-2 * time.Hour), Instance: "i1", Kind: ledger.EntryChange, Guard: "reload", From: "evergate.yaml", To: "ok", By: "signal"},
			{Row: rows.Row(now.Add(-3 * time.Hour)), At: now.Add(-3 * time.Hour), Instance: "i1", Kind: ledger.EntryDiscovery, Provider: "openai", To: "healthy"},
		},
	}
	if err := store.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	s := sources()
	s.Instance, s.Version = "i1", "v1"
	s.Health = func() Health {
		return Health{Instance: "i1", State: State{Store: "memory", Reached: true}, Providers: map[string]Provider{
			"openai": NewProvider(resilience.View{Scope: resilience.Auto}, route.ProviderModels{Status: route.Healthy, LastChecked: now}, 3, Latency{412, 2210}),
		}}
	}
	s.Ledger = func() ledger.Store { return store }
	s.Request = found(store)
	s.Dropped = func() uint64 { return 3 }
	s.Feed = feed.New("i1")
	s.Targets = func() map[string]float64 { return map[string]float64{"smart": 0.99, "unused": 0.999} }
	s.Explain = func(context.Context, explain.Question) (*explain.Answer, error) { return explained(), nil }
	s.Past = func(*ledger.Request) *explain.Past { return remembered() }
	s.Config = func() Config {
		return Config{
			File: "evergate.yaml", LoadedAt: Time(now), YAML: "providers: {}\n", Keys: []string{"app"}, DataPlane: "127.0.0.1:8080", Problems: []Problem{},
			Providers: []ConfigProvider{{
				Name: "groq", Type: "openai", Class: "api_key", BaseURL: "http://x", Credentials: []string{"east"},
				Settings: []ConfigSetting{{"retry.max_retries", "3", "built in"}},
			}},
		}
	}
	s.Models = func(context.Context) (*Models, error) {
		return &Models{Plain: 2, Models: []Model{{
			Name: "smart", Strategy: "weighted", Targets: []Target{{Provider: "groq", Model: "llama", Weight: 2.5}, {Provider: "big", Model: "m", On: "context_length", Within: "inner"}},
			Summary: "It goes to groq.", Order: explained().Candidates, Affinity: true, Hedge: "auto", Mirror: &ModelMirror{"groq", "llama", 0.1}, Availability: 0.99,
		}}}, nil
	}
	s.Simulate = func(_ context.Context, scenario []byte) (any, []Problem, error) {
		switch string(scenario) {
		case "long":
			return nil, nil, ErrTooLong
		case "bug":
			return nil, nil, fmt.Errorf("a bug")
		case "wrong":
			return nil, []Problem{{Message: "has no traffic", Line: 1}}, nil
		}
		return map[string]any{"name": string(scenario)}, nil, nil
	}
	return s
}

// found is Sources.Request of a store.
func found(store ledger.Store) func(context.Context, string) (*ledger.Request, bool, error) {
	return func(ctx context.Context, id string) (*ledger.Request, bool, error) {
		if store == nil {
			return nil, false, errors.New("the store is not reached")
		}
		return ledger.Find(ctx, store, id)
	}
}
