package openaichat

import (
	"errors"
	"fmt"
	"testing"

	"evergate/internal/llm"
)

// Calls beyond what is kept are an error, never an answer that lacks them.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	d := Chat{}.NewDecoder()
	calls := 0
	count := func(e *llm.Event) {
		if e.Kind == llm.PartStart && e.Head.Kind == llm.ToolCall {
			calls++
		}
	}
	for i := range maxCalls + 1 {
		err := d.Decode(fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}]}}]}`, i, i), count)
		if (err != nil) != (i == maxCalls) || err != nil && !errors.Is(err, errTooManyCalls) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if calls != maxCalls {
		t.Errorf("%d calls", calls)
	}
}
