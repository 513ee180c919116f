package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever else answers at the address is named as such, in words that are fit for a terminal.
func TestStatusOfSomethingElse(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"a page", "<html>\x1b[31m" + strings.Repeat("x", 5000), 200, "is it an Evergate gateway?"},
		{"other JSON", `{"ok":true}`, 200, "is it an Evergate gateway?"},
		{"a proxy's page", "<h1>Bad Gateway</h1>", 502, "502 Bad Gateway"},
		{"a wrong token", `{"error":{"message":"wrong","code":"invalid_admin_token"}}`, 401, "EVERGATE_ADMIN_TOKEN"},
		{"a refusal", `{"error":{"message":"this machine only","code":"forbidden"}}`, 403, "this machine only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer s.Close()
			err := (&statusCmd{URL: s.URL}).show(t.Context(), &bytes.Buffer{}, false)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%q", err)
			}
		})
	}
}

// The address may be written as people write it.
func TestStatusAddress(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/admin/v1/health" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(`{"instance":"i1","providers":{},"instances":[]}`))
	}))
	defer s.Close()
	for _, url := range []string{s.URL, s.URL + "/", strings.TrimPrefix(s.URL, "http://")} {
		var out bytes.Buffer
		if err := (&statusCmd{URL: url}).show(t.Context(), &out, false); err != nil || !strings.Contains(out.String(), "i1") {
			t.Errorf("%s: %v %s", url, err, &out)
		}
	}
}
