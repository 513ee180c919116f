package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
	"evergate/internal/mock"
)

// resumed has a model of two targets at providers of given types, and a third.
func resumed(first, second string) string {
	types := map[string]string{
		"chat": `type: openai, api: chat, base_url: "http://%s/v1"`, "messages": `type: anthropic, base_url: "http://%s"`,
		"responses": `type: openai, api: responses, base_url: "http://%s/v1"`, "gemini": `type: gemini, base_url: "http://%s"`,
	}
	at := func(kind, host string) string { return fmt.Sprintf(types[kind], host) }
	return `
server: {listen: "gateway:80", keepalive_interval: 0}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {` + at(first, "a") + `, api_key: sk-key-of-a, models: [m]}
  b: {` + at(second, "b") + `, api_key: sk-key-of-b, models: [m2]}
  c: {type: openai, api: chat, base_url: "http://c/v1", api_key: sk-key-of-c, models: [m3]}
models:
  demo: {targets: [a/m, b/m2], resume: continue}
  three: {targets: [a/m, b/m2, c/m3], resume: continue}
  one: {targets: [a/m], resume: continue}
  off: {targets: [a/m, b/m2]}
`
}

// words are numbered words from one to another, with a space between them.
func words(from, to int) string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("w%d", i))
	}
	return strings.Join(out, " ")
}

var dialectsOfClients = []string{"chat", "messages", "responses", "gemini"}

// speakerOf is the client of a dialect.
func speakerOf(t *testing.T, name string) *speaker {
	for _, sp := range speakers() {
		if sp.name == name {
			return &sp
		}
	}
	t.Fatalf("no client speaks %s", name)
	return nil
}

func whole(first, second, third mock.Behaviour) map[string]mock.Script {
	return map[string]mock.Script{"a": {Defaults: first}, "b": {Defaults: second}, "c": {Defaults: third}}
}

// R70: in every dialect of clients, from every dialect of providers to every other, whatever broke the stream and whatever
// the next provider does with the beginning of the answer, the client gets the whole of it, in one stream.
func TestResume(t *testing.T) {
	breaks := map[string]func(*mock.Behaviour){
		"cut":   func(b *mock.Behaviour) { b.Cut = mock.After(40) },
		"eof":   func(b *mock.Behaviour) { b.EOF = mock.After(40) },
		"idle":  func(b *mock.Behaviour) { b.Hang = mock.After(40) },
		"error": func(b *mock.Behaviour) { b.Error = mock.After(40) },
	}
	goesOn := map[string]mock.Behaviour{
		"continues": {Text: words(1, 60), Prefill: mock.Continue},
		"repeats":   {Text: words(1, 60)},
		"refuses":   {Text: words(1, 60), Prefill: mock.Refuse},
		"overlaps":  {Text: words(33, 60)},
	}
	for _, client := range dialectsOfClients {
		for _, first := range dialectsOfClients {
			for _, second := range dialectsOfClients {
				for kind, breaks := range breaks {
					for how, then := range goesOn {
						if first != client && (kind != "cut" || how != "continues" && how != "refuses") {
							continue // the rest does not depend on the first's dialect
						}
						t.Run(fmt.Sprintf("%s, %s to %s, %s, %s", client, first, second, kind, how), func(t *testing.T) {
							t.Parallel()
							synctest.Test(t, func(t *testing.T) {
								begun := mock.Behaviour{Text: words(1, 60)}
								breaks(&begun)
								s := newStack(t, resumed(first, second), whole(begun, then, mock.Behaviour{}))
								sp := speakerOf(t, client)
								start := time.Now()
								h := s.talk(sp, "demo", true, sp.body("demo", true, "hello", false))
								if h.text != words(1, 60) || !h.ended || h.failed != "" || h.status != 200 {
									t.Fatalf("%d, ended %t, failed %q, text %q\n%s", h.status, h.ended, h.failed, h.text, h.raw)
								}
								if took := time.Since(start); took > 31*time.Second {
									t.Errorf("it took %s", took)
								}
								if h.input == 0 || h.output < 40 {
									t.Errorf("usage %d+%d", h.input, h.output)
								}
								fact := s.facts.last()
								if len(fact.Trail) != 2 || fact.Trail[0].Reason != "cut" || fact.Trail[1].Reason != "ok" || fact.Trail[1].Why != "resume" || fact.Trail[1].Seam != len(words(1, 40))+1 {
									t.Errorf("trail %+v", fact.Trail)
								}
								if fact.Provider != "b" || fact.Code != "" || fact.Usage.Output != int64(h.output) {
									t.Errorf("%s, code %q, usage %+v; the client heard %d", fact.Provider, fact.Code, fact.Usage, h.output)
								}
								for _, p := range []string{"a", "b"} {
									if n := s.app.health.Provider(p).Snapshot(time.Now()).InFlight; n != 0 {
										t.Errorf("%d permits of %s are not settled", n, p)
									}
								}
							})
						})
					}
				}
			}
		}
	}
}

