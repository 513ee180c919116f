// Package jsonscan walks JSON text in one pass, checks it as strictly as RFC 8259 says, and gives out the places of
// what it saw. It decodes nothing that is not asked for and does not allocate, but for a key or text with escapes in it.
//
// Beside the Reader are what writes JSON without building it first: strings, members, and an Editor that copies an object
// with changes. It owns the grammar and nothing else: it must not know any schema, dialect or field name.
//
// It agrees with encoding/json.Valid on every input up to MaxDepth. Hence bytes above 0x7f are not checked for being
// UTF-8: such text passes through unchanged, and becomes U+FFFD where it is decoded (Text, and what has escapes).
// Of members with the same key the caller sees each; the last one counts, as in encoding/json.
package jsonscan

import "bytes"

// MaxDepth is how deep objects and arrays may be nested.
const MaxDepth = 1000

// Kind is what a value is, as its first byte tells.
type Kind uint8

// The kinds. None is the end of the input, or a byte that starts no value.
const (
	None Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
)

var kindWords = [...]string{
	None: "nothing", Object: "an object", Array: "an array", String: "a string", Number: "a number", Bool: "a boolean", Null: "null",
}

// String is the kind as a message says it, with its article.
func (k Kind) String() string { return kindWords[k] }

// Reader walks one JSON text. The zero Reader reads an empty text; New makes one. After an error every call returns
// zero values and Err tells the first one, so that a walk needs to look at it only once, at its end.
//
// Each call that reads a value consumes exactly one, whatever it is, and its ok says whether it was of the kind asked
// for; a value of another kind is checked and skipped. A text is known to be valid only when End was reached without
// an error. Slices point into the text, unless said otherwise. Not safe for concurrent use.
type Reader struct {
	text  []byte
	pos   int
	depth int
	fresh bool // just after an opening brace or bracket
	sure  bool // see Again
	bad   problem
	at    int
	// scratch is where Text unescapes: the copy that it gives is no larger than the text then, and the only one. It is a
	// pointer because most readers need none, and readers are copied.
	scratch *[]byte
}

// New reads text.
func New(text []byte) Reader { return Reader{text: text} }

// Offset is where the reader stands, in bytes from the start.
func (r *Reader) Offset() int { return r.pos }

// Err is a *SyntaxError, or nil so far.
func (r *Reader) Err() error {
	if r.bad == sound {
		return nil
	}
	return &SyntaxError{Offset: r.at, Msg: r.bad.String()}
}

// OK says that there was no error so far, without making one.
func (r *Reader) OK() bool { return r.bad == sound }

// Kind says what the next value is and does not consume it.
func (r *Reader) Kind() Kind {
	if r.bad != sound {
		return None
	}
	r.pos = space(r.text, r.pos)
	if r.pos >= len(r.text) {
		return None
	}
	switch c := r.text[r.pos]; c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		if c == '-' || isDigit(c) {
			return Number
		}
		return None
	}
}

// Object enters an object, whose members Key then gives.
func (r *Reader) Object() bool { return r.enter('{') }

// Array enters an array, whose elements Elem then announces.
func (r *Reader) Array() bool { return r.enter('[') }

func (r *Reader) enter(open byte) bool {
	if r.bad != sound {
		return false
	}
	r.pos = space(r.text, r.pos)
	if r.pos >= len(r.text) || r.text[r.pos] != open {
		r.Skip()
		return false
	}
	if r.depth == MaxDepth {
		return r.fail(r.pos, tooDeep)
	}
	r.depth++
	r.pos++
	r.fresh = true
	return true
}

// Key gives the next member's key, unescaped, and leaves the reader before its value, which must be read before the
// next Key. ok is false at the object's end, which is consumed, and after an error. A key with escapes is a copy.
func (r *Reader) Key() (key []byte, ok bool) {
	if r.bad != sound {
		return nil, false
	}
	b, i := r.text, space(r.text, r.pos)
	if i >= len(b) {
		return nil, r.fail(i, unexpectedEnd)
	}
	if b[i] == '}' {
		r.pos, r.fresh = i+1, false
		r.depth--
		return nil, false
	}
	if !r.fresh {
		if b[i] != ',' {
			return nil, r.fail(i, wantCommaOrBrace)
		}
		i = space(b, i+1)
	}
	r.fresh = false
	if i >= len(b) || b[i] != '"' {
		return nil, r.fail(i, wantKey)
	}
	from := i + 1
	i, escaped, bad := skipString(b, from)
	if bad != sound {
		return nil, r.fail(i, bad)
	}
	key = b[from : i-1 : i-1]
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return nil, r.fail(i, wantColon)
	}
	r.pos = i + 1
	if escaped {
		key = AppendUnescaped(nil, key)
	}
	return key, true
}

// Elem says that another element follows, which must be read before the next Elem. It is false at the array's end,
// which is consumed, and after an error.
func (r *Reader) Elem() bool {
	if r.bad != sound {
		return false
	}
	b, i := r.text, space(r.text, r.pos)
	if i >= len(b) {
		return r.fail(i, unexpectedEnd)
	}
	if b[i] == ']' {
		r.pos, r.fresh = i+1, false
		r.depth--
		return false
	}
	if !r.fresh {
		if b[i] != ',' {
			return r.fail(i, wantCommaOrBracket)
		}
		if i = space(b, i+1); i < len(b) && b[i] == ']' {
			return r.fail(i, wantValue)
		}
	}
	r.pos, r.fresh = i, false
	return true
}

