package jsonscan

import "strconv"

// SyntaxError says what is wrong with a text, and where.
type SyntaxError struct {
	Offset int // in bytes from the start
	Msg    string
}

func (e *SyntaxError) Error() string {
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

type problem uint8

const (
	sound problem = iota
	unexpectedEnd
	wantValue
	wantKey
	wantColon
	wantCommaOrBrace
	wantCommaOrBracket
	badWord
	badNumber
	badEscape
	controlCharacter
	tooDeep
	trailing
)

var problemWords = [...]string{
	sound:              "",
	unexpectedEnd:      "it ends too early",
	wantValue:          "expected a value",
	wantKey:            "expected a key in double quotes",
	wantColon:          "expected ':' after the key",
	wantCommaOrBrace:   "expected ',' or '}' after the member",
	wantCommaOrBracket: "expected ',' or ']' after the element",
	badWord:            "expected true, false or null",
	badNumber:          "a number needs a digit here",
	badEscape:          "no such escape in a string",
	controlCharacter:   "a control character in a string must be escaped",
	tooDeep:            "nested deeper than " + strconv.Itoa(MaxDepth) + " levels",
	trailing:           "something follows the value",
}

func (p problem) String() string { return problemWords[p] }

// Position turns an offset into a line and a column, both from 1; columns count bytes.
func Position(text []byte, offset int) (line, column int) {
	line, column = 1, 1
	for _, c := range text[:min(offset, len(text))] {
		if c == '\n' {
			line++
			column = 1
		} else {
			column++
		}
	}
	return line, column
}