// R70: what cannot be gone on with ends in R15's error, in the client's dialect.
func TestNotResumed(t *testing.T) {
	cut := func(b mock.Behaviour) mock.Behaviour { b.Cut = mock.After(40); return b }
	begun := cut(mock.Behaviour{Text: words(1, 60)})
	cases := []struct {
		name, model   string
		tools         bool
		first, second mock.Behaviour
		text          string
		asked         int // of b
	}{
		{"off", "off", false, begun, mock.Behaviour{Text: words(1, 60)}, words(1, 40), 0},
		{"a restart that contradicts", "demo", false, begun, mock.Behaviour{Text: words(1, 30) + " and so on", Prefill: mock.Refuse}, words(1, 40), 2},
		{"a restart that ends early", "demo", false, begun, mock.Behaviour{Text: words(1, 30), Prefill: mock.Refuse}, words(1, 40), 2},
		{"an open tool call", "demo", true, mock.Behaviour{Cut: mock.After(1)}, mock.Behaviour{}, "", 0},
		{"nobody left", "demo", false, begun, mock.Behaviour{Status: 503}, words(1, 40), 1},
		{"refused for good", "demo", false, begun, mock.Behaviour{Status: 400}, words(1, 40), 2},
	}
	for _, client := range dialectsOfClients {
		for _, c := range cases {
			t.Run(client+", "+c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					config := resumed(client, "chat") + "resilience: {retry: {max_retries: 0}}\n"
					s := newStack(t, config, whole(c.first, c.second, mock.Behaviour{}))
					sp := speakerOf(t, client)
					h := s.talk(sp, c.model, true, sp.body(c.model, true, "what is the weather?", c.tools))
					if strings.TrimSpace(h.text) != c.text || h.ended || h.failed == "" {
						t.Errorf("ended %t, failed %q, text %q\n%s", h.ended, h.failed, h.text, h.raw)
					}
					if n := len(s.chats("b")); n != c.asked {
						t.Errorf("b was asked %d times, want %d", n, c.asked)
					}
				})
			})
		}
	}
}

// R70: a stream may break more than once; with one target it is asked again, once, if it was not silent.
func TestResumeAgain(t *testing.T) {
	at := func(n int) mock.Behaviour {
		return mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue, Cut: mock.After(n)}
	}
	for _, c := range []struct {
		name, model string
		scripts     map[string]mock.Script
		trail       string
		ok          bool
	}{
		{"dies again", "three", whole(at(20), at(20), mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue}), "a/m=cut, b/m2=cut;resumed=71, c/m3=200;resumed=147", true},
		{"a failure between", "three", whole(at(20), mock.Behaviour{Status: 500}, mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue}), "a/m=cut, b/m2=500;resumed=71, b/m2=500;resumed=71, c/m3=200;resumed=71", true},
		{"the same again", "one", map[string]mock.Script{"a": {
			Defaults: mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue},
			Rules:    []mock.Rule{{Nth: mock.Nth{From: 1, To: 1}, Do: at(20)}},
		}}, "a/m=cut, a/m=200;resumed=71", true},
		{"the same again, and again", "one", whole(at(20), mock.Behaviour{}, mock.Behaviour{}), "a/m=cut, a/m=cut;resumed=71", false},
		{"a silent one is not asked twice", "one", map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: words(1, 60), Hang: mock.After(20)}}}, "a/m=cut", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, resumed("chat", "messages"), c.scripts)
				sp := speakerOf(t, "chat")
				h := s.talk(sp, c.model, true, sp.body(c.model, true, "hello", false))
				if c.ok != (h.text == words(1, 60) && h.ended && h.failed == "") {
					t.Errorf("ended %t, failed %q, text %q", h.ended, h.failed, h.text)
				}
				if got := string(journal.AppendTrail(nil, s.facts.last().Trail)); got != c.trail {
					t.Errorf("trail %q, want %q", got, c.trail)
				}
			})
		})
	}
}

