package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
)

// A call that is never complete does not hold back without end what comes after it.
func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"q"}]}`)
	r, err := anthropic.Messages{}.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	q, err := wire.Decode(anthropic.Messages{}, &r)
	if err != nil {
		t.Fatal(err)
	}
	g := wire.NewTranslation(anthropic.Messages{}, openaichat.Chat{}, q, wire.Target{Model: "m"})
	say := func(index int, arguments string) error {
		_, err := g.AppendEvent(nil, fmt.Appendf(nil, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f","arguments":"%s"}}]}}]}`, index, index, arguments))
		return err
	}
	if err := say(0, "{"); err != nil {
		t.Fatal(err)
	}
	for sent := 0; sent < 64<<20; sent += 1 << 20 {
		if err := say(1, strings.Repeat("x", 1<<20)); err != nil {
			if sent < 10<<20 {
				t.Errorf("after %d bytes: %v", sent, err)
			}
			return
		}
	}
	t.Error("it waits for ever")
}
