package affinity

import (
	"github.com/cespare/xxhash/v2"

	"evergate/internal/wire"
)

// The seeds are the same everywhere and at all times: what one instance remembers, another one finds, and so does the next start.
// Changing one makes a fleet of both versions remember nothing of each other.
//
// Nobody is kept from making two conversations with one id, and nothing is lost by it: an id stands for a preference alone,
// among targets that the caller may use anyway and that the strategy holds equal. It never opens what is another's.
const (
	seedOne   = 0x45766572_67617465
	seedTwo   = 0x636f6e76_65727365
	seedOther = 0x74617267_65747321
)

// id is a conversation, hashed twice: that two have the same by chance is not to be expected.
type id [2]uint64

// hashes is an id on its way. What is short is gathered first: a hash is slow with single bytes.
type hashes struct {
	gathered int
	small    [128]byte
	begun    bool
	sums     [2]xxhash.Digest
}

func (h *hashes) id() id {
	h.flush()
	return id{h.sums[0].Sum64(), h.sums[1].Sum64()}
}

func (h *hashes) flush() {
	h.write(h.small[:h.gathered])
	h.gathered = 0
}

func (h *hashes) write(b []byte) {
	if !h.begun {
		h.begun = true
		h.sums[0].ResetWithSeed(seedOne)
		h.sums[1].ResetWithSeed(seedTwo)
	}
	for i := range h.sums {
		_, _ = h.sums[i].Write(b) // never fails
	}
}

// room makes room for n bytes among what is gathered; false: there is never so much.
func (h *hashes) room(n int) bool {
	if h.gathered+n > len(h.small) {
		h.flush()
	}
	return n <= len(h.small)
}

func (h *hashes) byte(b byte) {
	h.room(1)
	h.small[h.gathered] = b
	h.gathered++
}

func (h *hashes) add(b []byte) {
	if h.room(len(b)) {
		h.gathered += copy(h.small[h.gathered:], b)
		return
	}
	h.write(b)
}

// span adds a text; false: there is none.
func (h *hashes) span(body []byte, s wire.Span) bool {
	text := body[s.From:s.To]
	h.bytes(text, len(text))
	return len(text) > 0
}

func (h *hashes) words(body []byte, s wire.Span) {
	wire.Words(body[s.From:s.To], maxWords, h.bytes)
	h.length(0)
}

func (h *hashes) text(s string) {
	h.length(len(s))
	for len(s) > 0 {
		h.room(1)
		n := copy(h.small[h.gathered:], s)
		h.gathered += n
		s = s[n:]
	}
}

// bytes adds the beginning of something, and its whole length.
func (h *hashes) bytes(b []byte, whole int) {
	h.length(whole)
	h.add(b)
}

// length keeps two things apart that are added one after the other.
func (h *hashes) length(n int) {
	for ; n >= 0x80; n >>= 7 {
		h.byte(byte(n) | 0x80)
	}
	h.byte(byte(n)) //nolint:gosec // less than 0x80
}

// targetOf is a target's number. Two with the same one are mixed up, which is of no more harm than two conversations are.
func targetOf(provider, model string) uint32 {
	var h xxhash.Digest
	h.ResetWithSeed(seedOther)
	_, _ = h.WriteString(provider)
	_, _ = h.WriteString("/")
	_, _ = h.WriteString(model)
	return uint32(h.Sum64()) //nolint:gosec // a part of a hash is one, too
}

// credentialOf is a credential's number, never 0. Instances may have them in another order.
func credentialOf(name string) uint16 {
	var h xxhash.Digest
	h.ResetWithSeed(seedOther)
	_, _ = h.WriteString(name)
	return max(uint16(h.Sum64()), 1) //nolint:gosec // as above
}
