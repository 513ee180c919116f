package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/mock"
)

func do(b mock.Behaviour) mock.Script { return mock.Script{Rules: []mock.Rule{{Do: b}}} }

func answers() mock.Script { return mock.Script{Defaults: steady()} }

// A provider's life: it fails, its breaker opens and it is skipped, it is probed when its time is up, fails the probe, is probed again and
// takes its traffic back (R20, R22-R24).
func TestBreakerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		state := func() string { return s.app.health.Provider("a").Snapshot(time.Now()).Guards.Breaker.State.String() }
		for i := range 5 {
			if a := s.ask("demo", i%2 == 0); a.status != 200 || trailOf(s, &a) != "a/m=500, b/m2=200" {
				t.Fatalf("request %d: %s [%s]", i, a.story(), trailOf(s, &a))
			}
		}
		if state() != "open" {
			t.Fatalf("breaker %s after five failures", state())
		}
		for range 20 {
			if a := s.ask("demo", false); trailOf(s, &a) != "a/m=circuit_open, b/m2=200" || a.took != 150*time.Millisecond {
				t.Fatalf("open: %s [%s]", a.story(), trailOf(s, &a))
			}
		}
		if n := len(s.chats("a")); n != 5 {
			t.Fatalf("a was asked %d times, want 5", n)
		}
		time.Sleep(30 * time.Second)
		if state() != "half_open" {
			t.Fatalf("breaker %s after its timeout", state())
		}
		if a := s.ask("demo", false); trailOf(s, &a) != "a/m=500, b/m2=200" || state() != "open" {
			t.Fatalf("failed probe: [%s], breaker %s", trailOf(s, &a), state())
		}
		time.Sleep(30 * time.Second)
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: steady()})
		if a := s.ask("demo", true); a.story() != "200 a stop done @220ms" || state() != "closed" {
			t.Fatalf("good probe: %s, breaker %s", a.story(), state())
		}
	})
}

// While a probe is out the others go elsewhere (R23).
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		for range 5 {
			s.ask("demo", false)
		}
		time.Sleep(30 * time.Second)
		slow := steady()
		slow.Latency = 5 * time.Second
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: slow})
		first := make(chan answer)
		go func() { first <- s.ask("demo", false) }()
		time.Sleep(time.Second)
		for range 3 {
			if a := s.ask("demo", false); a.story() != "200 b stop @150ms" {
				t.Errorf("beside the probe: %s", a.story())
			}
		}
		if a := <-first; a.story() != "200 a stop @5.1s" {
			t.Errorf("the probe: %s", a.story())
		}
		if n := len(s.chats("a")); n != 6 {
			t.Errorf("a was asked %d times, want 5 and a probe", n)
		}
	})
}

// 003's retry on one provider, and its error when all is spent (R52, R55).
func TestOneProviderRetries(t *testing.T) {
	const one = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: t}
