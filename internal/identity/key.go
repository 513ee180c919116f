package identity

import (
	"crypto/rand"
	"hash/crc32"
	"strings"
)

// A key that is made here looks like eg_ID_SECRET with a checksum at its end, all of it letters and digits, so that scanners of source code know it and a
// slip in copying is told from a key that is not known. The secret has 256 bits.
const (
	keyPrefix = "eg_"
	idSize    = 10
	// secretSize letters of 62 are 256 bits.
	secretSize = 43
	checkSize  = 6
	secretAt   = len(keyPrefix) + idSize + 1
	checkAt    = secretAt + secretSize
	keySize    = checkAt + checkSize
)

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// draw gives so many letters at random, each as likely as any other.
func draw(n int) string {
	out := make([]byte, 0, n)
	var b [64]byte
	for {
		_, _ = rand.Read(b[:]) // it never fails
		for _, c := range b {
			if c >= 256/62*62 {
				continue
			}
			if out = append(out, letters[c%62]); len(out) == n {
				return string(out)
			}
		}
	}
}

// check is the checksum of what stands before it.
func check(text string) (out [checkSize]byte) {
	sum := ^uint32(0) // CRC-32, as crc32.ChecksumIEEE makes it, which has the text go to the heap
	for i := range len(text) {
		sum = crc32.IEEETable[byte(sum&0xff)^text[i]] ^ sum>>8
	}
	sum = ^sum
	for i := checkSize - 1; i >= 0; i-- {
		out[i] = letters[sum%62]
		sum /= 62
	}
	return out
}

// mint makes a key for an id, and gives its secret.
func mint(id string) (key, secret string) {
	secret = draw(secretSize)
	text := keyPrefix + id + "_" + secret
	sum := check(text)
	return text + string(sum[:]), secret
}

// form says what a text that is presented as a key looks like.
type form uint8

const (
	foreign  form = iota // nothing that is made here
	mistyped             // it begins as a key that is made here
	sound
)

// split takes a key apart. It looks at nothing but the text.
func split(text string) (id, secret string, f form) {
	if !strings.HasPrefix(text, keyPrefix) {
		return "", "", foreign
	}
	if len(text) != keySize || text[secretAt-1] != '_' || !plain(text[len(keyPrefix):secretAt-1]) || !plain(text[secretAt:]) {
		return "", "", mistyped
	}
	if sum := check(text[:checkAt]); string(sum[:]) != text[checkAt:] {
		return "", "", mistyped
	}
	return text[len(keyPrefix) : secretAt-1], text[secretAt:checkAt], sound
}

// plain says whether a text is letters and digits alone.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
