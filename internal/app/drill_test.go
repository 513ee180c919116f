package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/admin"
	"evergate/internal/drill"
	"evergate/internal/mock"
)

// fault asks the admin API about drills.
func (s *stack) fault(method, path, body string, into any) (status int) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://gateway/admin/v1/faults"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if err := json.Unmarshal(text, into); err != nil {
		s.t.Fatalf("%s: %s", res.Status, text)
	}
	return res.StatusCode
}

// drill starts a drill, and gives its id.
func (s *stack) drill(rule string) string {
	s.t.Helper()
	var r struct {
		admin.FaultReport
		Error any
	}
	if status := s.fault("POST", "", rule, &r); status != http.StatusCreated {
		s.t.Fatalf("%d %v", status, r.Error)
	}
	return r.ID
}

// came is what a drill has come to.
func (s *stack) came(id string) admin.FaultReport {
	s.t.Helper()
	var r admin.FaultReport
	if status := s.fault("GET", "/"+id, "", &r); status != http.StatusOK {
		s.t.Fatal(status)
	}
	return r
}

func twoOf(kind string) string {
	return strings.ReplaceAll(twoProviders, "type: openai", "type: "+kind) +
		"resilience: {retry: {max_retries: 0}}\ntimeouts: {attempt: 10s, first_chunk: 5s, idle: 4s}\n"
}

// R74: every fault is met where a provider would show it: a request is rescued, or its stream is cut, as if provider a had done it; the
// trail says that it was a drill, and the provider is asked only where its answer is maimed.
func TestEveryFaultOfADrill(t *testing.T) {
	t.Parallel()
	cases := []struct {
		shape         string
		plain, stream string
		asked         bool
	}{
		{
			`{"status":503}`,
			"200 150ms | a/m=503;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=503;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"status":429,"retry_after":"30s"}`,
			"200 150ms | a/m=429;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=429;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"status":529}`,
			"200 150ms | a/m=529;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=529;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"status":404}`,
			"200 150ms | a/m=404;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=404;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"status":400}`,
			"400 0s | a/m=400;drill | 1/1 failed",
			"400 0s | a/m=400;drill | 1/1 failed", false,
		},
		{
			`{"latency":"2s"}`,
			"200 2.15s | a/m=200;drill | 1/1 answered",
			"200 2.22s | a/m=200;drill | 1/1 answered", true,
		},
		{
			`{"latency":"11s"}`,
			"200 10.15s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +10000ms",
			"200 5.22s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +5000ms", false,
		},
		{
			`{"latency":"1s","status":500}`,
			"200 1.15s | a/m=500;drill, b/m2=200 | 1/1 rescued +1000ms",
			"200 1.22s | a/m=500;drill, b/m2=200 | 1/1 rescued +1000ms", false,
		},
		{
			`{"refused":true}`,
			"200 150ms | a/m=connect;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=connect;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"reset":true}`,
			"200 150ms | a/m=reset;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=reset;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"timeout":true}`,
			"200 10.15s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +10000ms",
			"200 5.22s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +5000ms", false,
		},
		{
			`{"invalid":"html"}`,
			"200 150ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"invalid":"json"}`,
			"200 150ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"invalid":"empty"}`,
			"200 150ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued",
			"200 220ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued", false,
		},
		{
			`{"cut_after":0}`,
			"200 300ms | a/m=reset;drill, b/m2=200 | 1/1 rescued +150ms",
			"200 270ms | a/m=reset;drill, b/m2=200 | 1/1 rescued +50ms", true,
		},
		{
			`{"cut_after":2}`,
			"200 300ms | a/m=reset;drill, b/m2=200 | 1/1 rescued +150ms",
			"200 160ms | a/m=200;drill | 1/1 failed", true,
		},
		{
			`{"stall_after":0}`,
			"200 10.15s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +10000ms",
			"200 5.22s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +5000ms", true,
		},
		{
			`{"stall_after":2}`,
			"200 10.15s | a/m=timeout;drill, b/m2=200 | 1/1 rescued +10000ms",
			"200 4.16s | a/m=200;drill | 1/1 failed", true,
		},
		{
			`{"error_event_after":0}`,
			"200 200ms | a/m=upstream_error;drill, b/m2=200 | 1/1 rescued +50ms",
			"200 270ms | a/m=upstream_error;drill, b/m2=200 | 1/1 rescued +50ms", true,
		},
		{
			`{"error_event_after":2}`,
			"200 200ms | a/m=upstream_error;drill, b/m2=200 | 1/1 rescued +50ms",
			"200 160ms | a/m=200;drill | 1/1 failed", true,
		},
		{
			`{"garbage_after":2}`,
			"200 300ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued +150ms",
			"200 220ms | a/m=200;drill | 1/1 answered", true,
		},
		{
			`{"no_end":true}`,
			"200 300ms | a/m=invalid_answer;drill, b/m2=200 | 1/1 rescued +150ms",
			"200 220ms | a/m=200;drill | 1/1 answered", true,
		},
	}
	for _, d := range []struct{ kind, path string }{{"openai", "/v1/chat/completions"}, {"anthropic", "/v1/messages"}} {
		for _, c := range cases {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream %t", d.kind, c.shape, stream), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newStack(t, twoOf(d.kind), map[string]mock.Script{"a": answers(), "b": answers()})
						id := s.drill(`{"provider":"a","shape":` + c.shape + `,"for":"10m","reason":"rehearsal"}`)
						a := s.post(t.Context(), d.path, fmt.Sprintf(`{"model":"demo","stream":%t,"max_tokens":50,"messages":[{"role":"user","content":"hi"}]}`, stream))
						synctest.Wait()
						r := s.came(id)
						want := c.plain
						if stream {
							want = c.stream
						}
						n := len(s.chats("a"))
						got := fmt.Sprintf("%d %s | %s | %s", a.status, a.took, a.header.Get("X-Evergate-Trail"), tallied(r.Here))
						if got != want || (n > 0) != c.asked {
							t.Errorf("%s|%s|%t got  %s, asked %d\nwant %s", d.kind, c.shape, stream, got, n, want)
						}
						if f := s.facts.last(); f.Drill != id || f.Trail[0].Drill != id {
							t.Errorf("the facts do not say so: %+v", f)
						}
					})
				})
			}
		}
	}
}

// tallied is what came of a drill, in short.
func tallied(c drill.Counts) string {
	words := []string{fmt.Sprint(c.Injected, "/", c.Requests)}
	for _, w := range []struct {
		n    int64
		name string
	}{{c.Answered, "answered"}, {c.Rescued, "rescued"}, {c.Failed, "failed"}, {c.Left, "left"}} {
		if w.n > 0 {
			words = append(words, w.name)
		}
	}
	if c.AddedMS > 0 {
		words = append(words, fmt.Sprint("+", c.AddedMS, "ms"))
	}
	return strings.Join(words, " ")
}

// changes are what was stated of drills, in words.
func (s *stack) changes() (out []string) {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	for _, c := range s.facts.changed {
		words := c.Action + ": " + c.Reason
		if c.Heard {
			words += " heard"
		}
		out = append(out, words)
	}
	return out
}
