package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Issuer is who signs tokens that let callers in, in the place of keys.
type Issuer struct {
	// Name stands before the names of its bearers, with a colon, so that they are nobody else's.
	Name string
	// URL is what tokens must have as iss, Audience what they must have in aud.
	URL, Audience string
	// Keys is where its public keys are; empty: its discovery document says so.
	Keys string
	// NameClaim has a bearer's name. The others are empty where nothing is read: a claim that is named and not there refuses the token.
	NameClaim, OwnerClaim, TeamClaim, ModelsClaim string
	// Require are claims that a token must have, with these texts, or among a list of texts.
	Require map[string]string
	// Allow is what its bearers may.
	Allow Principal
}

// Fetch reads a small document from an address, within ctx.
type Fetch func(ctx context.Context, url string) ([]byte, error)

const (
	// maxToken is how long a token may be, in bytes.
	maxToken = 16 << 10
	// issuerWait is how long a request waits for the keys of an issuer that are not known.
	issuerWait = 2 * time.Second
	// maxTokens is how many tokens are known to be good, so that their signatures need not be looked at again.
	maxTokens = 8192
	// looksGood is how long a token's signature is not looked at again: a key that its issuer has withdrawn ends the tokens that it signed.
	looksGood = 5 * time.Minute
)

// bearers are the issuers of a configuration, and the tokens of theirs that were good.
type bearers struct {
	issuers map[string]*issuer // by URL
	known   sync.Map           // digest → *bearer
	count   atomic.Int64
}

type issuer struct {
	Issuer
	keys     *keySet
	verifier *oidc.IDTokenVerifier
	teams    map[string]*Team
}

type bearer struct {
	who          *Principal
	until, looks time.Time // its end, and when its signature is looked at again
}

// Trust takes the issuers of a configuration, in place of those before; fetch reads their keys. Configure, which is called after it, puts them in force:
// no token is looked at before it is known which teams there are.
func (b *Book) Trust(issuers []Issuer, fetch Fetch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.trusted
	next := &bearers{issuers: map[string]*issuer{}}
	for _, i := range issuers {
		keys := &keySet{issuer: i.URL, address: i.Keys, fetch: fetch}
		if before != nil {
			if old := before.issuers[i.URL]; old != nil && old.Keys == i.Keys {
				keys = old.keys
			}
		}
		next.issuers[i.URL] = &issuer{Issuer: i, keys: keys, verifier: oidc.NewVerifier(i.URL, keys, &oidc.Config{
			ClientID: i.Audience, SupportedSigningAlgs: signatureNames(), Now: time.Now,
		})}
	}
	if len(issuers) == 0 {
		next = nil
	}
	b.trusted = next
}

// join puts the issuers in force, with the teams as they are now. It requires the lock.
func (b *Book) join() {
	if b.trusted == nil {
		b.tokens.Store(nil)
		return
	}
	next := &bearers{issuers: map[string]*issuer{}}
	for url, i := range b.trusted.issuers {
		own := *i
		own.teams = b.teams
		next.issuers[url] = &own
	}
	b.tokens.Store(next)
}

// tokenLike says whether what is presented has the form of a signed token.
func tokenLike(s string) bool { return strings.HasPrefix(s, "eyJ") && strings.Count(s, ".") == 2 }

// Verify says who presents a token, which Find told to be one. It waits for the issuer at most two seconds, and that only while its keys are not
// known, or the token names one that is not; nobody is asked about a token of an issuer that is not trusted.
func (b *Book) Verify(ctx context.Context, token string, now time.Time) (*Principal, Verdict) {
	all := b.tokens.Load()
	if all == nil || len(token) > maxToken {
		return nil, Unknown
	}
	sum := b.blind.sum(token)
	if v, ok := all.known.Load(sum); ok {
		known := v.(*bearer)
		switch {
		case !now.Before(known.until):
			return known.who, Expired
		case now.Before(known.looks):
			known.who.use(now)
			return known.who, Welcome
		}
	}
	i := all.issuers[issuerOf(token)]
	if i == nil {
		return nil, Unknown
	}
	ctx, cancel := context.WithTimeout(ctx, issuerWait)
	defer cancel()
	good, err := i.verifier.Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, Expired
	case err != nil && !i.keys.known():
		return nil, Unread
	case err != nil:
		return nil, Unknown
	}
	who, ok := i.bearer(good)
	if !ok {
		return nil, Unfit
	}
	if all.count.Add(1) > maxTokens {
		all.known.Clear()
		all.count.Store(1)
	}
	all.known.Store(sum, &bearer{who, good.Expiry, now.Add(looksGood)})
	return who, who.admit(now)
}

// issuerOf is the iss of a token that nobody has looked at yet.
func issuerOf(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return ""
	}
	if claims.Issuer == "accounts.google.com" {
		return "https://" + claims.Issuer // as Google says it, too
	}
	return claims.Issuer
}

// bearer is who a good token is of; false: it lacks something, or says it in a way that cannot be shown.
func (i *issuer) bearer(token *oidc.IDToken) (*Principal, bool) {
	var claims map[string]any
	if token.Claims(&claims) != nil {
		return nil, false
	}
	for name, want := range i.Require {
		if !slices.Contains(claimed(claims[name]), want) {
			return nil, false
		}
	}
	p := i.Allow
	p.Labels = maps.Clone(i.Allow.Labels)
	name, ok := claims[i.NameClaim].(string)
	if p.Name = i.Name + ":" + name; !ok || name == "" || !Word(p.Name, MaxName) {
		return nil, false
	}
	for _, c := range []struct {
		claim string
		to    *string
	}{{i.OwnerClaim, &p.Owner}, {i.TeamClaim, &p.Team}} {
		if c.claim == "" {
			continue
		}
		text, ok := claims[c.claim].(string)
		if !ok || !Word(text, MaxName) {
			return nil, false
		}
		*c.to = text
	}
	if i.ModelsClaim != "" {
		models := claimed(claims[i.ModelsClaim])
		models = slices.DeleteFunc(models, func(m string) bool { return !Word(m, MaxItem) || !among(i.Allow.Models, m) })
		if len(models) == 0 || len(models) > MaxList {
			return nil, false // an empty list would allow all
		}
		p.Models = models
	}
	p.Expires = token.Expiry
	p.settle(i.teams, nil)
	return &p, true
}

// claimed are the texts of a claim that is one, or a list of them.
func claimed(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}
