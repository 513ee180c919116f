package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evergate/internal/drill"
	"evergate/internal/drill/running"
)

func faultsOf(t *testing.T) (*running.Drills, func(method, path, body string) (int, map[string]any)) {
	t.Helper()
	d := &running.Drills{}
	t.Cleanup(d.Close)
	h := New(Sources{
		Drills: d,
		Health: func() Health { return Health{Providers: map[string]Provider{"openai": {}}} },
	}, Options{Token: "secret"})
	return d, func(method, path, body string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest(method, "/admin/v1/faults"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer secret")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var reply map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Code, reply
	}
}

// R74: a drill is started, listed, reported on and stopped; its rule is shown as it was written, and who started it.
func TestFaults(t *testing.T) {
	t.Parallel()
	d, ask := faultsOf(t)
	status, f := ask("POST", "", `{"provider":"openai","header":{"name":"X-Team","value":"a"},"share":0.5,"shape":{"status":529,"latency":"2s"},"for":"10m","budget":7,"reason":"rehearsal"}`)
	id, _ := f["id"].(string)
	if status != http.StatusCreated || !strings.HasPrefix(id, "drill_") || f["state"] != "running" || f["by"] != "holder of the admin token at 192.0.2.1" || f["ended"] != nil {
		t.Fatalf("%d %v", status, f)
	}
	shape, _ := json.Marshal(f["shape"])
	if string(shape) != `{"latency":"2s","status":529}` || f["share"] != 0.5 || f["budget"] != 7.0 {
		t.Errorf("%s %v", shape, f)
	}
	if status, list := ask("GET", "", ""); status != 200 || len(list["faults"].([]any)) != 1 {
		t.Errorf("%d %v", status, list)
	}
	status, f = ask("DELETE", "/"+id, `{"reason":"enough"}`)
	if ended, _ := f["ended"].(map[string]any); status != 200 || f["state"] != "ended" || ended["why"] != "stopped" || ended["reason"] != "enough" || d.Running() {
		t.Errorf("%d %v", status, f)
	}
	if status, again := ask("DELETE", "/"+id, ""); status != 200 || again["state"] != "ended" {
		t.Errorf("stopped twice: %d %v", status, again)
	}
}

// R74: what cannot be done is said, with the member that is wrong.
func TestFaultsRefused(t *testing.T) {
	t.Parallel()
	_, ask := faultsOf(t)
	const rest = `"shape":{"reset":true},"for":"1m","reason":"r"}`
	cases := []struct {
		name, method, path, body string
		status                   int
		code, param              string
	}{
		{"no end", "POST", "", `{"shape":{"reset":true},"reason":"r"}`, 400, "invalid_request", "until"},
		{"no object", "POST", "", `[]`, 400, "invalid_request", ""},
		{"too long", "POST", "", `{"reason":"` + strings.Repeat("x", 70_000) + `"}`, 400, "invalid_request", ""},
		{"a provider that is none", "POST", "", `{"provider":"opnai",` + rest, 404, "unknown_provider", ""},
		{"a drill that is none", "GET", "/drill_none", "", 404, "unknown_drill", ""},
		{"a stop of one that is none", "DELETE", "/drill_none", "", 404, "unknown_drill", ""},
		{"a stop with a list", "DELETE", "/drill_none", `[1]`, 400, "invalid_request", ""},
		{"a stop with a long reason", "DELETE", "/drill_none", `{"reason":"` + strings.Repeat("x", 501) + `"}`, 400, "invalid_request", "reason"},
		{"a method that is none", "PATCH", "", "", 405, "method_not_allowed", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, reply := ask(c.method, c.path, c.body)
			e, _ := reply["error"].(map[string]any)
			param, _ := e["param"].(string)
			if status != c.status || e["code"] != c.code || param != c.param || e["message"] == "" {
				t.Errorf("%d %v", status, reply)
			}
		})
	}
	for range 32 {
		if status, reply := ask("POST", "", `{`+rest); status != http.StatusCreated {
			t.Fatalf("%d %v", status, reply)
		}
	}
	if status, reply := ask("POST", "", `{`+rest); status != http.StatusConflict {
		t.Errorf("one too many: %d %v", status, reply)
	}
}

// R74: what `evergate drill` prints; words of operators cannot move the cursor.
func TestRenderFaults(t *testing.T) {
	t.Parallel()
	running := Fault{
		ID: "drill_1", Provider: "groq", Share: 0.25, Shape: drill.Shape{Kind: drill.Status, Status: 503}, Until: in(9 * time.Minute), Reason: "rehearsal\x1b[2J", By: "me",
		Counts: drill.Counts{Injected: 12, Requests: 11, Rescued: 9, Failed: 1, Left: 1, AddedMS: 2300, Blocks: 1},
	}
	all := []Fault{running}
	for _, why := range []string{"stopped", "time", "budget", "user_errors", "a later program's word"} {
		over := running
		over.ID, over.Ended = "drill_"+why, &FaultEnd{Why: why, At: in(-time.Minute)}
		all = append(all, over)
	}
	for name, reply := range map[string]any{
		"faults.txt": Faults{Faults: all},
		"fault.txt":  FaultReport{Fault: running, Here: drill.Counts{Injected: 2, Requests: 2, Answered: 2}, Instances: 3, Guards: []FaultGuard{{"circuit_breaker groq closed>open", 1}}},
	} {
		text, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := RenderFaults(&out, text, noon); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}
