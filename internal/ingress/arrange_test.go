package ingress

import (
	"strings"
	"testing"

	"evergate/internal/route"
)

// R50: what a request is expected to need, in every dialect's words.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body  string
		limit float64
	}{
		{`{"model":"m","max_tokens":7}`, 7},
		{`{"max_completion_tokens":7,"messages":[{"max_tokens":1}]}`, 7},
		{`{"model":"m","max_output_tokens":7}`, 7},
		{`{"contents":[],"generationConfig":{"topK":1,"maxOutputTokens":7}}`, 7},
		{`{"contents":[],"generation_config":{"max_output_tokens":7}}`, 7},
		{`{"max_tokens":null}`, 0},
		{`{"max_tokens":"7"}`, 0},
		{`{"max_tokens":-7}`, 0},
		{`{"x":{"max_tokens":7}}`, 0},
		{`{}`, 0},
		{`--boundary`, 0},
		{``, 0},
		{`{"max_tokens":7,"x":"` + strings.Repeat("x", maxLimitScan) + `"}`, 0},
	} {
		if got := load([]byte(tt.body)); got.Output != tt.limit || got.Input != float64(len(tt.body))/4 {
			t.Errorf("%.60s: %+v, want %v", tt.body, got, tt.limit)
		}
	}
}

// R50: turns go on where they were after a reload, and are not taken by who only asks; models that have none draw.
func TestTurns(t *testing.T) {
	t.Parallel()
	numbers := []float64{0.5, 0.25}
	random := func() float64 {
		n := numbers[0]
		numbers = append(numbers[1:], n)
		return n
	}
	h := &Handler{random: random}
	h.Configure(&Config{Table: &route.Table{Virtual: map[string]*route.Virtual{"a": {}}}})
	x := &exchange{h: h, cfg: h.config.Load()}
	first := x.turn("a")
	if next := x.turn("a"); first != 1<<31 || next != first+1 {
		t.Errorf("turns %d, %d: they do not begin anywhere, or do not follow each other", first, next)
	}
	h.Configure(&Config{Table: &route.Table{Virtual: map[string]*route.Virtual{"a": {}, "b": {}}}})
	x.cfg, x.imagined = h.config.Load(), true
	for range 2 {
		if next := x.turn("a"); next != first+2 {
			t.Errorf("turn %d after a reload, or after somebody asked, want %d", next, first+2)
		}
	}
	if b := x.turn("b"); b != 1<<30 {
		t.Errorf("b begins with %d", b)
	}
	if one, other := x.turn("gpt-4o"), x.turn("gpt-4o"); one == other {
		t.Errorf("%d and %d are no draws", one, other)
	}
}
