package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// oneProvider is a alone, asked as a/m.
const oneProvider = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers: {a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}}
`

// together asks n times at once and gives the answers.
func (s *stack) together(n int, ask func(i int) answer) []answer {
	out := make([]answer, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { out[i] = ask(i) })
	}
	all.Wait()
	return out
}

// R51: requests that find the only probe slot of their only provider taken go there all the same: nobody is refused because of a
// probe under way.
func TestBesideTheProbeOfTheOnlyProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500})})
		for range 5 {
			s.ask("a/m", false)
		}
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: steady()})
		time.Sleep(30 * time.Second)
		for i, a := range s.together(20, func(i int) answer { return s.ask("a/m", i%2 == 0) }) {
			if a.status != 200 {
				t.Errorf("request %d: %s %s", i, a.story(), a.body)
			}
		}
	})
}

// R51: where the upstream named a later time one request at a time tries early; the others hear that time.
func TestOneTriesEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := mock.Behaviour{Status: 429, RetryAfter: "40", Latency: 2 * time.Second}
		s := newStack(t, oneProvider, map[string]mock.Script{"a": do(limited)})
		s.ask("a/m", false)
		time.Sleep(10 * time.Second)
		before := len(s.chats("a"))
		for i, a := range s.together(10, func(int) answer { return s.ask("a/m", false) }) {
			if after := a.header.Get("Retry-After"); a.status != 429 || after != "30" && after != "40" {
				t.Errorf("request %d: %s, Retry-After %q", i, a.story(), after)
			}
		}
		if n := len(s.chats("a")) - before; n != 1 {
			t.Errorf("%d asked early, want one", n)
		}
	})
}

// R52: a 503 whose Retry-After is longer than max_wait is not waited for, and the client hears it.
func TestNamedWaitIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503, RetryAfter: "20"})})
		a := s.ask("a/m", false)
		if a.status != 502 || a.errCode != "provider_error" || a.header.Get("Retry-After") != "20" || len(s.chats("a")) != 1 || a.took > time.Second {
			t.Errorf("%s, Retry-After %q, asked %d times", a.story(), a.header.Get("Retry-After"), len(s.chats("a")))
		}
	})
}

// R50: a provider that was blocked when the request began and is free by the time the others have failed is asked, too.
func TestFreeAgainMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+"resilience: {retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1}}\n", map[string]mock.Script{
			"a": do(mock.Behaviour{Status: 500}), "b": answers(),
		})
		s.ask("demo", false)
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: steady()})
		s.mocks["b"].SetScript(mock.Script{Name: "b", Rules: []mock.Rule{{Do: mock.Behaviour{Hang: mock.BeforeHeaders}}}})
		a := s.ask("demo", false)
		if a.story() != "200 a stop @1m0.15s" || trailOf(s, &a) != "a/m=circuit_open, b/m2=timeout, a/m=200" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
	})
}

// R53: an outage does not multiply the traffic: beyond the budget requests go without retries, and first tries stay free.
func TestOutageDoesNotMultiplyTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider+"resilience: {circuit_breaker: {failure_threshold: 0}, retry: {same_target: 0}}\n",
			map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})})
		const n = 400
		for i, a := range s.together(n, func(int) answer { return s.ask("a/m", false) }) {
			if a.status != 502 {
				t.Fatalf("request %d: %s", i, a.story())
			}
		}
		if asked := len(s.facts.attempts); asked != n+100 {
			t.Errorf("asked %d times for %d requests, want 100 retries: the budget of the first 10 s", asked, n)
		}
	})
}

// R59: every attempt of a request carries the same Idempotency-Key.
func TestIdempotencyKeyOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})})
		s.post(t.Context(), "/v1/chat/completions", `{"model":"a/m","messages":[]}`, "Idempotency-Key", "once-1")
		seen := s.chats("a")
		if len(seen) != 4 {
			t.Fatalf("asked %d times", len(seen))
		}
		for i, r := range seen {
			if got := r.Header.Values("Idempotency-Key"); len(got) != 1 || got[0] != "once-1" {
				t.Errorf("attempt %d: %q", i, got)
			}
		}
	})
}

// R13: a client that stops reading for a while and goes on gets its whole answer; the upstream is not blamed.
func TestClientPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := mock.Behaviour{Chunks: 3000, ChunkSize: 1000}
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: long}, "b": answers()})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/v1/chat/completions",
			strings.NewReader(`{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		time.Sleep(50 * time.Second) // longer than timeouts.idle, shorter than write_timeout
		var a answer
		a.readStream(res.Body, time.Now())
		synctest.Wait()
		if !a.done || a.errCode != "" || s.counted("a") != "" {
			t.Errorf("done %t, error %q, guards:%s", a.done, a.errCode, s.counted("a"))
		}
	})
}

