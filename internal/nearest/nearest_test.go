package nearest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	t.Parallel()
	keys := []string{"max_retries", "initial_backoff", "max_backoff", "backoff_factor", "jitter_factor", "same_target", "max_wait", "budget", "streams"}
	models := []string{"openai/gpt-4o", "openai/gpt-4o-mini", "groq/llama-3.3-70b-versatile", "claude-sonnet-4-5"}
	for _, tc := range []struct {
		name  string
		asked string
		known []string
		most  int
		want  []string
	}{
		{"one letter short", "max_retires", keys, 1, []string{"max_retries"}},
		{"camel case", "maxRetries", keys, 1, []string{"max_retries"}},
		{"dashes", "max-backoff", keys, 1, []string{"max_backoff"}},
		{"best first", "max_backof", keys, 2, []string{"max_backoff"}},
		{"nothing near", "temperature", keys, 3, nil},
		{"too short to tell", "ab", keys, 3, nil},
		{"empty", "", keys, 3, nil},
		{"none wanted", "max_retires", keys, 0, nil},
		{"bare id finds its provider", "gpt-4o-mni", models, 1, []string{"openai/gpt-4o-mini"}},
		{"qualified", "openai/gpt4o", models, 1, []string{"openai/gpt-4o"}},
		{"leading part", "llama-3.3", models, 1, []string{"groq/llama-3.3-70b-versatile"}},
		{"exact before leading part", "gpt-4o", models, 2, []string{"openai/gpt-4o", "openai/gpt-4o-mini"}},
		{"swapped neighbours are one edit", "gorq", []string{"grok", "groq"}, 1, []string{"groq"}},
		{"said once", "abc", []string{"abcd", "abcd"}, 5, []string{"abcd"}},
		{"too long for a mistake", strings.Repeat("x", 10_000), []string{strings.Repeat("x", 10_000)}, 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Names(tc.asked, tc.known, tc.most); !slices.Equal(got, tc.want) {
				t.Errorf("Names(%.20q) = %q, want %q", tc.asked, got, tc.want)
			}
		})
	}
}

// The banded distance agrees with the plain recursion wherever it does not give up.
func TestDistanceAgainstRecursion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.SampledFrom([]rune("abc")), 0, 6)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		limit := rapid.IntRange(0, 6).Draw(t, "limit")
		want := min(slow(a, b), limit+1)
		if got := distance(a, b, limit); got != want {
			t.Fatalf("distance(%q, %q, %d) = %d, want %d", string(a), string(b), limit, got, want)
		}
	})
}

func slow(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	m, n := len(a), len(b)
	change := slow(a[:m-1], b[:n-1])
	if a[m-1] != b[n-1] {
		change++
	}
	d := min(change, slow(a[:m-1], b)+1, slow(a, b[:n-1])+1)
	if m > 1 && n > 1 && a[m-1] == b[n-2] && a[m-2] == b[n-1] {
		d = min(d, slow(a[:m-2], b[:n-2])+1)
	}
	return d
}
