package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/mock"
)

// settings are those that docs/conformance.md gives for a reference document: its block of YAML that begins with that name. So the page
// and the tests that it names cannot drift apart.
func settings(t testing.TB, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "```yaml\n# "+name+"\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !ok || !closed {
		t.Fatalf("docs/conformance.md has no block %q", name)
	}
	return "\n" + block + "\n"
}

// conform runs f against a gateway with the settings of a reference document, in virtual time.
func conform(t *testing.T, name, providers string, scripts map[string]mock.Script, f func(t *testing.T, s *stack)) {
	t.Helper()
	text := providers + settings(t, name)
	synctest.Test(t, func(t *testing.T) { f(t, newStack(t, text, scripts)) })
}

// look is what the status page says of a provider: GET /admin/v1/health.
func (s *stack) look(name string) admin.Provider {
	s.t.Helper()
	var h admin.Health
	if err := json.Unmarshal([]byte(s.health()), &h); err != nil {
		s.t.Fatal(err)
	}
	return h.Providers[name]
}

// state is a provider's breaker in a word, with its count of failures.
func (s *stack) state(name string) (string, int) {
	s.t.Helper()
	b := s.look(name).Breaker
	return b.State, b.ConsecutiveFailures
}

// expectState fails the test where a breaker is not in this state.
func (s *stack) expectState(when, name, state string, failures int) {
	s.t.Helper()
	if got, n := s.state(name); got != state || n != failures {
		s.t.Errorf("%s: breaker of %s %s with %d failures, want %s with %d", when, name, got, n, state, failures)
	}
}

// set gives a provider another script.
func (s *stack) set(name string, script mock.Script) {
	script.Name = name
	s.mocks[name].SetScript(script)
}

// gaps are the times between the requests for an answer that a provider saw.
func (s *stack) gaps(name string) (out []time.Duration) {
	seen := s.chats(name)
	for i := 1; i < len(seen); i++ {
		out = append(out, seen[i].Start.Sub(seen[i-1].Start))
	}
	return out
}

// about says whether a time is another within a share of it.
func about(got, want time.Duration, share float64) bool {
	d := time.Duration(float64(want) * share)
	return got >= want-d && got <= want+d
}

// lasting is how long a breaker's open period was meant to last.
func lasting(b admin.Breaker) time.Duration {
	return time.Time(b.RetryAt).Sub(time.Time(b.OpenedAt)).Round(time.Millisecond)
}

// pass lets virtual time pass. Outside of a bubble Wait panics, so that no test can sleep by it.
func pass(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
}
