package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"evergate/internal/route"
)

// What a model's mirror says, and what is not said.
func TestMirror(t *testing.T) {
	t.Parallel()
	limits := route.DefaultTimeouts()
	limits.Attempt = 9 * time.Second
	at := func(model string) route.Target {
		return route.Target{Provider: "p", Model: model, Timeouts: limits}
	}
	for _, c := range []struct {
		name, say string
		want      *route.Mirror
		warns     string
	}{
		{"none", "", nil, ""},
		{"the defaults", "mirror: {target: p/x, share: 0.05}", &route.Mirror{Target: at("x"), Share: 0.05, MaxInFlight: 8, Timeout: time.Minute}, ""},
		{"all of it", "mirror: {target: p/x, share: 1, max_in_flight: 100, timeout: 5m}", &route.Mirror{Target: at("x"), Share: 1, MaxInFlight: 100, Timeout: 5 * time.Minute}, ""},
		{"off", "mirror: {target: p/x, share: 0}", nil, ""},
		{"a model that its provider does not list", "mirror: {target: p/z, share: 1}", &route.Mirror{Target: at("z"), Share: 1, MaxInFlight: 8, Timeout: time.Minute}, "providers.p.models does not list z"},
		{"a provider that policies refuse", "mirror: {target: p/x, share: 1}, policy: elsewhere", &route.Mirror{Target: at("x"), Share: 1, MaxInFlight: 8, Timeout: time.Minute}, `gets no copies: the policy "elsewhere" refuses it by providers.deny`},
		{"a provider that needs callers' keys", "mirror: {target: q/x, share: 1}", &route.Mirror{
			Target: route.Target{Provider: "q", Model: "x", Timeouts: limits}, Share: 1, MaxInFlight: 8, Timeout: time.Minute,
		}, "gets no copies: it needs the caller's own key (byok: require), which no copy carries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := `
providers: {p: {type: openai, api_key: k, models: [x, y]}, q: {type: openai-compatible, base_url: "http://q/v1", byok: require}}
policies: {elsewhere: {providers: {deny: [p]}}}
models: {m: {targets: [p/y], timeouts: {attempt: 9s}, ` + c.say + "}}\n"
			cfg, err := Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			got := cfg.Table.Virtual["m"].Mirror
			if got != nil {
				got.Target.Facts = nil
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			var warnings []string
			for _, w := range cfg.Warnings {
				warnings = append(warnings, w.String())
			}
			if all := strings.Join(warnings, "\n"); !strings.Contains(all, c.warns) {
				t.Errorf("warnings: %s", all)
			} else if c.warns == "" && strings.Contains(all, "mirror") {
				t.Errorf("a warning too many: %s", all)
			}
		})
	}
}

// What is particular to asking the mirror is said as of any target; within another model the mirror is the outer one's alone.
func TestMirrorInItsLongForm(t *testing.T) {
	t.Parallel()
	const text = `
providers: {p: {type: openai, api_key: k}}
models:
  inner:
    targets: [p/y]
    mirror: {target: {target: p/deployment, base_model: gpt-4o, params: {temperature: 0}, timeouts: {attempt: 3s}, disabled: true}, share: 1}
  outer: {targets: [inner]}
`
	cfg, err := Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	to := cfg.Table.Virtual["inner"].Mirror.Target
	if to.BaseModel != "gpt-4o" || len(to.Params) != 1 || to.Params[0].Name != "temperature" || to.Timeouts.Attempt != 3*time.Second || !to.Disabled || to.Facts == nil {
		t.Errorf("%+v", to)
	}
	if m := cfg.Table.Virtual["outer"].Mirror; m != nil {
		t.Errorf("the outer one has %+v", m)
	}
}
