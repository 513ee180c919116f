package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// asked are the routes that take a query or a body. Those that answer for ever, or do something at once, are left out.
var asked = []string{
	"GET /admin/v1/requests", "GET /admin/v1/requests/req_1", "GET /admin/v1/timeline", "GET /admin/v1/audit", "GET /admin/v1/usage", "GET /admin/v1/usage/export", "GET /admin/v1/limits",
	"GET /admin/v1/keys", "GET /admin/v1/models", "GET /admin/v1/overview", "GET /admin/v1/explain/req_1",
	"POST /admin/v1/explain", "POST /admin/v1/simulate", "POST /admin/v1/keys", "POST /admin/v1/faults", "POST /admin/v1/alerts/test", "POST /admin/v1/reload",
	"POST /admin/v1/providers/a/breaker", "PATCH /admin/v1/keys/k", "POST /admin/v1/keys/k/rotate", "DELETE /admin/v1/cache",
}

// Whatever a question to the admin API says, it is answered or refused in JSON, and nothing breaks.
func FuzzQueries(f *testing.F) {
	f.Add(uint8(0), "limit=1&provider=a&status=200", "")
	f.Add(uint8(2), "from=2026-01-01T00:00:00Z&to=2026-01-02&zone=Europe/Berlin&bucket=1h", "")
	f.Add(uint8(4), "group=owner,label:x&prices=current", "")
	f.Add(uint8(5), "kind=requests&format=csv", "")
	f.Add(uint8(11), "stream=1", `{"model":"demo","key":"ci"}`)
	f.Add(uint8(13), "", `{"name":"a","budgets":[{"usd":1e999,"per":"day"}],"sources":["10.0.0.0/33"],"expires":"0001-01-01T00:00:00Z"}`)
	f.Add(uint8(14), "", `{"shape":{"status":503},"for":"1h","share":-1,"reason":"r"}`)
	f.Add(uint8(0), "limit=99999999999999999999&before=%00%ff&&;=", "")
	h := New(kept(f), Options{})
	f.Fuzz(func(t *testing.T, route uint8, query, text string) {
		method, path, _ := strings.Cut(asked[int(route)%len(asked)], " ")
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+path, strings.NewReader(text))
		r.URL.RawQuery = query
		r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1:8080"
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusNotImplemented {
			t.Errorf("%s %s?%s %q: %d %.300s", method, path, query, text, w.Code, w.Body)
		}
		if w.Code >= 400 && (!json.Valid(w.Body.Bytes()) || w.Body.Len() > 4<<10) {
			t.Errorf("%s %s?%.200s: %d with %d bytes: %.300s", method, path, query, w.Code, w.Body.Len(), w.Body)
		}
	})
}