providers: {a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}}
resilience: {retry: {jitter_factor: 0, same_target: 0}}
`
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, one, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503, Message: "try later"})})
		a := s.ask("a/m", false)
		if a.status != 502 || a.errCode != "provider_error" || a.took != 7*time.Second {
			t.Fatalf("%s: %s", a.story(), a.body)
		}
		if a.header.Get("X-Should-Retry") != "false" || a.header.Get("X-Evergate-Attempts") != "4" {
			t.Errorf("headers %v", a.header)
		}
		if strings.Count(a.body, `"target":"a/m"`) != 4 || !strings.Contains(a.body, "try later") {
			t.Errorf("body %s", a.body)
		}
	})
	synctest.Test(t, func(t *testing.T) { // pass_status: its own status
		s := newStack(t, strings.Replace(one, "resilience: {", "resilience: {pass_status: true, ", 1), map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})})
		if a := s.ask("m", false); a.status != 503 || a.errCode != "provider_error" {
			t.Fatalf("%s: %s", a.story(), a.body)
		}
	})
}

// Everybody rate limited: 429 with the soonest Retry-After (R55); the next request within that time is told the same without a flood (R51).
func TestAllRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{
			"a": do(mock.Behaviour{Status: 429, RetryAfter: "40"}), "b": do(mock.Behaviour{Status: 429, RetryAfter: "20"}),
		})
		a := s.ask("demo", false)
		if a.status != 429 || a.errCode != "all_providers_rate_limited" || a.header.Get("Retry-After") != "20" {
			t.Fatalf("%s Retry-After %q", a.story(), a.header.Get("Retry-After"))
		}
		time.Sleep(5 * time.Second)
		a = s.ask("demo", false)
		if a.status != 429 || a.header.Get("Retry-After") != "20" && a.header.Get("Retry-After") != "15" {
			t.Fatalf("%s Retry-After %q", a.story(), a.header.Get("Retry-After"))
		}
	})
}

// Keys of one provider: a refused and a limited one are passed over at once, and do not condemn the provider (R4, R7, R18).
func TestCredentialPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, "api_key: sk-key-of-a", "keys: [{name: one, value: sk-one}, {name: two, value: sk-two}, {name: three, value: sk-three}], key_strategy: fill_first", 1)
		s := newStack(t, text, map[string]mock.Script{
			"a": {Defaults: steady(), Rules: []mock.Rule{
				{Key: "sk-one", Do: mock.Behaviour{Status: 401}}, {Key: "sk-two", Do: mock.Behaviour{Status: 429, RetryAfter: "60"}},
			}},
			"b": answers(),
		})
		a := s.ask("demo", false)
		if a.story() != "200 a stop @150ms" || trailOf(s, &a) != "a/m=401, a/m=429, a/m=200" {
			t.Fatalf("%s [%s]", a.story(), trailOf(s, &a))
		}
		if c := s.counted("a"); c != " key=auth_failed key=rate_limited" {
			t.Errorf("guards:%s", c)
		}
		a = s.ask("demo", false)
		if trailOf(s, &a) != "a/m=200" {
			t.Errorf("second request: [%s]", trailOf(s, &a))
		}
	})
}

// An upstream that answered 200 and is silent: the client gets comments, and failover is still possible; then the error is in-band
// (the weaker step of RESILIENCE §1).
func TestOpenedBeforeContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.AfterHeaders}), "b": answers()})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/v1/chat/completions",
			strings.NewReader(`{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		req.Header.Set("Content-Type", "application/json")
		start := time.Now()
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if d := time.Since(start); d != 15*time.Second || res.StatusCode != 200 {
			t.Errorf("opened with %d after %s, want 200 after 15s", res.StatusCode, d)
		}
		body, _ := io.ReadAll(res.Body)
		if n := strings.Count(string(body), ": keepalive\n\n"); n != 4 {
			t.Errorf("%d comments, want 4 in the 60 s before the failover", n)
		}
		if !strings.Contains(string(body), "simulated provider b") && !strings.Contains(string(body), "b ") || !strings.HasSuffix(string(body), "data: [DONE]\n\n") {
			t.Errorf("body %s", body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.AfterHeaders}), "b": do(mock.Behaviour{Status: 500})})
		a := s.ask("demo", true)
		if a.story() != "200 error=all_providers_failed @1m0s" || a.done {
			t.Errorf("nobody answered an opened stream: %s", a.story())
		}
	})
}

// A committed stream that is silent gets comments, too.
func TestKeepaliveInCommittedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := steady()
		slow.ChunkDelay = 20 * time.Second
		slow.Chunks = 3
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: slow}, "b": answers()})
		a := s.ask("demo", true)
		if a.story() != "200 a stop done @40.15s" && a.story() != "200 stop done @40.15s" {
			t.Errorf("%s", a.story())
		}
	})
}

