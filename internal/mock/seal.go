package mock

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// The makers of seals: what one made, another does not take.
const (
	makerAnthropic = "anthropic"
	makerOpenAI    = "openai"
	makerGoogle    = "google"
)

// sealOf is a signature over a thought, or an encrypted one: opaque to clients, and told from a forged or a foreign one
// when it comes back. It is no secret; it is the same for the same text, so that answers are deterministic.
func sealOf(maker, text string) string {
	return base64.StdEncoding.EncodeToString(append(macOf(maker, text), text...))
}

// openSeal gives the text that a seal of this maker is over.
func openSeal(maker, seal string) (text string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(seal))
	if err != nil || len(raw) < sha256.Size {
		return "", false
	}
	text = string(raw[sha256.Size:])
	return text, hmac.Equal(raw[:sha256.Size], macOf(maker, text))
}

func macOf(maker, text string) []byte {
	h := hmac.New(sha256.New, []byte("evergate mock "+maker))
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}
