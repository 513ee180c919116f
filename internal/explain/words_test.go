package explain

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a request for the model "m" at the providers a, b and c.
type scene struct {
	settings resilience.Settings
	keys     []resilience.Credential // of each
	targets  []route.Target
	name     route.Understood
	order    route.Order
	deadline time.Time
	budget   int
	past     func(a, b, c *resilience.Machine)
	able     func(target int) *fault.Fault
}

func (s *scene) explain() *Answer {
	machines := map[string]*resilience.Machine{}
	for _, p := range []string{"a", "b", "c"} {
		machines[p] = resilience.New(s.settings, resilience.RoundRobin, s.keys)
	}
	if s.past != nil {
		s.past(machines["a"], machines["b"], machines["c"])
	}
	copies := func() (out []*resilience.Machine) {
		own := map[string]*resilience.Machine{}
		for _, t := range s.targets {
			if own[t.Provider] == nil {
				own[t.Provider] = machines[t.Provider].Copy()
			}
			out = append(out, own[t.Provider])
		}
		return out
	}
	c := Case{
		Answer: Answer{Model: "m", Dialect: "chat", At: noon}, Name: s.name, Guards: copies(), Disabled: func(t *route.Target) bool { return t.Disabled },
		Resolution: &route.Resolution{Targets: s.targets, Order: s.order},
	}
	g := Game{Now: noon, Rnd: 0.5, Guards: copies(), Able: func(t int) *fault.Fault {
		if s.able == nil {
			return nil
		}
		return s.able(t)
	}}
	g.Draw = func(time.Time, float64) bool { s.budget--; return s.budget >= 0 }
	for i := range s.targets {
		target := failover.Target{Target: &s.targets[i], Settings: &s.settings}
		g.Params.Targets = append(g.Params.Targets, target)
		c.Targets = append(c.Targets, Target{Target: target, Dialect: "chat"})
	}
	g.Params.Deadline = s.deadline
	c.Played = Play(&g)
	return Compose(&c)
}

// failing has a machine fail so often, so long before noon.
func failing(m *resilience.Machine, before time.Duration, n int, o resilience.Outcome) {
	for range n {
		p, _, _ := m.Admit(noon.Add(-before), 0, "x", noon, true, nil)
		m.Settle(noon.Add(-before), p, o, 0.5, nil)
	}
}

func down(m *resilience.Machine) {
	failing(m, 18*time.Second, 5, resilience.Outcome{Class: fault.Upstream})
}

func limited(c fault.Class, wait time.Duration) func(a, b, c *resilience.Machine) {
	return func(a, _, _ *resilience.Machine) {
		failing(a, 0, 1, resilience.Outcome{Class: c, Wait: fault.Wait{Named: wait > 0, For: wait}})
	}
}

