package ledger

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"sync/atomic"
	"time"
)

// Row names one row of the ledger, for good and in all stores: 32 hex digits that sort by the time of the row, then by instance. Seven bytes are the time in
// microseconds since 1970, five the instance's, four a counter. Two rows of one fleet differ; one that is written twice is the same.
type Row string

// rowBytes is how long a Row is in bytes; in text it is twice that.
const rowBytes = 16

// At is the row's time, to the microsecond; false: it is no Row.
func (r Row) At() (time.Time, bool) {
	b, ok := r.Bytes()
	if !ok {
		return time.Time{}, false
	}
	var wide [8]byte
	copy(wide[1:], b[:7])
	return time.UnixMicro(int64(binary.BigEndian.Uint64(wide[:]))).UTC(), true //nolint:gosec // 56 bits
}

// Bytes is the row as a store may keep it; false: it is no Row.
func (r Row) Bytes() (b [rowBytes]byte, ok bool) {
	if len(r) != 2*rowBytes {
		return b, false
	}
	for i := range b {
		high, low := digit(r[2*i]), digit(r[2*i+1])
		if high|low > 15 {
			return [rowBytes]byte{}, false
		}
		b[i] = high<<4 | low
	}
	return b, true
}

// digit is what a digit stands for, and more than 15 for what is none. Upper case is another text.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// RowOf is the Row of such bytes.
func RowOf(b []byte) Row { return Row(hex.EncodeToString(b)) }

// RowsFrom is below every row of that time and later ones, and above all earlier ones.
func RowsFrom(at time.Time) Row {
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], uint64(max(at.UnixMicro(), 0)))
	var b [rowBytes]byte
	copy(b[:7], wide[1:])
	return RowOf(b[:])
}

// Numbers give rows their names: one Numbers for each instance. Safe for concurrent use.
type Numbers struct {
	instance [5]byte
	next     atomic.Uint32
}

// NewNumbers gives the numbers of an instance. Two instances of a fleet have different names.
func NewNumbers(instance string) *Numbers {
	h := fnv.New64a()
	_, _ = h.Write([]byte(instance)) // a hash never fails
	n := &Numbers{}
	copy(n.instance[:], h.Sum(nil))
	return n
}

// Row gives the name of a row at a time; no other call gives the same.
func (n *Numbers) Row(at time.Time) Row {
	b := n.row(at)
	return RowOf(b[:])
}

func (n *Numbers) row(at time.Time) (b [rowBytes]byte) {
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], uint64(max(at.UnixMicro(), 0)))
	copy(b[:7], wide[1:])
	copy(b[7:12], n.instance[:])
	binary.BigEndian.PutUint32(b[12:], n.next.Add(1))
	return b
}
