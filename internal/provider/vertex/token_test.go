package vertex

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/oauth2"

	"evergate/internal/fault"
)

// endpoint is a token endpoint: it answers as told, and keeps what it was asked.
type endpoint struct {
	*httptest.Server
	asked  atomic.Int32
	mu     sync.Mutex
	status int
	reply  string
	form   map[string][]string
}

func newEndpoint(t *testing.T, status int, reply string) *endpoint {
	t.Helper()
	e := &endpoint{status: status, reply: reply}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked.Add(1)
		_ = r.ParseForm()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.form = r.PostForm
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.status)
		_, _ = w.Write([]byte(e.reply))
	}))
	t.Cleanup(e.Close)
	return e
}

var privateKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// keyFile writes a credentials file; members override those of a service account, nil leaves one out.
func keyFile(t *testing.T, url string, members map[string]any) string {
	t.Helper()
	all := map[string]any{
		"type": "service_account", "project_id": "p", "private_key_id": "id", "private_key": privateKey(),
		"client_email": "gate@p.iam.gserviceaccount.com", "token_uri": url,
	}
	for k, v := range members {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, string(data))
}

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A service account signs for its token, for the right scope; the token is asked for once.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, 200, `{"access_token":"ya29.one","expires_in":3600,"token_type":"Bearer"}`)
	v, err := New(Options{Project: "p", Location: "l", CredentialsFile: keyFile(t, e.URL, nil), HTTP: e.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if e.asked.Load() != 0 {
		t.Error("the token was asked for before there was a request")
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if h, f := authorized(t, v); f != nil || h.Get("Authorization") != "Bearer ya29.one" || h.Get("X-Goog-User-Project") != "" {
				t.Errorf("%v, %v", h, f)
			}
		})
	}
	all.Wait()
	if e.asked.Load() != 1 {
		t.Errorf("asked %d times", e.asked.Load())
	}
	parts := strings.Split(e.form["assertion"][0], ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || !strings.Contains(string(claims), scope) || !strings.Contains(string(claims), "gate@p.iam") {
		t.Errorf("%s, %v", claims, err)
	}
}

