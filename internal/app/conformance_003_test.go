package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/mock"
)

// Reference 003: a failed request is tried again at the same provider after 1 s, 2 s and 4 s, with a tenth of jitter, and nowhere else
// (R52). With nothing left the upstream's own status goes back (R55).
func TestReference003Backoff(t *testing.T) {
	conform(t, "003", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503}), "b": answers()}, func(t *testing.T, s *stack) {
		a := s.ask("a/m", false)
		if a.status != 503 || len(s.chats("a")) != 4 || len(s.chats("b")) != 0 {
			t.Errorf("%s, a asked %d times, b %d times", a.story(), len(s.chats("a")), len(s.chats("b")))
		}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if got := s.gaps("a")[i]; !about(got, want, 0.1) {
				t.Errorf("wait %d was %v, want about %v", i, got, want)
			}
		}
	})
}

// The waits grow to 30 s and no further (R52). Seven retries show it; the breaker is off, so that it does not end them.
func TestReference003MaxBackoff(t *testing.T) {
	text := strings.NewReplacer("max_retries: 3", "max_retries: 7", "failure_threshold: 5", "failure_threshold: 0").Replace(oneProvider + settings(t, "003"))
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, text, map[string]mock.Script{"a": do(mock.Behaviour{Status: 502})})
		s.ask("a/m", false)
		gaps := s.gaps("a")
		if len(gaps) != 7 || !about(gaps[4], 16*time.Second, 0.1) || !about(gaps[5], 30*time.Second, 0.1) || !about(gaps[6], 30*time.Second, 0.1) {
			t.Errorf("waits %v", gaps)
		}
	})
}

// What is retried: a broken network, 429, 502, 503, 504. Anything else goes back after one attempt (R10, R52).
func TestReference003Retried(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  mock.Behaviour
		asked  int
		status int
	}{
		{"reset", mock.Behaviour{Reset: mock.BeforeHeaders}, 4, 502},
		{"429", mock.Behaviour{Status: 429}, 4, 429},
		{"502", mock.Behaviour{Status: 502}, 4, 502},
		{"503", mock.Behaviour{Status: 503}, 4, 503},
		{"504", mock.Behaviour{Status: 504}, 4, 504},
		{"500", mock.Behaviour{Status: 500}, 1, 500},
		{"501", mock.Behaviour{Status: 501}, 1, 501},
		{"505", mock.Behaviour{Status: 505}, 1, 505},
		{"400", mock.Behaviour{Status: 400}, 1, 400},
		{"401", mock.Behaviour{Status: 401}, 1, 401},
		{"404", mock.Behaviour{Status: 404}, 1, 404},
		{"408", mock.Behaviour{Status: 408}, 1, 408},
		{"422", mock.Behaviour{Status: 422}, 1, 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conform(t, "003", oneProvider, map[string]mock.Script{"a": do(tt.fault)}, func(t *testing.T, s *stack) {
				if a := s.ask("a/m", false); a.status != tt.status || len(s.chats("a")) != tt.asked {
					t.Errorf("%s after %d attempts, want %d after %d", a.story(), len(s.chats("a")), tt.status, tt.asked)
				}
			})
		})
	}
	t.Run("refused", func(t *testing.T) {
		conform(t, "003", strings.Replace(oneProvider, "http://a/", "http://nobody:81/", 1), nil, func(t *testing.T, s *stack) {
			if a := s.ask("a/m", false); a.header.Get("X-Evergate-Attempts") != "4" {
				t.Errorf("%s %v", a.story(), a.header)
			}
		})
	})
}

// Streams are asked for once (R52).
func TestReference003Streams(t *testing.T) {
	conform(t, "003", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 503})}, func(t *testing.T, s *stack) {
		if a := s.ask("a/m", true); a.status != 503 || len(s.chats("a")) != 1 {
			t.Errorf("%s after %d attempts", a.story(), len(s.chats("a")))
		}
	})
}