// Usage is asked for where the client did not, and withheld from it; a client that asks gets it (CONTRACT §3).
func TestUsageInStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		if a := s.ask("demo", true); a.usage {
			t.Error("the client got usage that it did not ask for")
		}
		if f := s.facts.last(); !f.Usage.Known || f.Usage.Output == 0 {
			t.Errorf("usage in the journal: %+v", f.Usage)
		}
		if a := s.ask("demo", true, `,"stream_options":{"include_usage":true}`); !a.usage {
			t.Error("the client did not get the usage it asked for")
		}
	})
}

// What is sent upstream: the target's model and the provider's own credential, everything else as it came (R59, decision 2).
func TestWhatGoesUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		body := `{ "model" : "demo", "messages":[{"role":"user","content":"hi \u00fc"}], "x_unknown": {"b":1,"a":[1.0,2e3]}, "temperature":0.30 }`
		s.post(t.Context(), "/v1/chat/completions", body, "Authorization", "Bearer sk-the-callers-own", "Idempotency-Key", "once-1", "X-Custom", "kept",
			"Cookie", "session=1", "X-Evergate-Prefer", "fallbacks=yes")
		for name, model := range map[string]string{"a": "m", "b": "m2"} {
			seen := s.chats(name)
			if len(seen) != 1 {
				t.Fatalf("%s saw %d requests", name, len(seen))
			}
			if want := strings.Replace(body, `"demo"`, `"`+model+`"`, 1); string(seen[0].Body) != want {
				t.Errorf("%s got %s", name, seen[0].Body)
			}
			if seen[0].Key != "of-"+name && !strings.HasSuffix("sk-key-of-"+name, seen[0].Key) {
				t.Errorf("%s got the key …%s", name, seen[0].Key)
			}
			h := seen[0].Header
			if h.Get("Idempotency-Key") != "once-1" || h.Get("X-Custom") != "kept" || h.Get("X-Evergate-Prefer") != "" || h.Get("Cookie") != "" {
				t.Errorf("%s got headers %v", name, h)
			}
		}
	})
}

// A client that takes nothing is let go after write_timeout, and its upstream with it; nothing is buffered for it.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := mock.Behaviour{Chunks: 10_000, ChunkSize: 1000} // many times what connections hold
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: endless}, "b": answers()})
		c, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		body := `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`
		_, _ = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		start := time.Now()
		for s.facts.last().ID == "" && time.Since(start) < 10*time.Minute {
			time.Sleep(time.Second)
		}
		f := s.facts.last()
		if d := f.Duration; d < 55*time.Second || d > 70*time.Second || f.Status != statusGone {
			t.Errorf("ended after %s with %d, want about the write timeout of 60s", d, f.Status)
		}
		synctest.Wait()
		if seen := s.chats("a"); seen[0].CancelledAt.IsZero() && seen[0].Done.IsZero() {
			t.Error("the upstream still writes")
		}
		if c := s.counted("a"); c != "" {
			t.Errorf("the client's sloth counts against a:%s", c)
		}
	})
}

// A reload keeps guards and requests under way, and refuses a bad file (CONTRACT §2).
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := steady()
		slow.Latency = 10 * time.Second
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": {Defaults: slow}})
		for range 5 {
			s.ask("demo", false)
		}
		running := make(chan answer)
		go func() { running <- s.ask("demo", false) }()
		time.Sleep(time.Second)
		s.next = parse(t, strings.Replace(twoProviders, "demo:", "other:", 1)+oneTry)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if a := <-running; a.status != 200 {
			t.Errorf("the request under way: %s", a.story())
		}
		if a := s.ask("demo", false); a.status != 404 {
			t.Errorf("the old name: %s", a.story())
		}
		if a := s.ask("other", false); trailOf(s, &a) != "a/m=circuit_open, b/m2=200" {
			t.Errorf("guards after the reload: [%s]", trailOf(s, &a))
		}
		_, s.nextErr = config.Parse("bad.yaml", []byte("providers: {a: {type: nope}}"), func(string) (string, bool) { return "", false })
		s.next = nil
		var problems config.Problems
		if err := s.app.Reload(); !errors.As(err, &problems) {
			t.Fatalf("a bad file: %v", err)
		}
		if a := s.ask("other", false); a.status != 200 {
			t.Errorf("after a refused reload: %s", a.story())
		}
	})
}

