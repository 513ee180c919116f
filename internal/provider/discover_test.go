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
