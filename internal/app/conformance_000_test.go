package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evergate/internal/mock"
)

// Reference 000: five failures in a row open a provider's circuit, its own alone, and an open one is skipped without losing a moment
// (R18, R20, R50).
func TestReference000Opens(t *testing.T) {
	conform(t, "000", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.BeforeHeaders}), "b": answers()}, func(t *testing.T, s *stack) {
		for i := range 5 {
			s.expectState("before it fails", "a", "closed", i)
			if a := s.ask("demo", false); a.story() != "200 b stop @1m0.15s" {
				t.Fatalf("request %d: %s", i, a.story())
			}
		}
		s.expectState("after five failures", "a", "open", 5)
		s.expectState("beside it", "b", "closed", 0)
		if a := s.ask("demo", false); a.story() != "200 b stop @150ms" || trailOf(s, &a) != "a/m=circuit_open, b/m2=200" {
			t.Errorf("skipping: %s [%s]", a.story(), trailOf(s, &a))
		}
	})
}

// A success at any point sets the count to 0, and while open closes the circuit (R20, R27).
func TestReference000SuccessResets(t *testing.T) {
	conform(t, "000", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": do(mock.Behaviour{Status: 500})}, func(t *testing.T, s *stack) {
		for range 4 {
			s.ask("a/m", false)
		}
		s.set("a", answers())
		s.ask("a/m", false)
		s.expectState("after a success", "a", "closed", 0)
		s.set("a", do(mock.Behaviour{Status: 500}))
		for range 5 {
			s.ask("demo", false)
		}
		s.expectState("after five more", "a", "open", 5)
		s.set("a", answers())
		if a := s.ask("demo", false); a.story() != "200 a stop @150ms" { // b is open, too: everything is tried
			t.Errorf("%s", a.story())
		}
		if b := s.look("a").Breaker; b.State != "closed" || b.ConsecutiveFailures != 0 || !time.Time(b.OpenedAt).IsZero() {
			t.Errorf("a success while open: %+v", b)
		}
	})
}

// A failure while already open does not extend how long the provider is skipped (R21).
func TestReference000FailureWhileOpen(t *testing.T) {
	conform(t, "000", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500})}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("a/m", false)
		}
		before := s.look("a").Breaker
		pass(20 * time.Second)
		s.ask("a/m", false)
		if after := s.look("a").Breaker; after.RetryAt != before.RetryAt || after.State != "open" || len(s.chats("a")) != 6 {
			t.Errorf("before %+v, after a failure %+v", before, after)
		}
		pass(10 * time.Second)
		if state, _ := s.state("a"); state != "half_open" {
			t.Errorf("%s 30 s after it opened", state)
		}
	})
}

// Half-open is not filtered: requests go there as they come (R23 with no limit). A good one closes it; a bad one opens it for 30 s more,
// and the count keeps climbing (R24).
func TestReference000HalfOpen(t *testing.T) {
	conform(t, "000", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("demo", false)
		}
		pass(30 * time.Second)
		s.ask("demo", false)
		s.expectState("after a failed probe", "a", "open", 6)
		if d := lasting(s.look("a").Breaker); d != 30*time.Second {
			t.Errorf("open again for %v", d)
		}
		pass(30 * time.Second)
		slow := steady()
		slow.Latency = time.Second
		s.set("a", mock.Script{Defaults: slow})
		for i, a := range s.together(3, func(int) answer { return s.ask("demo", false) }) {
			if trailOf(s, &a) != "a/m=200" {
				t.Errorf("request %d beside the others: [%s]", i, trailOf(s, &a))
			}
		}
		s.expectState("after good ones", "a", "closed", 0)
	})
}

