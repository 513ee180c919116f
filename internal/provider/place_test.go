package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"evergate/internal/fault"
)

func TestBelow(t *testing.T) {
	for _, tc := range []struct{ name, base, path, query, want string }{
		{"plain", "https://up.test/v1", "/chat/completions", "", "https://up.test/v1/chat/completions"},
		{"no path", "https://up.test", "/chat", "", "https://up.test/chat"},
		{"slash", "https://up.test/v1/", "/chat", "", "https://up.test/v1/chat"},
		{"query", "https://up.test/v1", "/chat", "a=b", "https://up.test/v1/chat?a=b"},
		{"two queries", "https://up.test/v1?x=1", "/chat", "a=b", "https://up.test/v1/chat?x=1&a=b"},
		{"base query", "https://up.test/v1?x=1", "/chat", "", "https://up.test/v1/chat?x=1"},
		{"user and fragment", "https://me:pw@up.test/v1#f", "/chat", "", "https://up.test/v1/chat"},
		{"colon", "https://up.test/v1beta", "/models/gemini-2.5-flash:streamGenerateContent", "alt=sse", "https://up.test/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		{"escaped slash", "https://up.test", "/model/a%2Fb:0/converse", "", "https://up.test/model/a%2Fb:0/converse"},
		{"escaped base", "https://up.test/a%2Fb/v1", "/chat", "", "https://up.test/a%2Fb/v1/chat"},
		{"host in path", "https://up.test/v1", "//evil.test/x", "", "https://up.test/v1//evil.test/x"},
		{"at sign", "https://up.test/v1", "/models/@evil.test", "", "https://up.test/v1/models/@evil.test"},
		{"up", "https://up.test/v2", "../v1/models", "page_size=9", "https://up.test/v1/models?page_size=9"},
		{"up from a longer base", "https://up.test/cohere/v2", "../v1/models", "", "https://up.test/cohere/v1/models"},
		{"up from no path", "https://up.test", "../v1/models", "", "https://up.test/v1/models"},

		{"dots", "https://up.test/v1", "/deployments/../chat", "", ""},
		{"dot", "https://up.test/v1", "/deployments/./chat", "", ""},
		{"escaped dots", "https://up.test/v1", "/deployments/%2e%2E/chat", "", ""},
		{"escaped slashes around dots", "https://up.test/v1", "/models/x%2F..%2F..%2Fadmin:generateContent", "", ""},
		{"backslashes", "https://up.test/v1", "/models/x%5C..%5Cadmin", "", ""},
		{"dots at the end", "https://up.test/v1", "/models/..", "", ""},
		{"up twice", "https://up.test/a/b/v1", "../../models", "", ""},
		{"relative", "https://up.test/v1", "chat", "", ""},
		{"dots escaped twice", "https://up.test/v1", "/models/%252e%252e%252fadmin", "", ""},
		{"dots escaped often", "https://up.test/v1", "/models/x%25252F..%25252Fadmin", "", ""},
		{"dots escaped thrice behind a percent sign of the name's own", "https://up.test/v1", "/models/%25zz%2F%25252e%25252e", "", ""},
		{"dots escaped twice behind a percent sign of the name's own", "https://up.test/v1", "/models/%25zz/%252e%252e", "", ""},
		{"dots with parameters", "https://up.test/v1", "/models/..%3Bx/y", "", ""},
		{"escaped without end", "https://up.test/v1", "/models/%" + strings.Repeat("25", 9), "", ""},
		{"a percent sign of its own", "https://up.test/v1", "/models/100%25zz", "", "https://up.test/v1/models/100%25zz"},
		{"bad escape", "https://up.test/v1", "/models/%zz", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, err := url.Parse(tc.base)
			if err != nil {
				t.Fatal(err)
			}
			before := base.String()
			u, err := below(base, tc.path, tc.query)
			got := ""
			if err == nil {
				got = u.String()
			}
			if got != tc.want {
				t.Errorf("%q (%v), want %q", got, err, tc.want)
			}
			if base.String() != before {
				t.Error("the base was changed")
			}
		})
	}
}

// Whatever a caller calls a model, the request goes to the provider's host, below its base.
func FuzzBelow(f *testing.F) {
	for _, id := range []string{"m", "..", "a/../../b", "//evil", "@evil", "%2e%2e", "a?b#c", "a\\..\\b", "a:b", "\x00", "é"} {
		f.Add(id)
	}
	base := &url.URL{Scheme: "https", Host: "up.test", Path: "/v1"}
	f.Fuzz(func(t *testing.T, id string) {
		u, err := below(base, "/models/"+url.PathEscape(id)+"/x", "")
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatal(err)
		}
		if again.Host != "up.test" || again.Scheme != "https" || again.RawQuery != "" || again.User != nil {
			t.Errorf("%q leads to %s", id, again)
		}
		if clean := again.JoinPath(); !strings.HasPrefix(clean.Path, "/v1/models/") {
			t.Errorf("%q leads to %s", id, clean)
		}
	})
}

// R9: a model's name that would lead elsewhere is no model's, and nothing is sent.
func TestModelNameLeadsNowhere(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }))
	defer s.Close()
	c := newClient(t, s.URL+"/v1", func(o *Options) {
		o.Vendor = Compatible()
		o.Vendor.Place = func(_, model string, _ bool) (string, string) {
			return "/deployments/" + url.PathEscape(model) + "/chat", ""
		}
	}, nil)
	for _, model := range []string{"..", ".", "a/../../b"} {
		out, released := outgoing(`{}`)
		out.Model = model
		if _, f := c.Send(t.Context(), out); f == nil || f.Class != fault.ModelMissing {
			t.Errorf("%s: %v", model, f)
		}
		if released.Load() != 1 {
			t.Errorf("%s: released %d times", model, released.Load())
		}
	}
}

// Callers can make up as many paths as they like; no more than a few are remembered.
func TestTemplatesAreBounded(t *testing.T) {
	c := newClient(t, "http://up.test/v1", nil, nil)
	for i := range 2 * maxTemplates {
		if _, err := c.template(fmt.Sprintf("/models/%d", i), "alt=sse"); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	c.templates.Range(func(any, any) bool { n++; return true })
	if n != maxTemplates {
		t.Errorf("%d remembered, want %d", n, maxTemplates)
	}
	first, _ := c.template("/models/0", "alt=sse")
	again, _ := c.template("/models/0", "alt=sse")
	other, _ := c.template("/models/0", "")
	if first != again || other == first || other.URL.RawQuery != "" {
		t.Error("templates are not kept by path and query")
	}
}
