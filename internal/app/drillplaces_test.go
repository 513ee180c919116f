package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/api"
	"evergate/internal/mock"
	"evergate/internal/testkit/openapi"
)

// R74: a rule is for those it names: a caller's key, a header, a model by either of its names, a share of all.
func TestWhomADrillIsFor(t *testing.T) {
	t.Parallel()
	const keyed = `
server: {listen: "gateway:80"}
auth: {mode: keys, keys: [{name: one, value: client-key-one}, {name: two, value: client-key-two}]}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2]}
resilience: {retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 0}}
`
	one, two := []string{"Authorization", "Bearer client-key-one"}, []string{"Authorization", "Bearer client-key-two", "X-Team", "blue"}
	cases := []struct{ name, match, one, two string }{
		{"all", ``, "a/m=503;drill, b/m2=503;drill", "a/m=503;drill, b/m2=503;drill"},
		{"a provider", `"provider":"a",`, "a/m=503;drill, b/m2=200", "a/m=503;drill, b/m2=200"},
		{"a key", `"key":"one","provider":"a",`, "a/m=503;drill, b/m2=200", "a/m=200"},
		{"a header", `"header":{"name":"x-team"},"provider":"a",`, "a/m=200", "a/m=503;drill, b/m2=200"},
		{"a header's value", `"header":{"name":"x-team","value":"red"},`, "a/m=200", "a/m=200"},
		{"an upstream's model", `"model":"m",`, "a/m=503;drill, b/m2=200", "a/m=503;drill, b/m2=200"},
		{"a virtual model", `"model":"demo","provider":"a",`, "a/m=503;drill, b/m2=200", "a/m=503;drill, b/m2=200"},
		{"another model", `"model":"other",`, "a/m=200", "a/m=200"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, keyed, map[string]mock.Script{"a": answers(), "b": answers()})
				s.drill(`{` + c.match + `"shape":{"status":503},"for":"10m","reason":"rehearsal"}`)
				for i, who := range [][]string{one, two} {
					a := s.post(t.Context(), "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`, who...)
					if got, want := a.header.Get("X-Evergate-Trail"), []string{c.one, c.two}[i]; got != want {
						t.Errorf("%d: [%s], want [%s]", i, got, want)
					}
				}
			})
		})
	}
}

// R74: a passthrough request meets a drill as any other does, in plain and in the midst of its stream; what it is for is not known, but whose it is.
func TestDrillsOfPassthrough(t *testing.T) {
	t.Parallel()
	stream := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"}}]}\n\ndata: [DONE]\n\n"
	cases := []struct {
		name, rule, kind, body string
		status                 int
		text, trail            string
		asked                  int
	}{
		{"an error", `"shape":{"status":404}`, "text/plain", "hello", 404, "(drill)", "up=404;drill", 0},
		{"a lost connection", `"shape":{"reset":true}`, "text/plain", "hello", 502, "connection reset", "up=reset;drill", 0},
		{"a cut answer", `"shape":{"cut_after":1}`, "text/plain", "hello there, everybody", 200, "<unexpected EOF>", "up=200;drill", 1},
		{"a cut stream", `"shape":{"cut_after":1}`, "text/event-stream", stream, 200, "one\"}}]}\n\n<unexpected EOF>", "up=200;drill", 1},
		{"an error in a stream", `"shape":{"error_event_after":1}`, "text/event-stream", stream, 200, "(drill)", "up=200;drill", 1},
		{"its caller", `"key":"ci","shape":{"status":404}`, "text/plain", "hello", 404, "(drill)", "up=404;drill", 0},
		{"another caller", `"key":"narrow","shape":{"status":404}`, "text/plain", "hello", 200, "hello", "up=200", 1},
		{"a model", `"model":"m","shape":{"status":404}`, "text/plain", "hello", 200, "hello", "up=200", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) {
					asked++
					w.Header().Set("Content-Type", c.kind)
					w.Header().Set("Content-Length", fmt.Sprint(len(c.body)))
					_, _ = io.WriteString(w, c.body)
				})
				id := s.drill(`{"provider":"up",` + c.rule + `,"for":"10m","reason":"rehearsal"}`)
				res, text := s.do("POST", "/passthrough/up/v1/things", strings.NewReader("x"))
				if res.StatusCode != c.status || !strings.Contains(text, c.text) || res.Header.Get("X-Evergate-Trail") != c.trail || asked != c.asked {
					t.Errorf("%d %q [%s], asked %d", res.StatusCode, text, res.Header.Get("X-Evergate-Trail"), asked)
				}
				synctest.Wait()
				if f := s.facts.last(); (f.Drill == id) != strings.HasSuffix(c.trail, ";drill") {
					t.Errorf("the fact: %+v", f)
				}
			})
		})
	}
}

// R74, R71: a hedge meets a drill, too; a copy for a mirror meets none.
func TestDrillsBesideTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, hedged, map[string]mock.Script{"a": {Defaults: mock.Behaviour{FirstToken: 20 * time.Second}}, "b": {}, "c": {}})
		s.drill(`{"provider":"b","shape":{"cut_after":2},"for":"10m","reason":"rehearsal"}`)
		a := s.ask("same", true)
		if got := a.header.Get("X-Evergate-Trail"); got != "a/m=cancelled, b/m=200;hedge;drill" || a.done || a.errCode == "" {
			t.Errorf("%s [%s]", a.story(), got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, mirroredAt("openai", ""), map[string]mock.Script{"a": answers(), "b": answers(), "c": answers()})
		s.drill(`{"shape":{"status":503},"for":"10m","reason":"rehearsal"}`)
		a := s.ask("demo", false)
		time.Sleep(10 * time.Second)
		if got := s.outcomes(); got != "ok" || a.status != 503 && a.status != 502 {
			t.Errorf("the copy: %s; %s", got, a.story())
		}
	})
}