// What moves on to the next candidate and counts: 5xx, timeouts, a broken network (R1-R3).
func TestReference000Retryable(t *testing.T) {
	faults := map[string]mock.Behaviour{"timeout": {Hang: mock.BeforeHeaders}, "reset": {Reset: mock.BeforeHeaders}}
	for _, status := range []int{500, 501, 502, 503, 504, 520, 529, 599} {
		faults[fmt.Sprint(status)] = mock.Behaviour{Status: status}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			conform(t, "000", twoProviders, map[string]mock.Script{"a": do(fault), "b": answers()}, func(t *testing.T, s *stack) {
				for i, stream := range []bool{true, false} {
					if a := s.ask("demo", stream); a.status != 200 || trailOf(s, &a) != "a/m="+name+", b/m2=200" {
						t.Errorf("stream %t: %s [%s]", stream, a.story(), trailOf(s, &a))
					}
					s.expectState("after it", "a", "closed", i+1)
				}
			})
		})
	}
	t.Run("refused", func(t *testing.T) {
		conform(t, "000", strings.Replace(twoProviders, "http://a/", "http://nobody:81/", 1), map[string]mock.Script{"b": answers()}, func(t *testing.T, s *stack) {
			if a := s.ask("demo", false); trailOf(s, &a) != "a/m=connect, b/m2=200" {
				t.Errorf("[%s]", trailOf(s, &a))
			}
			s.expectState("after it", "a", "closed", 1)
		})
	})
}

// A 4xx goes back to the client at once and as it is; no other candidate is asked, no circuit is touched (R10, and rules of `classify` for those
// that are not R10 without them).
func TestReference000ClientErrors(t *testing.T) {
	for _, status := range []int{400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			conform(t, "000", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: status, Message: "no, because"}), "b": answers()}, func(t *testing.T, s *stack) {
				a := s.ask("demo", false)
				if a.status != status || !strings.Contains(a.body, "no, because") || len(s.chats("b")) != 0 || s.counted("a") != "" {
					t.Errorf("%s %s, b asked %d times, guards:%s", a.story(), a.body, len(s.chats("b")), s.counted("a"))
				}
			})
		})
	}
}

// 60 s for a plain attempt; for a stream 30 s of silence, begun anew by every chunk, and no failover once there was one (R15, R56).
func TestReference000Windows(t *testing.T) {
	tests := []struct {
		name   string
		fault  mock.Behaviour
		stream bool
		want   string
	}{
		{"plain, silent", mock.Behaviour{Hang: mock.BeforeHeaders}, false, "200 b stop @1m0.15s"},
		{"stream, silent", mock.Behaviour{Hang: mock.AfterHeaders}, true, "200 b stop done @30.22s"},
		{"stream, silent after a chunk", mock.Behaviour{Hang: mock.After(1)}, true, "200 error=provider_error @30s"},
		{"stream, slow", mock.Behaviour{Chunks: 4, ChunkDelay: 29 * time.Second}, true, "200 stop done @1m27s"},
		{"stream, dead after a chunk", mock.Behaviour{Cut: mock.After(1)}, true, "200 error=provider_error @0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conform(t, "000", twoProviders, map[string]mock.Script{"a": do(tt.fault), "b": answers()}, func(t *testing.T, s *stack) {
				a := s.ask("demo", tt.stream)
				a.took = a.took.Round(time.Millisecond)
				if a.story() != tt.want {
					t.Errorf("%s, want %s", a.story(), tt.want)
				}
			})
		})
	}
}

// With every candidate open the declared order is tried all the same (R51).
func TestReference000AllOpen(t *testing.T) {
	conform(t, "000", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": do(mock.Behaviour{Status: 500})}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("demo", false)
		}
		s.expectState("after five", "a", "open", 5)
		s.expectState("after five", "b", "open", 5)
		if a := s.ask("demo", false); a.status != 502 || !strings.HasSuffix(trailOf(s, &a), "a/m=500, b/m2=500") {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
		s.set("b", answers())
		if a := s.ask("demo", false); a.story() != "200 b stop @150ms" {
			t.Errorf("%s", a.story())
		}
	})
}

// Nothing left: 502, by how many candidates there were (R55).
func TestReference000Exhausted(t *testing.T) {
	broken := do(mock.Behaviour{Status: 503})
	conform(t, "000", twoProviders, map[string]mock.Script{"a": broken, "b": broken}, func(t *testing.T, s *stack) {
		if a := s.ask("demo", false); a.status != 502 || a.errCode != "all_providers_failed" {
			t.Errorf("two candidates: %s", a.story())
		}
		if a := s.ask("a/m", false); a.status != 502 || a.errCode != "provider_error" {
			t.Errorf("one candidate: %s", a.story())
		}
	})
}
