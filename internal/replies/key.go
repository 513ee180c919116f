package replies

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Key stands for all that an answer hangs on. Two requests have the same key if and only if the same words were written for both, in the same
// order: it is a SHA-256, so that nobody finds another request with the key of one that he does not know.
type Key [sha256.Size]byte

// KeyWriter makes a Key. The zero value is no use; NewKey makes one. It is for one goroutine.
type KeyWriter struct {
	sum  hash.Hash
	size [8]byte
}

// NewKey begins a key.
func NewKey() *KeyWriter { return &KeyWriter{sum: sha256.New()} }

// Bytes adds one word. Its length goes first, so that no two words read as one.
func (k *KeyWriter) Bytes(word []byte) {
	binary.BigEndian.PutUint64(k.size[:], uint64(len(word)))
	_, _ = k.sum.Write(k.size[:]) // a hash never fails
	_, _ = k.sum.Write(word)
}

// Words adds a list of words, and how many they are.
func (k *KeyWriter) Words(words ...string) {
	k.Number(uint64(len(words)))
	for _, w := range words {
		k.Bytes([]byte(w))
	}
}

// Number adds a number.
func (k *KeyWriter) Number(n uint64) {
	binary.BigEndian.PutUint64(k.size[:], n)
	_, _ = k.sum.Write(k.size[:])
}

// Key is the key of what was written so far.
func (k *KeyWriter) Key() (key Key) {
	k.sum.Sum(key[:0])
	return key
}