// R13, R70: a client that leaves while its stream is resumed.
func TestLeaveWhileResuming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := mock.Behaviour{Text: words(1, 60), Cut: mock.After(20)}
		s := newStack(t, resumed("chat", "chat"), whole(begun, mock.Behaviour{Hang: mock.AfterHeaders}, mock.Behaviour{}))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_ = s.post(ctx, "/v1/chat/completions", `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		synctest.Wait()
		b := s.chats("b")
		if len(b) != 1 || b[0].CancelledAt.IsZero() || b[0].Done.IsZero() {
			t.Errorf("b saw %+v", b)
		}
		if got := s.facts.last(); got.Status != statusGone {
			t.Errorf("logged as %d", got.Status)
		}
	})
}

// An answer that was resumed is whole nowhere but at the gateway, which keeps it for a client that names it later.
func TestResumedThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := mock.Behaviour{Text: words(1, 60), Cut: mock.After(20)}
		then := mock.Behaviour{Text: words(1, 60), Prefill: mock.Continue}
		s := newStack(t, resumed("responses", "responses"), whole(begun, then, mock.Behaviour{}))
		sp := speakerOf(t, "responses")
		h := s.talk(sp, "demo", true, sp.body("demo", true, "hello", false))
		if !h.ended || h.text != words(1, 60) {
			t.Fatalf("%s", h.raw)
		}
		id := idOf(t, h)
		if status, body := s.on("GET", "/v1/responses/"+id); status != 200 || !strings.Contains(body, words(1, 60)) {
			t.Errorf("%d %s", status, body)
		}
		h = s.talk(sp, "b/m2", true, fmt.Sprintf(`{"model":"b/m2","stream":true,"input":"and then?","previous_response_id":%q}`, id))
		if !h.ended || h.failed != "" {
			t.Errorf("%s", h.raw)
		}
		seen := s.chats("b")
		if last := string(seen[len(seen)-1].Body); !strings.Contains(last, words(1, 60)) || strings.Contains(last, "previous_response_id") {
			t.Errorf("b was asked %s", last)
		}
	})
}

// Thousands of requests over real TCP that are hedged and resumed, a third of them given up: nothing stays, and each answer is
// whole.
func TestNothingLeaksOfHedges(t *testing.T) {
	usual := mock.Behaviour{Latency: time.Millisecond, Text: words(1, 30), Prefill: mock.Continue}
	slow, cut, hung, refusing, failing := usual, usual, usual, usual, usual
	slow.FirstToken, cut.Cut, hung.Hang, refusing.Prefill, failing.Status = 15*time.Millisecond, mock.After(10), mock.After(10), mock.Refuse, 500
	rules := []mock.Rule{{Probability: 0.3, Do: slow}, {Stream: mock.Streamed, Probability: 0.1, Do: cut}, {Probability: 0.1, Do: refusing}, {Probability: 0.03, Do: failing}, {Stream: mock.Streamed, Probability: 0.03, Do: hung}}
	chat := speakerOf(t, "chat")
	var whole atomic.Int64
	c := &crowd{
		config: `
providers:
  a: {type: openai, api: chat, base_url: "%s/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: anthropic, base_url: "%s", api_key: sk-key-of-b, models: [m2]}
  c: {type: openai, api: chat, base_url: "%s/v1", api_key: sk-key-of-c, models: [m3]}
models: {demo: {targets: [a/m, b/m2, c/m3], resume: continue, hedge: {after: 3ms, max: 2, budget: 1}, timeouts: {idle: 50ms}}}
`,
		scripts: []mock.Script{{Defaults: usual, Rules: rules}, {Defaults: usual, Rules: rules}, {Defaults: usual}},
		ask: func(n int) request {
			return request{path: chat.path("demo", n%2 == 0), body: chat.body("demo", n%2 == 0, "hi", false), check: func(status int, body string) {
				h := &heard{}
				for line := range strings.Lines(body) {
					if data, ok := strings.CutPrefix(line, "data: "); ok || n%2 != 0 {
						chat.listen(h, []byte(strings.TrimSpace(data)))
					}
				}
				switch {
				case status != 200 || h.failed != "":
				case h.text != words(1, 30) || h.ended != (n%2 == 0):
					t.Errorf("%d %q, ended %t", status, h.text, h.ended)
				default:
					whole.Add(1)
				}
			}}
		},
	}
	c.run(t, 5000)
	if n, of := whole.Load(), c.answered.Load(); n < of*9/10 {
		t.Errorf("%d of %d answers are whole: the test did not do what it is for", n, of)
	}
	hedged := c.app.health.Provider("c").Snapshot(time.Now())
	if hedged.Total == 0 {
		t.Error("the third was never asked")
	}
}

// R70: from and to what only providers speak; the old completions, where both targets have them translated.
func TestResumeElsewhere(t *testing.T) {
	others := `
  bedrock: {type: bedrock, base_url: "http://%[1]s", region: us-east-1, aws: {access_key_id: AKIAEXAMPLE, secret_access_key: secret-of-bedrock}, models: [m4]}
  cohere:  {type: cohere, base_url: "http://%[1]s", api_key: sk-key-cohere, models: [m4]}
  vertex:  {type: vertex, base_url: "http://%[1]s", api_key: sk-key-vertex, models: [m4]}
  azure:   {type: azure-openai, base_url: "http://%[1]s", api_key: sk-key-azure, models: [m4]}
models:
  to: {targets: [a/m, %[2]s/m4], resume: continue}
  from: {targets: [%[2]s/m4, b/m2], resume: continue}
`
	completions := *speakerOf(t, "chat")
	completions.name = "completions"
	completions.path = func(string, bool) string { return "/v1/completions" }
	completions.body = func(model string, _ bool, prompt string, _ bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"prompt":%q}`, model, prompt)
	}
	completions.listen = func(h *heard, data []byte) {
		var c struct {
			Choices []struct{ Text string }
			Error   *struct{ Message string }
		}
		if h.ended = h.ended || string(data) == "[DONE]"; json.Unmarshal(data, &c) == nil && len(c.Choices) > 0 {
			h.text += c.Choices[0].Text
		}
		if c.Error != nil {
			h.failed = c.Error.Message
		}
	}
	for _, sp := range []*speaker{speakerOf(t, "chat"), &completions} {
		own := map[string]string{"chat": "chat", "completions": "messages"}[sp.name]
		for _, vendor := range []string{"bedrock", "cohere", "vertex", "azure"} {
			if sp.name == "completions" && vendor == "azure" {
				continue // it has them itself
			}
			for model, host := range map[string]string{"to": "b", "from": "a"} {
				for how, prefill := range map[string]mock.Prefill{"continues": mock.Continue, "repeats": mock.Restart, "refuses": mock.Refuse} {
					t.Run(strings.Join([]string{sp.name, model, vendor, how}, " "), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							config, _, _ := strings.Cut(resumed(own, own), "models:\n  demo")
							s := newStack(t, strings.TrimRight(config, "\n")+fmt.Sprintf(others, host, vendor),
								whole(mock.Behaviour{Text: words(1, 60), Cut: mock.After(20)}, mock.Behaviour{Text: words(1, 60), Prefill: prefill}, mock.Behaviour{}))
							h := s.talk(sp, model, true, sp.body(model, true, "hello", false))
							if h.text != words(1, 60) || !h.ended || h.failed != "" {
								t.Errorf("ended %t, failed %q, text %q\n%s", h.ended, h.failed, h.text, h.raw)
							}
						})
					})
				}
			}
		}
	}
}

// R70: a model that is known to take no beginning of an answer is not sent one, whose refusal would cost a request.
func TestResumeWhereNoPrefillIsTaken(t *testing.T) {
	first := mock.Behaviour{Text: words(1, 60), Cut: mock.After(40)}
	for known, asked := range map[string]int{"": 2, "catalog: {m2: {prefill: false}}\n": 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, resumed("chat", "chat")+known, whole(first, mock.Behaviour{Text: words(1, 60), Prefill: mock.Refuse}, mock.Behaviour{}))
			a := s.ask("demo", true)
			if n := len(s.chats("b")); a.text != words(1, 60) || n != asked {
				t.Errorf("%q: the second was asked %d times, want %d: %q", known, n, asked, a.text)
			}
		})
	}
}
