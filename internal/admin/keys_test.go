package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evergate/api"
	"evergate/internal/identity"
	"evergate/internal/testkit/openapi"
)

// keyDesk is the admin API of a book, and what the audit log was told.
type keyDesk struct {
	t       *testing.T
	doc     *openapi.Document
	h       http.Handler
	callers *identity.Book
	audit   []string
}

func newKeyDesk(t *testing.T) *keyDesk {
	t.Helper()
	d := &keyDesk{t: t, doc: openapi.Load(t, api.Admin), callers: identity.NewBook()}
	d.callers.Configure([]identity.Own{{Principal: identity.Principal{Name: "ci", Team: "core"}, Value: "the-config-s-key"}}, nil)
	s := sources()
	s.KeySources = KeySources{
		Callers: d.callers, Keys: identity.NewRegistry(d.callers, nil, time.Now), AsksForKeys: func() bool { return true },
		FitsConfig: func(p *identity.Principal) *identity.Mistake {
			if len(p.Policies) > 0 && p.Policies[0] != "eu" {
				return &identity.Mistake{Param: "policies", Message: "there is no policy like that"}
			}
			return nil
		},
		Spent: func(p *identity.Principal) []KeySpent {
			if len(p.Budgets) == 0 {
				return nil
			}
			return []KeySpent{{Per: "day", Zone: "UTC", USD: 0.25, LimitUSD: 1}}
		},
		KeyChanged: func(action, name, reason, by, result string) {
			d.audit = append(d.audit, strings.Join([]string{action, name, reason, by, result}, "|"))
		},
	}
	d.h = New(s, Options{Token: "secret"})
	return d
}

