package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"evergate/internal/fault"
)

// OAuth is a credential whose access tokens are asked of a token endpoint (RFC 6749): with a refresh token on behalf of
// who gave it, without one as the client itself.
type OAuth struct {
	TokenURL     string
	ClientID     string
	ClientSecret Secret // empty: a public client
	RefreshToken Secret
	Scopes       []string // of the client's own grant; a refresh token has its scopes already
}

// Tokens keeps the credential's access token, asked for by client. A refresh token that the endpoint gives in exchange
// for the old one is kept in memory and used from then on.
func (o OAuth) Tokens(client *http.Client) *Tokens {
	g := &grant{of: o, refresh: o.RefreshToken, client: client}
	t := NewTokens(g.fetch)
	t.grant = g
	return t
}

// same says whether two credentials are one: the same grant of the same client.
func (o *OAuth) same(p *OAuth) bool {
	return o.TokenURL == p.TokenURL && o.ClientID == p.ClientID && o.ClientSecret == p.ClientSecret &&
		o.RefreshToken == p.RefreshToken && slices.Equal(o.Scopes, p.Scopes)
}

// keptSecrets is how many of the latest access and refresh tokens are masked: requests sent with an older one may still
// be answered, and what it is exchanged for may come before the answer that quotes it.
const keptSecrets = 6

// grant is what an OAuth credential asks with.
type grant struct {
	of OAuth

	mu      sync.Mutex
	client  *http.Client
	refresh Secret // the newest

	// given are the latest secrets that the endpoint gave, the newest last. The list is replaced, never changed; nil: none.
	given atomic.Pointer[[]Secret]
}

// over has the token endpoint asked the way another asks it.
func (g *grant) over(by *grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.client = by.client
}

// fetch gets a new token.
func (g *grant) fetch(ctx context.Context) (Token, error) {
	g.mu.Lock()
	client, refresh := g.client, g.refresh
	g.mu.Unlock()
	if client != nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	}
	t, err := g.ask(ctx, refresh)
	if err != nil {
		return Token{}, grantFault(err)
	}
	g.note(Secret(t.AccessToken), Secret(t.RefreshToken))
	if t.RefreshToken != "" {
		g.mu.Lock()
		g.refresh = Secret(t.RefreshToken)
		g.mu.Unlock()
	}
	if !httpguts.ValidHeaderFieldValue(t.AccessToken) {
		return Token{}, TokenFault(0, "the token in the answer cannot stand in a header", nil)
	}
	return Token{Value: Secret(t.AccessToken), Expiry: t.Expiry}, nil
}

// note has secrets masked from now on, before anybody can send them; one that was given before counts as new. Fetches come one at
// a time.
func (g *grant) note(secrets ...Secret) {
	var all []Secret
	if old := g.given.Load(); old != nil {
		all = slices.Clone(*old)
	}
	for _, s := range secrets {
		if s != "" {
			all = append(slices.DeleteFunc(all, func(o Secret) bool { return o == s }), s)
		}
	}
	all = all[max(0, len(all)-keptSecrets):]
	g.given.Store(&all)
}

func (g *grant) ask(ctx context.Context, refresh Secret) (*oauth2.Token, error) {
	if refresh == "" {
		c := clientcredentials.Config{
			ClientID: g.of.ClientID, ClientSecret: g.of.ClientSecret.Reveal(), TokenURL: g.of.TokenURL, Scopes: g.of.Scopes,
			AuthStyle: oauth2.AuthStyleInParams,
		}
		return c.Token(ctx)
	}
	c := oauth2.Config{
		ClientID: g.of.ClientID, ClientSecret: g.of.ClientSecret.Reveal(),
		Endpoint: oauth2.Endpoint{TokenURL: g.of.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}
	return c.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh.Reveal()}).Token()
}

// grantFault says what a failed fetch means (R32): only a grant that is no good any more is the credential's own fault
// (R7); whatever else goes wrong at a token endpoint may be right again at the next try. The cause quotes nothing of the
// exchange, which holds secrets.
func grantFault(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		f := TokenFault(0, "", nil)
		f.Cause = errors.New("token endpoint: no usable answer")
		return f
	}
	word := errorWord(refused.ErrorCode)
	status := refused.Response.StatusCode
	f := TokenFault(status, word, fmt.Errorf("token endpoint: %d %s %s", status, http.StatusText(status), word))
	if f.Class == fault.Auth && word != "invalid_grant" {
		f.Class = fault.NoToken
	}
	return f
}

// errorWord is an error code of RFC 6749 §5.2 as far as it can be one.
func errorWord(code string) string {
	return clip(strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, code), 64)
}
