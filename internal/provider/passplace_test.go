package provider

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"evergate/internal/fault"
)

func parsedBase(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPassPlace(t *testing.T) {
	t.Parallel()
	const base = "https://api.example.com/v1"
	cases := []struct{ name, base, path, query, want string }{
		{"below the base", base, "/files", "", base + "/files"},
		{"the query is kept", base, "/files", "limit=2&after=a%2Fb", base + "/files?limit=2&after=a%2Fb"},
		{"escapes are kept", base, "/models/a%2Fb%20c", "", base + "/models/a%2Fb%20c"},
		{"a trailing slash is kept", base, "/files/", "", base + "/files/"},
		{"nothing below", base, "/", "", base + "/"},
		{"the version segment once", base, "/v1/files", "", base + "/files"},
		{"the version segment alone", base, "/v1", "", base + "/"},
		{"another version is a segment", base, "/v2/files", "", base + "/v2/files"},
		{"v1 as the begin of a word", base, "/v1x/files", "", base + "/v1x/files"},
		{"a base without a version", "https://api.example.com", "/v1/files", "", "https://api.example.com/v1/files"},
		{"a verb", base, "/models/m:generate", "", base + "/models/m:generate"},
		{"dots in names", base, "/models/gpt-4.1..x/...", "", base + "/models/gpt-4.1..x/..."},
		{"an at sign moves no host", "https://api.example.com", "/@evil.example/x", "", "https://api.example.com/@evil.example/x"},
		{"a URL as a segment", base, "/fetch/http:%2F%2Fevil.example", "", base + "/fetch/http:%2F%2Fevil.example"},
		{"a base with a path of its own", "https://proxy.example.com/team/openai/v1", "/v1/files", "", "https://proxy.example.com/team/openai/v1/files"},

		{"dots", base, "/../admin", "", ""},
		{"dots at the end", base, "/files/..", "", ""},
		{"one dot", base, "/./files", "", ""},
		{"encoded dots", base, "/%2e%2e/admin", "", ""},
		{"half encoded dots", base, "/.%2E/admin", "", ""},
		{"twice encoded dots", base, "/%252e%252e/admin", "", ""},
		{"thrice encoded dots", base, "/%25252e%25252e/admin", "", ""},
		{"encoded slashes around dots", base, "/a%2f..%2f..%2fadmin", "", ""},
		{"dots with a path parameter", base, "/..;/admin", "", ""},
		{"encoded dots with a path parameter", base, "/%2e%2e;x=1/admin", "", ""},
		{"a backslash", base, "/a\\..\\admin", "", ""},
		{"an encoded backslash", base, "/a%5cb", "", ""},
		{"a twice encoded backslash", base, "/a%255c..%255cb", "", ""},
		{"a host by two slashes", base, "//evil.example/x", "", ""},
		{"a host by an encoded slash", base, "/%2fevil.example/x", "", ""},
		{"a line break", base, "/a%0d%0aHost:%20evil", "", ""},
		{"a null byte", base, "/a%00b", "", ""},
		{"overlong dots", base, "/%c0%ae%c0%ae/admin", "", ""},
		{"dots behind a percent sign of its own", base, "/%25zz/%252e%252e/%252e%252e/admin", "", ""},
		{"escaped so often that reading it would take for ever", base, "/%" + strings.Repeat("25", 20000), "", ""},
		{"a percent sign of its own", base, "/models/100%25zz", "", base + "/models/100%25zz"},
		{"a broken escape", base, "/a%zz", "", ""},
		{"the version before dots", base, "/v1/../admin", "", ""},
		{"no slash", base, "files", "", ""},
		{"an absolute target", base, "http://evil.example/", "", ""},
		{"nothing at all", base, "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, err := rawPlace(parsedBase(t, c.base), nil, c.path, c.query)
			if (err == nil) != (c.want != "") {
				t.Fatalf("got %v, %v", u, err)
			}
			if err == nil && u.String() != c.want {
				t.Errorf("got  %s\nwant %s", u, c.want)
			}
		})
	}
}

// What a vendor keeps beside its API is reached by its own path, and the rules are the same there.
func TestPassPlaceAtASide(t *testing.T) {
	t.Parallel()
	const base = "https://api.example.com/v1beta"
	sides := []string{"upload", "download"}
	for _, c := range []struct{ name, base, path, query, want string }{
		{"a file's bytes", base, "/upload/v1beta/files", "uploadType=resumable", "https://api.example.com/upload/v1beta/files?uploadType=resumable"},
		{"another side", base, "/download/v1beta/files/f:download", "alt=media", "https://api.example.com/download/v1beta/files/f:download?alt=media"},
		{"a base with a path and a query of its own", "https://proxy.example.com/te%2Fam/v1beta/?x=1", "/upload/v1beta/files", "y=2", "https://proxy.example.com/te%2Fam/upload/v1beta/files?x=1&y=2"},
		{"the API itself", base, "/v1beta/files", "", base + "/files"},
		{"the version twice", base, "/upload/v1beta/v1beta/files", "", "https://api.example.com/upload/v1beta/v1beta/files"},
		{"another version is below the base", base, "/upload/v1/files", "", base + "/upload/v1/files"},
		{"no version is below the base", base, "/upload/files", "", base + "/upload/files"},
		{"a version that goes on", base, "/upload/v1betax/files", "", base + "/upload/v1betax/files"},
		{"escaped, it is below the base", base, "/%75pload/v1beta/files", "", base + "/%75pload/v1beta/files"},
		{"another word", base, "/admin/v1beta/files", "", base + "/admin/v1beta/files"},
		{"a base without a version", "https://api.example.com", "/upload/v1beta/files", "", "https://api.example.com/upload/v1beta/files"},
		{"a base without one, and no version asked for", "https://api.example.com/team", "/upload/files", "", "https://api.example.com/team/upload/files"},
		{"the side alone", base, "/upload/v1beta", "", base + "/upload/v1beta"},
		{"dots", base, "/upload/v1beta/../../admin", "", ""},
		{"encoded dots", base, "/upload/v1beta/%2e%2e/admin", "", ""},
		{"dots before the version", base, "/upload/../v1beta/files", "", ""},
		{"a host by two slashes", base, "/upload/v1beta//evil.example/x", "", ""},
		{"an encoded backslash", base, "/upload/v1beta/a%5c..%5cb", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, err := rawPlace(parsedBase(t, c.base), sides, c.path, c.query)
			if (err == nil) != (c.want != "") || err == nil && u.String() != c.want {
				t.Errorf("got %v, %v; want %s", u, err, c.want)
			}
		})
	}
}

