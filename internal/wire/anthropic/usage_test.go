package anthropic

import (
	"testing"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// Input is what was fresh, read from the cache and written to it; numbers that nobody believes do not turn it negative.
func TestCountsIntoUsage(t *testing.T) {
	for text, want := range map[string]llm.Usage{
		`{"input_tokens":10,"cache_read_input_tokens":600,"cache_creation_input_tokens":300,"output_tokens":7}`: {Known: true, Input: 910, CachedInput: 600, CacheWrite: 300, Output: 7},
		`{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":9223372036854775807,"output_tokens":-1}`: {
			Known: true, Input: 3 * llm.MaxTokens, CachedInput: llm.MaxTokens, CacheWrite: llm.MaxTokens,
		},
	} {
		r := jsonscan.New([]byte(text))
		c := readCounts(&r)
		var u llm.Usage
		if c.into(&u); u != want {
			t.Errorf("%s: %+v, want %+v", text, u, want)
		}
	}
}