// A reload also swaps the admin token and the callers' keys: rotating a secret needs no restart.
func TestReloadRotatesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed := func(token, key string) string {
			return strings.NewReplacer("admin-token", token, "{allow_anonymous: true}", "{mode: keys, keys: [{name: ci, value: "+key+"}]}").Replace(twoProviders)
		}
		s := newStack(t, keyed("token-one", "key-one"), map[string]mock.Script{"a": answers(), "b": answers()})
		health := func(token string) int {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway/admin/v1/health", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			return res.StatusCode
		}
		chat := func(key string) int {
			a := s.post(t.Context(), "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer "+key)
			return a.status
		}
		if health("token-one") != 200 || chat("key-one") != 200 || chat("key-two") != 401 {
			t.Fatal("before the reload")
		}
		s.next = parse(t, keyed("token-two", "key-two"))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if health("token-one") != 401 || health("token-two") != 200 || chat("key-one") != 401 || chat("key-two") != 200 {
			t.Error("old secrets are still good, or new ones are not")
		}
	})
}

// SIGTERM: readiness fails, streams drain; what is left at the end of the grace period hears so in its dialect (CONTRACT §4).
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		grace time.Duration
		story string
		err   bool
	}{{time.Minute, "200 a stop done @10.02s", false}, {2 * time.Second, "200 a error=shutting_down @3s", true}} {
		synctest.Test(t, func(t *testing.T) {
			b := mock.Behaviour{ChunkDelay: 5 * time.Second, Chunks: 3, FirstToken: 20 * time.Millisecond, ChunkSize: 40}
			s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: b}, "b": answers()})
			running := make(chan answer)
			go func() { running <- s.ask("demo", true) }()
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), tt.grace)
			defer cancel()
			stopped := make(chan error)
			go func() { stopped <- s.app.Stop(ctx) }()
			synctest.Wait()
			if ok, _ := s.app.ready(); ok {
				t.Error("still ready while draining")
			}
			if a := <-running; a.story() != tt.story {
				t.Errorf("grace %s: %s, want %s", tt.grace, a.story(), tt.story)
			}
			if err := <-stopped; (err != nil) != tt.err {
				t.Errorf("grace %s: stop says %v", tt.grace, err)
			}
		})
	}
}

// The trail, in headers and on errors, is what was tried and why not (R50, R55).
func TestFailFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+"\nresilience: {when_all_blocked: fail_fast, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1}}\n",
			map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": do(mock.Behaviour{Status: 500})})
		s.ask("demo", false)
		time.Sleep(10 * time.Second)
		a := s.ask("demo", false)
		if a.status != 503 || a.errCode != "circuit_open" || a.header.Get("Retry-After") != "20" || a.header.Get("X-Should-Retry") != "true" {
			t.Fatalf("%s %v %s", a.story(), a.header, a.body)
		}
		if !strings.Contains(a.body, "circuit breaker is open") || strings.Count(a.body, `"skipped":true`) != 2 {
			t.Errorf("body %s", a.body)
		}
	})
}

// R54: the time limit of a request leaves a second candidate its half.
func TestTotalTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry+"timeouts: {total: 20s}\n", map[string]mock.Script{
			"a": do(mock.Behaviour{Hang: mock.BeforeHeaders}), "b": do(mock.Behaviour{Hang: mock.BeforeHeaders}),
		})
		a := s.ask("demo", false)
		if a.story() != "504 error=deadline_exceeded @20s" || len(s.chats("b")) != 1 {
			t.Errorf("%s, b asked %d times", a.story(), len(s.chats("b")))
		}
		if d := s.facts.last().Trail[0].Duration; d != 10*time.Second {
			t.Errorf("a had %s, want half of 20s", d)
		}
	})
}