func (d *keyDesk) ask(method, path, body string) (int, map[string]any) {
	d.t.Helper()
	r := httptest.NewRequest(method, "/admin/v1/keys"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer secret")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	route := "/admin/v1/keys"
	if path, _, _ := strings.Cut(path, "?"); path != "" {
		if route += "/{id}"; strings.HasSuffix(path, "/rotate") {
			route += "/rotate"
		}
	}
	d.doc.Check(d.t, method, route, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
	if w.Header().Get("Cache-Control") != "no-store" {
		d.t.Errorf("%s %s may be stored", method, path)
	}
	for _, r := range d.callers.Records() { // neither salts nor hashes are ever shown
		encoded := string(r.Encode())
		for _, secret := range []string{between(encoded, `"salt":"`), between(encoded, `"hmac":"`)} {
			if secret != "" && strings.Contains(w.Body.String(), secret) {
				d.t.Errorf("%s %s shows a hash or its salt", method, path)
			}
		}
	}
	var reply map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		d.t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Code, reply
}

func between(text, before string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, `"`)
	return found
}

func (d *keyDesk) verdict(key any) identity.Verdict {
	_, v := d.callers.Find(key.(string), time.Now())
	return v
}

func TestKeys(t *testing.T) {
	t.Parallel()
	d := newKeyDesk(t)
	status, made := d.ask("POST", "", `{"name":"night","owner":"ada","team":"core","labels":{"app":"x"},"models":["fast"],"policies":["eu"],"sources":["10.0.0.0/8"],
		"limits":{"requests_per_minute":60},"budgets":[{"usd":1}],"expires_at":"2999-01-31"}`)
	if status != http.StatusCreated || d.verdict(made["key"]) != identity.Welcome {
		t.Fatalf("%d %v", status, made)
	}
	if made["state"] != "active" || made["expires_at"] != "2999-02-01T00:00:00.000Z" || made["created_by"] != "holder of the admin token at 192.0.2.1" || made["prefix"] != "eg_"+made["id"].(string)+"_" {
		t.Errorf("%v", made)
	}
	if b := made["budgets"].([]any)[0].(map[string]any); b["per"] != "day" || b["zone"] != "UTC" || b["warn"] != 0.8 || b["mode"] != "block" {
		t.Errorf("a budget's usual values: %v", b)
	}
	if spent := made["spent"].([]any); len(spent) != 1 {
		t.Errorf("spent: %v", spent)
	}
	_, list := d.ask("GET", "", "")
	keys := list["keys"].([]any)
	if len(keys) != 2 || keys[0].(map[string]any)["source"] != "config" || keys[1].(map[string]any)["source"] != "store" || list["asks_for_keys"] != true {
		t.Errorf("%v", list)
	}
	if text, _ := json.Marshal(list); strings.Contains(string(text), made["key"].(string)) || strings.Contains(string(text), "the-config-s-key") {
		t.Error("the list has a key")
	}
	for query, want := range map[string]int{"?team=core": 2, "?owner=ada": 1, "?owner=eve": 0, "?state=revoked": 0, "?state=active&team=core": 2} {
		if _, list := d.ask("GET", query, ""); len(list["keys"].([]any)) != want {
			t.Errorf("%s: %v", query, list)
		}
	}
	// A merge patch: what is not said stays, and null takes away.
	status, k := d.ask("PATCH", "/night", `{"labels":{"app":null,"tier":"1"},"models":["fast","slow"],"limits":{"concurrent":2},"expires_at":null,"reason":"more"}`)
	if status != 200 || k["expires_at"] != nil || k["reason"] != "more" || k["owner"] != "ada" {
		t.Errorf("%d %v", status, k)
	}
	if l := k["limits"].(map[string]any); l["requests_per_minute"] != 60.0 || l["concurrent"] != 2.0 {
		t.Errorf("limits %v", l)
	}
	if l := k["labels"].(map[string]any); len(l) != 1 || l["tier"] != "1" {
		t.Errorf("labels %v", l)
	}
	status, turned := d.ask("POST", "/"+made["id"].(string)+"/rotate", `{"overlap":"10m"}`)
	if status != 200 || turned["state"] != "rotating" || turned["old_key_until"] == nil || d.verdict(turned["key"]) != identity.Welcome || d.verdict(made["key"]) != identity.Welcome {
		t.Errorf("%d %v", status, turned)
	}
	status, k = d.ask("DELETE", "/night", `{"reason":"it leaked"}`)
	if status != 200 || k["state"] != "revoked" || k["revoked_at"] == nil || d.verdict(turned["key"]) != identity.Unknown || d.verdict(made["key"]) != identity.Unknown {
		t.Errorf("%d %v", status, k)
	}
	if status, again := d.ask("DELETE", "/night", ""); status != 200 || again["reason"] != "it leaked" {
		t.Errorf("%d %v", status, again)
	}
	want := []string{"key_created|night|", "key_changed|night|more|", "key_rotated|night||", "key_revoked|night|it leaked|", "key_revoked|night||"}
	for i, w := range want {
		if i >= len(d.audit) || !strings.HasPrefix(d.audit[i], w) || !strings.HasSuffix(d.audit[i], "|ok") {
			t.Errorf("the audit log has %q", d.audit)
			break
		}
	}
	for _, line := range d.audit {
		for _, key := range []any{made["key"], turned["key"]} {
			if strings.Contains(line, key.(string)) {
				t.Error("the audit log has a key")
			}
		}
	}
}

func TestKeysRefuse(t *testing.T) {
	t.Parallel()
	d := newKeyDesk(t)
	d.ask("POST", "", `{"name":"night"}`)
	d.ask("POST", "", `{"name":"gone"}`)
	d.ask("DELETE", "/gone", "")
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		param, says        string
	}{
		"no body":                 {"POST", "", "", 400, "", "must be a JSON object"},
		"no name":                 {"POST", "", `{}`, 400, "name", "must be 1 to 128"},
		"a strange name":          {"POST", "", `{"name":"a/b"}`, 400, "name", "letters, digits"},
		"a field that is none":    {"POST", "", `{"name":"x","model":["a"]}`, 400, "model", `did you mean "models"?`},
		"a list that is text":     {"POST", "", `{"name":"x","models":"a"}`, 400, "models", "must not be string"},
		"two objects":             {"POST", "", `{"name":"x"}{}`, 400, "", "more than one"},
		"a route that is none":    {"POST", "", `{"name":"x","routes":["chats"]}`, 400, "routes", `did you mean "chat"?`},
		"a source that is none":   {"POST", "", `{"name":"x","sources":["10.0.0.1/8"]}`, 400, "sources", "ranges"},
		"a policy that is none":   {"POST", "", `{"name":"x","policies":["us"]}`, 400, "policies", "no policy"},
		"a budget of nothing":     {"POST", "", `{"name":"x","budgets":[{}]}`, 400, "budgets", "usd or tokens"},
		"a budget with a slip":    {"POST", "", `{"name":"x","budgets":[{"eur":1}]}`, 400, "eur", "no field"},
		"a budget for a year":     {"POST", "", `{"name":"x","budgets":[{"usd":1,"per":"year"}]}`, 400, "budgets.per", "no period"},
		"a budget below nothing":  {"POST", "", `{"name":"x","budgets":[{"usd":-1}]}`, 400, "budgets.usd", "from 0"},
		"a limit below nothing":   {"POST", "", `{"name":"x","limits":{"concurrent":-1}}`, 400, "limits.concurrent", "from 0"},
		"an end that is past":     {"POST", "", `{"name":"x","expires_at":"2020-01-01"}`, 400, "expires_at", "is past"},
		"an end that is none":     {"POST", "", `{"name":"x","expires_at":"soon"}`, 400, "expires_at", "must be a day"},
		"a label with no text":    {"POST", "", `{"name":"x","labels":{"a":""}}`, 400, "labels", "a label is"},
		"a control character":     {"POST", "", `{"name":"x","owner":"a\u0007"}`, 400, "owner", "text"},
		"a name of the config":    {"POST", "", `{"name":"ci"}`, 409, "", "of the config"},
		"a name that is in use":   {"POST", "", `{"name":"night"}`, 409, "", "there is a key of the name"},
		"a name of a revoked one": {"POST", "", `{"name":"gone"}`, 409, "", "was revoked"},
		"no key of that id":       {"GET", "/nobody", "", 404, "", "no such key"},
		"a patch of none":         {"PATCH", "/nobody", `{"owner":"x"}`, 404, "", "no such key"},
		"a patch of the name":     {"PATCH", "/night", `{"name":"x"}`, 400, "name", "keeps its name"},
		"a patch with a slip":     {"PATCH", "/night", `{"ownr":"x"}`, 400, "ownr", `did you mean "owner"?`},
		"a patch in capitals":     {"PATCH", "/night", `{"Models":["fast"]}`, 400, "Models", `did you mean "models"?`},
		"a limit in capitals":     {"PATCH", "/night", `{"limits":{"Concurrent":1}}`, 400, "Concurrent", `did you mean "concurrent"?`},
		"a patch of a revoked":    {"PATCH", "/gone", `{"owner":"x"}`, 409, "", "for ever"},
		"a patch of the config's": {"PATCH", "/ci", `{"owner":"x"}`, 409, "", "one of the config"},
		"a patch that is a list":  {"PATCH", "/night", `[]`, 400, "", "JSON object"},
		"a patch of nothing":      {"PATCH", "/night", `null`, 400, "", "JSON object"},
		"an overlap that is none": {"POST", "/night/rotate", `{"overlap":"long"}`, 400, "overlap", "duration"},
		"an overlap of a year":    {"POST", "/night/rotate", `{"overlap":"8760h"}`, 400, "overlap", "90 days"},
		"a rotation of a revoked": {"POST", "/gone/rotate", "", 409, "", "for ever"},
		"a rotation of none":      {"POST", "/nobody/rotate", "", 404, "", "no such key"},
		"the config's revoked":    {"DELETE", "/ci", "", 409, "", "one of the config"},
		"a long reason":           {"DELETE", "/night", `{"reason":"` + strings.Repeat("x", 501) + `"}`, 400, "reason", "longer"},
		"a state that is none":    {"GET", "?state=dead", "", 400, "state", "no state"},
	} {
		status, reply := d.ask(tt.method, tt.path, tt.body)
		e, _ := reply["error"].(map[string]any)
		param, _ := e["param"].(string)
		if said, _ := e["message"].(string); status != tt.status || param != tt.param || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %d %v", name, status, reply)
		}
	}
	if n := len(d.callers.Records()); n != 2 {
		t.Errorf("%d keys were made", n)
	}
}

