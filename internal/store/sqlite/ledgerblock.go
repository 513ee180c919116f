package sqlite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"evergate/internal/ledger"
)

// Requests are kept in blocks: a line of a table for each row, and one of an index for each of its words, cost ten times as much.
const (
	// blockRows and blockBytes are how much is in one block at most; a row that is larger has one for itself.
	blockRows  = 500
	blockBytes = 256 << 10
	// told is how many bytes of an id are kept behind those that it has in common with the one before it, to look for ids by.
	told = 5
)

// name is the bytes of a ledger.Row.
type name = [16]byte

// laid is a row on its way into a block.
type laid struct {
	name name
	r    *ledger.Request // nil: it cannot be read
	body []byte          // nil: it is not yet made
}

// block is a block as it is written.
type block struct {
	newest, oldest int64 // microseconds
	rows           int
	ids            []byte // of the requests, sorted and cut short: see packIDs
	names          []byte // of the rows, the newest first
	body           []byte // the rows in the same order, each behind its length in four bytes
	words          []posting
}

// posting is which rows of a block have a word.
type posting struct {
	word string
	rows int
	last int
	at   []byte // distances from one row to the next
}

// micros is the time of a row.
func micros(n []byte) int64 {
	var at int64
	for _, b := range n[:7] {
		at = at<<8 | int64(b)
	}
	return at
}

// newestFirst puts rows in order, each once.
func newestFirst(rows []laid) []laid {
	slices.Reverse(rows) // they come as they ended, or nearly so
	slices.SortStableFunc(rows, func(a, b laid) int { return bytes.Compare(b.name[:], a.name[:]) })
	return slices.CompactFunc(rows, func(a, b laid) bool { return a.name == b.name })
}

// seal makes blocks of rows that are in order.
func seal(rows []laid) []*block {
	s := sealer{rows: len(rows)}
	for i := range rows {
		s.add(&rows[i])
	}
	return s.done()
}

// sealer makes blocks of rows that come in order.
type sealer struct {
	rows  int // how many come in all, or more
	out   []*block
	b     *block // the one that is being filled
	index map[[2]string]int
	ids   []string
}

// add adds a row. It keeps none of its lists.
func (s *sealer) add(l *laid) {
	if s.b == nil || s.b.rows == blockRows {
		s.begin(l)
	}
	from := len(s.b.body)
	s.b.body = append(s.b.body, 0, 0, 0, 0)
	if l.body == nil {
		s.b.body = ledger.AppendRequest(s.b.body, l.r)
	} else {
		s.b.body = append(s.b.body, l.body...)
	}
	if row := s.b.body[from:]; len(s.b.body) > blockBytes && s.b.rows > 0 {
		s.b.body = s.b.body[:from]
		s.begin(l)
		from, s.b.body = 0, append(s.b.body, row...)
	}
	b := s.b
	binary.BigEndian.PutUint32(b.body[from:], uint32(len(b.body)-from-4)) //nolint:gosec // log.max_body is far below
	b.names = append(b.names, l.name[:]...)
	if l.r != nil {
		s.ids = append(s.ids, l.r.ID)
		b.post(s.index, l.r)
	}
	b.oldest = micros(l.name[:])
	b.rows++
	s.rows--
}

// usualRow is how many bytes most rows have at most.
const usualRow = 352

// begin begins a block whose newest row this one is.
func (s *sealer) begin(l *laid) {
	s.end()
	rows := min(max(s.rows, 1), blockRows)
	s.b = &block{body: make([]byte, 0, usualRow*rows), names: make([]byte, 0, len(l.name)*rows), newest: micros(l.name[:])}
	s.index, s.ids = map[[2]string]int{}, make([]string, 0, rows)
	s.out = append(s.out, s.b)
}

func (s *sealer) end() {
	if s.b == nil {
		return
	}
	s.b.ids = packIDs(s.ids)
	slices.SortFunc(s.b.words, func(a, b posting) int { return strings.Compare(a.word, b.word) })
}

// done gives the blocks.
func (s *sealer) done() []*block {
	s.end()
	return s.out
}

// post enters the words of the row that comes next.
func (b *block) post(index map[[2]string]int, r *ledger.Request) {
	r.EachWord(func(of, what string) {
		i, ok := index[[2]string{of, what}]
		if !ok {
			i = len(b.words)
			index[[2]string{of, what}] = i
			b.words = append(b.words, posting{word: of + what, last: -1})
		}
		p := &b.words[i]
		if p.last == b.rows {
			return // twice
		}
		p.at = binary.AppendUvarint(p.at, uint64(b.rows-p.last)) //nolint:gosec // rises
		p.last = b.rows
		p.rows++
	})
}

