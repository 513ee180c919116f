package jsonscan

import "bytes"

// IsObject says that a text is one valid object, with white space around it or not.
func IsObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && Valid(text) == nil
}

// OneLine takes the line ends out of a valid text, where they can be nothing but white space. It is a copy if there were
// any.
func OneLine(text []byte) []byte {
	out := text
	for i, c := range text {
		if c != '\n' && c != '\r' {
			continue
		}
		if &out[0] == &text[0] {
			out = bytes.Clone(text)
		}
		out[i] = ' '
	}
	return out
}

// TextOf is the text of a valid string's inside, as a copy.
func TextOf(raw []byte) string {
	if plain(raw, 0) == len(raw) {
		return string(raw)
	}
	return string(AppendUnescaped(make([]byte, 0, len(raw)), raw))
}

// WordOf is TextOf for what is mostly one of a few words: none of those is copied.
func WordOf(raw []byte, known ...string) string {
	for _, word := range known {
		if string(raw) == word {
			return word
		}
	}
	return TextOf(raw)
}

// Unescaped is the text of a valid string's inside: raw itself, or if there are escapes in it a text that is put into
// scratch and holds until that is used again.
func Unescaped(scratch *[]byte, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	*scratch = AppendUnescaped((*scratch)[:0], raw)
	return *scratch
}
