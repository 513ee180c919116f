package responses

import (
	"testing"

	"evergate/internal/llm"
)

// The tier that a stream begins with is what was asked for; auto is none. The end knows.
func TestTierIsKnownAtTheEnd(t *testing.T) {
	t.Parallel()
	var said []string
	emit := func(e *llm.Event) {
		if e.Kind == llm.Start || e.Kind == llm.Finish {
			said = append(said, e.ServiceTier)
		}
	}
	d := Responses{}.NewDecoder()
	for _, data := range []string{
		`{"type":"response.created","response":{"id":"r","service_tier":"auto","output":[]}}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","service_tier":"default","output":[]}}`,
	} {
		if err := d.Decode([]byte(data), emit); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 2 || said[0] != "" || said[1] != "default" {
		t.Errorf("got %q", said)
	}
}
