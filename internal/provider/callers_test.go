package provider

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// R8: the caller's key stands where the provider's keys do, the gateway's is not sent beside it, and a refusal that quotes it, or a
// part of it, is masked, also by a provider that nobody would take the key for one of.
func TestCallersKey(t *testing.T) {
	const key = "my own plain-words key of no known form"
	for _, tt := range []struct {
		header, prefix, want string
	}{
		{"Authorization", "Bearer ", "Bearer " + key},
		{"X-Api-Key", "", key},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, values := range r.Header {
				if name != tt.header && strings.Contains(strings.Join(values, " "), "sk-test-operator") || strings.HasPrefix(name, "X-Evergate") {
					t.Errorf("it was sent %s: %q", name, values)
				}
			}
			if got := r.Header.Get(tt.header); got != tt.want {
				t.Errorf("%s: %q", tt.header, got)
			}
			w.Header().Set("X-Echo", key)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"no such thing: ` + key + `, beginning with ` + key[:12] + `"}`))
		}))
		c := newClient(t, s.URL, func(o *Options) { o.AuthHeader, o.AuthPrefix = tt.header, tt.prefix }, nil)
		out, released := outgoing("{}")
		out.Key, out.Credential = key, "caller"
		out.Header = http.Header{"X-Evergate-Key-Up": {key}, "X-Other": {"1"}}
		resp, f := c.Send(t.Context(), out)
		if f != nil {
			t.Fatal(f)
		}
		if text := readAll(t, resp); text != `{"error":"no such thing: ***, beginning with ***"}` {
			t.Errorf("the refusal is %s", text)
		}
		if resp.Header.Get("X-Echo") != "" || resp.Header.Get("Content-Length") != "" {
			t.Errorf("its headers are %v", resp.Header)
		}
		eventually(t, "released once", func() bool { return released.Load() == 1 })
		s.Close()
	}
}
