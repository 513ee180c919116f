package provider

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
)

// granted is a client with one OAuth credential, of a server that takes the tokens that good accepts and tells all.
func granted(t *testing.T, good func(token string) bool, change func(*Options)) (*Client, *issuer, *[]string) {
	t.Helper()
	i := &issuer{}
	tokens := httptest.NewServer(i)
	t.Cleanup(tokens.Close)
	var mu sync.Mutex
	sent := &[]string{}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		mu.Lock()
		*sent = append(*sent, token)
		mu.Unlock()
		w.Header().Set("X-Echo", token)
		if !good(token) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = fmt.Fprintf(w, `{"error":{"message":"I was given %s"}}`, token)
	}))
	t.Cleanup(up.Close)
	c := newClient(t, up.URL, func(o *Options) {
		o.Credentials = []Credential{{Name: "default", OAuth: &OAuth{TokenURL: tokens.URL, ClientID: "c", ClientSecret: "client-secret-1", RefreshToken: "refresh-0"}}}
		if change != nil {
			change(o)
		}
	}, nil)
	return c, i, sent
}

// R32: a refused token is replaced and the request sent once more; the body goes back to its owner once.
func TestSendAgainWithAnotherToken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		good   string
		status int
		sent   string
	}{
		{"good at once", "access-1", 200, "access-1"},
		{"good at the second time", "access-2", 200, "access-1 access-2"},
		{"never good", "none", 401, "access-1 access-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, sent := granted(t, func(token string) bool { return token == tt.good }, nil)
			out, released := outgoing(`{"model":"m"}`)
			resp, f := c.Send(t.Context(), out)
			if f != nil {
				t.Fatal(f)
			}
			body := readAll(t, resp)
			eventually(t, "the body's release", func() bool { return released.Load() == 1 })
			if got := strings.Join(*sent, " "); resp.StatusCode != tt.status || got != tt.sent {
				t.Errorf("%d, sent %s", resp.StatusCode, got)
			}
			if resp.Header["X-Echo"] != nil {
				t.Errorf("the token came back: %v", resp.Header)
			}
			told := c.Classify(resp.StatusCode, resp.Header, []byte(body), "", body)
			if strings.Contains(fmt.Sprintf("%s %s %v", told.Message, told.Body, told), "access-") {
				t.Errorf("it tells the token: %v", told)
			}
			if v, ok := c.TokenView("default", time.Now()); !ok || v.State != "closed" {
				t.Errorf("%+v", v)
			}
			if _, ok := c.TokenView("other", time.Now()); ok {
				t.Error("a credential that is not there has a token")
			}
		})
	}
}

// R32: without a token nothing is sent, the fault is nobody's but the credential's, and it says when to come back.
func TestSendWithoutToken(t *testing.T) {
	c, i, sent := granted(t, func(string) bool { return true }, func(o *Options) { o.Classify = []Rule{{As: "failure"}} })
	i.set(503, "server_error")
	for range 2 {
		out, released := outgoing(`{"model":"m"}`)
		_, f := c.Send(t.Context(), out)
		if f == nil || f.Class != fault.NoToken || !f.Unasked || !f.Class.SiblingCredential() || f.Class.BreakerFailure() {
			t.Fatalf("%v", f)
		}
		if !f.Wait.Named || f.Wait.For <= 0 || f.Wait.For > holdBase {
			t.Errorf("wait %+v", f.Wait)
		}
		if released.Load() != 1 {
			t.Errorf("released %d times", released.Load())
		}
	}
	if _, f := c.Models(t.Context()); f == nil || f.Class != fault.NoToken {
		t.Errorf("the model list: %v", f)
	}
	if len(*sent) > 0 || strings.Contains(i.log(), ";") {
		t.Errorf("sent %q, asked %s", *sent, i.log())
	}
}

// R32: a token endpoint that hangs until the attempt's time is up, or until the client leaves, tells nothing of the
// provider.
func TestSendWhileTheTokenEndpointHangs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cause error
		class fault.Class
	}{
		{"timed out", &fault.Fault{Class: fault.Timeout, Message: "no answer within 1m"}, fault.NoToken},
		{"the client left", context.Canceled, fault.ClientGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hang := make(chan struct{})
			t.Cleanup(func() { close(hang) })
			c, _, sent := granted(t, func(string) bool { return true }, nil)
			c.tokens[0].fetch = func(context.Context) (Token, error) { <-hang; return Token{}, TokenFault(0, "", nil) }
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Millisecond, func() { cancel(tt.cause) })
			out, _ := outgoing(`{"model":"m"}`)
			_, f := c.Send(ctx, out)
			if f == nil || f.Class != tt.class || !f.Unasked || f.Timeout() != (tt.class == fault.NoToken) || len(*sent) > 0 {
				t.Errorf("%+v, sent %q", f, *sent)
			}
		})
	}
}

// The model list is asked for with the first credential that can be used.
func TestModelsWithoutToken(t *testing.T) {
	c, i, sent := granted(t, func(string) bool { return true }, func(o *Options) {
		o.Credentials = append(o.Credentials, Credential{Name: "key", Value: "the-key-itself"})
	})
	i.set(503, "server_error")
	_, _ = c.Models(t.Context())
	if got := strings.Join(*sent, " "); got != "the-key-itself" {
		t.Errorf("sent %q", got)
	}
}

