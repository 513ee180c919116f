package attempt

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What an upstream says of a failure goes into logs, rows and pages, and some upstreams quote what they were sent. A quotation that is long enough to
// be more than a word of both is left out there; the caller, whose words they are, gets the message whole.
const (
	// quoted is how many letters and digits in a row a quotation has at least. Marks between them do not count: they are escaped and
	// wrapped in too many ways.
	quoted = 12
	// quotable is how many bytes are looked through from either end of a request.
	quotable = 1 << 20
	// unseen is how many bytes of a message are kept where the request is not there any more to be compared.
	unseen = 100
	// omission stands for a quotation.
	omission = "[…]"
)

// unquoted is what is kept of a message of an upstream.
func (x *run) unquoted(message string) string {
	var body []byte
	if x.c.Body != nil {
		body = x.c.Body.B
	}
	return unquoted(message, body, x.c.Request.Model)
}

// unquoted is the same of a request that is passed on as it is. Of an upload nothing is there any more.
func (x *passing) unquoted(message string) string {
	if x.p.Request.Upload == nil && len(x.p.Request.Body) == 0 {
		return message // nothing was sent that could be quoted
	}
	return unquoted(message, x.p.Request.Body, "")
}

// unquoted is a message without what it quotes of the texts in a JSON body. Names of members are no texts, and neither is known, the model's
// name.
func unquoted(message string, body []byte, known string) string {
	if len(message) < quoted {
		return message
	}
	if len(body) == 0 {
		return strings.ToValidUTF8(message[:min(len(message), unseen)], "")
	}
	q := newQuotations(message)
	if q == nil {
		return message
	}
	if body[0] != '{' { // a form, or what passthrough takes: all of it may be text
		q.text(body[:min(len(body), quotable)])
		if len(body) > quotable {
			q.text(body[max(quotable, len(body)-quotable):])
		}
		return q.rest()
	}
	if len(body) > 2*quotable {
		q.search(body[:quotable], known)
		q.text(body[len(body)-quotable:]) // which begins in the midst of nobody knows what
		return q.rest()
	}
	q.search(body, known)
	return q.rest()
}

// quotations finds runs of a message in texts.
type quotations struct {
	message string
	letters []byte           // of the message, small
	at      []int            // where each of them stands in it
	grams   map[uint64][]int // hash of a run of letters → where such runs begin
	maybe   [1024]uint64     // a bit for each of their hashes: most runs of a body are none
	marked  []bool           // letters that are quoted
	any     bool
}

func newQuotations(message string) *quotations {
	q := &quotations{message: message}
	for i := range len(message) {
		if c, ok := letter(message[i]); ok {
			q.letters, q.at = append(q.letters, c), append(q.at, i)
		}
	}
	if len(q.letters) < quoted {
		return nil
	}
	q.grams, q.marked = map[uint64][]int{}, make([]bool, len(q.letters))
	var h uint64
	for i, c := range q.letters {
		h = hashed(h, c)
		if i >= quoted-1 {
			q.grams[h] = append(q.grams[h], i-quoted+1)
			bit := slot(h)
			q.maybe[bit>>6] |= 1 << (bit & 63)
		}
	}
	return q
}

// hashed adds a letter to a hash of the last ones. Each takes five bits of it, so that the last quoted ones are all there is in mask.
func hashed(h uint64, c byte) uint64 { return (h<<5 ^ uint64(c)*0x9D&0x1F) & mask }

const mask = 1<<(5*quoted) - 1

func slot(h uint64) uint64 { return h * 0x9E3779B97F4A7C15 >> 48 }

// letter is a byte in small letters; false for marks and spaces.
func letter(c byte) (byte, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A', true
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
		return c, true
	}
	return 0, false
}

// search marks what the message has of the texts of a body, or of a part of one.
func (q *quotations) search(body []byte, known string) {
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(body) && body[end] != '"' {
			if body[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(body))
		if text := body[i+1 : end]; len(text) >= quoted && string(text) != known && !names(body, end+1) {
			q.text(text)
		}
		i = end
	}
}

// names says whether a string that ended before i is the name of a member.
func names(body []byte, i int) bool {
	for ; i < len(body); i++ {
		switch body[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return body[i] == ':'
		}
	}
	return false
}

// text marks what the message has of one text: of what it says, and, where letters are escaped in it, of how it is written. Other escapes are passed over,
// so that a quotation may come in pieces there.
func (q *quotations) text(text []byte) {
	var w window
	escaped := false
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			q.take(&w, text[i])
			continue
		}
		i++
		if i < len(text) && text[i] == 'u' {
			var said [utf8.UTFMax]byte
			n, size := unescape(said[:], text[i+1:])
			for _, c := range said[:n] {
				q.take(&w, c)
			}
			i += size
			escaped = true
		}
	}
	if escaped {
		w = window{}
		for _, c := range text {
			q.take(&w, c)
		}
	}
}

// unescape writes the character of an escape, of which digits is what follows its "u", and says how many bytes it has in UTF-8, and how many the rest of it
// has here: two escapes may be one character.
func unescape(said, digits []byte) (n, size int) {
	first, ok := hex4(digits)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(first) && len(digits) >= 10 && digits[4] == '\\' && digits[5] == 'u' {
		if second, ok := hex4(digits[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return utf8.EncodeRune(said, r), 10
			}
		}
	}
	return utf8.EncodeRune(said, first), 4
}

// hex4 reads four hexadecimal digits.
func hex4(digits []byte) (rune, bool) {
	if len(digits) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n), err == nil
}

// window is the last letters of a text.
type window struct {
	letters [quoted]byte
	hash    uint64
	n       int
}

// take adds a byte of a text, and marks what the message has of the run that it ends.
func (q *quotations) take(w *window, b byte) {
	c, ok := letter(b)
	if !ok {
		return
	}
	w.hash = hashed(w.hash, c)
	w.letters[w.n%quoted] = c
	if w.n++; w.n < quoted {
		return
	}
	if bit := slot(w.hash); q.maybe[bit>>6]&(1<<(bit&63)) != 0 {
		q.mark(w.hash, &w.letters, w.n)
	}
}

// mark marks the runs of the message that are the last letters of a text.
func (q *quotations) mark(h uint64, window *[quoted]byte, n int) {
runs:
	for _, from := range q.grams[h] {
		for k := range quoted {
			if q.letters[from+k] != window[(n+k)%quoted] {
				continue runs
			}
		}
		for k := range quoted {
			q.marked[from+k] = true
		}
		q.any = true
	}
}

// rest is the message with each quotation left out.
func (q *quotations) rest() string {
	if !q.any {
		return q.message
	}
	var out strings.Builder
	done := 0 // bytes of the message
	for i := 0; i < len(q.marked); i++ {
		if !q.marked[i] {
			continue
		}
		out.WriteString(q.message[done:q.at[i]])
		out.WriteString(omission)
		for i+1 < len(q.marked) && q.marked[i+1] {
			i++
		}
		done = q.at[i] + 1
	}
	out.WriteString(q.message[done:])
	return strings.ToValidUTF8(out.String(), "")
}