// R56: the timeouts of a virtual model hold for its targets, and a target's own before them.
func TestTimeoutsOfVirtualModel(t *testing.T) {
	text := strings.Replace(twoProviders, "demo: {strategy: ordered, targets: [a/m, b/m2]}",
		"demo: {timeouts: {first_chunk: 4s, attempt: 3s, idle: 2s}, targets: [{target: a/m, timeouts: {first_chunk: 1s}}, b/m2]}", 1)
	for _, tt := range []struct {
		hang   mock.Point
		stream bool
		want   string
	}{
		{mock.BeforeHeaders, true, "502 error=all_providers_failed @5s"},
		{mock.BeforeHeaders, false, "502 error=all_providers_failed @6s"},
		{mock.After(3), true, "200 error=provider_error @2.17s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			hangs := steady()
			hangs.Hang = tt.hang
			s := newStack(t, text+oneTry, map[string]mock.Script{"a": do(hangs), "b": do(hangs)})
			if a := s.ask("demo", tt.stream); a.story() != tt.want {
				t.Errorf("hang at %v, stream %t: %s, want %s", tt.hang, tt.stream, a.story(), tt.want)
			}
		})
	}
}

// R6, R43: a limit of one model rests that model on that key; the key serves its other models, and the other key this one.
func TestLimitOfOneModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(oneProvider, "api_key: sk-key-of-a, models: [m]", "keys: [{name: one, value: sk-one}, {name: two, value: sk-two}], key_strategy: fill_first, models: [m, n]", 1)
		s := newStack(t, text, map[string]mock.Script{"a": {Defaults: steady(), Rules: []mock.Rule{{
			Key: "sk-one", Model: "m", Do: mock.Behaviour{Status: 429, RetryAfter: "30", Message: "Rate limit reached for m in organization org on requests per min"},
		}}}})
		for i, want := range []string{"m: a/m=429, a/m=200", "m: a/m=200", "n: a/n=200"} {
			model, trail, _ := strings.Cut(want, ": ")
			a := s.ask("a/"+model, false)
			if a.status != 200 || trailOf(s, &a) != trail {
				t.Errorf("request %d: %s [%s], want [%s]", i, a.story(), trailOf(s, &a), trail)
			}
		}
		if c := s.counted("a"); c != " model=model_limited" {
			t.Errorf("guards:%s", c)
		}
		keys := ""
		for _, r := range s.chats("a") {
			keys += " " + r.Key
		}
		if want := " sk-one sk-two sk-two sk-one"; !sameKeys(keys, want) {
			t.Errorf("keys%s, want%s", keys, want)
		}
	})
}

// sameKeys compares keys by their last letters: a simulated provider shows no more.
func sameKeys(got, want string) bool {
	g, w := strings.Fields(got), strings.Fields(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if !strings.HasSuffix(w[i], g[i]) && !strings.HasSuffix(g[i], w[i]) {
			return false
		}
	}
	return true
}

// R13: a client that leaves during a wait between attempts ends its request; nobody is asked for it any more.
func TestClientLeavesDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s.post(ctx, "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[]}`, "a/m"))
		asked := len(s.chats("a"))
		time.Sleep(time.Minute)
		if n := len(s.chats("a")); n != asked {
			t.Errorf("asked %d times after the client had left", n-asked)
		}
		if f := s.facts.last(); f.Status != statusGone {
			t.Errorf("logged as %d", f.Status)
		}
	})
}

// R50: a provider that is blocked by the time its turn comes is passed over, and the trail says why.
func TestBlockedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+"resilience: {retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1}}\n", map[string]mock.Script{
			"a": do(mock.Behaviour{Hang: mock.BeforeHeaders}), "b": do(mock.Behaviour{Status: 500}),
		})
		first := make(chan answer)
		go func() { first <- s.ask("demo", false) }()
		time.Sleep(50 * time.Second)
		s.ask("b/m2", false)
		a := <-first
		if a.story() != "502 error=all_providers_failed @1m0s" || trailOf(s, &a) != "a/m=timeout, b/m2=circuit_open" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
	})
}
