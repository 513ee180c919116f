package provider

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evergate/internal/fault"
)

func TestModels(t *testing.T) {
	var many strings.Builder
	for i := range maxModels + 5 {
		fmt.Fprintf(&many, `{"id":"m%d"},`, i)
	}
	for _, tc := range []struct {
		name   string
		status int
		body   string
		want   []string
		count  int
		class  fault.Class
	}{
		{name: "openai", status: 200, body: `{"object":"list","data":[{"id":"gpt-4o","object":"model"},{"id":"gpt-4o-mini"},{"id":"gpt-4o"}]}`, want: []string{"gpt-4o", "gpt-4o-mini"}},
		{name: "together", status: 200, body: ` [{"id":"a/b","type":"chat"}]`, want: []string{"a/b"}},
		{name: "ollama", status: 200, body: `{"models":[{"name":"llama3:8b","model":"llama3:8b"}]}`, want: []string{"llama3:8b"}},
		{name: "llama.cpp", status: 200, body: `{"models":[{"name":"x","model":"x"}],"object":"list","data":[{"id":"gemma.gguf"}]}`, want: []string{"gemma.gguf"}},
		{name: "none", status: 200, body: `{"data":[]}`, want: []string{}},
		{name: "odd ids", status: 200, body: `{"data":[{"id":""},{"id":"` + strings.Repeat("x", 300) + `"},{"id":"ok"}]}`, want: []string{"ok"}},
		{name: "many", status: 200, body: `{"data":[` + strings.TrimSuffix(many.String(), ",") + `]}`, count: maxModels},
		{name: "too large", status: 200, body: `{"data":[` + strings.Repeat(" ", maxModelList) + `]}`, class: fault.Invalid},
		{name: "HTML", status: 200, body: `<html>`, class: fault.Invalid},
		{name: "no list", status: 200, body: `{"ok":true}`, class: fault.Invalid},
		{name: "refused", status: 401, body: `{"error":{"message":"bad key sk-test-operator-0001"}}`, class: fault.Auth},
		{name: "broken", status: 500, body: ``, class: fault.Upstream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-test-operator-0001" || r.Header.Get("Content-Type") != "" {
					t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer s.Close()
			c := newClient(t, s.URL+"/v1", func(o *Options) {
				o.Credentials = append([]Credential{{Name: "empty"}}, o.Credentials...)
			}, nil)
			ids, f := c.Models(t.Context())
			if f != nil {
				if f.Class != tc.class || strings.Contains(f.Error(), "sk-test-operator-0001") {
					t.Errorf("%v, want %v", f, tc.class)
				}
				return
			}
			if tc.class != fault.Unknown || tc.want != nil && !slices.Equal(ids, tc.want) || tc.count > 0 && len(ids) != tc.count {
				t.Errorf("%d models %.3q, want %d %q or %v", len(ids), ids, tc.count, tc.want, tc.class)
			}
		})
	}
}

// A list in pages: as many as there are, within bounds, and never in circles.
func TestModelPages(t *testing.T) {
	read := func(body []byte) ([]string, string, error) {
		id, next, _ := strings.Cut(string(body), " ")
		return []string{id}, next, nil
	}
	for _, tc := range []struct {
		name  string
		pages map[string]string
		want  []string
		class fault.Class
	}{
		{name: "one", pages: map[string]string{"/v2/list?n=9": "a"}, want: []string{"a"}},
		{name: "three", pages: map[string]string{"/v2/list?n=9": "a /list?p=2", "/v2/list?p=2": "b ../v1/list", "/v1/list": "a"}, want: []string{"a", "b"}},
		{name: "circle", pages: map[string]string{"/v2/list?n=9": "a /list?p=2", "/v2/list?p=2": "b /list?n=9"}, want: []string{"a", "b"}},
		{name: "page without end", pages: nil, want: nil},
		{name: "elsewhere", pages: map[string]string{"/v2/list?n=9": "a /../../admin"}, class: fault.Invalid},
		{name: "second page fails", pages: map[string]string{"/v2/list?n=9": "a /gone"}, class: fault.ModelMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				page, ok := tc.pages[r.URL.RequestURI()]
				switch {
				case tc.pages == nil:
					page = fmt.Sprintf("m%d /list?p=%d", asked, asked)
				case !ok:
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = io.WriteString(w, page)
			}))
			defer s.Close()
			c := newClient(t, s.URL+"/v2", func(o *Options) {
				o.Vendor = Compatible()
				o.Vendor.Models = &ModelList{Path: "/list?n=9", Read: read}
			}, nil)
			ids, f := c.Models(t.Context())
			switch {
			case tc.class != fault.Unknown:
				if f == nil || f.Class != tc.class {
					t.Errorf("%v, want %v", f, tc.class)
				}
			case f != nil:
				t.Error(f)
			case tc.pages == nil:
				if asked != maxPages || len(ids) != maxPages {
					t.Errorf("%d pages asked for, %d models", asked, len(ids))
				}
			case !slices.Equal(ids, tc.want):
				t.Errorf("%q, want %q", ids, tc.want)
			}
		})
	}
}

// A vendor without a list has no models to tell of, and nobody is asked.
func TestNoModelList(t *testing.T) {
	c := newClient(t, "http://up.test", func(o *Options) {
		o.Vendor = Compatible()
		o.Vendor.Models = &ModelList{}
	}, nil)
	if ids, f := c.Models(t.Context()); f != nil || len(ids) != 0 || ids == nil {
		t.Errorf("%q, %v", ids, f)
	}
}
