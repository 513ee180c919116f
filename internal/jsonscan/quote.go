package jsonscan

import (
	"bytes"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, quotes included. Only what must be escaped is; bytes that are not UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte { return AppendText(dst, []byte(s)) }

// AppendText is AppendString of bytes.
func AppendText(dst, text []byte) []byte {
	dst = AppendEscaped(append(dst, '"'), text)
	return append(dst, '"')
}

// AppendEscaped is AppendText without the quotes.
func AppendEscaped(dst, text []byte) []byte {
	for done, i := 0, 0; ; done = i {
		i = plain(text, i)
		dst = append(dst, text[done:i]...)
		if i == len(text) {
			return dst
		}
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, "\uFFFD"...)
		}
		i++
	}
}

// IsWritten says that a valid string's inside is just what AppendText makes of its text: then it can be copied to where
// the text would be written.
func IsWritten(raw []byte) bool {
	for i := 0; ; i += 2 {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return utf8.Valid(raw)
		}
		if i += n; i+1 == len(raw) {
			return false
		}
		switch raw[i+1] {
		case '"', '\\', 'n', 'r', 't':
		default:
			return false
		}
	}
}

// AppendUnescaped appends the text of a valid string's inside. Half a surrogate pair and bytes that are not UTF-8
// become U+FFFD.
func AppendUnescaped(dst, raw []byte) []byte {
	dst, _, _ = unescape(dst, raw, 0)
	return dst
}

// unescape appends the text of a string's inside from i on, up to its closing quote or the end of b, and gives the
// offset of that, or of the problem.
func unescape(dst, b []byte, i int) (out []byte, end int, bad problem) {
	for done := i; ; done = i {
		i = plain(b, i)
		dst = append(dst, b[done:i]...)
		if i == len(b) || b[i] == '"' {
			return dst, i, sound
		}
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			dst = append(dst, "\uFFFD"...)
			i++
		case c != '\\':
			return dst, i, controlCharacter
		default:
			if c, ok := unescaped(b, i); ok {
				dst = append(dst, c)
				i += 2
				continue
			}
			var r rune
			if r, i, bad = code(b, i); bad != sound {
				return dst, i, bad
			}
			if utf16.IsSurrogate(r) {
				low, next, _ := code(b, i)
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i = next
				}
			}
			dst = utf8.AppendRune(dst, r)
		}
	}
}

// code reads an escape that gives a character's code, if there is one at i, and gives the offset after it, or of the
// problem.
func code(b []byte, i int) (r rune, next int, bad problem) {
	if i+1 >= len(b) {
		return 0, len(b), unexpectedEnd
	}
	if b[i] != '\\' || b[i+1] != 'u' {
		return 0, i + 1, badEscape
	}
	i += 2
	for range 4 {
		if i == len(b) {
			return 0, i, unexpectedEnd
		}
		d, ok := hexDigit(b[i])
		if !ok {
			return 0, i, badEscape
		}
		r = r<<4 | rune(d)
		i++
	}
	return r, i, sound
}

// plain is the first place from i on of a byte that has to be escaped in a string, or is not UTF-8; len(b) if there is
// none.
func plain(b []byte, i int) int {
	for {
		if i = plainASCII(b, i); i == len(b) || b[i] < utf8.RuneSelf {
			return i
		}
		for i < len(b) && b[i] >= utf8.RuneSelf {
			size := runeSize(b[i:])
			if size == 0 {
				return i
			}
			i += size
		}
	}
}

// runeSize is the length of the character beyond ASCII that b begins with, 0 if it is none.
func runeSize(b []byte) int {
	switch c := b[0]; { // nearly all: nobody asks for their value
	case c >= 0xe1 && c <= 0xec && len(b) > 2 && isTail(b[1]) && isTail(b[2]):
		return 3
	case c >= 0xc2 && c <= 0xdf && len(b) > 1 && isTail(b[1]):
		return 2
	}
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

func isTail(c byte) bool { return c&0xc0 == 0x80 }

// unplain is special, but bytes above 0x7f are not plain.
func unplain(w uint64) uint64 { return special(w) | w&tops }

// plainASCII is plain where all beyond ASCII counts as not plain.
func plainASCII(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		p := (*[32]byte)(b[i:])
		if m := unplain(load(p[0:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		m1, m2, m3 := unplain(load(p[8:])), unplain(load(p[16:])), unplain(load(p[24:]))
		switch {
		case m1|m2|m3 == 0:
		case m1 != 0:
			return i + 8 + bits.TrailingZeros64(m1)>>3
		case m2 != 0:
			return i + 16 + bits.TrailingZeros64(m2)>>3
		default:
			return i + 24 + bits.TrailingZeros64(m3)>>3
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if m := unplain(load(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// unescaped is what the letter after a backslash stands for; ok is false if it is none that stands for one byte.
func unescaped(b []byte, i int) (c byte, ok bool) {
	if i+1 == len(b) {
		return 0, false
	}
	switch c = b[i+1]; c {
	case '"', '\\', '/':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case (c|0x20)-'a' < 6:
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}
