package llm

import (
	"encoding/base64"
	"strings"
)

// sealMark begins every wrapped seal. It is itself what base64 makes of "evergate1|".
const sealMark = "evergate1|"

// wrappedMark is what a wrapped seal begins with: the mark's first nine bytes, whose base64 does not depend on the rest.
var wrappedMark = base64.StdEncoding.EncodeToString([]byte(sealMark[:9]))

// Wrap writes a seal as one opaque text that any dialect can carry to a client and back where it has a place for a
// seal of its own vendor. The text is standard base64, because some dialects decode it. A seal of the dialect's own
// vendor and form should go as it is, not wrapped.
func Wrap(s *Seal) string {
	kind := [...]string{Signed: "s", Redacted: "r", Encrypted: "e"}[s.Kind]
	return base64.StdEncoding.EncodeToString([]byte(sealMark + string(s.Vendor) + "|" + kind + "|" + escapeID(s.ID) + "|" + s.Data))
}

// Unwrap reads what Wrap wrote; ok is false for anything else, which then is a vendor's own.
func Unwrap(text string) (s Seal, ok bool) {
	if !strings.HasPrefix(text, wrappedMark) {
		return Seal{}, false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Seal{}, false
	}
	parts := strings.SplitN(string(raw), "|", 5)
	if len(parts) != 5 {
		return Seal{}, false
	}
	switch parts[2] {
	case "s":
		s.Kind = Signed
	case "r":
		s.Kind = Redacted
	case "e":
		s.Kind = Encrypted
	default:
		return Seal{}, false
	}
	s.Vendor, s.ID, s.Data = Vendor(parts[1]), unescapeID(parts[3]), parts[4]
	return s, true
}

// escapeID keeps the mark between fields out of an id; ids as vendors make them stay as they are.
func escapeID(id string) string {
	return strings.ReplaceAll(strings.ReplaceAll(id, "%", "%25"), "|", "%7C")
}

func unescapeID(id string) string {
	return strings.ReplaceAll(strings.ReplaceAll(id, "%7C", "|"), "%25", "%")
}
