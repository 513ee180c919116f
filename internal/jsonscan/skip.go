package jsonscan

import (
	"math"
	"math/bits"
	"strconv"
)

// space gives the offset of the first byte at or after i that is not white space.
func space(b []byte, i int) int {
	if uint(i) < uint(len(b)) && b[i] > ' ' {
		return i
	}
	return spaces(b, i)
}

func spaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' < 10 }

// skipValue checks the value that starts at i, which lies in depth containers, and gives the offset after it, or of
// the problem.
func skipValue(b []byte, i, depth int) (int, problem) {
	if i >= len(b) {
		return i, unexpectedEnd
	}
	switch b[i] {
	case '{', '[':
		i, _, bad := skipNested(b, i, depth)
		return i, bad
	case '"':
		i, _, bad := skipString(b, i+1)
		return i, bad
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

// skipNested is skipValue for objects and arrays. deepest is how deep in others the innermost of them lies.
func skipNested(b []byte, i, depth int) (end, deepest int, bad problem) {
	// A bit for each container that is open around the current one, 1 for an object: recursion costs more.
	var outer [MaxDepth/64 + 1]uint64
	level, inObject := depth, false
	for {
		// Here a value must start.
		if i = space(b, i); i >= len(b) {
			return i, deepest, unexpectedEnd
		}
		switch c := b[i]; c {
		case '"':
			i, _, bad = skipString(b, i+1)
		case '{', '[':
			if level == MaxDepth {
				return i, deepest, tooDeep
			}
			if inObject {
				outer[level>>6] |= 1 << (level & 63)
			} else {
				outer[level>>6] &^= 1 << (level & 63)
			}
			level++
			deepest = max(deepest, level)
			inObject = c == '{'
			i = space(b, i+1)
			if i < len(b) && b[i] == c+2 { // '}' is '{'+2 and ']' is '['+2
				break
			}
			if inObject {
				i, bad = skipKey(b, i)
				if bad != sound {
					return i, deepest, bad
				}
			}
			continue
		default:
			i, bad = skipValue(b, i, level)
		}
		if bad != sound {
			return i, deepest, bad
		}
		// Here a value has ended, or, in an empty container, its closing byte comes next.
		for {
			if level == depth {
				return i, deepest, sound
			}
			if i = space(b, i); i >= len(b) {
				return i, deepest, unexpectedEnd
			}
			if inObject {
				if b[i] == ',' {
					if i, bad = skipKey(b, space(b, i+1)); bad != sound {
						return i, deepest, bad
					}
					break
				}
				if b[i] != '}' {
					return i, deepest, wantCommaOrBrace
				}
			} else {
				if b[i] == ',' {
					i++
					break
				}
				if b[i] != ']' {
					return i, deepest, wantCommaOrBracket
				}
			}
			i++
			level--
			inObject = outer[level>>6]>>(level&63)&1 != 0
		}
	}
}

// skipKey checks a key and its colon.
func skipKey(b []byte, i int) (int, problem) {
	if i >= len(b) || b[i] != '"' {
		return i, wantKey
	}
	i, _, bad := skipString(b, i+1)
	if bad != sound {
		return i, bad
	}
	if i = space(b, i); i >= len(b) || b[i] != ':' {
		return i, wantColon
	}
	return i + 1, sound
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// special has the top bit set of the first byte of w that ends a run of plain string bytes: a quote, a backslash or a
// control character. Bits above that one may be wrong; bytes above 0x7f are plain.
func special(w uint64) uint64 {
	// Flipping bit 1 puts the quote (0x22) just above the control characters, so that one subtraction finds both.
	quoteOrControl := (w ^ 0x02*ones) - 0x21*ones
	backslash := (w ^ '\\'*ones) - ones
	return (quoteOrControl | backslash) &^ w & tops
}

func load(b []byte) uint64 {
	p := (*[8]byte)(b)
	return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
		uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
}

// skipString checks a string's inside from i on, and gives the offset after its closing quote, or of the problem.
func skipString(b []byte, i int) (next int, escaped bool, bad problem) {
	for {
		for i+32 <= len(b) {
			p := (*[32]byte)(b[i : i+32])
			if m := special(load(p[0:])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				goto found
			}
			m1, m2, m3 := special(load(p[8:])), special(load(p[16:])), special(load(p[24:]))
			if m1|m2|m3 == 0 {
				i += 32
				continue
			}
			switch {
			case m1 != 0:
				i += 8 + bits.TrailingZeros64(m1)>>3
			case m2 != 0:
				i += 16 + bits.TrailingZeros64(m2)>>3
			default:
				i += 24 + bits.TrailingZeros64(m3)>>3
			}
			goto found
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			i++
		}
		if i >= len(b) {
			return len(b), escaped, unexpectedEnd
		}
	found:
		switch b[i] {
		case '"':
			return i + 1, escaped, sound
		case '\\':
			escaped = true
			if i+1 >= len(b) {
				return len(b), escaped, unexpectedEnd
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				for k := i + 2; k < i+6; k++ {
					if k >= len(b) {
						return k, escaped, unexpectedEnd
					}
					if _, ok := hexDigit(b[k]); !ok {
						return k, escaped, badEscape
					}
				}
				i += 6
			default:
				return i + 1, escaped, badEscape
			}
		default:
			return i, escaped, controlCharacter
		}
	}
}

func skipWord(b []byte, i int, word string) (int, problem) {
	for k := range len(word) {
		if i+k >= len(b) {
			return i + k, unexpectedEnd
		}
		if b[i+k] != word[k] {
			return i + k, badWord
		}
	}
	return i + len(word), sound
}

func skipNumber(b []byte, i int) (int, problem) {
	start := i
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && isDigit(b[i]):
		i = digits(b, i)
	case i == start:
		return i, wantValue
	default:
		return i, badNumber
	}
	if i < len(b) && b[i] == '.' {
		if i++; i >= len(b) || !isDigit(b[i]) {
			return i, badNumber
		}
		i = digits(b, i)
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i >= len(b) || !isDigit(b[i]) {
			return i, badNumber
		}
		i = digits(b, i)
	}
	return i, sound
}

func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// parseInt reads a valid number.
func parseInt(raw []byte) (int64, bool) {
	i, negative := 0, raw[0] == '-'
	if negative {
		i++
	}
	var n int64
	for i < len(raw) && isDigit(raw[i]) {
		n = n*10 + int64(raw[i]-'0')
		i++
	}
	if i == len(raw) {
		if len(raw) > 18 { // n may have overflowed
			n, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				return 0, false
			}
			return n, true
		}
		if negative {
			n = -n
		}
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}