// R72: what is said of a candidate, by what is the matter with it. Each case gives, by provider/model, a part of the sentence.
func TestWhatIsSaid(t *testing.T) {
	tests := []struct {
		name  string
		scene scene
		want  map[string]string
		// summary is a part of the summary.
		summary string
	}{
		{
			name:    "all is well",
			want:    map[string]string{"a/x": "Asked first: it is declared first.", "b/x": "Asked if a/x fails: it is declared as number 2.", "c/x": "Asked if b/x fails: it is declared as number 3."},
			summary: `A request for "m" goes to a/x. If a/x fails, b/x and then c/x is asked.`,
		},
		{
			name:  "an open breaker",
			scene: scene{past: func(a, _, _ *resilience.Machine) { down(a) }},
			want: map[string]string{
				"a/x": "Its circuit breaker is open (failures) for another 12s.", "b/x": "Asked first, as none before it can be: it is declared as number 2.",
			},
			summary: "goes to b/x. a/x is passed over. Its circuit breaker is open (failures) for another 12s. If b/x fails, c/x is asked.",
		},
		{
			name: "a probe under way",
			scene: scene{past: func(a, _, _ *resilience.Machine) {
				failing(a, time.Minute, 5, resilience.Outcome{Class: fault.Upstream})
				a.Admit(noon, 0, "x", noon.Add(time.Minute), false, nil)
			}},
			want: map[string]string{"a/x": "half-open, and another request is the probe."},
		},
		{
			name: "kept for the gateway's own probe",
			scene: scene{
				settings: func() resilience.Settings {
					s := resilience.Defaults()
					s.Breaker.KeptFor = time.Hour
					return s
				}(),
				past: func(a, _, _ *resilience.Machine) {
					failing(a, time.Minute, 5, resilience.Outcome{Class: fault.Upstream})
				},
			},
			want: map[string]string{"a/x": "half-open, and kept for a probe of the gateway's own."},
		},
		{
			name: "an operator",
			scene: scene{past: func(a, b, _ *resilience.Machine) {
				_, _ = a.Operate(noon, resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance"}, nil)
				_, _ = b.Operate(noon, resilience.Order{Action: resilience.ForceOpen, Reason: "a test", Until: noon.Add(time.Hour)}, nil)
			}},
			want: map[string]string{"a/x": "An operator holds its circuit breaker open (maintenance), until further notice.", "b/x": "(a test) for another 1h."},
		},
		{name: "a rate limit", scene: scene{past: limited(fault.RateLimited, 40*time.Second)}, want: map[string]string{"a/x": "Its key is rate limited and rests for another 40s, as the upstream said."}},
		{name: "a quota", scene: scene{past: limited(fault.Quota, 0)}, want: map[string]string{"a/x": "Its key has no quota left and rests for another "}},
		{name: "a refused key", scene: scene{past: limited(fault.Auth, 0)}, want: map[string]string{"a/x": "Its key was refused and rests for another "}},
		{name: "a missing model", scene: scene{past: limited(fault.ModelMissing, 0)}, want: map[string]string{"a/x": "said that it does not have this model, which rests for another 1m."}},
		{name: "a limited model", scene: scene{past: limited(fault.ModelLimited, 30*time.Second)}, want: map[string]string{"a/x": "Its key may not use this model, which rests there for another 30s"}},
		{
			name: "two keys at rest",
			scene: scene{
				keys: []resilience.Credential{{Name: "k1"}, {Name: "k2"}},
				past: func(a, _, _ *resilience.Machine) {
					for i, wait := range []time.Duration{time.Minute, 20 * time.Second} {
						p, _, _ := a.Admit(noon, i, "x", noon, true, nil)
						a.Settle(noon, p, resilience.Outcome{Class: fault.RateLimited, Wait: fault.Wait{Named: true, For: wait}}, 0.5, nil)
					}
				},
			},
			want: map[string]string{"a/x": "None of its 2 keys is free: the first to clear is rate limited and rests for another 20s"},
		},
		{
			name:  "no key for it",
			scene: scene{keys: []resilience.Credential{{Name: "k", Models: []string{"y"}}}},
			want:  map[string]string{"a/x": "None of its provider's keys is for this model.", "b/x": "None of its provider's keys"},
		},
		{
			name: "unable",
			scene: scene{able: func(t int) *fault.Fault {
				if t == 0 {
					return &fault.Fault{Class: fault.Unable, Message: "no images"}
				}
				return nil
			}},
			want:    map[string]string{"a/x": "It cannot do what the request asks: no images.", "b/x": "Asked first, as none before it can be"},
			summary: "a/x is passed over. It cannot do what the request asks: no images.",
		},
		{
			name: "a failure too many",
			scene: scene{
				targets: []route.Target{{Provider: "a", Model: "x"}, {Provider: "a", Model: "y"}},
				past:    func(a, _, _ *resilience.Machine) { failing(a, 0, 4, resilience.Outcome{Class: fault.Upstream}) },
			},
			want: map[string]string{"a/y": "It is free now, but not if those before it fail as well. Then: Its circuit breaker is open for another 30s."},
		},
		{
			name:  "everything is down",
			scene: scene{budget: 1, past: func(a, b, c *resilience.Machine) { down(a); down(b); down(c) }},
			want: map[string]string{
				"a/x": "Asked first, in spite of what blocks it: every candidate is blocked", "b/x": "Asked if a/x fails, in spite of",
				"c/x": "Everything is blocked, but the retry budget does not allow one more attempt.",
			},
			summary: "goes to a/x, although everything is blocked. If a/x fails, b/x is asked.",
		},
		{
			name: "everything is down, and soon up",
			scene: scene{budget: 9, past: func(a, b, c *resilience.Machine) {
				failing(a, 28*time.Second, 5, resilience.Outcome{Class: fault.Upstream})
				down(b)
				down(c)
			}},
			want:    map[string]string{"a/x": "Asked first, after a wait of 2s, which is when it clears: every candidate is blocked."},
			summary: "goes to a/x after a wait of 2s.",
		},
		{
			name: "everything is down, and is to fail fast",
			scene: scene{
				settings: func() resilience.Settings {
					s := resilience.Defaults()
					s.WhenAllBlocked = resilience.FailFast
					return s
				}(),
				past: func(a, b, c *resilience.Machine) { down(a); down(b); down(c) },
			},
			want:    map[string]string{"a/x": "it is not asked for that (when_all_blocked: fail_fast)."},
			summary: "Nobody is asked.",
		},
		{
			name:  "no time",
			scene: scene{deadline: noon},
			want:  map[string]string{"a/x": "The request's time is up before its turn."},
		},
		{
			name:  "held back",
			scene: scene{order: route.HeldBack, targets: []route.Target{{Provider: "b", Model: "x"}, {Provider: "a", Model: "x"}}},
			want:  map[string]string{"b/x": "hold_down keeps a/x behind it, which was down until lately", "a/x": "hold_down keeps it second"},
		},
		{
			name:  "stale",
			scene: scene{order: route.AsDeclared, targets: []route.Target{{Provider: "b", Model: "x"}, {Provider: "a", Model: "x", Stale: true}}},
			want:  map[string]string{"a/x": "its provider's list of models could not be read lately, so it comes after the others"},
		},
		{
			name:  "drawn by weight",
			scene: scene{name: route.Understood{By: route.ByVirtual, Strategy: route.Weighted}, targets: []route.Target{{Provider: "b", Model: "x", Weight: 3}, {Provider: "a", Model: "x"}}},
			want:  map[string]string{"b/x": "drawn by weight, and it comes first for 75 % of requests", "a/x": "first for 25 % of requests"},
		},
		{
			name:  "a bare id, and a failover rule",
			scene: scene{name: route.Understood{By: route.ByID, Own: 2}},
			want:  map[string]string{"a/x": "its provider has the model", "c/x": "a failover rule adds it"},
		},
		{
			name:  "a provider's model",
			scene: scene{name: route.Understood{By: route.ByProvider, Own: 1}, targets: []route.Target{{Provider: "a", Model: "x"}}},
			want:  map[string]string{"a/x": "the name asks for it"},
		},
		{
			name: "what is not even played",
			scene: scene{
				targets: []route.Target{{Provider: "b", Model: "x"}},
				name: route.Understood{By: route.ByVirtual, Own: 3, Targets: []route.Target{
					{Provider: "a", Model: "x", Disabled: true}, {Provider: "b", Model: "x"}, {Provider: "c", Model: "x"},
				}},
			},
			want: map[string]string{"a/x": "It is disabled in the configuration.", "c/x": "Its provider has no API for this kind of request."},
		},
		{
			name:  "for a refusal alone",
			scene: scene{targets: []route.Target{{Provider: "a", Model: "x"}, {Provider: "b", Model: "x", On: route.ContentFilter}}},
			want:  map[string]string{"b/x": "Asked only where another target refuses the request for content_filter."},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &tt.scene
			if s.settings == (resilience.Settings{}) {
				s.settings = resilience.Defaults()
			}
			if s.targets == nil {
				s.targets = []route.Target{{Provider: "a", Model: "x"}, {Provider: "b", Model: "x"}, {Provider: "c", Model: "x"}}
			}
			if s.name.By == "" {
				s.name.By, s.name.Own = route.ByVirtual, len(s.targets)
			}
			if s.name.Targets == nil {
				s.name.Targets = s.targets
			}
			if s.name.Own == 0 {
				s.name.Own = len(s.targets)
			}
			a := s.explain()
			for i := range a.Candidates {
				c := &a.Candidates[i]
				if want, ok := tt.want[c.target()]; ok && !strings.Contains(c.Why, want) {
					t.Errorf("%s: %q, want %q", c.target(), c.Why, want)
				}
				delete(tt.want, c.target())
			}
			if len(tt.want) > 0 || !strings.Contains(a.Summary, tt.summary) {
				t.Errorf("%q; nothing is said of %v", a.Summary, tt.want)
			}
		})
	}
}
