package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evergate/internal/commandline"
)

const (
	madeKey = `{"id":"VVZdtWlYZm","source":"store","prefix":"eg_VVZdtWlYZm_","state":"rotating","name":"night","owner":"ada","team":"core","labels":{"b":"2","a":"1"},"models":["fast"],"providers":[],"policies":[],"routes":["chat"],"sources":["10.0.0.0/8"],"guardrails":[],"limits":{"requests_per_minute":60,"tokens_per_minute":0,"concurrent":2},"budgets":[{"usd":10,"tokens":5,"per":"month","zone":"UTC","warn":0.8,"mode":"block"}],"expires_at":"2027-02-01T00:00:00Z","created_at":"2027-01-01T00:00:00Z","created_by":"10.0.0.1","changed_at":"2027-01-02T00:00:00Z","changed_by":"10.0.0.1","reason":"r","revoked_at":null,"old_key_until":"2027-01-02T01:00:00Z","last_used_at":null,"spent":[]`
	oneKey  = "eg_VVZdtWlYZm_dk1Nkuf5qA5KfEeUPgSfFhHohmlDnd3U5nLupiN4gPp4CkqnZ"
)

// asked is a gateway that answers with one reply and notes what it was asked.
func asked(t *testing.T, reply string) (url string, was func() string) {
	t.Helper()
	var said string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said = r.Method + " " + r.RequestURI + " " + string(body)
		if reply == "" {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"error":{"message":"the name is taken","code":"conflict","param":null}}`)
			return
		}
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string { return said }
}

func TestKeysCommand(t *testing.T) {
	list := `{"asks_for_keys":false,"keys":[` + madeKey + `}]}`
	for _, tt := range []struct {
		name, args, reply, said, out, beside, wrong string
	}{
		{
			"create", "create night --owner ada --labels app=x,tier=1 --models fast,slow --sources 10.0.0.0/8 --requests 60 --budget usd=10,per=month;tokens=5", madeKey + `,"key":"` + oneKey + `"}`,
			`POST /admin/v1/keys {"budgets":[{"per":"month","usd":10},{"tokens":5}],"labels":{"app":"x","tier":"1"},"limits":{"requests_per_minute":60},"models":["fast","slow"],"name":"night","owner":"ada","sources":["10.0.0.0/8"]}`,
			oneKey + "\n", "shown this once", "",
		},
		{"rotate", "rotate night --overlap 10m", madeKey + `,"key":"` + oneKey + `"}`, `POST /admin/v1/keys/night/rotate {"overlap":"10m","reason":""}`, oneKey + "\n", "is good until 2027-01-02T01:00:00Z", ""},
		{"list", "list --team core", list, "GET /admin/v1/keys?team=core ", "night  VVZdtWlYZm  rotating  core  ada", "", ""},
		{"list, where nobody is asked", "list", list, "GET /admin/v1/keys ", "auth.mode is none", "", ""},
		{"show", "show a/b", madeKey + "}", "GET /admin/v1/keys/a%2Fb ", "budget             $10 and 5 tokens a month (UTC), block\n", "", ""},
		{"change", "change night --models fast --reason why", madeKey + "}", `PATCH /admin/v1/keys/night {"models":["fast"],"reason":"why"}`, "label a", "", ""},
		{"revoke", "revoke night --reason leaked --json", madeKey + "}", `DELETE /admin/v1/keys/night {"reason":"leaked"}`, madeKey + "}\n", "", ""},
		{"a refusal", "create night", "", `POST /admin/v1/keys {"name":"night"}`, "", "", "409 Conflict: \"the name is taken\"\n"},
		{"no such action", "make night", "x", "", "", "", "there is no keys make"},
		{"no name", "revoke", "x", "", "", "", "needs the name of a key"},
		{"a name that is not asked for", "list night", "x", "", "", "", "takes no name"},
		{"no gateway", "list", `{"hello":1}`, "GET /admin/v1/keys ", "", "", "not that of an admin API"},
		{"no key in the reply", "create x", madeKey + "}", `POST /admin/v1/keys {"name":"x"}`, "", "", "not that of an admin API"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, was := asked(t, tt.reply)
			var c cli
			program := &commandline.Program{Name: "evergate", Env: func(string) (string, bool) { return "", false }, Out: io.Discard}
			if _, err := program.Parse(&c, append([]string{"keys", "--url", url}, strings.Fields(tt.args)...)); err != nil {
				t.Fatal(err)
			}
			var out, beside bytes.Buffer
			err := c.Keys.run(t.Context(), &out, &beside)
			if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error()+"\n", tt.wrong) {
				t.Fatalf("error %v", err)
			}
			if was() != tt.said || !strings.Contains(out.String(), tt.out) || !strings.Contains(beside.String(), tt.beside) {
				t.Errorf("asked %s\nout %s\nbeside %s", was(), &out, &beside)
			}
			if tt.beside != "" && (out.String() != tt.out || strings.Contains(beside.String(), oneKey)) {
				t.Errorf("a script gets %q, and a person %q", &out, &beside)
			}
		})
	}
	if !json.Valid([]byte(madeKey + "}")) {
		t.Error("the reply of the tests is no JSON")
	}
}
