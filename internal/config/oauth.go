package config

import (
	"net/url"
	"slices"

	"evergate/internal/provider"
)

func oauthShape() shape[oauthFile] {
	return object("oauth", "An OAuth grant, which gets access tokens of a token endpoint.", []key[oauthFile]{
		field("token_url", "The token endpoint: https, or http on this machine.", text("a URL"), func(f *oauthFile) *given[string] { return &f.tokenURL }),
		field("client_id", "The client's id.", text("a client's id"), func(f *oauthFile) *given[string] { return &f.clientID }),
		field("client_secret", "The client's secret; a public client has none.", secret("a secret"), func(f *oauthFile) *given[secretText] { return &f.clientSecret }),
		field("refresh_token", "The refresh token to begin with. Without it the client asks for itself.", secret("a refresh token"), func(f *oauthFile) *given[secretText] { return &f.refreshToken }),
		field("scopes", "What the client asks for itself; a refresh token has its scopes already.", list("scopes", text("a scope")), func(f *oauthFile) *given[[]given[string]] { return &f.scopes }),
	})
}

// hasOAuth says whether a provider has an OAuth key, in either place.
func (f *providerFile) hasOAuth() bool {
	return !f.oauth.absent() || slices.ContainsFunc(f.keys.v, func(k given[keyFile]) bool { return !k.v.oauth.absent() })
}

// withOAuth says whether one of the credentials gets its tokens of a token endpoint.
func withOAuth(all []provider.Credential) bool {
	return slices.ContainsFunc(all, func(c provider.Credential) bool { return c.OAuth != nil })
}

// oauth is the grant of a key; nil: it cannot be used, which was reported unless the provider is disabled.
func (b *builder) oauth(f given[oauthFile], disabled bool) *provider.OAuth {
	w, problems := &f.v, len(b.problems)
	if f.wrong || w.tokenURL.wrong || w.clientID.wrong || w.clientSecret.wrong || w.refreshToken.wrong || w.scopes.wrong {
		return nil
	}
	if disabled && (w.clientSecret.set && w.clientSecret.v.value == "" || w.refreshToken.set && w.refreshToken.v.value == "") {
		return nil // it may be missing meanwhile
	}
	switch {
	case w.tokenURL.absent() || w.clientID.absent():
		b.problem(f.at, "", "needs both of token_url and client_id")
	case w.clientSecret.absent() && w.refreshToken.absent():
		b.problem(f.at, "", "needs a refresh_token, or a client_secret with which the client asks for itself")
	}
	b.notEmpty(w.clientSecret, "set the variable, or remove it if the client has none")
	b.notEmpty(w.refreshToken, "set the variable, or remove it if the client asks for itself")
	if w.tokenURL.set {
		b.tokenURL(w.tokenURL)
	}
	if len(b.problems) > problems {
		return nil
	}
	return &provider.OAuth{
		TokenURL: w.tokenURL.v, ClientID: w.clientID.v, ClientSecret: w.clientSecret.v.value, RefreshToken: w.refreshToken.v.value,
		Scopes: texts(w.scopes),
	}
}

// tokenURL reports what is wrong with a token endpoint's address.
func (b *builder) tokenURL(f given[string]) {
	u, wrong := absoluteURL(f.v, "https", "http")
	switch {
	case wrong != "":
	case u.User != nil:
		wrong = "must not hold a user or password; client_id and client_secret are for that"
	case u.Fragment != "":
		wrong = "must not have a fragment"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		b.problem(f.at, asHTTPS(*u), "must begin with https://, since secrets are sent there; http is for this machine alone")
		return
	}
	if wrong != "" {
		b.problem(f.at, "", "%s", wrong)
	}
}

// asHTTPS is the address that was probably meant.
func asHTTPS(u url.URL) string {
	u.Scheme = "https"
	return u.String()
}

// onceGranted reports an OAuth key that is the same as another of the provider, or has its refresh token: an endpoint that gives
// a new one for each use would know only one of the two.
func (b *builder) onceGranted(seen map[string]place, f given[oauthFile]) {
	refresh := "refresh " + f.v.refreshToken.v.value.Reveal()
	identity := f.v.tokenURL.v + " " + f.v.clientID.v + " " + refresh
	if first, same := seen[refresh]; same && seen[identity] != first {
		b.problem(f.v.refreshToken.at, "", "is also that of the key on line %d: whichever asks first can make it useless to the other; log in once more for this key, or remove one", first.line)
		return
	}
	b.once(seen, identity, f.at, "is the same grant as that of the key on line %d; remove one")
	if f.v.refreshToken.set {
		seen[refresh] = f.at
	}
}
