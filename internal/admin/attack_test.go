package admin

import (
	"net/http"
	"strings"
	"testing"

	"evergate/internal/provider"
	"evergate/internal/resilience"
)

// What a web page that somebody opens can have a browser send is refused, and changes nothing; the dashboard, tools and proxies
// with the token get through.
func TestAttacksFromTheBrowser(t *testing.T) {
	t.Parallel()
	type change = func(*http.Request)
	var (
		token    = header("Authorization", "Bearer s3cret")
		wrong    = header("Authorization", "Bearer guess")
		elsewher = from("203.0.113.9:4711")
		page     = func(origin, site string) change {
			return func(r *http.Request) {
				r.Header.Set("Origin", origin)
				r.Header.Set("Sec-Fetch-Site", site)
				r.Header.Set("Sec-Fetch-Mode", "cors")
			}
		}
		form = func(kind string) change { return header("Content-Type", kind) }
		all  = func(changes ...change) change {
			return func(r *http.Request) {
				for _, c := range changes {
					c(r)
				}
			}
		}
	)
	tests := []struct {
		name   string
		token  provider.Secret
		change change
		read   int // status of GET health
		write  int // and of an order with a JSON body, whose type change may set
	}{
		{"no token: curl here", "", all(), 200, 200},
		{"no token: DNS rebinding", "", host("evil.com"), 403, 403},
		{"no token: DNS rebinding, of the same origin to the browser", "", all(host("evil.com:8080"), page("http://evil.com:8080", "same-origin")), 403, 403},
		{"no token: a name like ours", "", host("127.0.0.1.evil.com"), 403, 403},
		{"no token: a final dot", "", host("localhost.:8080"), 200, 200},
		{"no token: our name in capitals", "", host("LOCALHOST:8080"), 200, 200},
		{"no token: IPv6", "", all(from("[::1]:9"), host("[::1]:8080")), 200, 200},
		{"no token: IPv4 in IPv6", "", all(from("[::1]:9"), host("[::ffff:127.0.0.1]:8080")), 200, 200},
		{"no token: IPv6 of another machine", "", all(from("[::1]:9"), host("[2001:db8::1]:8080")), 403, 403},
		{"no token: two hosts", "", host("localhost@evil.com"), 403, 403},
		{"no token: userinfo", "", host("localhost:8080@evil.com"), 403, 403},
		{"no token: another machine under our name", "", elsewher, 403, 403},
		{"no token: a foreign page", "", page("https://evil.com", "cross-site"), 403, 403},
		{"no token: a foreign page, in an old browser", "", header("Origin", "https://evil.com"), 403, 403},
		{"no token: a page of another port", "", page("http://127.0.0.1:3000", "same-site"), 403, 403},
		{"no token: a sandboxed page", "", page("null", "cross-site"), 403, 403},
		{"no token: a sandboxed page, in an old browser", "", header("Origin", "null"), 403, 403},
		{"no token: an image of a foreign page", "", header("Sec-Fetch-Site", "cross-site"), 403, 403},
		{"no token: a page with our name in its own", "", header("Origin", "http://127.0.0.1:8080.evil.com"), 403, 403},
		{"no token: a form without a word of where it is", "", form("text/plain"), 200, 415},
		{"no token: a form", "", form("application/x-www-form-urlencoded"), 200, 415},
		{"no token: a form with a file", "", form("multipart/form-data; boundary=x"), 200, 415},
		{"no token: JSON in a form's clothes", "", form("text/plain; application/json"), 200, 415},
		{"no token: no type at all", "", form(""), 200, 415},
		{"no token: JSON with a character set", "", form("Application/JSON; charset=utf-8"), 200, 200},
		{"no token: the dashboard", "", page("http://127.0.0.1:8080", "same-origin"), 200, 200},
		{"no token: the dashboard by name", "", all(host("localhost:8080"), page("http://localhost:8080", "same-origin")), 200, 200},
		{"no token: typed into the browser", "", header("Sec-Fetch-Site", "none"), 200, 200},
		{"no token: through a proxy", "", header("X-Forwarded-For", "203.0.113.9"), 403, 403},

		{"token: missing", "s3cret", elsewher, 401, 401},
		{"token: wrong", "s3cret", wrong, 401, 401},
		{"token: missing, the dashboard here", "s3cret", page("http://127.0.0.1:8080", "same-origin"), 401, 401},
		{"token: a tool", "s3cret", all(elsewher, host("gw.example"), token), 200, 200},
		{"token: the dashboard", "s3cret", all(elsewher, host("gw.example:9090"), page("http://gw.example:9090", "same-origin"), token), 200, 200},
		{"token: the dashboard in the clear", "s3cret", all(elsewher, host("gw.example:9090"), header("Origin", "http://gw.example:9090"), token), 200, 200},
		{"token: the dashboard behind a proxy that changes the host", "s3cret", all(host("10.0.0.5:9090"), page("https://gw.example", "same-origin"), token), 200, 200},
		{"token: a foreign page that has it", "s3cret", all(page("https://evil.com", "cross-site"), token), 403, 403},
		{"token: a foreign page that has it, in an old browser", "s3cret", all(header("Origin", "https://evil.com"), token), 403, 403},
		{"token: a page of a sister", "s3cret", all(host("gw.example"), page("https://blog.example", "same-site"), token), 403, 403},
		{"token: a form with it", "s3cret", all(token, form("text/plain")), 200, 415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			orders := 0
			s := kept(t)
			s.Operate = func(string, resilience.Order, string) error { orders++; return nil }
			h := New(s, Options{Token: tt.token})
			w := ask(h, "GET", "/admin/v1/health", tt.change)
			equal(t, "read", w.Code, tt.read)
			if tt.read != 200 && strings.Contains(w.Body.String(), "openai") {
				t.Errorf("it tells: %s", w.Body)
			}
			w = ask(h, "POST", "/admin/v1/providers/openai/breaker", body(`{"action":"open","reason":"x"}`), tt.change)
			equal(t, "write", w.Code, tt.write)
			equal(t, "orders", orders, map[bool]int{true: 1}[tt.write == 200])
			for _, path := range []string{"requests", "timeline", "audit", "usage", "overview", "models", "config", "openapi.json", "faults", "explain/req_1", "requests/req_1", "nothing"} {
				if w := ask(h, "GET", "/admin/v1/"+path, tt.change); tt.read != 200 && w.Code != tt.read {
					t.Errorf("%s: %d", path, w.Code)
				}
			}
			if w := ask(h, "OPTIONS", "/admin/v1/reload", tt.change); w.Header().Get("Access-Control-Allow-Origin") != "" || tt.read != 200 && w.Code != tt.read {
				t.Errorf("preflight: %d", w.Code)
			}
		})
	}
}

