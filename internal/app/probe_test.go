package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
	"evergate/internal/mock"
)

// probed is demo on a, then b, where a is probed as the text says.
func probed(a string) string {
	return fmt.Sprintf(`
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], api: chat, %s}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2]}
`, a) + oneTry
}

// doAll is a provider that does the same to all that is asked of it, lists of models included.
func doAll(b mock.Behaviour) mock.Script {
	return mock.Script{Rules: []mock.Rule{{Do: b}, {Path: "/models", Do: b}}}
}

func down() mock.Script { return doAll(mock.Behaviour{Status: 500}) }

// downed starts a gateway whose provider a has failed five times.
func downed(t *testing.T, text string) *stack {
	t.Helper()
	cfg := parse(t, text)
	cfg.RecheckInterval = 0 // discovery asks for the list, too
	s := newStackWith(t, cfg, map[string]mock.Script{"a": down(), "b": answers()}, slog.New(slog.DiscardHandler))
	for range 5 {
		s.ask("demo", false)
	}
	s.breaker("a", "open")
	return s
}

func (s *stack) breaker(name, want string) {
	s.t.Helper()
	synctest.Wait()
	v := s.app.health.Provider(name).Snapshot(time.Now()).Guards
	if got := v.Worst().String(); got != want {
		s.t.Fatalf("the breaker of %s is %s, want %s", name, got, want)
	}
}

// probesOf are the probes that a provider saw: those that ask for a list of models (discovery's first one among them), and those
// for a token.
func (s *stack) probesOf(name string) (lists, pings []mock.Seen) {
	synctest.Wait()
	for _, r := range s.mocks[name].Requests() {
		switch {
		case r.Method == http.MethodGet:
			lists = append(lists, r)
		case strings.Contains(string(r.Body), "ping"):
			pings = append(pings, r)
		}
	}
	return lists, pings
}

func (s *stack) becomes(name string, script mock.Script) {
	script.Name = name
	s.mocks[name].SetScript(script)
}

// probes are the facts of probes so far.
func (s *stack) probes() []journal.Probe {
	synctest.Wait() // one may be ending at this very moment
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	return slices.Clone(s.facts.probes)
}

// asked is how many requests a provider saw that were no user's.
func (s *stack) asked(name string) int {
	lists, pings := s.probesOf(name)
	return len(lists) + len(pings)
}

// R75: a breaker that opened is closed by a probe, of either kind and with nobody asking, at the end of its open time; the next
// request goes there as if nothing had been.
func TestProbeClosesTheBreaker(t *testing.T) {
	for _, kind := range []string{"models", "completion"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := downed(t, probed("probe: "+kind))
				before := s.asked("a")
				s.becomes("a", answers())
				time.Sleep(29 * time.Second)
				s.breaker("a", "open")
				if n := s.asked("a") - before; n != 0 {
					t.Errorf("%d probes while it was open", n)
				}
				time.Sleep(2 * time.Second)
				s.breaker("a", "closed")
				if n := s.asked("a") - before; n != 1 {
					t.Errorf("%d probes, want 1", n)
				}
				if a := s.ask("demo", false); trailOf(s, &a) != "a/m=200" {
					t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
				}
				if len(s.probes()) != 1 || s.probes()[0].Result != "ok" || s.probes()[0].Status != 200 || s.probes()[0].Credential != "default" {
					t.Errorf("%+v", s.probes())
				}
			})
		})
	}
}

// R75: what a probe costs: its question is four letters long, and its answer one token.
func TestProbeAsksForOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := downed(t, probed("probe: completion"))
		time.Sleep(31 * time.Second)
		_, pings := s.probesOf("a")
		if len(pings) != 1 {
			t.Fatalf("%d", len(pings))
		}
		const want = `{"model":"m","messages":[{"role":"user","content":"ping"}],"max_completion_tokens":1}`
		if got := string(pings[0].Body); got != want {
			t.Errorf("%s", got)
		}
	})
}

