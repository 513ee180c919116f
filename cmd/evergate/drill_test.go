package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// R74: what the flags say reaches the admin API as a rule, and what comes back is printed.
func TestDrill(t *testing.T) {
	t.Parallel()
	const fault = `{"id":"drill_1","provider":"a","model":"","key":"","header":null,"share":1,"shape":{"status":503},"since":"2026-05-04T12:00:00.000Z",
		"until":"2026-05-04T12:10:00.000Z","budget":1000,"max_user_errors":0,"reason":"rehearsal","by":"me","state":"ended","ended":{"why":"stopped","at":"2026-05-04T12:00:00.000Z"},
		"counts":{"injected":3,"requests":2,"answered":0,"rescued":2,"failed":0,"left":0,"added_ms":40,"blocks":1}`
	const report = fault + `,"here":{"injected":1,"requests":1},"instances":2,"guards":[{"transition":"circuit_breaker a closed>open","count":1}]}`
	cases := []struct {
		name        string
		cmd         drillCmd
		sent, reply string
		status      int
		says, fails string
	}{
		{
			"start",
			drillCmd{Action: "start", Fault: "latency=2s, status=429,retry_after=30s", Provider: "a", Header: "x-team: blue", Share: "0.5", For: "10m", Budget: "7", MaxUserErrors: "0", Reason: "rehearsal"},
			`POST /admin/v1/faults {"budget":7,"for":"10m","header":{"name":"x-team","value":"blue"},"key":"","max_user_errors":0,"model":"","provider":"a","reason":"rehearsal","shape":{"latency":"2s","retry_after":"30s","status":429},"share":0.5}`,
			report, http.StatusCreated, "drill_1", "",
		},
		{
			"start with a word",
			drillCmd{Action: "start", Fault: "reset", Share: "much", For: "10m", Budget: "1", MaxUserErrors: "2", Reason: "r"},
			`POST /admin/v1/faults {"budget":1,"for":"10m","key":"","max_user_errors":2,"model":"","provider":"","reason":"r","shape":{"reset":true},"share":"much"}`,
			`{"error":{"message":"share cannot be string","code":"invalid_request","param":"share"}}`, http.StatusBadRequest, "", "share cannot be string",
		},
		{"stop", drillCmd{Action: "stop", ID: "drill_1", Reason: "enough"}, `DELETE /admin/v1/faults/drill_1 {"reason":"enough"}`, report, http.StatusOK, "stopped", ""},
		{"list", drillCmd{Action: "list"}, "GET /admin/v1/faults ", `{"faults":[` + fault + `}]}`, http.StatusOK, "3 attempts", ""},
		{"an empty list", drillCmd{Action: "list"}, "GET /admin/v1/faults ", `{"faults":[]}`, http.StatusOK, "there are no drills", ""},
		{"report", drillCmd{Action: "report", ID: "a b"}, "GET /admin/v1/faults/a%20b ", report, http.StatusOK, "circuit_breaker a closed>open", ""},
		{"report as it is", drillCmd{Action: "report", ID: "x", JSON: true}, "GET /admin/v1/faults/x ", report, http.StatusOK, `"injected":3`, ""},
		{"an answer of another", drillCmd{Action: "list"}, "GET /admin/v1/faults ", `{"hello":1}`, http.StatusOK, "", "is it an Evergate gateway"},
		{"no id", drillCmd{Action: "stop"}, "", "", 0, "", "needs the id"},
		{"an id too many", drillCmd{Action: "list", ID: "x"}, "", "", 0, "", "takes no id"},
		{"no such action", drillCmd{Action: "begin"}, "", "", 0, "", "start, stop, list or report"},
		{"no fault", drillCmd{Action: "start"}, "", "", 0, "", "--fault"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				sent = r.Method + " " + r.RequestURI + " " + string(body)
				if r.Header.Get("Authorization") != "Bearer secret" || len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("headers %v", r.Header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.reply)
			}))
			defer server.Close()
			c.cmd.URL, c.cmd.Token = server.URL, "secret"
			var out strings.Builder
			err := c.cmd.run(context.Background(), &out)
			if sent != c.sent {
				t.Errorf("sent %s\nwant %s", sent, c.sent)
			}
			switch {
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("it fails with %v", err)
			case c.fails == "" && (err != nil || !strings.Contains(out.String(), c.says)):
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}
