package attempt

import (
	"testing"
	"testing/synctest"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
)

// A stream that has begun keeps nothing of the conversation that nobody needs any more: it may stay open for long.
func TestOpenStreamsForgetTheConversation(t *testing.T) {
	t.Parallel()
	chat := []piece{event(text("hi")), event(finish("0")), event("[DONE]")}
	messages := []piece{
		event(`{"type":"message_start","message":{"id":"a"}}`), event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`),
		event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), event(`{"type":"message_stop"}`),
	}
	for name, tt := range map[string]struct {
		keep, translated bool
		body             bool // still there
	}{
		"the same dialect":                     {},
		"the same dialect, to be kept":         {keep: true, body: true},
		"a translation, which may quote tools": {translated: true, body: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := chat
				if tt.translated {
					stream = messages
				}
				b := newBench(t, nil, &upstream{scripts: []scripted{{body: stream}}})
				if tt.translated {
					b.legs[0].Dialect, b.legs[0].Terms = anthropic.Messages{}, &wire.Target{Model: "m"}
				}
				b.change = func(c *Call) { c.Keep = tt.keep }
				begun := false
				c := &client{write: func([]byte) error {
					begun = true
					if body := b.last.Body != nil; body != tt.body {
						t.Errorf("the body is held: %v", body)
					}
					if b.last.Canonical != nil {
						t.Error("the decoded request is held")
					}
					return nil
				}}
				if r := b.ask(t.Context(), c); !r.OK || !begun {
					t.Error(story(r))
				}
			})
		})
	}
}
