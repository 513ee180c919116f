package gemini

import (
	"bytes"
	"math"
	"strconv"

	"evergate/internal/jsonscan"
)

// camel is a key in the API's own spelling: Google understands candidateCount and candidate_count alike.
func camel(key []byte) []byte {
	at := bytes.IndexByte(key, '_')
	if at <= 0 {
		return key
	}
	out := append(make([]byte, 0, len(key)), key[:at]...)
	up := false
	for _, c := range key[at:] {
		if c == '_' {
			up = true
			continue
		}
		if up && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		out = append(out, c)
	}
	return out
}

// member is one member of an object.
type member struct {
	key string
	raw []byte
}

// members takes a valid object apart; nil if raw is none.
func members(raw []byte) (out []member) {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		out = append(out, member{string(key), r.Raw()})
	}
	return out
}

// elements takes a valid array apart; nil if raw is none.
func elements(raw []byte) (out [][]byte) {
	r := jsonscan.Again(raw)
	if !r.Array() {
		return nil
	}
	for r.Elem() {
		out = append(out, r.Raw())
	}
	return out
}

// textOf is the text that a raw JSON string stands for; empty if it is none.
func textOf(raw []byte) string {
	r := jsonscan.Again(raw)
	text, _ := r.Text()
	return text
}

// number is the text of a raw number; a number in quotes is one too, as in protobuf's JSON.
func number(raw []byte) string {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	return string(raw)
}

func float(raw []byte) *float64 {
	f, err := strconv.ParseFloat(number(raw), 64)
	if err != nil {
		return nil
	}
	return &f
}

func whole(raw []byte) (int64, bool) {
	r := jsonscan.New([]byte(number(raw)))
	if n, ok := r.Int(); ok && r.End() {
		return n, true
	}
	f := float(raw) // 40.0
	if f == nil || *f != math.Trunc(*f) || math.Abs(*f) > 1<<53 {
		return 0, false
	}
	return int64(*f), true
}

// empty says that a value is the same as none.
func empty(raw []byte) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}", "false", "0":
		return true
	}
	return false
}

// standard is base64 in the standard alphabet with padding: SDKs send bytes in the URL-safe one.
func standard(b64 string) string {
	bad := len(b64)%4 != 0
	for i := 0; i < len(b64) && !bad; i++ {
		bad = b64[i] == '-' || b64[i] == '_'
	}
	if !bad {
		return b64
	}
	out := make([]byte, 0, len(b64)+3)
	for i := range len(b64) {
		switch c := b64[i]; c {
		case '-':
			out = append(out, '+')
		case '_':
			out = append(out, '/')
		default:
			out = append(out, c)
		}
	}
	for len(out)%4 != 0 {
		out = append(out, '=')
	}
	return string(out)
}

// list writes the elements of an array or the members of an object with commas between them.
type list struct {
	dst  []byte
	more bool
}

func (l *list) next() {
	if l.more {
		l.dst = append(l.dst, ',')
	}
	l.more = true
}

// key begins a member, whose value the caller appends; its name is one of ours, and needs no escape.
func (l *list) key(name string) {
	l.next()
	l.dst = append(l.dst, '"')
	l.dst = append(l.dst, name...)
	l.dst = append(l.dst, '"', ':')
}

// anyKey begins a member whose name may have to be escaped.
func (l *list) anyKey(name string) {
	l.next()
	l.dst = append(jsonscan.AppendString(l.dst, name), ':')
}

// raw appends a member of any name.
func (l *list) raw(name string, value []byte) {
	l.anyKey(name)
	l.dst = append(l.dst, value...)
}

func (l *list) text(name, value string) {
	l.key(name)
	l.dst = jsonscan.AppendString(l.dst, value)
}

func (l *list) number(name string, value int64) {
	l.key(name)
	l.dst = strconv.AppendInt(l.dst, value, 10)
}

func (l *list) float(name string, value *float64) {
	if value != nil {
		l.key(name)
		l.dst = strconv.AppendFloat(l.dst, *value, 'f', -1, 64)
	}
}

// open begins a member that is an object or array; the caller closes it.
func (l *list) open(name string, bracket byte) {
	l.key(name)
	l.dst = append(l.dst, bracket)
	l.more = false
}

func (l *list) close(bracket byte) {
	l.dst = append(l.dst, bracket)
	l.more = true
}