// Whatever a client writes, no server on the way can read the path as one outside of the base.
func FuzzPassPlace(f *testing.F) {
	for _, seed := range []string{"/files", "/%2e%2e/x", "/a%2f..%2fb", "//evil/x", "/..;/x", "/a\\b", "/%255c..", "/v1/v1/x", "/upload/v1/x", "/upload/v1/%2e%2e/x", "/@h", "/%c0%ae", "/%25zz/%252e%252e/%252e."} {
		for i := range 3 {
			f.Add(seed, uint8(i))
		}
	}
	bases := []*url.URL{parsedBase(f, "https://api.example.com/team/v1"), parsedBase(f, "http://host:8000"), parsedBase(f, "https://h/a%2Fb/v1")}
	f.Fuzz(func(t *testing.T, p string, which uint8) {
		base := bases[int(which)%len(bases)]
		u, err := rawPlace(base, []string{"upload"}, p, "")
		if err != nil {
			return
		}
		if u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil || u.Opaque != "" {
			t.Fatalf("%q below %s leads to %s", p, base, u)
		}
		read, root := u.EscapedPath(), base.EscapedPath()
		if side := strings.TrimSuffix(root, "/v1") + "/upload/v1"; strings.HasPrefix(p, "/upload/v1/") && side != root {
			if _, _, ok := sideOf(base, "upload"); ok {
				root = side
			}
		}
		if !strings.HasPrefix(read, root+"/") {
			t.Fatalf("%q is not below %s", read, base)
		}
		read = strings.TrimPrefix(read, root)
		for range 5 {
			seen := strings.ReplaceAll(read, "\\", "/")
			segments := strings.Split(seen, "/")
			for i := range segments {
				segments[i], _, _ = strings.Cut(segments[i], ";")
			}
			depth := 0
			for _, segment := range segments {
				switch segment {
				case "", ".":
				case "..":
					depth--
				default:
					depth++
				}
				if depth < 0 {
					t.Fatalf("%q below %s can be read as %q", p, base, read)
				}
			}
			next := unescaped(read)
			if next == read {
				break
			}
			read = next
		}
	})
}

func TestLocalize(t *testing.T) {
	t.Parallel()
	c := &Client{options: Options{BaseURL: parsedBase(t, "https://api.example.com/v1")}, vendor: &Vendor{Sides: []string{"upload", "download"}}}
	asked := parsedBase(t, "https://api.example.com/v1/files/f1/content")
	cases := []struct{ name, location, want string }{
		{"a whole address", "https://api.example.com/v1/files/f2?x=1", "/files/f2?x=1"},
		{"a path", "/v1/files/f2", "/files/f2"},
		{"relative", "other", "/files/f1/other"},
		{"the host in capitals", "https://API.example.com/v1/a", "/a"},
		{"outside of the base", "/v2/files", ""},
		{"at a side", "https://api.example.com/upload/v1/files?upload_id=x", "/upload/v1/files?upload_id=x"},
		{"at another side", "/download/v1/files/f", "/download/v1/files/f"},
		{"at a side of another version", "/upload/v2/files", ""},
		{"at no side", "/admin/v1/files", ""},
		{"at a side of another host", "https://evil.example/upload/v1/files", ""},
		{"a host by two slashes at a side", "/upload/v1//evil.example", ""},
		{"beside the base", "/v1evil/files", ""},
		{"another host", "https://storage.example.net/v1/f2?sig=1", ""},
		{"another port", "https://api.example.com:8443/v1/a", ""},
		{"without TLS", "http://api.example.com/v1/a", ""},
		{"a user", "https://u:p@api.example.com/v1/a", ""},
		{"another host by two slashes", "//evil.example/v1/a", ""},
		{"dots that a server may resolve", "/v1/%2e%2e/a", ""},
		{"no URL", "ht tp://", ""},
		{"a script", "javascript:alert(1)", ""},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Location": {k.location}, "Content-Location": {k.location}, "X-Goog-Upload-Url": {k.location}}
			c.localize(h, asked)
			if got := h.Get("Location"); got != k.want || h.Get("X-Goog-Upload-Url") != k.want {
				t.Errorf("got %q, want %q", got, k.want)
			}
			if _, there := h["Content-Location"]; there != (k.want != "") {
				t.Errorf("content-location: %v", h)
			}
		})
	}
}

// A status that cannot be passed on is no answer.
func TestStatusOfAPassage(t *testing.T) {
	for status, sound := range map[int]bool{0: false, 42: false, 100: true, 200: true, 599: true, 999: true, 1000: false, 101: false} {
		f := switched(&http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}, false)
		if (f == nil) != sound || f != nil && f.Class != fault.Invalid {
			t.Errorf("%d: %v", status, f)
		}
	}
}
