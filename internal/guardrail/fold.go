package guardrail

import "unicode/utf8"

// Rules look at text as a reader would: a full-width letter is its plain one, characters that nobody sees are not there, and what is
// written as an escape of JSON, once or twice over, is what it stands for. A cell is one character as rules see it, with its place in
// the text as it came, which is what is cut out.
type cell struct {
	r        rune // unseen: no rule sees it
	from, to int
}

// unseen stands for a character without width.
const unseen = -1

// mostSlashes is how many backslashes in a row may stand before an escape.
const mostSlashes = 8

// look reads the character at b[i:] as rules see it, and how many bytes it takes; 0: more bytes must come to tell. whole: none will.
func look(b []byte, i int, whole bool) (r rune, n int) {
	c := b[i]
	switch {
	case c == '\\':
		return escape(b, i, whole)
	case c < utf8.RuneSelf:
		return rune(c), 1
	case !whole && !utf8.FullRune(b[i:]):
		return 0, 0
	}
	r, n = utf8.DecodeRune(b[i:])
	return plain(r), n
}

// escape reads what stands after a backslash. What is no escape is a backslash.
func escape(b []byte, i int, whole bool) (rune, int) {
	at := i + 1
	for at < len(b) && b[at] == '\\' && at-i < mostSlashes {
		at++
	}
	if at == len(b) {
		return short(whole)
	}
	switch b[at] {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', at + 1 - i
	case '/', '"':
		return rune(b[at]), at + 1 - i
	case 'u':
	default:
		return '\\', 1
	}
	r := rune(0)
	for k := at + 1; k < at+5; k++ {
		if k == len(b) {
			return short(whole)
		}
		d, ok := digit(b[k])
		if !ok {
			return '\\', 1
		}
		r = r<<4 | d
	}
	return plain(r), at + 5 - i
}

// short is an escape that is not all there.
func short(whole bool) (rune, int) {
	if whole {
		return '\\', 1
	}
	return 0, 0
}

func digit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

// plain is the plain form of a character that is only another shape of one, or unseen.
func plain(r rune) rune {
	switch {
	case r < 0xa0:
		return r
	case r >= 0xff01 && r <= 0xff5e: // full width
		return r - 0xfee0
	case r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return ' '
	case r == 0xad, r == 0x034f, r == 0x061c, r == 0x180e, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xe0000 && r <= 0xe01ef:
		return unseen
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xfe58, r == 0xfe63:
		return '-'
	case r == 0x2024, r == 0xfe52:
		return '.'
	case r == 0xfe6b:
		return '@'
	case r >= 0x1d400 && r <= 0x1d6a3: // letters of mathematics: capitals and small ones in turn
		k := (r - 0x1d400) % 52
		if k < 26 {
			return 'A' + k
		}
		return 'a' + k - 26
	case r >= 0x1d7ce && r <= 0x1d7ff:
		return '0' + (r-0x1d7ce)%10
	}
	return r
}

// view is a whole text as rules see it, and the place in the text of each of its bytes. places is nil where the
// view is the text itself, as most are.
func view(text []byte) (seen []byte, places []int) {
	i := 0
	for i < len(text) && text[i] < utf8.RuneSelf && text[i] != '\\' {
		i++
	}
	if i == len(text) || !folds(text[i:]) {
		return text, nil
	}
	seen = append(make([]byte, 0, len(text)), text[:i]...)
	places = make([]int, i, len(text))
	for k := range places {
		places[k] = k
	}
	for i < len(text) {
		r, n := look(text, i, true)
		if r != unseen {
			seen = utf8.AppendRune(seen, r)
			for len(places) < len(seen) {
				places = append(places, i)
			}
		}
		i += n
	}
	return seen, places
}

// folds says whether anything in a text is seen otherwise than it is written.
func folds(text []byte) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && c != '\\' {
			i++
			continue
		}
		if c == '\\' {
			if _, n := look(text, i, true); n > 1 {
				return true
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if plain(r) != r || r == utf8.RuneError && n == 1 {
			return true
		}
		i += n
	}
	return false
}
