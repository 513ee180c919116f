package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"evergate/internal/alert"
)

// Who is told, and what is refused. Nothing of a URL is ever in what is said of it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	const provider = "providers: {p: {type: openai, api_key: k, models: [m]}}\n"
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOOK": "https://hooks.example/T0/s3cret", "EMPTY": "", "PLAIN": "http://hooks.example/T0/s3cret", "WRONG": "hooks.example/T0/s3cret"}[name]
		return v, ok
	}
	for _, c := range []struct {
		name, say string
		want      []Alert
		problem   string // or warning
	}{
		{"none", "", nil, ""},
		{"the least", "[{name: ops, url: '${HOOK}'}]", []Alert{{Name: "ops", URL: "https://hooks.example/T0/s3cret"}}, ""},
		{"all of it", "[{name: ops, url: 'http://127.0.0.1:1/x', secret: s, format: slack, on: [breaker_opened, drill], for: 30s}]", []Alert{{
			Name: "ops", URL: "http://127.0.0.1:1/x", Secret: "s", Format: alert.Slack, On: []alert.Event{alert.BreakerOpened, alert.Drill}, For: 30 * time.Second,
		}}, ""},
		{"no url", "[{name: ops}]", nil, "alerts[0]: has no url; add url: ${…}"},
		{"an empty url", "[{name: ops, url: '${EMPTY}'}]", nil, "alerts[0].url: is empty; set the variable, or remove the receiver"},
		{"no URL at all", "[{name: ops, url: '${WRONG}'}]", nil, "alerts[0].url: is not a URL; it must begin with https:// and have a host"},
		{"in the clear", "[{name: ops, url: '${PLAIN}'}]", []Alert{{Name: "ops", URL: "http://hooks.example/T0/s3cret"}}, "alerts[0].url: begins with http://"},
		{"an empty secret", "[{name: ops, url: '${HOOK}', secret: ''}]", nil, "alerts[0].secret: is empty, so that nothing would be signed"},
		{"no name", "[{url: '${HOOK}'}]", nil, "alerts[0]: has no name"},
		{"twice", "[{name: ops, url: '${HOOK}'}, {name: ops, url: '${HOOK}'}]", nil, "alerts[1].name: is the name of the one on line 2 too"},
		{"an event that there is not", "[{name: ops, url: '${HOOK}', on: [breaker_open]}]", nil, "breaker_opened"},
		{"nobody can choose a test", "[{name: ops, url: '${HOOK}', on: [test]}]", nil, "alerts[0].on[0]"},
		{"too many", "[" + strings.Repeat("{name: ops, url: '${HOOK}'}, ", 17) + "]", nil, "has 17 receivers, which is more than 16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Parse("f.yaml", []byte(provider+"alerts: "+c.say+"\n"), env)
			said := fmt.Sprint(err)
			if err == nil {
				for _, w := range cfg.Warnings {
					said += w.String()
				}
				if !reflect.DeepEqual(cfg.Alerts, c.want) {
					t.Errorf("%+v", cfg.Alerts)
				}
				shown, _ := json.Marshal(cfg)
				said += string(shown) + fmt.Sprintf("%v %+v %#v", cfg.Alerts, cfg.Alerts, cfg.Alerts) + cfg.Effective()
			} else if c.want != nil {
				t.Error(err)
			}
			if !strings.Contains(said, c.problem) || (err == nil) != (c.problem == "" || c.want != nil) {
				t.Errorf("said %s", said)
			}
			if strings.Contains(said, "s3cret") {
				t.Errorf("the secret is in %s", said)
			}
		})
	}
}

// A model's target is a percentage with its sign: 99.9 and 0.999 could each mean either.
func TestAvailability(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		say     string
		want    float64
		problem string
	}{
		{"99.9%", 0.999, ""},
		{"50%", 0.5, ""},
		{"'99.95%'", 0.9995, ""},
		{"99.9", 0, "has no sign; it must be a percentage such as 99.9%"},
		{"0.999", 0, "must be a percentage such as 99.9%"},
		{"100%", 0, "must be more than 0% and less than 100%"},
		{"0%", 0, "must be more than 0%"},
		{"nan%", 0, "must be a percentage"},
		{"1e1%", 0, "must be a percentage"},
		{"-5%", 0, "must be more than 0%"},
		{"x", 0, "must be a percentage"},
	} {
		t.Run(c.say, func(t *testing.T) {
			t.Parallel()
			cfg, err := Parse("f.yaml", []byte("providers: {p: {type: openai, api_key: k, models: [m]}}\nmodels: {fast: {targets: [p/m], availability: "+c.say+"}, other: {targets: [p/m]}}\n"), func(string) (string, bool) { return "", false })
			switch {
			case c.problem != "":
				if err == nil || !strings.Contains(err.Error(), "models.fast.availability") || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%v", err)
				}
			case err != nil:
				t.Error(err)
			case len(cfg.Availability) != 1 || cfg.Availability["fast"]-c.want > 1e-12 || c.want-cfg.Availability["fast"] > 1e-12:
				t.Errorf("%v", cfg.Availability)
			}
		})
	}
}

// The config as it is shown has neither a receiver's URL nor its secret, also where they stand in the file itself.
func TestAlertsAreMasked(t *testing.T) {
	t.Parallel()
	const text = "providers: {p: {type: openai, api_key: k, models: [m]}}\nalerts: [{name: ops, url: 'https://hooks.example/T0/s3cret', secret: 'hush-hush-hush'}]\n"
	cfg, err := Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cfg.Text, "ops") || strings.Contains(cfg.Text, "hooks.example") || strings.Contains(cfg.Text, "hush") {
		t.Errorf("it shows\n%s", cfg.Text)
	}
}
