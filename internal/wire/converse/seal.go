package converse

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"evergate/internal/llm"
)

// Redacted thoughts travel as bytes in base64, and Claude's bytes are the very text that its vendor's own API shows. So
// the seal holds that text: the same thought is then the same seal, whichever way it came, and can go back either way.
// Bytes that are no text are kept in base64 behind a mark.
const binaryMark = "converse:"

// sealOf makes a seal's data of the decoded bytes.
func sealOf(blob []byte) string {
	if len(blob) > 0 && utf8.Valid(blob) && !strings.HasPrefix(string(blob), binaryMark) {
		return string(blob)
	}
	return binaryMark + base64.StdEncoding.EncodeToString(blob)
}

// blobOf is sealOf backwards, in base64.
func blobOf(data string) string {
	if raw, ok := strings.CutPrefix(data, binaryMark); ok {
		return raw
	}
	return base64.StdEncoding.EncodeToString([]byte(data))
}

// signedBy is whose thoughts they are that Converse brings sealed: the stream does not name its model, and of those that
// it has Claude alone seals them.
const signedBy = llm.Anthropic

// appendBlob appends the bytes of a base64 text; false if it is none.
func appendBlob(dst, text []byte) ([]byte, bool) {
	out, err := base64.StdEncoding.AppendDecode(dst, text)
	return out, err == nil
}
