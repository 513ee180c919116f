package app

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/mock"
)

// R77, through the whole stack: what the fact of a request comes to. All prices are a dollar for a million tokens, in and out.
func TestWhatRequestsComeTo(t *testing.T) {
	t.Parallel()
	const config = `
server: {listen: "gateway:80", keepalive_interval: 0}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], api: chat, timeouts: {idle: 5s}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m], api: chat}
models:
  two: {strategy: ordered, targets: [a/m, b/m]}
  raced: {targets: [a/m, b/m], strategy: ordered, hedge: {after: 2s}}
  resumed: {targets: [a/m, b/m], strategy: ordered, resume: continue}
  one: {targets: [a/m]}
catalog: {m: {input_price: 1, output_price: 1}}
resilience: {retry: {max_retries: 0}}
`
	well, broken := mock.Behaviour{}, mock.Behaviour{Status: 500, FirstToken: time.Second}
	for _, c := range []struct {
		name, model string
		stream      bool
		a, b        mock.Behaviour
		body        string
		want        string
		added       time.Duration // about
		costs       bool          // something was added
	}{
		{name: "answered", model: "two", a: well, want: "ok"},
		{name: "streamed", model: "two", stream: true, a: well, want: "ok"},
		{name: "answered by the next", model: "two", a: broken, b: well, want: "ok rescued", added: time.Second},
		{name: "streamed by the next", model: "two", stream: true, a: broken, b: well, want: "ok rescued", added: time.Second},
		{name: "the next after a cut before anything came", model: "two", a: mock.Behaviour{Cut: mock.AfterHeaders}, b: well, want: "ok rescued", costs: true},
		{name: "by a hedge", model: "raced", a: mock.Behaviour{FirstToken: 20 * time.Second}, b: well, want: "ok rescued", added: 2 * time.Second, costs: true},
		{name: "gone on with", model: "resumed", stream: true, a: mock.Behaviour{Text: words(1, 60), Hang: mock.After(20)}, b: mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue}, want: "ok rescued", costs: true}, // its silence is its own
		{name: "all failed", model: "two", a: broken, b: broken, want: "failed", added: time.Second},
		{name: "the only one failed", model: "one", a: broken, want: "failed"},
		{name: "a stream that broke", model: "one", stream: true, a: mock.Behaviour{Text: words(1, 60), Cut: mock.After(20)}, want: "failed"},
		{name: "no such model", model: "none", want: "neither"},
		{name: "no request at all", model: "two", body: "{", want: "neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, config, map[string]mock.Script{"a": {Models: []string{"m"}, Defaults: c.a}, "b": {Models: []string{"m"}, Defaults: c.b}})
				if c.body != "" {
					s.post(context.Background(), "/v1/chat/completions", c.body)
				} else {
					s.ask(c.model, c.stream)
				}
				time.Sleep(time.Minute)
				fact := s.facts.last()
				got := ledger.AccountOf(&fact)
				var words []string
				for word, is := range map[string]bool{"neither": !got.OK && !got.Failed, "failed": got.Failed, "ok": got.OK} {
					if is {
						words = append(words, word)
					}
				}
				if got.Rescued {
					words = append(words, "rescued")
				}
				if said := strings.Join(words, " "); said != c.want {
					t.Errorf("%s, want %s: %+v", said, c.want, fact)
				}
				if math.Abs(float64(got.AddedTime-c.added)) > float64(400*time.Millisecond) {
					t.Errorf("%s added, want about %s: %+v", got.AddedTime, c.added, fact.Trail)
				}
				if got.AddedCost.Nano > 0 != c.costs || !got.AddedCost.Known || got.AddedCost.Nano > fact.Cost.Nano {
					t.Errorf("%+v added of %+v: %+v", got.AddedCost, fact.Cost, fact.Trail)
				}
			})
		})
	}
}
