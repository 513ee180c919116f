package ingress

import (
	"net/http"
	"testing"
)

func TestKeyOf(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		query  string
		key    string
		torn   bool
	}{
		{"bearer", http.Header{"Authorization": {"Bearer k"}}, "", "k", false},
		{"bearer in small letters", http.Header{"Authorization": {"bearer  k "}}, "", "k", false},
		{"x-api-key", http.Header{"X-Api-Key": {"k"}}, "", "k", false},
		{"api-key", http.Header{"Api-Key": {"k"}}, "", "k", false},
		{"x-goog-api-key", http.Header{"X-Goog-Api-Key": {"k"}}, "", "k", false},
		{"query", http.Header{}, "k", "k", false},
		{"basic is not for the gateway", http.Header{"Authorization": {"Basic k"}}, "", "", false},
		{"basic beside a key", http.Header{"Authorization": {"Basic x"}, "X-Api-Key": {"k"}}, "", "k", false},
		{"nothing", http.Header{}, "", "", false},
		{"an empty bearer", http.Header{"Authorization": {"Bearer "}}, "", "", false},
		{"the same twice", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}}, "k", "k", false},
		{"two headers", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"l"}}, "", "k", true},
		{"two lines", http.Header{"Authorization": {"Bearer k", "Bearer l"}}, "", "k", true},
		{"a header and the query", http.Header{"X-Goog-Api-Key": {"k"}}, "l", "k", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if key, torn := keyOf(tt.header, tt.query); key != tt.key || torn != tt.torn {
				t.Errorf("got %q %v, want %q %v", key, torn, tt.key, tt.torn)
			}
		})
	}
}
