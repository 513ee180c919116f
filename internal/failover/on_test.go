package failover

import (
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/modelfacts"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// R11, R12: a model's own targets for a refusal are asked after it, and after nothing else.
func TestTargetsForRefusals(t *testing.T) {
	open := []resilience.Block{block(resilience.CircuitOpen, 20*time.Second, false)}
	free := []resilience.Block{{}}
	tests := []struct {
		name   string
		models []string // a, b are the model's own; long and longer are for R11, free for R12
		set    []func(*resilience.Settings)
		world  world
		script map[int][]result
		want   string
		ending Ending
		status int // of the fault whose words are shown
	}{
		{name: "no refusal", models: []string{"a", "long"}, set: []func(*resilience.Settings){retries(0)}, script: map[int][]result{0: {status(500)}}, want: "0", ending: OneFailed, status: 500},
		{name: "R11 in place of the rest", models: []string{"a", "b", "long"}, script: map[int][]result{0: {class(fault.ContextLength)}, 2: {{}}}, want: "0 2 ok"},
		{
			name: "R11 none of them has a window large enough: the first refusal", models: []string{"a", "b", "long", "longer"},
			script: map[int][]result{0: {refusal(fault.ContextLength, 413)}, 2: {class(fault.ContextLength)}, 3: {class(fault.ContextLength)}}, want: "0 2 3", ending: PassBack, status: 413,
		},
		{
			name: "R11 one model has one window: it is asked once", models: []string{"long", "b", "long", "longer"},
			script: map[int][]result{0: {class(fault.ContextLength)}, 3: {{}}}, want: "0 3 ok",
		},
		{
			name: "R11 they fail over among themselves and are retried", models: []string{"a", "long", "longer"},
			set:    []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {class(fault.ContextLength)}, 1: {status(503), {}}, 2: {status(500)}}, want: "0 1 2 (1s) 1 ok",
		},
		{
			name: "R11 after a failure", models: []string{"a", "b", "long"}, set: []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(500)}, 1: {class(fault.ContextLength)}, 2: {{}}}, want: "0 1 2 ok",
		},
		{
			name: "R11 a blocked one is left out", models: []string{"a", "long", "longer"}, world: world{blocks: [][]resilience.Block{free, open, free}},
			script: map[int][]result{0: {class(fault.ContextLength)}, 2: {{}}}, want: "0 2 ok",
		},
		{
			name: "R51 all of them are blocked: they are asked all the same", models: []string{"a", "long"}, world: world{blocks: [][]resilience.Block{free, open}},
			script: map[int][]result{0: {class(fault.ContextLength)}, 1: {{}}}, want: "0 1! ok",
		},
		{
			name: "R51 the model's own are blocked: those for a refusal are not in the walk", models: []string{"a", "long"}, world: world{blocks: [][]resilience.Block{open, free}},
			set: []func(*resilience.Settings){retries(0)}, script: map[int][]result{0: {status(500)}}, want: "0!", ending: OneFailed, status: 500,
		},
		{name: "R12 with targets for it", models: []string{"a", "b", "free"}, script: map[int][]result{0: {class(fault.ContentFilter)}, 2: {{}}}, want: "0 2 ok"},
		{name: "R12 without: it goes back", models: []string{"a", "b", "long"}, script: map[int][]result{0: {refusal(fault.ContentFilter, 400)}}, want: "0", ending: PassBack, status: 400},
		{
			name: "R12 they refuse, too: the first refusal", models: []string{"a", "free"},
			script: map[int][]result{0: {refusal(fault.ContentFilter, 400)}, 1: {refusal(fault.ContentFilter, 403)}}, want: "0 1", ending: PassBack, status: 400,
		},
		{
			name: "R12 they are down", models: []string{"a", "free"}, set: []func(*resilience.Settings){retries(0)},
			script: map[int][]result{0: {class(fault.ContentFilter)}, 1: {status(500)}}, want: "0 1", ending: AllFailed, status: 500,
		},
		{
			name: "R11, then R12", models: []string{"a", "long", "free"},
			script: map[int][]result{0: {class(fault.ContextLength)}, 1: {class(fault.ContentFilter)}, 2: {{}}}, want: "0 1 2 ok",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Params{Targets: targets(tt.models, tt.set...)}
			for i := 1; i < len(p.Targets); i++ { // the first is always the model's own
				p.Targets[i].On = map[string]route.Refusal{"long": route.ContextLength, "longer": route.ContextLength, "free": route.ContentFilter}[tt.models[i]]
			}
			got, final := play(p, &tt.world, tt.script, 100)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if final.Ending != tt.ending || final.Fault != nil && final.Fault.Status != tt.status {
				t.Errorf("ending %v of %v, want %v of status %d", final.Ending, final.Fault, tt.ending, tt.status)
			}
		})
	}
}

func refusal(c fault.Class, status int) result {
	return result{f: &fault.Fault{Class: c, Status: status}}
}

// R11: with windows in the catalogue it is they that count, not the models' names; R46: what is surely too long is not asked.
func TestKnownWindows(t *testing.T) {
	long := class(fault.ContextLength)
	for _, tt := range []struct {
		name    string
		models  []string
		windows []int64
		unable  []int // targets whose window is known, before they are asked, to be too small
		script  map[int][]result
		want    string
	}{
		{"nobody's is known: each model once", []string{"a", "a", "b"}, []int64{0, 0, 0}, nil, map[int][]result{0: {long}, 2: {{}}}, "0 2 ok"},
		{"one as small is left out", []string{"a", "b", "c"}, []int64{8, 8, 16}, nil, map[int][]result{0: {long}, 2: {{}}}, "0 2 ok"},
		{"a smaller one, too", []string{"a", "b", "c"}, []int64{8, 4, 16}, nil, map[int][]result{0: {long}, 2: {{}}}, "0 2 ok"},
		{"an unknown one may be larger", []string{"a", "b", "c"}, []int64{8, 0, 8}, nil, map[int][]result{0: {long}, 1: {{}}}, "0 1 ok"},
		{"the same model with a larger one elsewhere", []string{"a", "a"}, []int64{8, 16}, nil, map[int][]result{0: {long}, 1: {{}}}, "0 1 ok"},
		{"the same model, one of them unknown", []string{"a", "a", "b"}, []int64{8, 0, 0}, nil, map[int][]result{0: {long}, 2: {{}}}, "0 2 ok"},
		{"known before it is asked", []string{"a", "b", "c"}, []int64{8, 8, 16}, []int{0}, map[int][]result{2: {{}}}, "2 ok"},
		{"then the model's own targets for it have their turn", []string{"a", "b", "long"}, []int64{8, 0, 0}, []int{0}, map[int][]result{2: {{}}}, "2 ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Params{Targets: targets(tt.models, retries(0))}
			for i := range p.Targets {
				if tt.windows[i] > 0 {
					p.Targets[i].Facts = &modelfacts.Facts{ContextWindow: tt.windows[i]}
				}
				if tt.models[i] == "long" {
					p.Targets[i].On = route.ContextLength
				}
			}
			w := &world{unable: map[int]*fault.Fault{}}
			for _, i := range tt.unable {
				w.unable[i] = &fault.Fault{Class: fault.ContextLength, Status: 400}
			}
			if got, _ := play(p, w, tt.script, 100); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
