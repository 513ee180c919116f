package vertex

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/provider"
)

// The whole way through a provider's client: Claude is asked in its place, with its version, by the account's token.
func TestThroughClient(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, 200, `{"access_token":"ya29.x","expires_in":3600}`)
	var target, sent string
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		target, header, sent = r.RequestURI, r.Header, string(all)
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o               Options
		key             provider.Secret
		dialect, model  string
		target, body    string
		header, payment string
	}{
		"an account": {
			Options{Project: "p", Location: "us-east5", CredentialsFile: keyFile(t, e.URL, nil)},
			"", messages, "claude-sonnet-4-5@20250929",
			"/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
			`{"anthropic_version":"vertex-2023-10-16","max_tokens":1}`, "Authorization", "Bearer ya29.x",
		},
		"an API key": {
			Options{APIKeys: true},
			"AIza-key", generate, "gemini-2.5-flash",
			"/v1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse", `{"max_tokens":1}`, "X-Goog-Api-Key", "AIza-key",
		},
	} {
		v, err := New(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := provider.New(provider.Options{Name: "vertex", BaseURL: u, Vendor: v, Credentials: []provider.Credential{{Name: "default", Value: tt.key}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, f := c.Send(t.Context(), &attempt.Outgoing{
			Dialect: tt.dialect, Model: tt.model, Stream: true, Credential: "default", Body: []byte(`{"max_tokens":1}`), Release: func() {},
			Header: http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"context-1m-2025-08-07"}, "X-Api-Key": {"theirs"}, "Authorization": {"Bearer theirs"}},
		})
		if f != nil {
			t.Fatalf("%s: %v", name, f)
		}
		_ = resp.Body.Close()
		c.Close()
		if target != tt.target || sent != tt.body || header.Get(tt.header) != tt.payment {
			t.Errorf("%s: %s %s %v", name, target, sent, header)
		}
		if header.Get("Anthropic-Version") != "" || header.Get("X-Api-Key") != "" || (header.Get("Anthropic-Beta") != "") != (tt.dialect == messages) {
			t.Errorf("%s: %v", name, header)
		}
	}
}
