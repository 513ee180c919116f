package app

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// hedged has one model at several providers, each of its own dialect.
const hedged = `
server: {listen: "gateway:80", keepalive_interval: 0}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], api: chat}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m], api: chat}
  c: {type: anthropic, base_url: "http://c", api_key: sk-key-of-c, models: [m, claude]}
models:
  same: {targets: [a/m, b/m], hedge: {after: 10s}}
  other: {targets: [a/m, c/claude], hedge: {after: 10s}}
  self: {targets: [a/m, c/claude]}
  none: {targets: [a/m, b/m], hedge: {max: 0}}
`

// R71: a target that gives headers at once and no content is outrun by the next, in streams and plain, in the client's
// dialect and through a translation; a model called by its own name is hedged, too.
func TestHedging(t *testing.T) {
	slow := mock.Script{Defaults: mock.Behaviour{FirstToken: 20 * time.Second}}
	cases := []struct {
		model        string
		stream       bool
		within       time.Duration
		trail, spoke string
	}{
		{"same", true, 11 * time.Second, "a/m=cancelled, b/m=200;hedge", "b"},
		{"same", false, 11 * time.Second, "a/m=cancelled, b/m=200;hedge", "b"},
		{"other", true, 11 * time.Second, "a/m=cancelled, c/claude=200;hedge", "c"},
		{"other", false, 11 * time.Second, "a/m=cancelled, c/claude=200;hedge", "c"},
		{"m", true, 11 * time.Second, "a/m=cancelled, b/m=200;hedge", "b"},
		{"m", false, 21 * time.Second, "a/m=200", "a"}, // nothing is known of how long whole answers take
		{"self", true, 21 * time.Second, "a/m=200", "a"},
		{"none", true, 21 * time.Second, "a/m=200", "a"},
	}
	for _, c := range cases {
		t.Run(c.model+map[bool]string{true: " streamed"}[c.stream], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, hedged, map[string]mock.Script{"a": slow, "b": {}, "c": {}})
				got := s.ask(c.model, c.stream)
				if got.status != 200 || got.finish == "" || got.took > c.within || got.errCode != "" {
					t.Errorf("%s", got.story())
				}
				if trail := got.header.Get("X-Evergate-Trail"); trail != c.trail {
					t.Errorf("trail %q, want %q", trail, c.trail)
				}
				if !strings.Contains(got.text, "simulated provider "+c.spoke) {
					t.Errorf("it says %q", got.text)
				}
				synctest.Wait()
				for _, p := range []string{"a", "b", "c"} {
					if n := s.app.health.Provider(p).Snapshot(time.Now()).InFlight; n != 0 {
						t.Errorf("%d permits of %s are not settled", n, p)
					}
					for _, seen := range s.chats(p) {
						if seen.Done.IsZero() {
							t.Errorf("%s was not let go of", p)
						}
					}
				}
				if c.spoke != "a" {
					a := s.chats("a")[0]
					if late := a.CancelledAt.Sub(a.Start); a.CancelledAt.IsZero() || late > 10*time.Second+100*time.Millisecond {
						t.Errorf("a was cancelled after %s", late)
					}
				}
			})
		})
	}
}