// A person's own credentials are refreshed, and say which project is charged.
func TestAuthorizedUser(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, 200, `{"access_token":"ya29.two","expires_in":3600}`)
	file := keyFile(t, "", map[string]any{
		"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "quota_project_id": "charged",
		"private_key": nil, "token_uri": e.URL,
	})
	v, err := New(Options{Project: "p", Location: "l", CredentialsFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if h, f := authorized(t, v); f != nil || h.Get("Authorization") != "Bearer ya29.two" || h.Get("X-Goog-User-Project") != "charged" {
		t.Errorf("%v, %v", h, f)
	}
}

// Without a file the application default credentials count, found by the first request.
func TestDefaultCredentials(t *testing.T) {
	e := newEndpoint(t, 200, `{"access_token":"ya29.adc","expires_in":3600}`)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	v, err := New(Options{Project: "p", Location: "l"})
	if err != nil {
		t.Fatal(err)
	}
	_, f := authorized(t, v)
	if f == nil || f.Class != fault.Auth || !strings.Contains(f.Message, "application default credentials") || strings.Contains(f.Message, "none.json") {
		t.Errorf("without any: %v", f)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", keyFile(t, e.URL, nil))
	if v, err = New(Options{Project: "p", Location: "l"}); err != nil {
		t.Fatal(err)
	}
	if h, f := authorized(t, v); f != nil || h.Get("Authorization") != "Bearer ya29.adc" {
		t.Errorf("%v, %v", h, f)
	}
}

// What a token endpoint refuses is the credential's fault, what it cannot do is nobody's; its words do not get out.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		reply  string
		want   fault.Class
		says   string
	}{
		"a refused account": {400, `{"error":"invalid_grant","error_description":"Invalid JWT Signature for hunter2"}`, fault.Auth, "invalid_grant"},
		"not allowed":       {403, `{"error":"access_denied"}`, fault.Auth, "access_denied"},
		"an odd word":       {401, `{"error":"sk-Hunter2!"}`, fault.Auth, "refuses"},
		"an outage":         {503, `<html>hunter2</html>`, fault.NoToken, "fails"},
		"too many":          {429, `{}`, fault.NoToken, "fails"},
		"no token":          {200, `{}`, fault.NoToken, "no access token"},
		"no JSON":           {200, `hunter2`, fault.NoToken, "no access token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, tt.status, tt.reply)
			v, err := New(Options{Project: "p", Location: "l", CredentialsFile: keyFile(t, e.URL, nil)})
			if err != nil {
				t.Fatal(err)
			}
			h, f := authorized(t, v)
			if f == nil || f.Class != tt.want || !strings.Contains(f.Message, tt.says) || strings.Contains(strings.ToLower(f.Error()), "hunter2") {
				t.Fatalf("%v", f)
			}
			if h.Get("Authorization") == "Bearer " {
				t.Error("an empty token was sent")
			}
		})
	}
	v, err := New(Options{Project: "p", Location: "l", CredentialsFile: keyFile(t, "http://127.0.0.1:1", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, f := authorized(t, v); f == nil || f.Class != fault.NoToken {
		t.Errorf("unreachable: %v", f)
	}
}

// Mistakes in the file show before anything starts, and never what it holds.
func TestCredentialsFile(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, tt := range map[string]struct{ file, says string }{
		"missing":         {filepath.Join(t.TempDir(), "none.json"), "does not exist"},
		"a folder":        {t.TempDir(), "cannot be read"},
		"not JSON":        {written(t, secret), "no JSON object"},
		"a list":          {written(t, `["`+secret+`"]`), "no JSON object"},
		"too large":       {written(t, strings.Repeat(" ", maxKeyFile+1)), "larger than 1 MiB"},
		"no type":         {written(t, `{"private_key":"`+secret+`"}`), "has no type"},
		"a client's":      {written(t, `{"installed":{"client_secret":"`+secret+`"}}`), "has no type"},
		"an unknown type": {written(t, `{"type":"password","value":"`+secret+`"}`), `unknown type "password"`},
		"no key":          {keyFile(t, "", map[string]any{"private_key": nil}), "is missing"},
		"no account":      {keyFile(t, "", map[string]any{"client_email": nil}), "is missing"},
		"a broken key":    {keyFile(t, "", map[string]any{"private_key": "-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n"}), "no RSA key"},
		"not PEM":         {keyFile(t, "", map[string]any{"private_key": secret}), "no RSA key"},
	} {
		_, err := New(Options{Project: "p", Location: "l", CredentialsFile: tt.file})
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Project: "p"}); err == nil || !strings.Contains(err.Error(), "location") {
		t.Errorf("no location: %v", err)
	}
	if v, err := New(Options{APIKeys: true}); err != nil || v.Authorize != nil || v.AuthHeader != "X-Goog-Api-Key" {
		t.Errorf("API keys: %v, %v", v, err)
	}
}

// A file that was good and is gone when a token is needed is said in words without its name.
func TestFileGoesAway(t *testing.T) {
	t.Parallel()
	file := keyFile(t, "http://127.0.0.1:1", nil)
	v, err := New(Options{Project: "p", Location: "l", CredentialsFile: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, f := authorized(t, v); f == nil || f.Class != fault.Auth || strings.Contains(f.Message, "key.json") || !strings.Contains(f.Message, "credentials file") {
		t.Errorf("%v", f)
	}
}

// What an endpoint writes behind its status, and how long its word is, are its own: neither gets into a fault.
func TestTokenFaultQuotesNothing(t *testing.T) {
	t.Parallel()
	err := tokenFault(&oauth2.RetrieveError{
		Response: &http.Response{StatusCode: http.StatusBadRequest, Status: "400 eyJhbGciOi.assertion"},
		Body:     []byte(`{"error":"invalid_grant` + strings.Repeat("a", 1<<10) + `"}`),
	})
	var f *fault.Fault
	if !errors.As(err, &f) || strings.Contains(f.Cause.Error(), "assertion") || len(f.Cause.Error()) > 200 || !strings.Contains(f.Cause.Error(), "400 Bad Request invalid_grant") {
		t.Errorf("%v", f)
	}
}
