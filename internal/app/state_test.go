package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

const sharedState = "state: { url: 'redis://:hunter2@store:6379/0' }\n"

// gateways starts some at one store, each with upstreams of its own: a that answers as scripted, and b that is well.
func gateways(t *testing.T, text string, scripts ...string) (*memory.Store, []*stack) {
	t.Helper()
	at := memory.New(time.Now)
	var all []*stack
	for _, script := range scripts {
		all = append(all, join(t, at, text, script))
	}
	time.Sleep(10 * time.Second)
	return at, all
}

func join(t *testing.T, at *memory.Store, text, script string) *stack {
	t.Helper()
	b := mock.Script{Models: []string{"m2"}}
	return newStackWith(t, parse(t, text), map[string]mock.Script{"a": scripted(t, script), "b": b}, slog.New(slog.DiscardHandler), func(s *stack) {
		s.open = func(context.Context, config.State) (replica.Store, error) { return at.Peer(), nil }
	})
}

func scripted(t *testing.T, text string) mock.Script {
	t.Helper()
	s, err := mock.ParseScript([]byte("models: [m]\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	well   = ""
	broken = "rules: [{do: {status: 503}}]\n"
	spent  = "rules: [{do: {status: 429, retry_after: 60}}]\n"
)

const fleetConfig = twoProviders + sharedState + "resilience: { circuit_breaker: { failure_threshold: 2, timeout: 20s }, retry: { same_target: 0 } }\n"

// R61, R62: a breaker that opened on one gateway is honoured by the others at once, a cooldown likewise; nobody is asked there meanwhile.
func TestFleetHonoursWhatOneSaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, skipped string }{
		{"breaker", broken, "circuit_open"},
		{"cooldown", spent, "rate_limited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, all := gateways(t, fleetConfig, c.script, well, well)
				for range 2 {
					all[0].ask("demo", false)
				}
				time.Sleep(100 * time.Millisecond)
				for n, s := range all[1:] {
					got := s.ask("demo", false)
					if trail := s.facts.last().Trail; got.status != 200 || len(trail) != 2 || !trail[0].Skipped || trail[0].Reason != c.skipped {
						t.Errorf("gateway %d: %s, trail %+v", n+1, got.story(), trail)
					}
				}
			})
		})
	}
}

// R31: an operator's order holds on every gateway, and on one that starts later.
func TestFleetObeysAnOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at, all := gateways(t, fleetConfig, well, well)
		order := resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", Until: time.Now().Add(time.Hour)}
		if err := all[0].app.operate("a", order, "somebody"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		late := join(t, at, fleetConfig, well)
		for n, s := range append(all, late) {
			b := s.app.healthView().Providers["a"].Breaker
			if b.State != "open" || b.Operator == nil || b.Operator.Reason != "maintenance" {
				t.Errorf("gateway %d: %+v", n, b)
			}
		}
		if err := all[1].app.operate("a", resilience.Order{Action: resilience.Reset, Reason: "done"}, "somebody"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		for n, s := range append(all, late, join(t, at, fleetConfig, well)) {
			if b := s.app.healthView().Providers["a"].Breaker; b.State != "closed" {
				t.Errorf("gateway %d after the reset: %+v", n, b)
			}
		}
	})
}

// R65: a gateway that starts again within the block honours it.
func TestRestartKeepsBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at, all := gateways(t, fleetConfig, spent)
		all[0].ask("demo", false)
		if err := all[0].app.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := join(t, at, fleetConfig, well)
		next.ask("demo", false)
		if trail := next.facts.last().Trail; len(trail) != 2 || !trail[0].Skipped {
			t.Errorf("trail %+v", trail)
		}
	})
}

