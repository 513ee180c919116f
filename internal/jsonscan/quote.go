package jsonscan

import (
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
	dst = append(dst, '"')
	for done, i := 0, 0; ; done = i {
		i = plain(text, i)
		dst = append(dst, text[done:i]...)
		if i == len(text) {
			return append(dst, '"')
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

// AppendUnescaped appends the text of a valid string's inside. Half a surrogate pair and bytes that are not UTF-8
// become U+FFFD.
func AppendUnescaped(dst, raw []byte) []byte {
	for done, i := 0, 0; ; done = i {
		i = plain(raw, i)
		dst = append(dst, raw[done:i]...)
		switch {
		case i == len(raw):
			return dst
		case raw[i] != '\\': // no quote or control character can stand here
			dst = append(dst, "\uFFFD"...)
			i++
		case raw[i+1] != 'u':
			dst = append(dst, unescape(raw[i+1]))
			i += 2
		default:
			r := hex4(raw[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		}
	}
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

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		d, _ := hexDigit(c)
		r = r<<4 | rune(d)
	}
	return r
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
