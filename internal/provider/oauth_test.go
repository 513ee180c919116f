package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/fault"
)

// issuer is a token endpoint that rotates refresh tokens: each is good once.
type issuer struct {
	mu     sync.Mutex
	asked  []string // grant type and refresh token of each request
	status int      // 0: it gives tokens
	word   string
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = append(i.asked, r.PostFormValue("grant_type")+" "+r.PostFormValue("refresh_token")+" "+r.PostFormValue("scope"))
	w.Header().Set("Content-Type", "application/json")
	if i.status != 0 {
		w.WriteHeader(i.status)
		_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":"no good: %s"}`, i.word, r.PostFormValue("refresh_token"))
		return
	}
	n := len(i.asked)
	refresh := ""
	if r.PostFormValue("grant_type") == "refresh_token" {
		refresh = fmt.Sprintf(`,"refresh_token":"refresh-%d"`, n)
	}
	_, _ = fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"Bearer","expires_in":3600%s}`, n, refresh)
}

func (i *issuer) set(status int, word string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status, i.word = status, word
}

func (i *issuer) log() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.asked, "; ")
}

func newIssuer(t *testing.T, o OAuth) (*issuer, *Tokens) {
	i := &issuer{}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	o.TokenURL, o.ClientID, o.ClientSecret = server.URL, "client", "client-secret-1"
	return i, o.Tokens(server.Client())
}

func wantToken(t *testing.T, tokens *Tokens, want string) {
	t.Helper()
	if got, err := tokens.Get(t.Context()); got.Reveal() != want || err != nil {
		t.Errorf("%q, %v, want %q", got.Reveal(), err, want)
	}
}

// R32: what the endpoint gives in exchange for a refresh token is what it is asked with next.
func TestOAuthRotation(t *testing.T) {
	i, tokens := newIssuer(t, OAuth{RefreshToken: "refresh-0"})
	wantToken(t, tokens, "access-1")
	wantToken(t, tokens, "access-1")
	tokens.Refused("access-0") // of long ago
	wantToken(t, tokens, "access-1")
	tokens.Refused("access-1")
	wantToken(t, tokens, "access-2")
	if got := i.log(); got != "refresh_token refresh-0 ; refresh_token refresh-1 " {
		t.Error(got)
	}
}

func TestOAuthClientCredentials(t *testing.T) {
	i, tokens := newIssuer(t, OAuth{Scopes: []string{"a", "b"}})
	wantToken(t, tokens, "access-1")
	if got := i.log(); got != "client_credentials  a b" {
		t.Error(got)
	}
}

// Many requests that are refused one token fetch another once.
func TestOAuthRefusedOnce(t *testing.T) {
	i, tokens := newIssuer(t, OAuth{RefreshToken: "refresh-0"})
	wantToken(t, tokens, "access-1")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			tokens.Refused("access-1")
			wantToken(t, tokens, "access-2")
		})
	}
	wg.Wait()
	if n := strings.Count(i.log(), ";") + 1; n != 2 {
		t.Errorf("%d fetches", n)
	}
}

// R7, R32: a grant that is no good any more is the credential's own fault; no failure is the provider's, and none shows
// a secret.
func TestOAuthFailures(t *testing.T) {
	for _, c := range []struct {
		status int
		word   string
		want   fault.Class
	}{
		{400, "invalid_grant", fault.Auth},
		{400, "invalid_request", fault.NoToken},
		{401, "invalid_client", fault.NoToken},
		{429, "slow_down", fault.NoToken},
		{500, "", fault.NoToken},
		{503, "server_error", fault.NoToken},
	} {
		i, tokens := newIssuer(t, OAuth{RefreshToken: "refresh-token-0"})
		i.set(c.status, c.word)
		_, err := tokens.Get(t.Context())
		var f *fault.Fault
		if !errors.As(err, &f) || f.Class != c.want || f.Class.BreakerFailure() {
			t.Errorf("%d %s: %v, want %v", c.status, c.word, err, c.want)
			continue
		}
		if text := fmt.Sprintf("%v %+v %v", err, f, f.Cause); strings.Contains(text, "refresh-token-0") || strings.Contains(text, "client-secret") {
			t.Errorf("%d %s: shows a secret: %s", c.status, c.word, text)
		}
		if v := tokens.View(time.Now()); v.State != "open" || v.Failures != 1 || !v.RetryAt.After(time.Now()) {
			t.Errorf("%d %s: %+v", c.status, c.word, v)
		}
		if v := tokens.View(time.Now().Add(holdBase)); v.State != "half_open" || v.Failures != 1 {
			t.Errorf("%d %s: %+v once the pause is over", c.status, c.word, v)
		}
	}
}

// What an endpoint writes behind its status is no place to look for words: it may be the secret.
func TestOAuthStatusLine(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PostFormValue("refresh_token")
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 no good: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", token)
	}))
	t.Cleanup(server.Close)
	_, err := OAuth{TokenURL: server.URL, RefreshToken: "refresh-token-0"}.Tokens(server.Client()).Get(t.Context())
	var f *fault.Fault
	if !errors.As(err, &f) || strings.Contains(fmt.Sprintf("%v %+v %v", err, f, f.Cause), "refresh-token-0") || !strings.Contains(fmt.Sprint(f.Cause), "400 Bad Request") {
		t.Errorf("%v: %v", err, f.Cause)
	}
}

// A request that leaves waits no longer for an endpoint that hangs.
func TestOAuthHang(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(server.Close)
	tokens := OAuth{TokenURL: server.URL, RefreshToken: "refresh-0"}.Tokens(server.Client())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tokens.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if v := tokens.View(time.Now()); v.State != "closed" {
		t.Errorf("%+v: one who left is no failure", v)
	}
	close(hang)
}