// The breaker counts a broken network, a timeout and 5xx, those that are not retried included; not 429, not 4xx, and no caller that left
// (R1-R4, R10, R13).
func TestReference003Counted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fault    mock.Behaviour
		failures int
	}{
		{"500", mock.Behaviour{Status: 500}, 1},
		{"503", mock.Behaviour{Status: 503}, 1},
		{"reset", mock.Behaviour{Reset: mock.BeforeHeaders}, 1},
		{"timeout", mock.Behaviour{Hang: mock.BeforeHeaders}, 1},
		{"429", mock.Behaviour{Status: 429}, 0},
		{"400", mock.Behaviour{Status: 400}, 0},
		{"401", mock.Behaviour{Status: 401}, 0},
		{"404", mock.Behaviour{Status: 404}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conform(t, "003", oneProvider, map[string]mock.Script{"a": do(tt.fault)}, func(t *testing.T, s *stack) {
				s.ask("a/m", true) // a stream is one attempt
				s.expectState("after it", "a", "closed", tt.failures)
			})
		})
	}
	t.Run("the caller left", func(t *testing.T) {
		conform(t, "003", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.BeforeHeaders})}, func(t *testing.T, s *stack) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			s.post(ctx, "/v1/chat/completions", `{"model":"a/m","messages":[{"role":"user","content":"hi"}]}`)
			synctest.Wait()
			s.expectState("after it", "a", "closed", 0)
		})
	})
}

// opened is a gateway whose only provider has just had five failures.
func opened(t *testing.T, f func(t *testing.T, s *stack)) {
	t.Helper()
	conform(t, "003", oneProvider, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500})}, func(t *testing.T, s *stack) {
		for range 5 {
			s.ask("a/m", false)
		}
		s.expectState("after five failures", "a", "open", 5)
		f(t, s)
	})
}

// An open circuit fails fast: 503, with its message (R51).
func TestReference003FailFast(t *testing.T) {
	opened(t, func(t *testing.T, s *stack) {
		a := s.ask("a/m", false)
		if a.status != 503 || a.errCode != "circuit_open" || a.took != 0 || len(s.chats("a")) != 5 || a.header.Get("Retry-After") != "30" {
			t.Errorf("%s, Retry-After %q", a.story(), a.header.Get("Retry-After"))
		}
		if want := "circuit breaker is open - provider temporarily unavailable"; !strings.Contains(a.body, want) {
			t.Errorf("%s does not say %q", a.body, want)
		}
	})
}

// After its timeout one probe goes through while the others fail fast; two good ones in a row close it, a bad one opens it again (R23, R24).
func TestReference003Probes(t *testing.T) {
	opened(t, func(t *testing.T, s *stack) {
		pass(30 * time.Second)
		slow := steady()
		slow.Latency = time.Second
		s.set("a", mock.Script{Defaults: slow})
		answered, refused := 0, 0
		for _, a := range s.together(10, func(int) answer { return s.ask("a/m", false) }) {
			switch {
			case a.status == 200:
				answered++
			case a.status == 503 && a.errCode == "circuit_open" && a.took == 0:
				refused++
			}
		}
		if answered != 1 || refused != 9 {
			t.Errorf("%d answered and %d refused at once, want 1 and 9", answered, refused)
		}
		if state, _ := s.state("a"); state != "half_open" {
			t.Errorf("%s after the first good probe", state)
		}
		s.ask("a/m", false)
		s.expectState("after the second", "a", "closed", 0)
	})
	opened(t, func(t *testing.T, s *stack) {
		pass(30 * time.Second)
		s.set("a", answers())
		s.ask("a/m", false)
		s.set("a", do(mock.Behaviour{Status: 500}))
		s.ask("a/m", false)
		if state, _ := s.state("a"); state != "open" {
			t.Errorf("%s after a good and a bad probe", state)
		}
	})
}

// A 429 on a probe opens it again (R25).
func TestReference003RateLimitedProbe(t *testing.T) {
	opened(t, func(t *testing.T, s *stack) {
		pass(30 * time.Second)
		s.set("a", do(mock.Behaviour{Status: 429}))
		s.ask("a/m", true)
		if b := s.look("a").Breaker; b.State != "open" || lasting(b) != 30*time.Second {
			t.Errorf("%+v", b)
		}
	})
}

