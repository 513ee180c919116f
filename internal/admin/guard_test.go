package admin

import (
	"net/http"
	"testing"
)

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	type change = func(*http.Request)
	const off = "203.0.113.9:4711"
	var (
		none     = Options{Hosts: []string{"gw.internal:8080", "", "0.0.0.0", "[::]"}}
		token    = Options{Token: "s3cret"}
		bearer   = header("Authorization", "Bearer s3cret")
		elsewher = []change{from(off), host("gw.example")}
	)
	cases := []struct {
		name    string
		opts    Options
		change  []change
		health  int // status of /admin/v1/health, and of every other path of the operator
		metrics int
	}{
		{"no token: this machine", none, nil, 200, 200},
		{"no token: IPv6 loopback", none, []change{from("[::1]:9"), host("[::1]:8080")}, 200, 200},
		{"no token: IPv4 in IPv6", none, []change{from("[::ffff:127.0.0.1]:9")}, 200, 200},
		{"no token: localhost in any case", none, []change{host("LocalHost.")}, 200, 200},
		{"no token: any loopback address", none, []change{host("127.8.8.8")}, 200, 200},
		{"no token: the configured host", none, []change{host("gw.internal:9999")}, 200, 200},
		{"no token: another machine", none, []change{from("192.168.1.7:9")}, 403, 200},
		{"no token: an address that is none", none, []change{from("@")}, 403, 200},
		{"no token: rebound name", none, []change{host("evil.example:8080")}, 403, 200},
		{"no token: name that starts like ours", none, []change{host("localhost.evil.example")}, 403, 200},
		{"no token: no name", none, []change{host("")}, 403, 200},
		{"no token: the address of everywhere", none, []change{host("0.0.0.0:8080")}, 403, 200},
		{"no token: the address of everywhere, IPv6", none, []change{host("[::]:8080")}, 403, 200},
		{"no token: another address", none, []change{host("192.168.1.7:8080")}, 403, 200},
		{"no token: page of our own", none, []change{header("Origin", "http://127.0.0.1:8080"), header("Sec-Fetch-Site", "same-origin")}, 200, 200},
		{"no token: typed into a browser", none, []change{header("Sec-Fetch-Site", "none")}, 200, 200},
		{"no token: page elsewhere", none, []change{header("Origin", "https://evil.example")}, 403, 200},
		{"no token: page of another port", none, []change{header("Origin", "http://127.0.0.1:3000")}, 403, 200},
		{"no token: page without an origin", none, []change{header("Origin", "null")}, 403, 200},
		{"no token: origin that is none", none, []change{header("Origin", "http://%zz")}, 403, 200},
		{"no token: browser says cross-site", none, []change{header("Sec-Fetch-Site", "cross-site")}, 403, 200},
		{"no token: browser says same-site", none, []change{header("Sec-Fetch-Site", "same-site")}, 403, 200},
		{"no token: forwarded by a proxy here", none, []change{header("X-Forwarded-For", "203.0.113.9")}, 403, 200},
		{"no token: forwarded, by RFC 7239", none, []change{header("Forwarded", "for=203.0.113.9")}, 403, 200},
		{"no token: a token is of no use", none, []change{from(off), bearer}, 403, 200},
		{"no token: nor is an empty one", none, []change{from(off), header("X-Admin-Token", "")}, 403, 200},

		{"token: right", token, []change{bearer}, 200, 200},
		{"token: right, from elsewhere under any name", token, append(elsewher, bearer), 200, 200},
		{"token: scheme in any case", token, []change{header("Authorization", "bearer  s3cret")}, 200, 200},
		{"token: other header", token, append(elsewher, header("x-admin-token", "s3cret")), 200, 200},
		{"token: none", token, elsewher, 401, 401},
		{"token: none, this machine", token, nil, 401, 200},
		{"token: none, through a proxy here", token, []change{header("X-Real-IP", "203.0.113.9")}, 401, 401},
		{"token: wrong", token, append(elsewher, header("Authorization", "Bearer s3creT")), 401, 401},
		{"token: prefix", token, []change{header("Authorization", "Bearer s3cre")}, 401, 200},
		{"token: other scheme", token, []change{header("Authorization", "Basic s3cret")}, 401, 200},
		{"token: no scheme", token, []change{header("Authorization", "s3cret")}, 401, 200},
		{"token: wrong bearer, right other header", token, []change{header("Authorization", "Bearer x"), header("x-admin-token", "s3cret")}, 401, 200},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.opts.Pprof = true
			h := New(sources(), c.opts)
			for _, p := range []struct {
				method, path string
				want         int
			}{
				{"GET", "/admin/v1/health", c.health},
				{"POST", "/admin/v1/reload", c.health},
				{"GET", "/debug/pprof/cmdline", c.health},
				{"GET", "/metrics", c.metrics},
				{"GET", "/healthz", 200},
				{"GET", "/readyz", 200},
			} {
				w := ask(h, p.method, p.path, c.change...)
				equal(t, p.path, w.Code, p.want)
				if w.Code >= 400 {
					code(t, w)
				}
				if want := map[bool]string{true: `Bearer realm="evergate admin"`}[w.Code == 401]; w.Header().Get("WWW-Authenticate") != want {
					t.Errorf("%s: WWW-Authenticate is %q", p.path, w.Header().Get("WWW-Authenticate"))
				}
			}
			// Who may not ask is not told what exists.
			for _, path := range []string{"/admin/v1/nothing", "/admin/v1/health"} {
				if w := ask(h, "PATCH", path, c.change...); c.health != 200 && w.Code != c.health {
					t.Errorf("PATCH %s: %d", path, w.Code)
				}
			}
		})
	}
}

func TestARefusedReloadDoesNothing(t *testing.T) {
	t.Parallel()
	s := sources()
	s.Reload = func(string, string) []Problem { t.Error("reloaded"); return nil }
	h := New(s, Options{})
	ask(h, "POST", "/admin/v1/reload", header("Origin", "https://evil.example"))
	ask(h, "POST", "/admin/v1/reload", from("203.0.113.9:4711"))
	ask(h, "GET", "/admin/v1/reload")
}
