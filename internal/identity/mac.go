package identity

import (
	"crypto/rand"
	"crypto/sha256"
)

// digest is an HMAC-SHA256.
type digest [sha256.Size]byte

// macKey is a key of HMAC-SHA256 (RFC 2104), made ready. Unlike crypto/hmac's it needs nothing of the heap for a short text, which counts on the
// request path; a test holds it against crypto/hmac.
type macKey struct{ inner, outer [sha256.BlockSize]byte }

// newMacKey makes a key ready; it is at most a block long, as all keys here are.
func newMacKey(key []byte) (k macKey) {
	copy(k.inner[:], key)
	copy(k.outer[:], key)
	for i := range k.inner {
		k.inner[i] ^= 0x36
		k.outer[i] ^= 0x5c
	}
	return k
}

// randomKey is a key that nobody knows.
func randomKey() macKey {
	var b [sha256.Size]byte
	_, _ = rand.Read(b[:]) // it never fails
	return newMacKey(b[:])
}

func (k *macKey) sum(text string) digest {
	var room [8 * sha256.BlockSize]byte // a longer text goes to the heap
	first := sha256.Sum256(append(append(room[:0], k.inner[:]...), text...))
	var last [sha256.BlockSize + sha256.Size]byte
	copy(last[:], k.outer[:])
	copy(last[sha256.BlockSize:], first[:])
	return sha256.Sum256(last[:])
}
