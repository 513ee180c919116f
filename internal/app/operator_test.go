package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/mock"
)

// operate gives an order to the admin API and reads the provider's health, or the error's code.
func (s *stack) operate(provider, order string) (p admin.Provider, code string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://gateway/admin/v1/providers/"+provider+"/breaker", strings.NewReader(order))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var reply struct{ Error struct{ Code string } }
	if json.Unmarshal(text, &reply) != nil || json.Unmarshal(text, &p) != nil {
		s.t.Fatalf("%s: %s", res.Status, text)
	}
	return p, reply.Error.Code
}

// R31: an operator takes a provider out, for a time, and holds another one in, whatever happens; a reload changes nothing of it.
func TestOperatorTakesAProviderOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		p, code := s.operate("a", `{"action":"open","reason":"maintenance","for":"10m"}`)
		if code != "" || p.Breaker.State != "open" || p.Breaker.Trip != "operator" || p.Breaker.Operator.Reason != "maintenance" {
			t.Fatalf("%s %+v", code, p.Breaker)
		}
		if a := s.ask("demo", false); trailOf(s, &a) != "a/m=operator_open, b/m2=200" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
		s.next = parse(t, twoProviders+oneTry)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		// R51: with nobody else there it is not tried all the same.
		if a := s.ask("a/m", false); a.status != 503 || a.errCode != "circuit_open" || a.header.Get("Retry-After") != "600" {
			t.Errorf("%s %v", a.story(), a.header)
		}
		if n := len(s.chats("a")); n != 0 {
			t.Errorf("it was asked %d times", n)
		}
		time.Sleep(10 * time.Minute)
		if a := s.ask("demo", false); a.story() != "200 a stop @150ms" {
			t.Errorf("afterwards: %s", a.story())
		}

		s.mocks["a"].SetScript(mock.Script{Name: "a", Rules: do(mock.Behaviour{Status: 500}).Rules})
		s.operate("a", `{"action":"close","reason":"it lies"}`)
		for range 8 {
			if a := s.ask("demo", false); trailOf(s, &a) != "a/m=500, b/m2=200" {
				t.Errorf("held closed: [%s]", trailOf(s, &a))
			}
		}
		p, _ = s.operate("a", `{"action":"reset","reason":"over"}`)
		if p.Breaker.State != "closed" || p.Breaker.Operator != nil || p.Breaker.ConsecutiveFailures != 0 {
			t.Errorf("%+v", p.Breaker)
		}
		if a := s.ask("a/m", false); a.status != 502 {
			t.Errorf("after the reset: %s", a.story())
		}

		if _, code := s.operate("aa", `{}`); code != "unknown_provider" {
			t.Error(code)
		}
		var said []string
		for _, o := range s.facts.orders {
			said = append(said, o.Provider+" "+o.Action+": "+o.Reason+", by "+o.By)
		}
		for i, want := range []string{"a open: maintenance", "a close: it lies", "a reset: over"} {
			if len(said) != 3 || !strings.HasPrefix(said[i], want+", by holder of the admin token at ") {
				t.Fatalf("%q", said)
			}
		}
	})
}

// R31: with no end said, nobody can tell a client when to come back.
func TestOperatorHoldsTheOnlyProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, oneProvider, map[string]mock.Script{"a": answers()})
		s.operate("a", `{"action":"open","reason":"until further notice"}`)
		for _, stream := range []bool{false, true} {
			if a := s.ask("a/m", stream); a.status != 503 || a.errCode != "circuit_open" || a.header.Get("Retry-After") != "" {
				t.Errorf("%s %v %s", a.story(), a.header, a.body)
			}
		}
	})
}

// R35: one failing model of a provider leaves the others alone, and the admin API shows each.
func TestBreakerOfAModel(t *testing.T) {
	const text = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m, n], resilience: {circuit_breaker: {scope: auto}}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2]}
`
	synctest.Test(t, func(t *testing.T) {
		script := answers()
		script.Rules = []mock.Rule{{Model: "m", Do: mock.Behaviour{Status: 500}}}
		s := newStack(t, text+oneTry, map[string]mock.Script{"a": script, "b": answers()})
		for range 5 {
			s.ask("demo", false)
		}
		if a := s.ask("demo", false); trailOf(s, &a) != "a/m=circuit_open, b/m2=200" {
			t.Errorf("[%s]", trailOf(s, &a))
		}
		if a := s.ask("a/n", false); a.story() != "200 a stop @150ms" {
			t.Errorf("another model: %s", a.story())
		}
		p, code := s.operate("a", `{"action":"close","reason":"try","model":"m"}`)
		if code != "" || p.Breaker.State != "closed" || p.Breakers["m"].Operator == nil || p.Breakers["n"].Operator != nil {
			t.Errorf("%s %+v", code, p)
		}
		if a := s.ask("demo", false); trailOf(s, &a) != "a/m=500, b/m2=200" {
			t.Errorf("[%s]", trailOf(s, &a))
		}
		if _, code := s.operate("b", `{"action":"close","reason":"try","model":"m2"}`); code != "invalid_request" {
			t.Errorf("one breaker: %q", code)
		}
	})
}

// R34: a provider that came back gets its traffic back by and by, and each request has one word on it.
func TestRampUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, "api_key: sk-key-of-a,", "api_key: sk-key-of-a, resilience: {circuit_breaker: {ramp: 100s}},", 1)
		s := newStack(t, text+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		for range 5 {
			s.ask("demo", false)
		}
		slow := steady()
		slow.Latency = 2 * time.Second
		s.mocks["a"].SetScript(mock.Script{Name: "a", Defaults: slow})
		time.Sleep(30 * time.Second)
		s.ask("demo", false) // the probe
		share := func() int {
			n := 0
			for _, a := range s.together(200, func(int) answer { return s.ask("demo", false) }) {
				if a.status != 200 {
					t.Errorf("%s", a.story())
				}
				if a.header.Get("X-Evergate-Provider") == "a" {
					n++
				}
			}
			return n
		}
		early := share()
		for _, r := range s.facts.requests[len(s.facts.requests)-200:] {
			if step := r.Trail[0]; step.Provider == "a" && step.Skipped && step.Reason != "ramping" {
				t.Errorf("%+v", step)
			}
		}
		time.Sleep(48 * time.Second)
		half := share()
		time.Sleep(50 * time.Second)
		if late := share(); early > 20 || half < 60 || half > 150 || late != 200 {
			t.Errorf("of 200: %d, %d, %d", early, half, late)
		}
	})
}