// which is the posting as it is kept: nothing for all rows, else a bit for each or the distances, whatever is shorter.
func (p *posting) which(rows int) []byte {
	switch {
	case p.rows == rows:
		return []byte{}
	case len(p.at) <= rows/8:
		return append([]byte{0}, p.at...)
	}
	out := make([]byte, 1+(rows+7)/8)
	out[0] = 1
	row := -1
	for at := p.at; len(at) > 0; {
		n, size := binary.Uvarint(at)
		row, at = row+int(n), at[size:] //nolint:gosec // of ours
		out[1+row/8] |= 1 << (row % 8)
	}
	return out
}

// rowSet is some rows of a block.
type rowSet [(blockRows + 63) / 64]uint64

func allOf(rows int) (s rowSet) {
	for i := range rows {
		s[i/64] |= 1 << (i % 64)
	}
	return s
}

// only leaves the rows that a kept posting has; what cannot be read has none.
func (s *rowSet) only(which []byte) {
	if len(which) == 0 {
		return
	}
	var have rowSet
	switch which[0] {
	case 0:
		row := -1
		for at := which[1:]; len(at) > 0; {
			n, size := binary.Uvarint(at)
			if size <= 0 || n == 0 || n > blockRows || row+int(n) >= 64*len(have) {
				break
			}
			row, at = row+int(n), at[size:]
			have[row/64] |= 1 << (row % 64)
		}
	case 1:
		for i, b := range which[1:min(len(which), 1+8*len(have))] {
			have[i/8] |= uint64(b) << (i % 8 * 8)
		}
	}
	for i := range s {
		s[i] &= have[i]
	}
}

func (s *rowSet) has(row int) bool { return s[row/64]>>(row%64)&1 != 0 }

func (s *rowSet) empty() bool { return *s == rowSet{} }

// packIDs sorts ids and keeps of each what tells it from the one before, and a little more: enough to say of nearly every block that it has no id of some
// beginning. Of each it is how much it has in common with the kept part before, how much follows, doubled, with a 1 if it is cut, and that.
func packIDs(ids []string) []byte {
	slices.Sort(ids)
	out := make([]byte, 0, 9*len(ids))
	before, kept := "", ""
	for i, id := range ids {
		if i > 0 && id == before {
			continue
		}
		whole := id
		if n := common(before, id) + told; i > 0 && n < len(id) {
			id = id[:n]
		} else if i == 0 && len(id) > 3*told {
			id = id[:3*told]
		}
		shared := common(kept, id)
		out = binary.AppendUvarint(out, uint64(shared)) //nolint:gosec // not negative
		cut := 0
		if len(id) < len(whole) {
			cut = 1
		}
		out = binary.AppendUvarint(out, uint64(2*(len(id)-shared)+cut)) //nolint:gosec // not negative
		out = append(out, id[shared:]...)
		before, kept = whole, id
	}
	return out
}

func common(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// mayHave says whether one of packed ids may begin so, or be so.
func mayHave(packed []byte, id string, whole bool) bool {
	var kept []byte
	for len(packed) > 0 {
		shared, size := binary.Uvarint(packed)
		if size <= 0 || shared > uint64(len(kept)) {
			return true // broken: the rows say
		}
		packed = packed[size:]
		n, size := binary.Uvarint(packed)
		if size <= 0 || n/2 > uint64(len(packed)-size) { //nolint:gosec // not negative
			return true
		}
		kept = append(kept[:shared], packed[size:size+int(n/2)]...) //nolint:gosec // shorter than what is there
		packed = packed[size+int(n/2):]                             //nolint:gosec // as above
		k := min(len(kept), len(id))
		switch order := cmp.Compare(string(kept[:k]), id[:k]); {
		case order > 0:
			return false // and so are all that follow
		case order < 0:
		case len(kept) >= len(id) && (!whole || len(kept) == len(id)), len(kept) < len(id) && n&1 == 1:
			return true
		}
	}
	return false
}

// packWords are the words of a block, to be taken out of the index with it.
func packWords(words []posting) (out []byte) {
	for i := range words {
		out = binary.AppendUvarint(out, uint64(len(words[i].word)))
		out = append(out, words[i].word...)
	}
	return out
}

// unpackWords gives them; what is broken has none.
func unpackWords(packed []byte) (out []string) {
	for len(packed) > 0 {
		n, size := binary.Uvarint(packed)
		if size <= 0 || n > uint64(len(packed)-size) { //nolint:gosec // not negative
			break
		}
		out = append(out, string(packed[size:size+int(n)])) //nolint:gosec // shorter than what is there
		packed = packed[size+int(n):]                       //nolint:gosec // as above
	}
	return out
}

// eachRow gives the rows of a block's body, the newest first, until visit says no.
func eachRow(body []byte, visit func(at int, row []byte) bool) {
	for at := 0; len(body) >= 4; at++ {
		n := binary.BigEndian.Uint32(body)
		if uint64(n) > uint64(len(body)-4) { //nolint:gosec // not negative
			return
		}
		if !visit(at, body[4:4+n]) {
			return
		}
		body = body[4+n:]
	}
}
