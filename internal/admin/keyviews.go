package admin

import (
	"strconv"
	"time"

	"evergate/internal/identity"
)

// Keys is the reply of GET /admin/v1/keys.
type Keys struct {
	// AsksForKeys is false where callers need no key, so that none of these matters.
	AsksForKeys bool  `json:"asks_for_keys"`
	Keys        []Key `json:"keys"`
}

// The states of a key.
const (
	KeyActive   = "active"
	KeyRotating = "rotating" // the one before it is still good
	KeyExpired  = "expired"
	KeyRevoked  = "revoked"
	KeyShadowed = "shadowed" // another key has its name, so that it lets nobody in
)

var keyStates = []string{KeyActive, KeyRotating, KeyExpired, KeyRevoked, KeyShadowed}

// Key is a caller's key: what it may, and what became of it. No part of the key itself is in it but its first letters.
type Key struct {
	ID     string `json:"id"`     // empty for one of the config
	Source string `json:"source"` // config or store
	Prefix string `json:"prefix"` // empty for one of the config
	State  string `json:"state"`
	identity.Terms
	ExpiresAt Time   `json:"expires_at"`
	CreatedAt Time   `json:"created_at"`
	CreatedBy string `json:"created_by"`
	ChangedAt Time   `json:"changed_at"`
	ChangedBy string `json:"changed_by"`
	Reason    string `json:"reason"` // what was said at the last change
	RevokedAt Time   `json:"revoked_at"`
	// OldUntil is until when the key before the last rotation is good, too.
	OldUntil Time `json:"old_key_until"`
	// LastUsedAt is when it last let a request in, on the instance that answers.
	LastUsedAt Time       `json:"last_used_at"`
	Spent      []KeySpent `json:"spent"`
}

// NewKey is a key that was just made: the only reply that has it.
type NewKey struct {
	Key
	Value string `json:"key"`
}

// KeySpent is what was spent of a budget in its period that runs.
type KeySpent struct {
	Per         string  `json:"per"`
	Zone        string  `json:"zone"`
	From        Time    `json:"from"`
	To          Time    `json:"to"`
	USD         float64 `json:"usd"`
	Tokens      int64   `json:"tokens"`
	LimitUSD    float64 `json:"limit_usd"`    // 0: none
	LimitTokens int64   `json:"limit_tokens"` // 0: none
}

// ownKey is one of the config.
func (a *handler) ownKey(who *identity.Principal, now time.Time) Key {
	k := Key{Source: "config", State: KeyActive, Terms: identity.TermsOf(who), ExpiresAt: Time(who.Expires), LastUsedAt: Time(who.LastUsed()), Spent: a.spent(who)}
	if !who.Expires.IsZero() && !now.Before(who.Expires) {
		k.State = KeyExpired
	}
	return k
}

// madeKey is one that was made here.
func (a *handler) madeKey(r *identity.Record, now time.Time) Key {
	who := a.sources.Callers.Named(r.Name)
	k := Key{
		ID: r.ID, Source: "store", Prefix: r.Prefix(), State: KeyActive, Terms: identity.TermsOf(&r.Principal), ExpiresAt: Time(r.Expires),
		CreatedAt: Time(r.Created), CreatedBy: r.CreatedBy, ChangedAt: Time(r.Changed), ChangedBy: r.ChangedBy, Reason: r.Reason,
		RevokedAt: Time(r.Revoked), Spent: []KeySpent{},
	}
	if who != nil && who.ID == r.ID {
		k.LastUsedAt, k.Spent = Time(who.LastUsed()), a.spent(who)
	}
	until := r.Hashes[1].Until
	switch {
	case !r.Revoked.IsZero():
		k.State = KeyRevoked
	case who == nil || who.ID != r.ID:
		k.State = KeyShadowed
	case !r.Active(now):
		k.State = KeyExpired
	case now.Before(until):
		k.State, k.OldUntil = KeyRotating, Time(until)
	}
	return k
}

func (a *handler) spent(who *identity.Principal) []KeySpent {
	if a.sources.Spent == nil {
		return []KeySpent{}
	}
	return append([]KeySpent{}, a.sources.Spent(who)...)
}

func quote(s string) string { return strconv.Quote(clip(s)) }
