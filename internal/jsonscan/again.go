package jsonscan

import "bytes"

// Again reads a text that is known to be valid, because it, or what it was cut from, was read to its end before. It looks
// for the ends of strings and of values that are passed over and for nothing else in them, which costs a fraction. What it
// gives of a text that is not valid nobody knows, but it does not panic.
func Again(text []byte) Reader { return Reader{text: text, sure: true} }

// Leap passes over one value that is known to end at an offset; false: it cannot, as the text was not read before (Again) or
// ends before that.
func (r *Reader) Leap(to int) bool {
	if r.bad != sound || !r.sure || to <= r.pos || to > len(r.text) {
		return false
	}
	r.pos, r.fresh = to, false
	return true
}

// over is the offset after the value that starts at i; -1 if the text is not what it was said to be.
func over(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return overString(b, i+1)
	case '{', '[':
		return overNested(b, i+1)
	}
	from := i
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// overNested is over from the inside of an object or array on.
func overNested(b []byte, i int) int {
	for depth := 1; i >= 0 && i < len(b); {
		switch b[i] {
		case '"':
			i = overString(b, i+1)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// overString is the offset after the closing quote of the string whose inside begins at i; -1 if there is none.
func overString(b []byte, i int) int {
	for from := i; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slash := i
		for slash > from && b[slash-1] == '\\' {
			slash--
		}
		if (i-slash)%2 == 0 {
			return i + 1
		}
	}
}
