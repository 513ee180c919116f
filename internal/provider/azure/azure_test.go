package azure

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
	"evergate/internal/provider/providertest"
)

func vendor(t *testing.T, o Options) *provider.Vendor {
	t.Helper()
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFaults(t *testing.T) { providertest.Faults(t, vendor(t, Options{})) }

func TestPlace(t *testing.T) {
	for _, tc := range []struct{ version, dialect, deployment, path, query string }{
		{"", "chat", "d", "/v1/chat/completions", ""},
		{"", "responses", "d", "/v1/responses", ""},
		{"", "embeddings", "d", "/v1/embeddings", ""},
		{"", "completions", "d", "/v1/completions", ""},
		{"v1", "chat", "d", "/v1/chat/completions", ""},
		{"preview", "responses", "d", "/v1/responses", "api-version=preview"},
		{"2024-10-21", "chat", "d", "/deployments/d/chat/completions", "api-version=2024-10-21"},
		{"2024-10-21", "embeddings", "my d/x", "/deployments/my%20d%2Fx/embeddings", "api-version=2024-10-21"},
		{"2025-03-01-preview", "responses", "d", "/responses", "api-version=2025-03-01-preview"},
		{"2024-10-21&x=1", "chat", "d", "/deployments/d/chat/completions", "api-version=2024-10-21%26x%3D1"},
		{"", "speech", "d", "/v1/audio/speech", ""},
		{"2024-10-21", "transcriptions", "d", "/deployments/d/audio/transcriptions", "api-version=2024-10-21"},
		{"2025-04-01-preview", "image_edits", "d", "/deployments/d/images/edits", "api-version=2025-04-01-preview"},
		{"", "rerank", "d", "", ""},
		{"", "messages", "d", "", ""},
	} {
		if path, query := vendor(t, Options{APIVersion: tc.version}).Place(tc.dialect, tc.deployment, false); path != tc.path || query != tc.query {
			t.Errorf("%s %s: %q %q, want %q %q", tc.version, tc.dialect, path, query, tc.path, tc.query)
		}
	}
}

func TestSpeaks(t *testing.T) {
	for _, tc := range []struct {
		version, api, deployment string
		want                     []string
	}{
		{"", "", "my-gpt", []string{"chat", "responses", "completions", "embeddings"}},
		{"", "", "gpt-5-codex", []string{"responses", "completions", "embeddings"}},
		{"", "chat", "my-gpt", []string{"chat", "completions", "embeddings"}},
		{"2024-10-21", "", "gpt-5-codex", []string{"chat", "completions", "embeddings"}},
		{"2025-03-01-preview", "", "my-gpt", []string{"chat", "responses", "completions", "embeddings"}},
		{"2025-03-01-preview", "responses", "my-gpt", []string{"responses", "completions", "embeddings"}},
	} {
		if got := vendor(t, Options{APIVersion: tc.version, API: tc.api}).Speaks(tc.deployment); !slices.Equal(got, append(tc.want, "images", "image_edits", "speech", "transcriptions", "translations")) {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

func TestQuirks(t *testing.T) {
	for _, tc := range []struct {
		version, deployment, max string
		reasons                  bool
	}{
		{"", "gpt-5-mini", "max_completion_tokens", true},
		{"", "my-deployment", "max_completion_tokens", false},
		{"", "gpt-4o", "max_completion_tokens", false},
		{"", "grok-4-fast", "max_tokens", false},
		{"", "Llama-4-Maverick", "max_tokens", false},
		{"2024-12-01-preview", "o3-mini", "max_completion_tokens", true},
		{"2024-12-01-preview", "my-deployment", "max_tokens", false},
		{"2024-08-01-preview", "gpt-4o", "max_tokens", false},
		{"2024-08-01-preview", "o1", "max_tokens", true},
	} {
		q := vendor(t, Options{APIVersion: tc.version}).Quirks(tc.deployment)
		if q.MaxTokensField != tc.max || slices.Contains(q.Refuses, "temperature") != tc.reasons {
			t.Errorf("%s %s: %+v", tc.version, tc.deployment, q)
		}
	}
	for version, want := range map[string][2]bool{"": {true, true}, "2025-04-01-preview": {true, false}, "2024-10-21": {false, false}} {
		if q := vendor(t, Options{APIVersion: version}).Quirks("gpt-5"); q.DeveloperRole != want[0] || q.CustomTools != want[1] {
			t.Errorf("%s: %+v", version, q)
		}
	}
	if v := vendor(t, Options{}); v.Maker("d") != llm.OpenAI || v.AuthHeader != "Api-Key" || v.AuthPrefix != "" || v.Models.Path != "" {
		t.Error("maker, key header or list")
	}
}

// entraServer is a resource and its token endpoint in one: answer says what the latter does.
func entraServer(t *testing.T, answer func(w http.ResponseWriter, form url.Values)) (base string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/tenant/") {
			asked.Add(1)
			if err := r.ParseForm(); err != nil || r.URL.Path != "/tenant/oauth2/v2.0/token" || r.Header.Get("Authorization") != "" {
				t.Errorf("%v: %s %v", err, r.URL, r.Header)
			}
			w.Header().Set("Content-Type", "application/json")
			answer(w, r.PostForm)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"authorization": r.Header.Get("Authorization"), "key": r.Header.Get("Api-Key")})
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func entraClient(t *testing.T, base, key string) *provider.Client {
	t.Helper()
	u, err := url.Parse(base + "/openai")
	if err != nil {
		t.Fatal(err)
	}
	o := provider.Options{
		BaseURL: u, Credentials: []provider.Credential{{Name: "default", Value: provider.Secret(key)}},
		Entra: provider.Entra{TenantID: "tenant", ClientID: "client", ClientSecret: "secret-of-the-application"},
	}
	client, err := provider.NewHTTPClient(&o, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Vendor = vendor(t, Options{Entra: o.Entra, HTTP: client, Authority: base})
	c, err := provider.New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func send(t *testing.T, c *provider.Client) (string, *fault.Fault) {
	t.Helper()
	resp, f := c.Send(t.Context(), &attempt.Outgoing{Dialect: "chat", Model: "d", Credential: "default", Body: []byte("{}"), Release: func() {}})
	if f != nil {
		return "", f
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b)), nil
}

// A credential without a key is the application's token, asked for once; one with a key is the key.
func TestEntra(t *testing.T) {
	base, asked := entraServer(t, func(w http.ResponseWriter, form url.Values) {
		want := url.Values{
			"grant_type": {"client_credentials"}, "client_id": {"client"}, "client_secret": {"secret-of-the-application"},
			"scope": {"https://cognitiveservices.azure.com/.default"},
		}
		if form.Encode() != want.Encode() {
			t.Errorf("%v", form)
		}
		_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":3599,"access_token":"the-token"}`)
	})
	c := entraClient(t, base, "")
	for range 3 {
		if got, f := send(t, c); f != nil || got != `{"authorization":"Bearer the-token","key":""}` {
			t.Errorf("%s, %v", got, f)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked for a token %d times", asked.Load())
	}
	if got, f := send(t, entraClient(t, base, "a-key")); f != nil || got != `{"authorization":"","key":"a-key"}` {
		t.Errorf("%s, %v", got, f)
	}
	if asked.Load() != 1 {
		t.Error("a token was asked for beside a key")
	}
}

// R7, R32: a refused application is the credential's fault, a broken token endpoint nobody's.
func TestEntraFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		class  fault.Class
		says   string
	}{
		{"secret", 401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided."}`, fault.Auth, "(invalid_client)"},
		{"tenant", 400, `{"error":"invalid_request","error_description":"AADSTS90002: Tenant not found."}`, fault.Auth, "(invalid_request)"},
		{"down", 503, `<html>`, fault.NoToken, "fails"},
		{"limit", 429, `{}`, fault.NoToken, "fails"},
		{"no token", 200, `{}`, fault.NoToken, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, asked := entraServer(t, func(w http.ResponseWriter, _ url.Values) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			c := entraClient(t, base, "")
			for range 2 { // the second is not sent: the credential's own breaker is open
				_, f := send(t, c)
				if f == nil || f.Class != tc.class || f.Class.BreakerFailure() || !strings.Contains(f.Message, tc.says) {
					t.Fatalf("%v, want %v", f, tc.class)
				}
				if strings.Contains(f.Error(), "secret-of-the-application") {
					t.Error("it tells the secret")
				}
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
	c := entraClient(t, "http://127.0.0.1:1", "")
	if _, f := send(t, c); f == nil || f.Class != fault.NoToken || !strings.Contains(f.Message, "does not answer") {
		t.Errorf("%v", f)
	}
}

func TestEntraIsWhole(t *testing.T) {
	for _, e := range []provider.Entra{{TenantID: "t"}, {TenantID: "t", ClientID: "c"}, {ClientID: "c", ClientSecret: "s"}} {
		if _, err := New(Options{Entra: e}); err == nil {
			t.Errorf("%+v passed", e)
		}
	}
	var f *fault.Fault
	if err := tokenFault(errors.New("odd")); !errors.As(err, &f) || f.Class != fault.NoToken {
		t.Errorf("%v", err)
	}
}