// A zero turns a layer off, for all providers or for one (R28, R52).
func TestReference003Zero(t *testing.T) {
	const oneOff = "api_key: sk-key-of-a, resilience: {retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 0}},"
	global := strings.NewReplacer("max_retries: 3", "max_retries: 0", "failure_threshold: 5", "failure_threshold: 0").Replace(settings(t, "003"))
	for name, text := range map[string]string{
		"all providers": twoProviders + global, "one provider": strings.Replace(twoProviders, "api_key: sk-key-of-a,", oneOff, 1) + settings(t, "003"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := do(mock.Behaviour{Status: 503})
				s := newStack(t, text, map[string]mock.Script{"a": broken, "b": broken})
				for range 10 {
					s.ask("a/m", false)
				}
				s.expectState("after ten failures", "a", "closed", 10)
				if n := len(s.chats("a")); n != 10 {
					t.Errorf("asked %d times for 10 requests", n)
				}
				if name == "one provider" {
					s.ask("b/m2", false)
					if n := len(s.chats("b")); n != 4 {
						t.Errorf("the other was asked %d times, want 4", n)
					}
				}
			})
		})
	}
}

// The worked example: what each provider's settings come to, field by field. The environment sets global defaults and reaches past no
// provider's own number.
func TestReference003WorkedExample(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"as written", nil, []string{"openai 2 3 15s", "anthropic 5 3 15s", "ollama 2 10 5s"}},
		{
			"with variables",
			map[string]string{"RETRY_MAX_RETRIES": "7", "CIRCUIT_BREAKER_FAILURE_THRESHOLD": "4", "CIRCUIT_BREAKER_TIMEOUT": "20s"},
			[]string{"openai 7 4 20s", "anthropic 5 4 20s", "ollama 7 10 5s"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := config.Parse("example.yaml", []byte(settings(t, "003, worked example")), func(name string) (string, bool) {
				if name == "ANTHROPIC_API_KEY" || name == "OPENAI_API_KEY" {
					return "sk-of-" + name, true
				}
				v, ok := tt.env[name]
				return v, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range cfg.Providers {
				r := p.Resilience
				if got := fmt.Sprint(p.Options.Name, " ", r.Retry.MaxRetries, " ", r.Breaker.FailureThreshold, " ", r.Breaker.Timeout); got != tt.want[i] {
					t.Errorf("%s, want %s", got, tt.want[i])
				}
				if i == 0 && tt.env == nil && (r.Retry.InitialBackoff != 500*time.Millisecond || r.Retry.MaxBackoff != 10*time.Second ||
					r.Retry.BackoffFactor != 1.5 || r.Retry.JitterFactor != 0.05 || r.Breaker.SuccessThreshold != 1) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// State is of the process: another one begins clear (`state: { url: "memory:" }`).
func TestReference003Restart(t *testing.T) {
	for range 2 {
		opened(t, func(*testing.T, *stack) {}) // the second begins closed, too, or it would not count to five
	}
}

// The gauge of the breaker: 0 closed, 1 half-open, 2 open.
func TestReference003Gauge(t *testing.T) {
	opened(t, func(t *testing.T, s *stack) {
		s.expectGauge(t, 2)
		pass(30 * time.Second)
		s.expectGauge(t, 1)
		s.set("a", answers())
		s.ask("a/m", false)
		s.ask("a/m", false)
		s.expectGauge(t, 0)
	})
}

func (s *stack) expectGauge(t *testing.T, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if line := fmt.Sprintf("evergate_circuit_breaker_state{provider=\"a\"} %d\n", want); !strings.Contains(string(body), line) {
		t.Errorf("the metrics lack %q", line)
	}
}

// Retries and breaker stay with one provider; rules of `failover` go on to another model (R50).
func TestReference003Failover(t *testing.T) {
	conform(t, "003", twoProviders+"failover: {a/m: [b/m2]}\n", map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		if a := s.ask("a/m", false); a.status != 200 || trailOf(s, &a) != "a/m=500, b/m2=200" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
	})
}