// A form sends a body of no bytes, too; what has neither body nor type cannot be a form's.
func TestChangesWithoutABody(t *testing.T) {
	t.Parallel()
	h := New(kept(t), Options{})
	equal(t, "none", ask(h, "POST", "/admin/v1/reload").Code, 200)
	equal(t, "an empty form", ask(h, "POST", "/admin/v1/reload", header("Content-Type", "application/x-www-form-urlencoded")).Code, 415)
	unknown := ask(h, "POST", "/admin/v1/reload", func(r *http.Request) { r.ContentLength = -1 })
	equal(t, "of a length nobody says", unknown.Code, 415)
}

func TestHeadersOfEveryReply(t *testing.T) {
	t.Parallel()
	h := New(kept(t), Options{Token: "s3cret"})
	for _, path := range []string{"/healthz", "/admin/v1/health", "/admin/v1/nothing", "/metrics"} {
		got := ask(h, "GET", path).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
		} {
			equal(t, path+" "+name, got.Get(name), want)
		}
	}
}

// Who reloads, and why, reaches the audit log.
func TestReloadSaysWhoAndWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body   string
		status int
		why    string
	}{
		{`{"reason":" new keys "}`, 200, "new keys"},
		{`{}`, 200, ""},
		{``, 200, ""},
		{`{"reason":3}`, 400, ""},
		{`{"reason":"` + strings.Repeat("x", 501) + `"}`, 400, ""},
		{`{"resaon":"x"}`, 400, ""},
		{`[]`, 400, ""},
	}
	for _, tt := range tests {
		s := sources()
		why, by := "", ""
		s.Reload = func(w, b string) []Problem { why, by = w, b; return nil }
		w := ask(New(s, Options{}), "POST", "/admin/v1/reload", body(tt.body))
		equal(t, tt.body, []any{w.Code, why, by}, []any{tt.status, tt.why, map[bool]string{true: "127.0.0.1"}[tt.status == 200]})
	}
}

// An answer does not give back whatever it was asked with, however long; an id that no store could hold is that of no request.
func TestLongAndOddNames(t *testing.T) {
	t.Parallel()
	h := New(kept(t), Options{})
	long := strings.Repeat("x", 50_000)
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/admin/v1/providers/" + long + "/breaker", 404},
		{"POST", "/admin/v1/explain?" + long + "=1", 400},
		{"POST", "/admin/v1/explain?stream=" + long, 400},
		{"GET", "/admin/v1/requests/" + long, 404},
		{"GET", "/admin/v1/requests/%00", 404},
		{"GET", "/admin/v1/requests/%ff", 404},
	} {
		w := ask(h, tt.method, tt.path, body(`{}`))
		if w.Code != tt.status || w.Body.Len() > 1000 {
			t.Errorf("%s %.60s: %d, %d bytes", tt.method, tt.path, w.Code, w.Body.Len())
		}
	}
}
