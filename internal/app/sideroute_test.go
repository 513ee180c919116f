package app

import (
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// R9: a side route that a provider lacks is no fault of anybody: the next candidate is asked, no guard moves, and with nothing left the
// client gets a clear 404. A 404 about the model is another thing.
func TestSideRouteMissing(t *testing.T) {
	oneModel := strings.NewReplacer("b/m2", "b/m", "[m2]", "[m]").Replace(twoProviders) // a vector never moves to another (R46)
	const embed = `{"model":"demo","input":"hi"}`
	lacks := func(b mock.Behaviour) mock.Script {
		return mock.Script{Defaults: steady(), Rules: []mock.Rule{{Path: "/embeddings", Do: b}}}
	}
	tests := []struct {
		name   string
		fault  mock.Behaviour
		trail  string
		guards string
	}{
		{"501", mock.Behaviour{Status: 501, Message: "This server does not support embeddings."}, "a/m=501, b/m=200", ""},
		{"405", mock.Behaviour{Status: 405, Message: "Method not allowed"}, "a/m=405, b/m=200", ""},
		{"404 of the route", mock.Behaviour{Status: 404, Code: "unknown_url", Message: "Unknown request URL: POST /v1/embeddings"}, "a/m=404, b/m=200", ""},
		{"404 of the model", mock.Behaviour{Status: 404, Code: "model_not_found", Message: "The model m does not exist"}, "a/m=404, b/m=200", " model=model_not_found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, oneModel, map[string]mock.Script{"a": lacks(tt.fault), "b": {Defaults: steady()}})
				a := s.post(t.Context(), "/v1/embeddings", embed)
				if a.status != 200 || trailOf(s, &a) != tt.trail || s.counted("a") != tt.guards {
					t.Errorf("%d [%s] guards:%s", a.status, trailOf(s, &a), s.counted("a"))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		no := lacks(tests[0].fault)
		s := newStack(t, oneModel, map[string]mock.Script{"a": no, "b": no})
		for range 10 {
			a := s.post(t.Context(), "/v1/embeddings", embed)
			if a.status != 404 || a.errCode != "not_found" || !strings.Contains(a.body, "does not support embeddings") {
				t.Fatalf("nothing left: %d %s", a.status, a.body)
			}
		}
		if c := s.counted("a") + s.counted("b"); c != "" {
			t.Errorf("guards moved:%s", c)
		}
		if a := s.ask("demo", false); a.status != 200 {
			t.Errorf("chat afterwards: %s", a.story())
		}
	})
}