// away is a store that is not reached.
type away struct{}

var errAway = errors.New("the state store is not reached")

func (away) Refresh(context.Context) error { return errAway }
func (away) Reserve(context.Context, string) (func(), bool, error) {
	return nil, false, errAway
}

func (away) Keep(_ context.Context, r identity.Record) (identity.Record, error) { return r, errAway }

// Nothing is half done while there is nowhere to keep it.
func TestKeysWithoutTheirStore(t *testing.T) {
	t.Parallel()
	d := newKeyDesk(t)
	_, made := d.ask("POST", "", `{"name":"night"}`)
	s := sources()
	s.KeySources = KeySources{Callers: d.callers, Keys: identity.NewRegistry(d.callers, away{}, time.Now)}
	d.h = New(s, Options{Token: "secret"})
	for path, method := range map[string]string{"": "POST", "/night": "DELETE", "/night/rotate": "POST", "/nobody": "DELETE"} {
		body := ""
		if path == "" {
			body = `{"name":"other"}`
		}
		status, reply := d.ask(method, path, body)
		if e := reply["error"].(map[string]any); status != http.StatusServiceUnavailable || e["code"] != "store_unavailable" {
			t.Errorf("%s %s: %d %v", method, path, status, reply)
		}
	}
	if status, _ := d.ask("PATCH", "/night", `{"owner":"eve"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a patch: %d", status)
	}
	if d.verdict(made["key"]) != identity.Welcome || d.callers.Records()[0].Owner != "" {
		t.Error("something was half done")
	}
}
