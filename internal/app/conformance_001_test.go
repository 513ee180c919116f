package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// Reference 001: closed, open, half-open and back. The change to half-open is lazy: nobody but a look at the status makes it (R20-R24).
func TestReference001States(t *testing.T) {
	conform(t, "001", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for i := range 5 {
			s.expectState("traffic flows", "a", "closed", i)
			s.ask("demo", false)
		}
		s.expectState("at the threshold", "a", "open", 5)
		s.ask("demo", false)
		if n := len(s.chats("a")); n != 5 {
			t.Errorf("asked %d times, want 5: an open breaker blocks at once", n)
		}
		pass(time.Until(time.Time(s.look("a").Breaker.RetryAt)) - time.Millisecond)
		s.expectState("a moment too early", "a", "open", 5)
		pass(time.Millisecond)
		s.expectState("at the first look", "a", "half_open", 5)
		s.ask("demo", false)
		s.expectState("after a failed probe", "a", "open", 6)
		if d := lasting(s.look("a").Breaker); d != 30*time.Second {
			t.Errorf("a fresh timeout of %v", d)
		}
		pass(30 * time.Second)
		s.set("a", answers())
		s.ask("demo", false)
		s.expectState("after a good probe", "a", "closed", 0)
	})
}

// Exactly one probe at a time; the others are blocked as if it were open (R23).
func TestReference001OneProbe(t *testing.T) {
	conform(t, "001", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("demo", false)
		}
		pass(30 * time.Second)
		slow := steady()
		slow.Latency = time.Second
		s.set("a", mock.Script{Defaults: slow})
		s.together(10, func(int) answer { return s.ask("demo", false) })
		if n := len(s.chats("a")); n != 6 {
			t.Errorf("asked %d times, want five failures and one probe", n)
		}
	})
}

// What counts and what does not (R3, R4, R7). A 501, which is not in the document's list, is nobody's fault by a rule of `classify`.
func TestReference001Counted(t *testing.T) {
	for _, tt := range []struct {
		status, failures int
		guards           string
	}{
		{408, 1, " failures=1"},
		{500, 1, " failures=1"},
		{502, 1, " failures=1"},
		{503, 1, " failures=1"},
		{504, 1, " failures=1"},
		{501, 0, ""},
		{401, 0, " key=auth_failed"},
		{403, 0, " key=auth_failed"},
		{429, 0, " key=rate_limited"},
		{404, 0, " model=model_not_found"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			conform(t, "001", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: tt.status}), "b": answers()}, func(t *testing.T, s *stack) {
				a := s.ask("demo", false)
				if a.status != 200 || s.counted("a") != tt.guards {
					t.Errorf("%s, guards:%s, want%s", a.story(), s.counted("a"), tt.guards)
				}
				s.expectState("after it", "a", "closed", tt.failures)
			})
		})
	}
}

// A caller that goes away says nothing about the provider (R13).
func TestReference001ClientGone(t *testing.T) {
	conform(t, "001", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.BeforeHeaders})}, func(t *testing.T, s *stack) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s.post(ctx, "/v1/chat/completions", `{"model":"a/m","messages":[{"role":"user","content":"hi"}]}`)
		synctest.Wait()
		s.expectState("after it", "a", "closed", 0)
	})
}

// Thresholds and reset times by class: as the document has them, and as they are built in (R30).
func TestReference001Classes(t *testing.T) {
	for _, tt := range []struct {
		class    string
		failures int
		open     time.Duration
	}{{"oauth", 3, time.Minute}, {"api_key", 5, 30 * time.Second}, {"local", 2, 15 * time.Second}} {
		text := strings.Replace(oneProvider, "type: openai,", "type: openai, class: "+tt.class+",", 1)
		for name, more := range map[string]string{"as written": settings(t, "001"), "built in": oneTry} {
			t.Run(tt.class+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, text+more, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500})})
					for i := range tt.failures {
						s.expectState("before", "a", "closed", i)
						s.ask("a/m", false)
					}
					if b := s.look("a").Breaker; b.State != "open" || lasting(b) != tt.open {
						t.Errorf("%s for %v, want open for %v", b.State, lasting(b), tt.open)
					}
				})
			})
		}
	}
}

// A provider with an open breaker is no candidate, and the answer says why: in the trail's header, with the reason (R50).
func TestReference001Excluded(t *testing.T) {
	conform(t, "001", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("demo", false)
		}
		a := s.ask("demo", false)
		if got := a.header.Get("X-Evergate-Trail"); got != "a/m=circuit_open, b/m2=200" {
			t.Errorf("trail %q", got)
		}
	})
}
