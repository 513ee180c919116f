package identity

import (
	"crypto/rand"
	"crypto/subtle"
	"time"
)

// Record is a key that was made here, as it is kept: everything but the key.
type Record struct {
	Principal
	Created, Changed time.Time
	// CreatedBy is who made it, ChangedBy who changed, rotated or revoked it last, and Reason what was said then.
	CreatedBy, ChangedBy, Reason string
	// Revoked is when it was revoked; zero: it is not. A revoked one has no hashes, and is kept for its name.
	Revoked time.Time
	// Salt is the record's own: of a key that was presented one hash is made, which is compared with both.
	Salt [saltSize]byte
	// Hashes are of the key, and of the one that it took the place of, which has an end.
	Hashes [2]Hash
	// Version counts its changes, from 1.
	Version uint64
}

// lastVersion is that of what is revoked: no change that is made elsewhere at the same time stands above it.
const lastVersion = 1 << 52

// saltSize is how many bytes of salt a hash has.
const saltSize = 16

// Hash is what is kept of a key. The zero Hash fits none.
type Hash struct {
	Sum digest
	// Until is when the key ends; zero: with the record.
	Until time.Time
}

// hashOf is the hash of a secret.
func hashOf(salt [saltSize]byte, secret string) digest {
	k := newMacKey(salt[:])
	return k.sum(secret)
}

func newSalt() (salt [saltSize]byte) {
	_, _ = rand.Read(salt[:]) // it never fails
	return salt
}

// none says whether there is no hash.
func (h *Hash) none() bool { return h.Sum == digest{} }

// is compares in constant time, also where there is no hash.
func (h *Hash) is(sum *digest) bool {
	return subtle.ConstantTimeCompare(sum[:], h.Sum[:]) == 1 && !h.none()
}

// Prefix is how the key begins, for people who look for it.
func (r *Record) Prefix() string { return keyPrefix + r.ID + "_" }

// newRecord makes a record and the key that it is of.
func newRecord(terms Principal, by string, now time.Time) (r Record, key string) {
	now = stampOf(now)
	r = Record{Principal: terms, Created: now, Changed: now, CreatedBy: by, ChangedBy: by, Version: 1}
	r.ID = draw(idSize)
	key, secret := mint(r.ID)
	r.Salt = newSalt()
	r.Hashes[0].Sum = hashOf(r.Salt, secret)
	return r, key
}

// rotated has a new key, beside which the one before is good for a while more. One that was on its way out already goes at once: there are never more
// than two.
func (r Record) rotated(overlap time.Duration, by, reason string, now time.Time) (next Record, key string) {
	key, secret := mint(r.ID)
	r.Hashes[1] = r.Hashes[0]
	r.Hashes[1].Until = stampOf(now.Add(overlap))
	if overlap == 0 {
		r.Hashes[1] = Hash{}
	}
	r.Hashes[0] = Hash{Sum: hashOf(r.Salt, secret)}
	r.touch(by, reason, now)
	return r, key
}

// revoked lets nobody in any more.
func (r Record) revoked(by, reason string, now time.Time) Record {
	r.touch(by, reason, now)
	r.Revoked, r.Salt, r.Hashes, r.Version = r.Changed, [saltSize]byte{}, [2]Hash{}, lastVersion
	return r
}

// changed has other terms under the same name.
func (r Record) changed(terms Principal, by, reason string, now time.Time) Record {
	terms.ID, terms.Name = r.ID, r.Name
	r.Principal = terms
	r.touch(by, reason, now)
	return r
}

func (r *Record) touch(by, reason string, now time.Time) {
	r.Version++
	r.Changed, r.ChangedBy, r.Reason = stampOf(now), by, reason
}

// stampOf is a time as records keep it: to the millisecond.
func stampOf(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Active says whether the key lets anybody in.
func (r *Record) Active(now time.Time) bool {
	return r.Revoked.IsZero() && (r.Expires.IsZero() || now.Before(r.Expires))
}
