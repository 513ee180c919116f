package cohere

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

// unescaped gives the text of a string's inside, in buf where it has escapes.
func unescaped(buf, raw []byte) (text, grown []byte) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, buf
	}
	buf = jsonscan.AppendUnescaped(buf[:0], raw)
	return buf, buf
}

// enter walks an object's members and hands each to read, which must read its value.
func enter(r *jsonscan.Reader, read func(key string)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		read(string(key))
	}
}
