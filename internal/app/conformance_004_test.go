package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"evergate/internal/mock"
)

// twoKeys is a provider with two keys and two models, and another behind it.
var twoKeys = strings.Replace(twoProviders, "api_key: sk-key-of-a, models: [m]",
	"keys: [{name: one, value: sk-one}, {name: two, value: sk-two}], key_strategy: fill_first, models: [m, n]", 1)

// Reference 004: eight failures in a row open the breaker of a provider with an API key, for 30 s (R3, R20, R22-R24).
func TestReference004Threshold(t *testing.T) {
	for _, status := range []int{408, 500, 501, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			conform(t, "004", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: status, Header: http.Header{"X-Should-Retry": {"false"}}})}, func(t *testing.T, s *stack) {
				for i := range 8 {
					s.expectState("before", "a", "closed", i)
					s.ask("a/m", false)
				}
				s.expectState("after eight", "a", "open", 8)
				pass(30 * time.Second)
				s.expectState("after the reset time", "a", "half_open", 8)
				s.ask("a/m", false)
				s.expectState("after a failed probe", "a", "open", 9)
				pass(30 * time.Second)
				s.set("a", answers())
				s.ask("a/m", false)
				s.expectState("after a good one", "a", "closed", 0)
			})
		})
	}
}

// A 429 or a 401 marks one key, and neither its provider nor its sibling (R4, R7, R18).
func TestReference004OneKey(t *testing.T) {
	for status, reason := range map[int]string{429: "rate_limited", 401: "auth_failed"} {
		t.Run(reason, func(t *testing.T) {
			conform(t, "004", twoKeys, map[string]mock.Script{
				"a": {Defaults: steady(), Rules: []mock.Rule{{Key: "sk-one", Do: mock.Behaviour{Status: status}}}}, "b": answers(),
			}, func(t *testing.T, s *stack) {
				for i, want := range []string{fmt.Sprintf("a/m=%d, a/m=200", status), "a/m=200"} {
					if a := s.ask("demo", false); trailOf(s, &a) != want {
						t.Errorf("request %d: [%s], want [%s]", i, trailOf(s, &a), want)
					}
				}
				p := s.look("a")
				if p.Breaker.State != "closed" || p.Breaker.ConsecutiveFailures != 0 || p.Credentials["one"].Reason != reason || p.Credentials["two"].State != "ok" {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// Without a word from the upstream the rest is base × 2ⁿ (R41).
func TestReference004Doubles(t *testing.T) {
	conform(t, "004", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 429})}, func(t *testing.T, s *stack) {
		for n, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			s.ask("a/m", false)
			c := s.look("a").Credentials["default"]
			if rest := time.Until(time.Time(c.CooldownUntil)); c.Reason != "rate_limited" || !about(rest, want, 0.1) {
				t.Errorf("failure %d: %s for %v, want about %v", n, c.Reason, rest, want)
			}
			pass(time.Until(time.Time(c.CooldownUntil)) + time.Millisecond)
		}
	})
}

// A model that is missing, or over its quota, is locked out alone; the key serves the others (R6, R9, R43).
func TestReference004ModelLockout(t *testing.T) {
	for name, fault := range map[string]mock.Behaviour{
		"404": {Status: 404}, "quota of the model": {Status: 429, RetryAfter: "60", Message: "Rate limit reached for m in organization org on tokens per day"},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, "004", strings.Replace(oneProvider, "[m]", "[m, n]", 1), map[string]mock.Script{
				"a": {Defaults: steady(), Rules: []mock.Rule{{Model: "m", Do: fault}}},
			}, func(t *testing.T, s *stack) {
				s.ask("a/m", false)
				p := s.look("a")
				if len(p.Lockouts) != 1 || p.Lockouts[0].Model != "m" || p.Credentials["default"].State != "ok" || p.Breaker.ConsecutiveFailures != 0 {
					t.Errorf("%+v", p)
				}
				if a := s.ask("a/n", false); a.story() != "200 a stop @150ms" {
					t.Errorf("the other model: %s", a.story())
				}
			})
		})
	}
}

// After a 429 the time that the upstream names is waited out, in whatever header it stands, and the request is tried again there (R41, R52).
func TestReference004NamedTime(t *testing.T) {
	for name, header := range map[string]http.Header{
		"Retry-After": {"Retry-After": {"2"}},
		"reset":       {"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"2s"}},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, "004", oneProvider, map[string]mock.Script{
				"a": {Defaults: steady(), Rules: []mock.Rule{{Nth: mock.Nth{From: 1, To: 1}, Do: mock.Behaviour{Status: 429, Header: header}}}},
			}, func(t *testing.T, s *stack) {
				a := s.ask("a/m", false)
				if gaps := s.gaps("a"); a.status != 200 || len(gaps) != 1 || gaps[0] < 2*time.Second || gaps[0] > 2200*time.Millisecond {
					t.Errorf("%s, asked again after %v", a.story(), gaps)
				}
			})
		})
	}
}

// When the retries of a target are spent the router goes on to others (R52).
func TestReference004Exhausted(t *testing.T) {
	conform(t, "004", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503}), "b": answers()}, func(t *testing.T, s *stack) {
		if a := s.ask("demo", false); a.status != 200 || trailOf(s, &a) != "a/m=503, a/m=503, b/m2=200" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
	})
	conform(t, "004", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})}, func(t *testing.T, s *stack) {
		if a := s.ask("a/m", false); a.status != 502 || len(s.chats("a")) != 4 {
			t.Errorf("%s after %d attempts, want the first and three more", a.story(), len(s.chats("a")))
		}
	})
}

// What is no request is refused before any provider is asked.
func TestReference004Validation(t *testing.T) {
	conform(t, "004", oneProvider, map[string]mock.Script{"a": answers()}, func(t *testing.T, s *stack) {
		for _, body := range []string{`{"model":`, `{"messages":[]}`, `{"model":"nope","messages":[]}`} {
			if a := s.post(t.Context(), "/v1/chat/completions", body); a.status != 400 && a.status != 404 {
				t.Errorf("%s: %s", body, a.story())
			}
		}
		if n := len(s.chats("a")); n != 0 {
			t.Errorf("a was asked %d times", n)
		}
	})
}
