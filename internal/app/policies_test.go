package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/explain"
	"evergate/internal/mock"
)

const governed = `
server: {listen: "gateway:80"}
admin: {token: admin-token}
resilience: {retry: {max_retries: 0}}
policies:
  quiet: {training: false}
  eu-only: {regions: [eu], retention: none}
  named: {providers: {allow: [a, b]}}
  nobody: {certifications: [hipaa]}
auth:
  mode: keys
  keys: [ {name: free, value: key-free}, {name: bound, value: key-bound, policy: eu-only}, {name: few, value: key-few, models: [demo]} ]
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], attributes: {region: us, training: false}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m], attributes: {region: eu, retention: none, training: false}}
  c: {type: openai, base_url: "http://c/v1", api_key: sk-key-of-c, models: [m], attributes: {region: eu, retention: none}}
failover: {a/m: [c/m, b/m]}
models:
  demo: {targets: [a/m, b/m, c/m], on: {context_length: [c/long, a/long]}}
  strict: {targets: [a/m, b/m, c/m], policy: eu-only}
  inner: {targets: [a/m, c/m], policy: eu-only}
  outer: {targets: [inner, a/m]}
`

// Policies: the one of all requests, and those of the key, of the model and of the request, hold at once. What they leave is all
// that is ever asked, also when everything fails or is blocked (R50, R51).
func TestPolicies(t *testing.T) {
	for _, tt := range []struct {
		name, global, key, model, header string
		status                           int
		trail, says                      string
	}{
		{"none", "", "free", "demo", "", 502, "a/m=500, b/m=500, c/m=500", ""},
		{"of all requests", "quiet", "free", "demo", "", 502, "a/m=500, b/m=500", ""},
		{"of the key", "", "bound", "demo", "", 502, "b/m=500, c/m=500", ""},
		{"of the model", "", "free", "strict", "", 502, "b/m=500, c/m=500", ""},
		{"of the request", "", "free", "demo", "policy=eu-only", 502, "b/m=500, c/m=500", ""},
		{"all of them", "quiet", "bound", "strict", "policy=named", 502, "b/m=500", ""},
		{"of a model within another", "", "free", "outer", "", 502, "c/m=500, a/m=500", ""},
		{"of a failover rule's targets", "quiet", "free", "a/m", "", 502, "a/m=500, b/m=500", ""},
		{"of a model by its id", "quiet", "free", "m", "", 502, "a/m=500, b/m=500", ""},
		{"of more models", "", "bound", "a/m", "models=demo", 502, "c/m=500, b/m=500", ""},
		{
			"a model's policy holds for those after it, too", "", "free", "strict", "models=a/m", 502, "b/m=500, c/m=500", "",
		},
		{
			"nobody", "", "free", "demo", "policy=nobody", 403, "",
			`no target of the model \"demo\" is within the policies that hold for the request: a/m: the policy \"nobody\" refuses it by certifications: it is not known to have hipaa`,
		},
		{"nobody, by the key", "", "bound", "a/other", "", 403, "", `the policy \"eu-only\" refuses it by regions: its region is us, allowed is eu`},
		{"a model that the key may not ask for", "", "few", "demo", "models=strict", 403, "", `the key \"few\" may not use the model \"strict\"`},
		{"an unknown policy", "", "free", "demo", "policy=eu", 400, "", `x-evergate-prefer: policy: \"eu\" is not known here`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := do(mock.Behaviour{Status: 500})
				s := newStack(t, "policy: \""+tt.global+"\"\n"+governed, map[string]mock.Script{"a": down, "b": down, "c": down})
				for range 7 { // the later ones find everything blocked
					a := s.askIn("chat", tt.model, "", "x-evergate-prefer", tt.header, "Authorization", "Bearer key-"+tt.key)
					if a.status != tt.status && a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, tt.says) {
						t.Fatalf("%d %s", a.status, a.body)
					}
					if tt.status == http.StatusForbidden && (a.errCode != "policy_denied") != (tt.key == "few") {
						t.Errorf("the code is %q", a.errCode)
					}
				}
				for _, name := range []string{"a", "b", "c"} {
					if asked := len(s.chats(name)) > 0; asked != strings.Contains(tt.trail, name+"/m=") {
						t.Errorf("%s was asked: %t", name, asked)
					}
				}
			})
		})
	}
}