// R74, R75: where a provider is to look dead no probe finds it alive; when the drill is over one does.
func TestProbesMeetDrills(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, shape string }{
		{"models", `{"status":503}`},
		{"models", `{"refused":true}`},
		{"models", `{"invalid":"html"}`},
		{"completion", `{"status":503}`},
		{"completion", `{"timeout":true}`},
		{"completion", `{"cut_after":1}`},
	} {
		t.Run(c.kind+" "+c.shape, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, probed("probe: "+c.kind), map[string]mock.Script{"a": answers(), "b": answers()})
				id := s.drill(`{"provider":"a","shape":` + c.shape + `,"for":"1h","reason":"rehearsal"}`)
				for range 5 {
					s.ask("demo", false)
				}
				s.breaker("a", "open")
				time.Sleep(10 * time.Minute)
				for _, p := range s.probes() {
					if p.Result == "ok" {
						t.Errorf("a probe found it alive: %+v", p)
					}
				}
				if len(s.probes()) == 0 {
					t.Error("there was no probe")
				}
				if r := s.came(id); r.Here.Blocks == 0 || len(r.Guards) == 0 {
					t.Errorf("no guard heard of it: %+v", r)
				}
				guards := s.app.health.Provider("a").Snapshot(time.Now()).Guards
				if got := guards.Worst().String(); got == "closed" {
					t.Error("the breaker is closed")
				}
				time.Sleep(time.Hour)
				s.breaker("a", "closed")
			})
		})
	}
}

// R74: a stored answer is asked of who keeps it, and cannot be had in a drill.
func TestDrillsOfStoredAnswers(t *testing.T) {
	t.Parallel()
	responses := speakers()[2]
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		id := idOf(t, s.talk(&responses, "", false, `{"model":"responses/m","input":"my name is Ada"}`))
		drill := s.drill(`{"provider":"responses","shape":{"status":503},"for":"10m","reason":"rehearsal"}`)
		if status, body := s.on(http.MethodGet, "/v1/responses/"+id); status != http.StatusBadGateway || !strings.Contains(body, "(drill)") {
			t.Errorf("%d %s", status, body)
		}
		if r := s.came(drill); r.Here.Injected != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// Replies about drills, and what tells of one elsewhere, are as the document has them; the drill is in the ledger, its requests and its timeline.
func TestDrillRepliesAreAsDocumented(t *testing.T) {
	t.Parallel()
	doc := openapi.Load(t, api.Admin)
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		check := func(method, path, of, body string, status int) string {
			t.Helper()
			res, text := s.operator(method, path, body)
			doc.Check(t, method, of, res.StatusCode, res.Header.Get("Content-Type"), []byte(text))
			if res.StatusCode != status {
				t.Errorf("%s %s: %s %s", method, path, res.Status, text)
			}
			return text
		}
		const faults, fault = "/admin/v1/faults", "/admin/v1/faults/{id}"
		for _, shape := range []string{
			`{"status":429,"retry_after":"30s","body":"x","latency":"1s"}`, `{"refused":true}`, `{"reset":true}`, `{"timeout":true}`, `{"invalid":"html"}`,
			`{"cut_after":0}`, `{"stall_after":1}`, `{"error_event_after":1}`, `{"garbage_after":1}`, `{"no_end":true}`,
		} {
			check("POST", faults, faults, `{"key":"nobody","header":{"name":"x"},"share":0.5,"shape":`+shape+`,"for":"1m","max_user_errors":3,"reason":"all"}`, 201)
		}
		check("POST", faults, faults, `{"shape":{},"for":"1m","reason":"none"}`, 400)
		check("GET", fault, fault, "", 404)
		id := s.drill(fault503(`"for":"1h"`))
		for range 5 {
			s.ask("demo", false)
		}
		request := s.facts.last().ID
		time.Sleep(time.Second) // by then it is in the ledger
		check("GET", faults+"/"+id, fault, "", 200)
		check("GET", "/admin/v1/health", "/admin/v1/health", "", 200)
		check("GET", "/admin/v1/explain/"+request, "/admin/v1/explain/{id}", "", 200)
		if text := check("GET", "/admin/v1/requests?drill="+id, "/admin/v1/requests", "", 200); strings.Count(text, "503;drill") != 5 {
			t.Errorf("its requests: %s", text)
		}
		check("DELETE", faults+"/"+id, fault, `{"reason":"seen enough"}`, 200)
		check("GET", faults, faults, "", 200)
		time.Sleep(2 * time.Minute)
		text := check("GET", "/admin/v1/audit", "/admin/v1/audit", "", 200)
		for _, want := range []string{"drill_started", "drill_stopped", "seen enough (injected 5, requests 5, rescued 5, failed 0)", "drill_ended"} {
			if !strings.Contains(text, want) {
				t.Errorf("the audit log does not have %s: %s", want, text)
			}
		}
	})
}
