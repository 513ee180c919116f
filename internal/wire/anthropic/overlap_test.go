package anthropic

import (
	"testing"

	"evergate/internal/llm"
)

// R17: the blocks of a stream come one after the other. Where they do not, no call's arguments are put together of what
// belongs to another, nor left short.
func TestBlocksThatOverlap(t *testing.T) {
	t.Parallel()
	start := func(index, id string) string {
		return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"f","input":{}}}`
	}
	piece := func(index, text string) string {
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":"` + text + `"}}`
	}
	stop := func(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }
	for _, tt := range []struct {
		name   string
		events []string
		wrong  int // the event that is refused, from 1
	}{
		{"one after the other", []string{start("0", "a"), piece("0", "{}"), stop("0"), start("1", "b"), piece("1", "{}"), stop("1")}, 0},
		{"all numbered 0", []string{start("0", "a"), piece("0", "{}"), stop("0"), start("0", "b"), piece("0", "{}"), stop("0")}, 0},
		{"deltas numbered wrong", []string{start("0", "a"), piece("0", "{}"), stop("0"), start("1", "b"), piece("0", "{}"), stop("1")}, 0},
		{"without stops", []string{start("0", "a"), piece("0", "{}"), start("1", "b"), piece("1", "{}")}, 0},
		{"interleaved", []string{start("0", "a"), piece("0", "{"), start("1", "b"), piece("1", "{"), piece("0", "}")}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := Messages{}.NewDecoder()
			for i, e := range tt.events {
				if err := d.Decode([]byte(e), func(*llm.Event) {}); (err != nil) != (i+1 == tt.wrong) {
					t.Fatalf("event %d: %v", i+1, err)
				}
			}
		})
	}
}