// Of a client's secrets every text is masked: those of the config, the tokens of now and of a while ago.
func TestMaskKnowsTokens(t *testing.T) {
	c, _, _ := granted(t, func(string) bool { return true }, nil)
	seen := []string{"client-secret-1", "refresh-0"}
	for n := range 3 {
		tokens := c.tokens[0]
		token, f := c.token(t.Context(), 0)
		if f != nil {
			t.Fatal(f)
		}
		seen = append(seen, token.Reveal(), fmt.Sprintf("refresh-%d", n+1))
		for _, s := range seen {
			if got := c.masking().text("it was " + s + "."); strings.Contains(got, s) {
				t.Errorf("after %d fetches %s is shown", n+1, s)
			}
		}
		if m := c.masking(); m != c.masking() {
			t.Error("the masker is made anew each time")
		}
		tokens.mu.Lock()
		tokens.token = Token{}
		tokens.mu.Unlock()
	}
}

// A provider that refuses every token has its token endpoint asked no oftener than twice a minute.
func TestRefusedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{life: time.Hour}
		tokens := NewTokens(m.fetch)
		refuse := func(want bool) {
			t.Helper()
			token, err := tokens.Get(t.Context())
			if got := tokens.Refused(token); err != nil || got != want {
				t.Errorf("%v, %v", got, err)
			}
		}
		refuse(true)
		refuse(false)
		time.Sleep(forceGap - 2*time.Second)
		refuse(false)
		time.Sleep(2 * time.Second)
		refuse(true)
		if !tokens.Refused("an older one") {
			t.Error("there is another than an older one")
		}
		refuse(false)
		if n := m.count(); n != 3 {
			t.Errorf("%d fetches", n)
		}
	})
}

// A client that takes another's place takes its tokens over, by what they are and not by name.
func TestInherit(t *testing.T) {
	a, i, _ := granted(t, func(string) bool { return true }, nil)
	if _, f := a.token(t.Context(), 0); f != nil {
		t.Fatal(f)
	}
	same := *a.options.Credentials[0].OAuth
	other := same
	other.RefreshToken = "refresh-of-another"
	var dials atomic.Int32
	b := newClient(t, "http://up.test", func(o *Options) {
		o.Credentials = []Credential{{Name: "key", Value: "k"}, {Name: "other", OAuth: &other}, {Name: "renamed", OAuth: &same}}
	}, func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	})
	b.Inherit(a)
	for credential, want := range []string{"", "access-2", "access-1"} {
		if token, f := b.token(t.Context(), credential); f != nil || token.Reveal() != want {
			t.Errorf("%d: %s, %v, want %s", credential, token.Reveal(), f, want)
		}
	}
	if got := b.masking().text("refresh-1 access-1"); strings.Contains(got, "-1") {
		t.Errorf("it tells %s", got)
	}
	b.tokens[2].Refused("access-1")
	if token, f := b.token(t.Context(), 2); f != nil || token != "access-3" || dials.Load() != 2 {
		t.Errorf("%s, %v after %d dials of its own: it is asked by way of the old client", token.Reveal(), f, dials.Load())
	}
	if got := i.log(); got != "refresh_token refresh-0 ; refresh_token refresh-of-another ; refresh_token refresh-1 " {
		t.Error(got)
	}
}

// A token that no header can carry is none, and is not quoted.
func TestTokenThatIsNoHeader(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"access_token":"evil\r\nX-Evil: 1","token_type":"Bearer"}`)
	}))
	defer server.Close()
	_, err := OAuth{TokenURL: server.URL, RefreshToken: "r"}.Tokens(server.Client()).Get(t.Context())
	if err == nil || strings.Contains(err.Error(), "evil") {
		t.Error(err)
	}
}

// What an OAuth credential costs a request that has a token: the header's value, and no more.
func TestTokenAllocations(t *testing.T) {
	c, _, _ := granted(t, func(string) bool { return true }, nil)
	req := &http.Request{Header: http.Header{"Authorization": nil}}
	n := testing.AllocsPerRun(100, func() {
		token, f := c.token(t.Context(), 0)
		if f == nil {
			f = c.pay(t.Context(), req, nil, 0, token)
		}
		if f != nil || c.masking() == nil {
			t.Fatal(f)
		}
	})
	if n > 2 { // its text, and the list of one that http.Header wants
		t.Errorf("%.0f allocations", n)
	}
}

// BenchmarkToken is what an OAuth credential adds to a request.
func BenchmarkToken(b *testing.B) {
	tokens := httptest.NewServer(&issuer{})
	defer tokens.Close()
	c := newClient(b, "http://up.test", func(o *Options) {
		o.Credentials = []Credential{{Name: "default", OAuth: &OAuth{TokenURL: tokens.URL, ClientID: "c", RefreshToken: "r"}}}
	}, nil)
	req := &http.Request{Header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		token, _ := c.token(b.Context(), 0)
		_ = c.pay(b.Context(), req, nil, 0, token)
		_ = c.masking()
	}
}
