package config

import (
	"fmt"
	"strings"
	"testing"
)

// A short text that would take the parser, or the reading of it, gigabytes is refused before it does: a scenario can be sent to the
// admin API, and the process has requests to serve.
func TestBombs(t *testing.T) {
	t.Parallel()
	var keys strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, "k%d: v, ", i)
	}
	anchor := "a: &a {" + keys.String() + "}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"dashes", strings.Repeat("- ", 4000), "more than 64 lists"},
		{"dashes behind a key", "a:\n  " + strings.Repeat("- ", 4000), "more than 64 lists"},
		{"question marks", strings.Repeat("? ", 4000), "more than 64 lists"},
		{"anchors", strings.Repeat("&a ", 4000), "more than 64 lists"},
		{"tags", strings.Repeat("!a\t", 4000), "more than 64 lists"},
		{"all of it", strings.Repeat("- &a !b ? ", 1000), "more than 64 lists"},
		{"one mapping merged often", anchor + "b: { <<: [" + strings.Repeat("*a, ", 200) + "] }\n", "merge keys (<<) bring more than"},
		{"one mapping merged in many", anchor + strings.Repeat("b: { <<: *a }\n", 200), "merge keys (<<) bring more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseScenarioText([]byte(tt.text), &Config{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.200s", fmt.Sprint(err))
			}
		})
	}
}
