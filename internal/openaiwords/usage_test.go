package openaiwords_test

import (
	"testing"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

func TestReadUsage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want wire.Usage
	}{
		"OpenAI's output holds the reasoning": {
			`{"prompt_tokens":10,"completion_tokens":30,"total_tokens":40,"completion_tokens_details":{"reasoning_tokens":20}}`,
			wire.Usage{Known: true, Input: 10, Output: 30, Reasoning: 20},
		},
		"xAI's does not, and the total says so": {
			`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20},"prompt_tokens_details":{"cached_tokens":4}}`,
			wire.Usage{Known: true, Input: 10, Output: 25, Reasoning: 20, CachedInput: 4},
		},
		"an answer of nothing but reasoning": {
			`{"prompt_tokens":21,"completion_tokens":0,"total_tokens":81,"completion_tokens_details":{"reasoning_tokens":60}}`,
			wire.Usage{Known: true, Input: 21, Output: 60, Reasoning: 60},
		},
		"thoughts that only the total has": {
			`{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}`, wire.Usage{Known: true, Input: 20, Output: 603},
		},
		"a cache that only the total has": {
			`{"prompt_tokens":20,"completion_tokens":8,"total_tokens":128,"cache_read_input_tokens":100}`, wire.Usage{Known: true, Input: 120, Output: 8, CachedInput: 100},
		},
		"a total that is too small": {`{"prompt_tokens":20,"completion_tokens":8,"total_tokens":1}`, wire.Usage{Known: true, Input: 20, Output: 8}},
		"without a total the numbers are taken as they are": {
			`{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":20}}`,
			wire.Usage{Known: true, Input: 10, Output: 5, Reasoning: 20},
		},
		"an embedding that has a total alone": {`{"total_tokens":7}`, wire.Usage{Known: true, Input: 7}},
		"two spellings":                       {`{"prompt_tokens":10,"input_tokens":10,"prompt_cache_hit_tokens":3,"prompt_tokens_details":{"cached_tokens":3}}`, wire.Usage{Known: true, Input: 10, CachedInput: 3}},
		"numbers that nobody believes":        {`{"prompt_tokens":9223372036854775807,"completion_tokens":-5}`, wire.Usage{Known: true, Input: 1 << 50}},
	} {
		r := jsonscan.New([]byte(c.text))
		if got := openaiwords.ReadUsage(&r); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
