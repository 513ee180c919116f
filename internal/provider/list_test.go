package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"evergate/internal/fault"
)

// R75: one page of the list is asked for, with the credential that is named, and its answer is judged.
func TestList(t *testing.T) {
	for _, tc := range []struct {
		name, key string
		status    int
		body      string
		asked     string // with which key; empty: not at all
		class     fault.Class
	}{
		{"good", "two", 200, `{"data":[]}`, "sk-2", fault.Unknown},
		{"more of it elsewhere", "one", 200, `{"data":[{"id":"a"}],"has_more":true}`, "sk-1", fault.Unknown},
		{"refused", "one", 401, `{"error":{"message":"bad key"}}`, "sk-1", fault.Auth},
		{"broken", "one", 503, ``, "sk-1", fault.Upstream},
		{"a page", "one", 200, `<html>`, "sk-1", fault.Invalid},
		{"a key of another configuration", "three", 200, `{"data":[]}`, "", fault.Next},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked != "" || r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				asked = r.Header.Get("Authorization")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer s.Close()
			c := newClient(t, s.URL+"/v1", func(o *Options) {
				o.Credentials = []Credential{{Name: "one", Value: "sk-1"}, {Name: "two", Value: "sk-2"}}
			}, nil)
			f := c.List(t.Context(), tc.key)
			switch {
			case tc.class == fault.Unknown && f != nil, tc.class != fault.Unknown && (f == nil || f.Class != tc.class):
				t.Errorf("%+v", f)
			case tc.asked != "" && asked != "Bearer "+tc.asked, tc.asked == "" && asked != "":
				t.Errorf("asked with %q", asked)
			}
		})
	}
}