// Skip checks one value and gives its place, without the white space around it; 0, 0 after an error.
func (r *Reader) Skip() (from, to int) {
	if r.bad != sound {
		return 0, 0
	}
	from = space(r.text, r.pos)
	if r.sure {
		if to = over(r.text, from); to < 0 {
			r.fail(len(r.text), unexpectedEnd)
			return 0, 0
		}
		r.pos, r.fresh = to, false
		return from, to
	}
	to, bad := skipValue(r.text, from, r.depth)
	if bad != sound {
		r.fail(to, bad)
		return 0, 0
	}
	r.pos, r.fresh = to, false
	return from, to
}

// SkipDeep is Skip of a value that is known to be an object or an array, and says how many of them lie in one another in it, itself
// included. Of a text that was read before (Again) it says 0: nobody looked.
func (r *Reader) SkipDeep() (from, to, levels int) {
	from = space(r.text, r.pos)
	if r.bad != sound || r.sure || from >= len(r.text) || r.text[from] != '{' && r.text[from] != '[' {
		from, to = r.Skip()
		return from, to, 0
	}
	to, deepest, bad := skipNested(r.text, from, r.depth)
	if bad != sound {
		r.fail(to, bad)
		return 0, 0, 0
	}
	r.pos, r.fresh = to, false
	return from, to, deepest - r.depth
}

// Raw checks one value and gives its bytes; nil after an error.
func (r *Reader) Raw() []byte {
	from, to := r.Skip()
	if to == 0 {
		return nil
	}
	return r.text[from:to:to]
}

// RawString reads a string and gives what is between its quotes, escapes left as they are.
func (r *Reader) RawString() (raw []byte, ok bool) {
	raw, _, ok = r.str()
	return raw, ok
}

// StringEnd checks the inside of a string from an offset on and gives the offset of its closing quote; -1 if it is not
// sound or does not end.
func StringEnd(text []byte, from int) int {
	next, _, bad := skipString(text, from)
	if bad != sound {
		return -1
	}
	return next - 1
}

// Text reads a string and gives its text, as a copy.
func (r *Reader) Text() (text string, ok bool) {
	if r.Kind() != String {
		r.Skip()
		return "", false
	}
	from := r.pos + 1
	if to := plain(r.text, from); to < len(r.text) && r.text[to] == '"' { // it says what it is
		r.pos, r.fresh = to+1, false
		return string(r.text[from:to]), true
	}
	if r.scratch == nil {
		space := make([]byte, 0, min(len(r.text)-from, 1<<10))
		r.scratch = &space
	}
	said, to, bad := unescape((*r.scratch)[:0], r.text, from)
	if *r.scratch = said; bad != sound || to == len(r.text) {
		return "", r.fail(to, max(bad, unexpectedEnd))
	}
	r.pos, r.fresh = to+1, false
	return string(said), true
}

// Literal reads a string and gives its bytes, unescaped, copied only if there were escapes. It is Text for comparisons.
func (r *Reader) Literal() (text []byte, ok bool) {
	raw, escaped, ok := r.str()
	if escaped {
		return AppendUnescaped(nil, raw), true
	}
	return raw, ok
}

func (r *Reader) str() (raw []byte, escaped, ok bool) {
	if r.bad != sound {
		return nil, false, false
	}
	from := space(r.text, r.pos)
	if from >= len(r.text) || r.text[from] != '"' {
		r.Skip()
		return nil, false, false
	}
	if r.sure {
		to := overString(r.text, from+1)
		if to < 0 {
			return nil, false, r.fail(len(r.text), unexpectedEnd)
		}
		r.pos, r.fresh = to, false
		raw = r.text[from+1 : to-1 : to-1]
		return raw, bytes.IndexByte(raw, '\\') >= 0, true
	}
	to, escaped, bad := skipString(r.text, from+1)
	if bad != sound {
		return nil, false, r.fail(to, bad)
	}
	r.pos, r.fresh = to, false
	return r.text[from+1 : to-1 : to-1], escaped, true
}

// Bool reads true or false.
func (r *Reader) Bool() (value, ok bool) {
	raw := r.Raw()
	if len(raw) == 0 || (raw[0] != 't' && raw[0] != 'f') {
		return false, false
	}
	return raw[0] == 't', true
}

// Null consumes the next value if it is null, and only then.
func (r *Reader) Null() bool {
	if r.Kind() != Null {
		return false
	}
	_, to := r.Skip()
	return to != 0
}

// Int reads a number that is a whole one and fits; 12.0 and 1e3 are.
func (r *Reader) Int() (value int64, ok bool) {
	raw := r.Raw()
	if len(raw) == 0 || (raw[0] != '-' && !isDigit(raw[0])) {
		return 0, false
	}
	return parseInt(raw)
}

// End says that only white space is left; more than that is an error. At depth 0 only.
func (r *Reader) End() bool {
	if r.bad != sound {
		return false
	}
	if r.pos = space(r.text, r.pos); r.pos < len(r.text) {
		return r.fail(r.pos, trailing)
	}
	return true
}

func (r *Reader) fail(at int, bad problem) bool {
	r.bad, r.at = bad, min(at, len(r.text))
	if r.at == len(r.text) {
		r.bad = unexpectedEnd
	}
	return false
}

// Valid says why text is not one JSON value; the error is a *SyntaxError.
func Valid(text []byte) error {
	r := New(text)
	r.Skip()
	r.End()
	return r.Err()
}
