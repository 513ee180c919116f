package cohere

import (
	"testing"

	"evergate/internal/llm"
)

// A model that thinks does so before it plans, as its stream shows; a whole reply's members have no order.
func TestThoughtsComeBeforeThePlan(t *testing.T) {
	t.Parallel()
	a, err := Chat{}.DecodeReply([]byte(`{"id":"1","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"plan","content":[` +
		`{"type":"thinking","thinking":"thought"},{"type":"text","text":"text"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range a.Choices[0].Content {
		switch p.Kind {
		case llm.ToolCall:
			got += "call"
		default:
			got += p.Text + " "
		}
	}
	if got != "thought plan text call" {
		t.Errorf("got %q", got)
	}
}
