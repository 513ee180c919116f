package jsonscan

import "strconv"

// AppendComma appends a comma, unless dst ends where an object or an array was just opened. dst must not be empty.
func AppendComma(dst []byte) []byte {
	if c := dst[len(dst)-1]; c != '{' && c != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// AppendKey begins a member of the object that dst ends in, with a comma where one is needed; its value must follow. The
// name needs no escapes.
func AppendKey(dst []byte, name string) []byte {
	dst = append(AppendComma(dst), '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// AppendStringMember appends a member of the object that dst ends in; see AppendKey.
func AppendStringMember(dst []byte, name, value string) []byte {
	return AppendString(AppendKey(dst, name), value)
}

// AppendIntMember appends a member of the object that dst ends in; see AppendKey.
func AppendIntMember(dst []byte, name string, value int64) []byte {
	return strconv.AppendInt(AppendKey(dst, name), value, 10)
}

// AppendFloatMember appends a member of the object that dst ends in; see AppendKey.
func AppendFloatMember(dst []byte, name string, value float64) []byte {
	return strconv.AppendFloat(AppendKey(dst, name), value, 'g', -1, 64)
}

// AppendStringOrNull is AppendString, but null for an empty string.
func AppendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return AppendString(dst, s)
}