// R75: through an outage of ten minutes and with a request each second no request is ever the probe, and there is a probe at the
// end of each open time, no more.
func TestNoRequestIsTheProbe(t *testing.T) {
	for _, c := range []struct {
		probe          string
		probes, chatsA int
	}{
		{"probe: off", 0, 5 + 19},
		{"probe: models", 20, 5},
		{"probe: completion", 20, 5},
		{"probe: {kind: models, interval: 5m}", 2, 5},
	} {
		t.Run(c.probe, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := downed(t, probed(c.probe))
				before := s.asked("a")
				for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(time.Second) {
					if a := s.ask("demo", false); a.status != 200 {
						t.Fatalf("%s", a.story())
					}
				}
				lists, pings := s.probesOf("a")
				if n := len(lists) + len(pings) - before; n != c.probes {
					t.Errorf("%d probes, want %d", n, c.probes)
				}
				if n := len(s.chats("a")) - len(pings); n != c.chatsA {
					t.Errorf("%d requests of users at a, want %d", n, c.chatsA)
				}
				if n := len(s.probes()); n != c.probes {
					t.Errorf("%d facts", n)
				}
			})
		})
	}
}

// R75: several probes that must succeed are an interval apart, and meanwhile no request is one of them.
func TestProbesAreAnIntervalApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := downed(t, probed("probe: {kind: completion, interval: 7s}, resilience: {circuit_breaker: {success_threshold: 3, half_open_max_probes: 0}}"))
		start := time.Now()
		s.becomes("a", answers())
		for time.Since(start) < 40*time.Second {
			if a := s.ask("demo", false); !strings.HasPrefix(trailOf(s, &a), "a/m=") || !strings.HasSuffix(trailOf(s, &a), ", b/m2=200") {
				t.Errorf("after %s: [%s]", time.Since(start), trailOf(s, &a))
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		s.breaker("a", "closed")
		_, pings := s.probesOf("a")
		if len(pings) != 3 {
			t.Fatalf("%d probes", len(pings))
		}
		for i := 1; i < 3; i++ {
			if d := pings[i].Start.Sub(pings[i-1].Start); d != 7*time.Second {
				t.Errorf("%s between two probes", d)
			}
		}
	})
}

// R75, R51: a request that has nowhere else to go is tried while its provider is kept for a probe, and at once.
func TestProbesDoNotRefuseRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := downed(t, probed("probe: models"))
		s.becomes("a", mock.Script{Defaults: steady(), Rules: []mock.Rule{{Path: "/models", Do: mock.Behaviour{Hang: mock.BeforeHeaders}}}})
		time.Sleep(35 * time.Second)
		s.breaker("a", "half_open")
		if a := s.ask("a/m", false); a.story() != "200 a stop @150ms" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
		s.breaker("a", "closed") // R27
	})
}

// R24, R75: an answer is an answer: one that says that a token is not enough, or that the list is not for this key, closes the breaker,
// and no key rests for it.
func TestAnyAnswerOfAProbeIsOne(t *testing.T) {
	tooShort := mock.Behaviour{Status: 400, Type: "invalid_request_error", Message: "Could not finish the message because max_tokens or model output limit was reached."}
	for name, c := range map[string]struct {
		kind string
		says mock.Behaviour
	}{
		"a token is not enough":         {"completion", tooShort},
		"nothing but thoughts":          {"completion", mock.Behaviour{Body: `{"choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"length"}]}`}},
		"no list for this key":          {"models", mock.Behaviour{Status: 403}},
		"no list":                       {"models", mock.Behaviour{Status: 404}},
		"a stream where none was asked": {"completion", mock.Behaviour{As: mock.Stream}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := downed(t, probed("probe: "+c.kind))
				s.becomes("a", doAll(c.says))
				time.Sleep(31 * time.Second)
				s.breaker("a", "closed")
				if c := s.counted("a"); c != "" {
					t.Errorf("a:%s", c)
				}
			})
		})
	}
}