// R11, R72: a target for refusals has to satisfy the policies like any other, and an explanation says of each that falls why.
func TestPoliciesAndRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := do(mock.Behaviour{Status: 400, Code: "context_length_exceeded", Message: "maximum context length"})
		s := newStack(t, governed, map[string]mock.Script{"a": long, "b": long, "c": answers()})
		for header, trail := range map[string]string{"": "a/m=400, c/long=200", "policy=quiet": "a/m=400, a/long=400"} {
			if a := s.askIn("chat", "demo", "", "x-evergate-prefer", header, "Authorization", "Bearer key-free"); a.header.Get("X-Evergate-Trail") != trail {
				t.Errorf("%q: [%s] %s", header, a.header.Get("X-Evergate-Trail"), a.body)
			}
		}
	})
	a, err := Explain(parse(t, governed), explain.Question{Model: "demo", Key: "bound", Prefer: "ignore=c"})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, c := range a.Candidates {
		said[c.Provider+"/"+c.Model] = c.Why
		if (c.Blocked != nil) != (c.Provider != "b") {
			t.Errorf("%s/%s: %+v", c.Provider, c.Model, c.Blocked)
		}
	}
	for target, want := range map[string]string{
		"a/m": `It is left out: the policy "eu-only" refuses it by regions: its region is us, allowed is eu.`, "c/m": "It is left out: the request ignores the provider.",
		"a/long": `It is left out: the policy "eu-only" refuses it by regions: its region is us, allowed is eu.`,
	} {
		if said[target] != want {
			t.Errorf("%s: %q", target, said[target])
		}
	}
	if a, err = Explain(parse(t, governed), explain.Question{Model: "demo", Prefer: "policy=nobody"}); err != nil || a.Refused == nil || a.Refused.Code != "policy_denied" {
		t.Fatalf("%+v %v", a, err)
	}
	for _, c := range a.Candidates {
		if c.Blocked == nil || c.Blocked.Guard != "policy" || c.Blocked.Reason != "nobody.certifications" {
			t.Errorf("%s/%s: %+v", c.Provider, c.Model, c.Blocked)
		}
	}
}

// Nobody sees into a passthrough request; where it goes is known all the same.
func TestPoliciesHoldForPassthrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, governed, map[string]mock.Script{"a": answers(), "b": answers(), "c": answers()})
		for provider, want := range map[string]int{"a": 403, "b": 200} {
			a := s.post(t.Context(), "/passthrough/"+provider+"/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "Authorization", "Bearer key-bound")
			if a.status != want || (want == 403) != (a.errCode == "policy_denied") {
				t.Errorf("%s: %d %s", provider, a.status, a.body)
			}
		}
		if len(s.chats("a")) > 0 {
			t.Error("a was asked")
		}
	})
}

// Who keeps an answer is asked for it within the policies and by the keys that hold now.
func TestPoliciesHoldForKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, governed, map[string]mock.Script{"a": answers(), "b": answers(), "c": answers()})
		var kept struct{ ID string }
		a := s.post(t.Context(), "/v1/responses", `{"model":"a/m","input":"hi"}`, "Authorization", "Bearer key-free")
		if err := json.Unmarshal([]byte(a.body), &kept); err != nil || kept.ID == "" {
			t.Fatalf("%v %d %s", err, a.status, a.body)
		}
		for header, want := range map[string]int{"policy=eu-only": 403, "ignore=a": 400, "max_price=1": 200, "": 200} {
			res, text := s.do("GET", "/v1/responses/"+kept.ID, nil, "Authorization", "Bearer key-free", "X-Evergate-Prefer", header)
			if res.StatusCode != want {
				t.Errorf("%q: %d %s", header, res.StatusCode, text)
			}
		}
	})
}
