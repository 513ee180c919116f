package app

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// A failure that another try cannot mend tells SDKs not to try again.
func TestLastingFailureIsNotToBeRetried(t *testing.T) {
	for status, want := range map[int]string{401: "false", 404: "false", 500: ""} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: status}), "b": do(mock.Behaviour{Status: status})})
			if a := s.ask("demo", false); a.status != 502 || a.header.Get("X-Should-Retry") != want {
				t.Errorf("%d: %d with x-should-retry %q, want %q", status, a.status, a.header.Get("X-Should-Retry"), want)
			}
		})
	}
}

// R11: the headers of a refusal that goes back name who refused.
func TestRefusalNamesTheRefuser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := do(mock.Behaviour{Status: 400, Code: "context_length_exceeded", Message: "too long"})
		s := newStack(t, twoProviders, map[string]mock.Script{"a": long, "b": long})
		if a := s.ask("demo", false); a.status != 400 || a.header.Get("X-Evergate-Model") != "a/m" {
			t.Errorf("%d by %q, want 400 by a/m", a.status, a.header.Get("X-Evergate-Model"))
		}
	})
}

// A model that no key may be used for is not found, and no breaker's fault.
func TestNoKeyForTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, "api_key: sk-key-of-a", "keys: [{name: narrow, value: sk-narrow, models: [other]}]", 1)
		s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers()})
		if a := s.ask("a/m", false); a.status != 404 || a.errCode != "model_not_found" {
			t.Errorf("%d %s: %s", a.status, a.errCode, a.body)
		}
	})
}

// A reload that changes the order of keys while requests wait between attempts: each key goes with its own name.
func TestReloadReordersKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed := func(keys string) string {
			return strings.Replace(twoProviders, "api_key: sk-key-of-a", "keys: ["+keys+"]", 1)
		}
		const one, two = "{name: one, value: sk-value-one}", "{name: two, value: sk-value-two}"
		s := newStack(t, keyed(one+", "+two), map[string]mock.Script{
			"a": {Defaults: steady(), Rules: []mock.Rule{{Nth: mock.Nth{From: 1, To: 1}, Do: mock.Behaviour{Status: 503, Latency: time.Second}}}}, "b": answers(),
		})
		done := make(chan answer)
		go func() { done <- s.ask("a/m", false) }()
		time.Sleep(500 * time.Millisecond)
		s.next = parse(t, keyed(two+", "+one))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if a := <-done; a.status != 200 {
			t.Fatalf("%s", a.story())
		}
		seen, trail := s.chats("a"), s.facts.last().Trail
		if len(trail) < 2 || len(seen) != len(trail) {
			t.Fatalf("%d requests, trail %+v", len(seen), trail)
		}
		for i, step := range trail {
			if want := "-" + step.Credential; seen[i].Key != want {
				t.Errorf("attempt %d: the trail says %s, the upstream got …%s", i, step.Credential, seen[i].Key)
			}
		}
	})
}
