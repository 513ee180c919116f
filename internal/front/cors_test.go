package front

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	exact := CORS{Origins: []string{"https://app.example", "http://localhost:3000"}, Headers: []string{"x-team"}, MaxAge: 10 * time.Minute}
	all := CORS{Origins: []string{"*"}}
	type headers = map[string]string
	for name, c := range map[string]struct {
		cors   *CORS
		method string
		sent   headers
		done   bool
		want   headers // "" is none
	}{
		"no browser":            {&exact, "POST", nil, false, headers{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
		"a page that may":       {&exact, "POST", headers{"Origin": "https://app.example"}, false, headers{"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Expose-Headers": "*", "Vary": "Origin"}},
		"another page":          {&exact, "POST", headers{"Origin": "https://evil.example"}, false, headers{"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": "", "Vary": "Origin"}},
		"a host that ends so":   {&exact, "POST", headers{"Origin": "https://evil-app.example"}, false, headers{"Access-Control-Allow-Origin": ""}},
		"a host that begins so": {&exact, "POST", headers{"Origin": "https://app.example.evil.example"}, false, headers{"Access-Control-Allow-Origin": ""}},
		"another port":          {&exact, "POST", headers{"Origin": "http://localhost:3001"}, false, headers{"Access-Control-Allow-Origin": ""}},
		"another scheme":        {&exact, "POST", headers{"Origin": "http://app.example"}, false, headers{"Access-Control-Allow-Origin": ""}},
		"a file":                {&exact, "POST", headers{"Origin": "null"}, false, headers{"Access-Control-Allow-Origin": ""}},
		"the question first": {
			&exact, "OPTIONS",
			headers{"Origin": "https://app.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type, x-stainless-os,X-Team,x-evergate-prefer,cookie,x-other,a\"b"},
			true,
			headers{
				"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Allow-Methods": methods, "Access-Control-Max-Age": "600",
				"Access-Control-Allow-Headers": "authorization, content-type, x-stainless-os, x-team, x-evergate-prefer", "Vary": "Origin, Access-Control-Request-Headers", "Access-Control-Allow-Credentials": "",
			},
		},
		"headers of the configuration": {
			&CORS{Origins: []string{"https://app.example"}, Headers: []string{"x.org~team"}}, "OPTIONS",
			headers{"Origin": "https://app.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "X.Org~Team, x.org"},
			true,
			headers{"Access-Control-Allow-Headers": "x.org~team"},
		},
		"the question of another":        {&exact, "OPTIONS", headers{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, false, headers{"Access-Control-Allow-Origin": "", "Access-Control-Allow-Methods": ""}},
		"OPTIONS that asks nothing":      {&exact, "OPTIONS", headers{"Origin": "https://app.example"}, false, headers{"Access-Control-Allow-Methods": ""}},
		"every page":                     {&all, "POST", headers{"Origin": "https://any.example"}, false, headers{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Vary": ""}},
		"every page, the question first": {&all, "OPTIONS", headers{"Origin": "null", "Access-Control-Request-Method": "GET"}, true, headers{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Access-Control-Allow-Headers": "", "Access-Control-Max-Age": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := httptest.NewRequest(c.method, "/v1/models", nil), httptest.NewRecorder()
			for k, v := range c.sent {
				r.Header.Set(k, v)
			}
			if done := c.cors.Answer(w, r); done != c.done || done && w.Code != http.StatusNoContent {
				t.Errorf("done: %t, status %d", done, w.Code)
			}
			for k, want := range c.want {
				if got := strings.Join(w.Header().Values(k), ", "); got != want {
					t.Errorf("%s: %q, want %q", k, got, want)
				}
			}
		})
	}
}
