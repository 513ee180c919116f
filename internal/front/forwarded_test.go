package front

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func networks(t testing.TB, all ...string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, s := range all {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Whoever is not a listed proxy is the client, whatever it says; behind a listed one the client is whom the last of them saw.
func TestClient(t *testing.T) {
	t.Parallel()
	const x, f = "X-Forwarded-For", "Forwarded"
	for name, c := range map[string]struct {
		header, peer string
		said         http.Header
		want         string
	}{
		"no header":                       {x, "10.1.1.1:99", nil, "10.1.1.1:99"},
		"one proxy":                       {x, "10.1.1.1:99", http.Header{x: {"203.0.113.9"}}, "203.0.113.9:0"},
		"a client that says another":      {x, "10.1.1.1:99", http.Header{x: {"127.0.0.1, 203.0.113.9"}}, "203.0.113.9:0"},
		"in a line of its own":            {x, "10.1.1.1:99", http.Header{x: {"127.0.0.1", "203.0.113.9"}}, "203.0.113.9:0"},
		"two proxies":                     {x, "10.1.1.1:99", http.Header{x: {"198.51.100.7, 203.0.113.9, 10.2.2.2"}}, "203.0.113.9:0"},
		"a peer that is none":             {x, "203.0.113.1:99", http.Header{x: {"127.0.0.1"}}, "203.0.113.1:99"},
		"the other header":                {x, "10.1.1.1:99", http.Header{f: {"for=127.0.0.1"}, "X-Real-Ip": {"127.0.0.1"}}, "10.1.1.1:99"},
		"both headers":                    {x, "10.1.1.1:99", http.Header{f: {"for=127.0.0.1"}, x: {"203.0.113.9"}}, "203.0.113.9:0"},
		"proxies alone":                   {x, "10.1.1.1:99", http.Header{x: {"10.3.3.3, 10.2.2.2"}}, "10.3.3.3:0"},
		"with a port":                     {x, "10.1.1.1:99", http.Header{x: {"203.0.113.9:4711"}}, "203.0.113.9:0"},
		"IPv6":                            {x, "10.1.1.1:99", http.Header{x: {"2001:db8::9"}}, "[2001:db8::9]:0"},
		"IPv6 in brackets":                {x, "10.1.1.1:99", http.Header{x: {"[2001:db8::9]:4711"}}, "[2001:db8::9]:0"},
		"IPv4 as IPv6":                    {x, "10.1.1.1:99", http.Header{x: {"::ffff:203.0.113.9"}}, "203.0.113.9:0"},
		"a proxy as IPv6":                 {x, "[::ffff:10.1.1.1]:99", http.Header{x: {"203.0.113.9"}}, "203.0.113.9:0"},
		"a proxy of IPv6":                 {x, "[2001:db8:1::1]:99", http.Header{x: {"203.0.113.9"}}, "203.0.113.9:0"},
		"no address":                      {x, "10.1.1.1:99", http.Header{x: {"203.0.113.9, unknown"}}, "10.1.1.1:99"},
		"no address before a proxy":       {x, "10.1.1.1:99", http.Header{x: {"unknown, 10.2.2.2"}}, "10.2.2.2:0"},
		"an empty element":                {x, "10.1.1.1:99", http.Header{x: {"203.0.113.9,,10.2.2.2"}}, "10.2.2.2:0"},
		"an empty header":                 {x, "10.1.1.1:99", http.Header{x: {""}}, "10.1.1.1:99"},
		"no end of proxies":               {x, "10.1.1.1:99", http.Header{x: {"127.0.0.1" + strings.Repeat(", 10.2.2.2", 40)}}, "10.2.2.2:0"},
		"Forwarded":                       {f, "10.1.1.1:99", http.Header{f: {"for=127.0.0.1, for=203.0.113.9;proto=https;by=10.1.1.1"}}, "203.0.113.9:0"},
		"Forwarded, IPv6":                 {f, "10.1.1.1:99", http.Header{f: {`proto=https; For="[2001:db8::9]:4711"`}}, "[2001:db8::9]:0"},
		"Forwarded, hidden":               {f, "10.1.1.1:99", http.Header{f: {"for=203.0.113.9, for=_hidden"}}, "10.1.1.1:99"},
		"Forwarded, a quote left open":    {f, "10.1.1.1:99", http.Header{f: {`for="127.0.0.1`, "for=203.0.113.9"}}, "203.0.113.9:0"},
		"Forwarded, a comma within":       {f, "10.1.1.1:99", http.Header{f: {`for=203.0.113.9, host="a,for=127.0.0.1"`}}, "10.1.1.1:99"},
		"Forwarded, the other header too": {f, "10.1.1.1:99", http.Header{x: {"127.0.0.1"}, f: {"for=203.0.113.9"}}, "203.0.113.9:0"},
		"a peer without an address":       {x, "@", http.Header{x: {"203.0.113.9"}}, "@"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Proxies{Networks: networks(t, "10.0.0.0/8", "2001:db8:1::/48"), Header: c.header}
			r := &http.Request{RemoteAddr: c.peer, Header: c.said}
			if p.Client(r); r.RemoteAddr != c.want {
				t.Errorf("%s, want %s", r.RemoteAddr, c.want)
			}
		})
	}
}

// What a client puts before what the proxies write never counts.
func FuzzClient(f *testing.F) {
	f.Add("127.0.0.1", "for=\"")
	f.Add("10.1.1.1, 10.2.2.2", "for=10.9.9.9")
	f.Fuzz(func(t *testing.T, one, two string) {
		for header, line := range map[string]string{"X-Forwarded-For": one, "Forwarded": two} {
			p := Proxies{Networks: networks(t, "10.0.0.0/8"), Header: header}
			own := map[string]string{"X-Forwarded-For": "203.0.113.9, 10.2.2.2", "Forwarded": "for=203.0.113.9, for=10.2.2.2"}[header]
			for _, lines := range [][]string{{line, own}, {line + ", " + own}} {
				r := &http.Request{RemoteAddr: "10.1.1.1:99", Header: http.Header{header: lines}}
				if p.Client(r); r.RemoteAddr != "203.0.113.9:0" {
					t.Fatalf("%q: %s", lines, r.RemoteAddr)
				}
			}
		}
	})
}
