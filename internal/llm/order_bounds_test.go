package llm

import (
	"testing"
	"time"
)

// What waits for a call to be complete is counted, and goes out in time however much it is.
func TestOrderHeld(t *testing.T) {
	t.Parallel()
	const calls, pieces = 1000, 10_000
	var o Order
	n := 0
	count := func(*Event) { n++ }
	for i := range calls {
		o.Put(&Event{Kind: PartStart, Part: i, Head: &Part{Kind: ToolCall, Call: &Call{}}}, count)
	}
	for i := range pieces {
		o.Put(&Event{Kind: Delta, Part: 1 + i%(calls-1), Text: []byte("aa")}, count)
	}
	if held := o.Held(); n != 1 || held < pieces*250 {
		t.Errorf("%d events are out, %d bytes held", n, held)
	}
	start := time.Now()
	o.End(count)
	if took := time.Since(start); took > 10*time.Second { // minutes, if each piece had to be looked for among all
		t.Errorf("it took %s", took)
	}
	if n != 2*calls+pieces+1 || o.Held() != 0 {
		t.Errorf("%d events, %d bytes held", n, o.Held())
	}
}
