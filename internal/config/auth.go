package config

import (
	"evergate/internal/identity"
	"evergate/internal/provider"
)

// AuthMode says how callers are told apart.
type AuthMode uint8

// The modes of auth.
const (
	AuthNone AuthMode = iota
	AuthKeys
)

// Auth says who may use the gateway.
type Auth struct {
	Mode           AuthMode
	AllowAnonymous bool
	Keys           []ClientKey
	Teams          []identity.Team
	Issuers        []identity.Issuer
	FailedLimit    int // keys that an address may have refused in a minute; 0: no limit
}

// ClientKey is a key of a caller, and what it may.
type ClientKey struct {
	identity.Principal
	Value provider.Secret
}

type authFile struct {
	mode           given[AuthMode]
	allowAnonymous given[bool]
	keys           given[[]given[clientKeyFile]]
	teams          given[[]entry[teamFile]]
	jwt            given[[]given[issuerFile]]
	failedLimit    given[int]
}

func authShape() shape[authFile] {
	return object("auth", "Who may use the gateway.", []key[authFile]{
		field("mode", "none lets every caller in; keys wants a key, one of those below or one that was made in the running gateway. Without it: keys if there are any below.",
			choice(say("none", AuthNone), say("keys", AuthKeys)), func(f *authFile) *given[AuthMode] { return &f.mode }),
		field("allow_anonymous", "Allows mode none on an address that others can reach.", boolean(), func(f *authFile) *given[bool] { return &f.allowAnonymous }),
		field("keys", "The keys of callers.", list("keys with a name and a value", clientKeyShape()), func(f *authFile) *given[[]given[clientKeyFile]] { return &f.keys }),
		field("teams", "What all keys of a team share, by a name of your own.", table("names of teams", teamShape()), func(f *authFile) *given[[]entry[teamFile]] { return &f.teams }),
		failedLimitKey(),
		field("jwt", "Issuers whose signed tokens let callers in, too.", list("issuers with an issuer and an audience", issuerShape()), func(f *authFile) *given[[]given[issuerFile]] { return &f.jwt }),
	})
}

func (b *builder) auth() Auth {
	f := &b.file.auth.v
	a := Auth{Mode: f.mode.v, AllowAnonymous: f.allowAnonymous.v}
	if f.mode.absent() && (len(f.keys.v) > 0 || len(f.jwt.v) > 0) {
		a.Mode = AuthKeys
	}
	if f.mode.set && a.Mode == AuthNone && (len(f.keys.v) > 0 || len(f.jwt.v) > 0) {
		b.problem(f.mode.at, "keys", "is none although there are keys, which nobody would have to show")
	}
	a.Teams = b.teams()
	names, values := map[string]place{}, map[string]place{}
	for _, k := range f.keys.v {
		b.named(k.v.name, k.at, names)
		b.teamOf(k.v.team)
		if b.clientKeyValue(k) {
			b.once(values, k.v.value.v.value.Reveal(), k.v.value.at, "has the same value as the key on line %d; give each caller a key of its own")
		}
		a.Keys = append(a.Keys, ClientKey{Value: k.v.value.v.value, Principal: b.principal(&k.v)})
	}
	a.Issuers = b.issuers(a.Keys)
	return a
}

func (b *builder) clientKeyValue(k given[clientKeyFile]) bool {
	v := k.v.value
	switch {
	case v.wrong:
		return false
	case v.absent():
		b.problem(k.at, "", "has no value; add value: ${…}")
		return false
	case v.v.value == "":
		b.problem(v.at, "", "is empty, which would let everybody in; set the variable, or remove the key")
		return false
	}
	return true
}
