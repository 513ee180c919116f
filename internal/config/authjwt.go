package config

import (
	"net/url"
	"strings"

	"evergate/internal/identity"
)

// maxIssuers bounds the issuers: each may be asked for its keys.
const maxIssuers = 16

type issuerFile struct {
	name, issuer, audience, jwksURL              given[string]
	nameClaim, ownerClaim, teamClaim, modelClaim given[string]
	require                                      given[[]entry[string]]
	allow                                        given[clientKeyFile]
}

func issuerShape() shape[issuerFile] {
	claim := func() shape[string] { return identityText("a claim's name", identity.MaxName) }
	return object("jwt", "An issuer of signed tokens (OpenID Connect), which callers send in the place of a key.", []key[issuerFile]{
		field("name", "Stands before its callers' names, with a colon. Without it: the issuer's host.", identityText("a name", identity.MaxLabel), func(f *issuerFile) *given[string] { return &f.name }),
		field("issuer", "What tokens have as iss: a URL.", text("a URL"), func(f *issuerFile) *given[string] { return &f.issuer }),
		field("audience", "What tokens must have in aud.", text("an audience"), func(f *issuerFile) *given[string] { return &f.audience }),
		field("jwks_url", "Where its public keys are. Without it: where its discovery document says.", text("a URL"), func(f *issuerFile) *given[string] { return &f.jwksURL }),
		field("name_claim", "The claim with the caller's name; without it sub.", claim(), func(f *issuerFile) *given[string] { return &f.nameClaim }),
		field("owner_claim", "The claim with the owner.", claim(), func(f *issuerFile) *given[string] { return &f.ownerClaim }),
		field("team_claim", "The claim with the team.", claim(), func(f *issuerFile) *given[string] { return &f.teamClaim }),
		field("models_claim", "The claim with the models that the caller may use, a text or a list.", claim(), func(f *issuerFile) *given[string] { return &f.modelClaim }),
		field("require", "Claims that a token must have, with these texts, or with lists that have them.", table("names of claims", text("a text")), func(f *issuerFile) *given[[]entry[string]] { return &f.require }),
		field("allow", "What its callers may, as of a key; limits and budgets are each caller's own.", object("jwt_allow", "What callers with tokens may.", termKeys()), func(f *issuerFile) *given[clientKeyFile] { return &f.allow }),
	})
}

// issuers are those of auth.jwt.
func (b *builder) issuers(keys []ClientKey) (out []identity.Issuer) {
	f := &b.file.auth.v.jwt
	if len(f.v) > maxIssuers {
		b.problem(f.at, "", "has %d issuers, which is more than %d", len(f.v), maxIssuers)
	}
	names, urls := map[string]place{}, map[string]place{}
	for _, e := range f.v {
		w := &e.v
		i := identity.Issuer{
			Name: w.name.v, URL: w.issuer.v, Audience: w.audience.v, Keys: w.jwksURL.v, NameClaim: w.nameClaim.or("sub"), OwnerClaim: w.ownerClaim.v,
			TeamClaim: w.teamClaim.v, ModelsClaim: w.modelClaim.v, Allow: b.principal(&w.allow.v),
		}
		b.teamOf(w.allow.v.team)
		if w.audience.absent() {
			b.problem(e.at, "", "has no audience; without one, tokens that were made for others would let in: add audience: …")
		}
		if host := b.issuerURL(w.issuer, e.at); i.Name == "" {
			i.Name = host
		}
		if w.jwksURL.set {
			b.issuerURL(w.jwksURL, e.at)
		}
		at := e.at
		if w.name.set {
			at = w.name.at
		}
		if i.Name == "" {
			continue // it has a problem of its own
		}
		b.once(names, i.Name, at, "has the same name as the issuer on line %d; give it another name")
		if w.issuer.set {
			b.once(urls, i.URL, w.issuer.at, "is the issuer on line %d too; one entry is enough")
		}
		for _, k := range keys {
			if strings.HasPrefix(k.Name, i.Name+":") {
				b.problem(at, "", "stands before its callers' names, and the key %q in auth.keys begins with it, too; give one of them another name", k.Name)
			}
		}
		for _, o := range out { // "a" and "a:b" would both have a caller "a:b:c"
			if o.Name != i.Name && (strings.HasPrefix(o.Name, i.Name+":") || strings.HasPrefix(i.Name, o.Name+":")) {
				b.problem(at, "", "and the issuer %q could have callers of the same name, as one begins with the other and a colon; give one of them another name", o.Name)
			}
		}
		for _, r := range w.require.v {
			if i.Require == nil {
				i.Require = map[string]string{}
			}
			i.Require[r.name] = r.v
		}
		out = append(out, i)
	}
	return out
}

// issuerURL says what is wrong with a URL from which keys are read, and gives its host.
func (b *builder) issuerURL(w given[string], owner place) (host string) {
	if !w.set {
		if w.absent() {
			b.problem(owner, "", "has no issuer; add issuer: https://…")
		}
		return ""
	}
	u, err := url.Parse(w.v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Fragment != "":
		b.problem(w.at, "", "is not a URL; it must begin with https:// and have a host")
		return ""
	case u.Scheme == "http" && !loopback(u.Hostname()):
		b.problem(w.at, "https"+strings.TrimPrefix(w.v, "http"), "begins with http://, so that anybody on the way could forge its keys")
	}
	return u.Host
}
