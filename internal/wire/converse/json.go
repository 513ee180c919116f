package converse

import (
	"bytes"
	"strconv"

	"evergate/internal/jsonscan"
)

// comma appends a comma if dst does not end where an object or an array was just opened.
func comma(dst []byte) []byte {
	if c := dst[len(dst)-1]; c != '{' && c != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// member begins a member of the object that dst ends in. The name needs no escapes.
func member(dst []byte, name string) []byte {
	dst = append(comma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func stringMember(dst []byte, name, value string) []byte {
	return jsonscan.AppendString(member(dst, name), value)
}

func intMember(dst []byte, name string, value int64) []byte {
	return strconv.AppendInt(member(dst, name), value, 10)
}

func floatMember(dst []byte, name string, value float64) []byte {
	return strconv.AppendFloat(member(dst, name), value, 'g', -1, 64)
}

// isObject says that raw is one valid JSON object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && jsonscan.Valid(raw) == nil
}

// isBlank says that there is nothing but white space, which Bedrock refuses as text.
func isBlank(s string) bool {
	for _, c := range s {
		switch c {
		case ' ', '\n', '\r', '\t', '\v', '\f', '\u0085', '\u00a0':
		default:
			return false
		}
	}
	return true
}

// unescaped gives the text of a string's inside, in buf where it has escapes.
func unescaped(buf, raw []byte) (text, grown []byte) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, buf
	}
	buf = jsonscan.AppendUnescaped(buf[:0], raw)
	return buf, buf
}

func itoa(n int) string { return strconv.Itoa(n) }