// The health reply names store and instances, and what each saw; never the store's password.
func TestHealthShowsTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := gateways(t, fleetConfig, broken, well)
		for range 2 {
			all[0].ask("demo", false)
		}
		time.Sleep(11 * time.Second)
		view := all[1].app.healthView()
		if len(view.Instances) != 2 || !view.Instances[0].Self || view.Instances[1].ID != all[0].app.instance || view.Instances[1].Version != "test" {
			t.Fatalf("instances: %+v", view.Instances)
		}
		if b := view.Instances[1].Believes["a"]; len(b) != 1 || b[0].Guard != "circuit_breaker" || len(view.Instances[0].Believes) != 0 {
			t.Errorf("beliefs: %+v", view.Instances)
		}
		if s := view.State; s.Store != "redis" || s.Address != "redis://***@store:6379/0" || !s.Reached || time.Time(s.LastSync).IsZero() || s.LagMS > 6000 {
			t.Errorf("state: %+v", s)
		}
		w := httptest.NewRecorder()
		all[1].app.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		for _, line := range []string{"evergate_state_instances 2", "evergate_state_store_reached 1", "evergate_state_sync_errors_total 0", "evergate_state_sync_lag_seconds "} {
			if !strings.Contains(w.Body.String(), "\n"+line) {
				t.Errorf("the metrics have no %s", line)
			}
		}
		var out strings.Builder
		if err := admin.RenderStatus(&out, view, time.Now(), false); err != nil || strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), all[0].app.instance) {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}

// R60, R64: a store that is down keeps nothing from starting and no request waiting; it is said once, and readiness does not ask for it.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began := time.Now()
		s := newStackWith(t, parse(t, fleetConfig), map[string]mock.Script{"a": scripted(t, well), "b": scripted(t, well)}, slog.New(slog.NewTextHandler(&log, nil)), func(s *stack) {
			s.open = func(ctx context.Context, _ config.State) (replica.Store, error) {
				<-ctx.Done() // mute
				return nil, errors.New("store:6379 does not answer")
			}
		})
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the start took %v", took)
		}
		if got := s.ask("demo", false); got.status != 200 || got.took > 100*time.Millisecond {
			t.Errorf("%s", got.story())
		}
		time.Sleep(time.Minute)
		if ok, why := s.app.ready(); !ok {
			t.Errorf("not ready: %s", why)
		}
		if view := s.app.healthView(); view.State.Reached || view.State.Errors == 0 || view.State.Message == "" || len(view.Instances) != 1 {
			t.Errorf("%+v", view.State)
		}
		if n := strings.Count(log.String(), "state store not reached"); n != 1 || strings.Contains(log.String(), "hunter2") {
			t.Errorf("said %d times:\n%s", n, log.String())
		}
	})
}

// A reload brings new providers into the fleet, with what it knows of them.
func TestReloadSharesNewProviders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		less := strings.Replace(fleetConfig, "  a: {", "  c: {", 1)
		less = strings.Replace(less, "a/m,", "c/m,", 1)
		at, all := gateways(t, fleetConfig, broken)
		late := join(t, at, less, well)
		for range 2 {
			all[0].ask("demo", false)
		}
		time.Sleep(10 * time.Second)
		late.next = parse(t, fleetConfig)
		if err := late.app.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if b := late.app.healthView().Providers["a"].Breaker; b.State != "open" {
			t.Errorf("%+v", b)
		}
	})
}

// The default file is no condition: where it cannot be written the gateway starts, says so once, and goes on trying.
func TestUnwritableFile(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cfg := parse(t, twoProviders+"state: { url: 'sqlite:"+plain+"/evergate.db', sync_interval: 100ms }\n")
	s := newStackWith(t, cfg, map[string]mock.Script{"a": scripted(t, well), "b": scripted(t, well)}, slog.New(slog.NewTextHandler(&log, nil)),
		func(s *stack) { s.open = OpenState })
	for s.app.healthView().State.Errors < 3 {
		if t.Context().Err() != nil {
			t.Fatal("it does not go on trying")
		}
		<-time.After(5 * time.Millisecond)
	}
	if got := s.ask("demo", false); got.status != 200 {
		t.Errorf("%s", got.story())
	}
	if err := s.app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "state store not reached") != 1 || !strings.Contains(text, plain) {
		t.Errorf("the log:\n%s", text)
	}
}

// A store's address that cannot be right is a mistake of the config, whose password is not shown.
func TestMalformedStateURL(t *testing.T) {
	t.Parallel()
	cfg := parse(t, twoProviders+"state: { url: 'redis://:hunter2@a:1,b:2/x' }\n")
	err := Verify(cfg)
	if err == nil || !strings.Contains(err.Error(), "state.url") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	if err := Verify(parse(t, fleetConfig)); err != nil {
		t.Error(err)
	}
}