// R75: a probe has the provider's own time, and one that brings nothing is a failure as any other.
func TestProbeOfASilentProvider(t *testing.T) {
	for _, kind := range []string{"models", "completion"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := downed(t, probed("probe: "+kind+", timeouts: {attempt: 20s, first_chunk: 8s}"))
				s.becomes("a", doAll(mock.Behaviour{Hang: mock.BeforeHeaders}))
				time.Sleep(37 * time.Second)
				s.breaker("a", "half_open")
				time.Sleep(2 * time.Second)
				s.breaker("a", "open")
				if p := s.probes(); len(p) != 1 || p[0].Result != "timeout" || p[0].Duration != 8*time.Second {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// R35, R75: of a breaker of a model that model is probed, whichever the config names.
func TestProbeOfAModel(t *testing.T) {
	const scoped = "resilience: {circuit_breaker: {scope: %s}}, probe: {kind: completion, model: other}"
	for _, scope := range []string{"model", "auto"} {
		t.Run(scope, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, probed(fmt.Sprintf(scoped, scope)), map[string]mock.Script{"a": down(), "b": answers()})
				for range 5 {
					s.ask("demo", false)
				}
				time.Sleep(31 * time.Second)
				_, pings := s.probesOf("a")
				if len(pings) != 1 || pings[0].Model != "m" {
					t.Fatalf("%+v", pings)
				}
				s.becomes("a", answers())
				time.Sleep(31 * time.Second)
				if v := s.app.health.Provider("a").Snapshot(time.Now()).Guards; len(v.Models) != 1 || v.Models[0].State.String() != "closed" {
					t.Errorf("%+v", v.Models)
				}
			})
		})
	}
	t.Run("that of the provider asks the model of the config", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, probed(fmt.Sprintf(scoped, "auto")), map[string]mock.Script{"a": do(mock.Behaviour{Reset: mock.BeforeHeaders}), "b": answers()})
			for range 5 {
				s.ask("demo", false)
			}
			s.becomes("a", answers())
			time.Sleep(31 * time.Second)
			_, pings := s.probesOf("a")
			if len(pings) != 1 || pings[0].Model != "other" {
				t.Fatalf("%+v", pings)
			}
			s.breaker("a", "closed")
		})
	})
}

// R31, R75: what an operator holds open is not probed before that ends; then it is.
func TestProbesObeyTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, probed("probe: models"), map[string]mock.Script{"a": answers(), "b": answers()})
		s.operate("a", `{"action":"open","reason":"until further notice"}`)
		before := s.asked("a")
		time.Sleep(10 * time.Minute)
		s.operate("a", `{"action":"open","reason":"maintenance","for":"1m"}`)
		time.Sleep(59 * time.Second)
		if n := s.asked("a") - before; n != 0 {
			t.Errorf("%d probes", n)
		}
		time.Sleep(2 * time.Second)
		s.breaker("a", "closed")
		if n := s.asked("a") - before; n != 1 {
			t.Errorf("%d probes when it was over", n)
		}
	})
}

// R75: a reload keeps a probe that is to come, begins with one where probing is turned on, and ends with it where it is turned off.
func TestProbesAndReloads(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                string
	}{
		{"kept", "probe: models", "probe: models, headers: {X-New: a}", "closed"},
		{"turned on", "probe: off", "probe: completion", "closed"},
		{"turned off", "probe: models", "probe: off", "half_open"},
		{"disabled", "probe: models", "probe: models, disabled: true", "half_open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := downed(t, probed(c.before))
				s.becomes("a", answers())
				time.Sleep(10 * time.Second)
				s.next = parse(t, probed(c.after))
				if err := s.app.Reload(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(21 * time.Second)
				s.breaker("a", c.want)
				if n := len(s.probes()); (c.want == "closed") != (n == 1) {
					t.Errorf("%d probes", n)
				}
			})
		})
	}
}

// R75: a stop ends a probe under way, which decides nothing, and no other follows.
func TestStopEndsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := downed(t, probed("probe: completion"))
		s.becomes("a", doAll(mock.Behaviour{Hang: mock.BeforeHeaders}))
		time.Sleep(31 * time.Second)
		s.client.CloseIdleConnections() // a stop gives them a moment
		start := time.Now()
		if err := s.app.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("it took %s", d)
		}
		s.breaker("a", "half_open")
		if p := s.probes(); len(p) != 1 || p[0].Result != "client_gone" {
			t.Errorf("%+v", p)
		}
		time.Sleep(time.Hour)
		if _, pings := s.probesOf("a"); len(pings) != 1 {
			t.Errorf("%d probes", len(pings))
		}
	})
}

// R75: a probe is in the log and in the metrics, and in neither is it a user's request.
func TestProbesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStackWith(t, parse(t, probed("probe: models")), map[string]mock.Script{"a": down(), "b": answers()}, slog.New(slog.NewTextHandler(&log, nil)))
		for range 5 {
			s.ask("demo", false)
		}
		attempts := len(s.facts.attempts)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if len(s.facts.attempts) != attempts {
			t.Error("it counts as an attempt")
		}
		req, _ := http.NewRequest(http.MethodGet, "http://gateway/metrics", nil)
		req.Header.Set("Authorization", "Bearer admin-token")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		if want := `evergate_probes_total{provider="a",result="upstream_error"} 1`; !strings.Contains(string(text), want) {
			t.Errorf("no %s", want)
		}
		if want := `msg=probe provider=a upstream_model="" credential=default result=upstream_error status=500`; !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	})
}
