package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"
)

// Kind is what a column's values are.
type Kind uint8

// The kinds.
const (
	Text    Kind = iota // UTF-8
	Int                 // 64 bits, signed
	Bool                // a truth
	Instant             // a time, to the microsecond
	Nano                // billionths: a decimal number with nine places
)

// Column is one of a table. Of an Optional one a row may have no value.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// A group of rows is written when it has groupRows, or its values are groupBytes.
const (
	groupRows  = 10_000
	groupBytes = 4 << 20
)

const magic = "PAR1"

// errValues is a row with too few values, too many, or one of another kind than its column.
var errValues = errors.New("parquet: the values of a row are not those of the columns")

// Writer writes one file. The values of a row are given in the order of the columns, and EndRow after them. It is for one goroutine. After an error the file
// is none, and no more is written.
type Writer struct {
	to      io.Writer
	columns []column
	next    int // the column of the value to come
	rows    int // of the group
	bytes   int // of the group's values
	at      int64
	groups  []group
	gzip    *gzip.Writer
	page    bytes.Buffer
	err     error
}

// column is what there is of a column in the group under way.
type column struct {
	Column
	values []byte
	bits   int    // of truths that are in values
	set    []bool // of an optional one: whether there is a value
}

type group struct {
	rows   int
	chunks []chunk
}

type chunk struct{ at, plain, packed int64 }

// NewWriter begins a file.
func NewWriter(to io.Writer, columns []Column) *Writer {
	w := &Writer{to: to, gzip: gzip.NewWriter(io.Discard)}
	for _, c := range columns {
		w.columns = append(w.columns, column{Column: c})
	}
	w.write([]byte(magic))
	return w
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	var n int
	n, w.err = w.to.Write(p)
	w.at += int64(n)
}

// value is the column of the value to come, which must be of that kind; nil: it is not.
func (w *Writer) value(kind Kind) *column {
	if w.next >= len(w.columns) || w.columns[w.next].Kind != kind {
		w.err = cmpErr(w.err, errValues)
		return nil
	}
	c := &w.columns[w.next]
	w.next++
	if c.Optional {
		c.set = append(c.set, true)
	}
	return c
}

func cmpErr(first, then error) error {
	if first != nil {
		return first
	}
	return then
}

// Text gives a text. Bytes that are not UTF-8 become U+FFFD.
func (w *Writer) Text(s string) {
	if c := w.value(Text); c != nil {
		s = strings.ToValidUTF8(s, "\ufffd")
		c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(s))) //nolint:gosec // no text is so long
		c.values = append(c.values, s...)
		w.bytes += len(s) + 4
	}
}

// Int gives a number.
func (w *Writer) Int(n int64) { w.number(Int, n) }

// Nano gives a decimal number in billionths.
func (w *Writer) Nano(n int64) { w.number(Nano, n) }

// Instant gives a time.
func (w *Writer) Instant(t time.Time) { w.number(Instant, t.UnixMicro()) }

func (w *Writer) number(kind Kind, n int64) {
	if c := w.value(kind); c != nil {
		c.values = binary.LittleEndian.AppendUint64(c.values, uint64(n)) //nolint:gosec // the same bits
		w.bytes += 8
	}
}

// Bool gives a truth.
func (w *Writer) Bool(yes bool) {
	c := w.value(Bool)
	if c == nil {
		return
	}
	if c.bits%8 == 0 {
		c.values = append(c.values, 0)
		w.bytes++
	}
	if yes {
		c.values[c.bits/8] |= 1 << (c.bits % 8)
	}
	c.bits++
}

// None leaves the value of an optional column out.
func (w *Writer) None() {
	if w.next >= len(w.columns) || !w.columns[w.next].Optional {
		w.err = cmpErr(w.err, errValues)
		return
	}
	c := &w.columns[w.next]
	c.set = append(c.set, false)
	w.next++
}

// EndRow ends a row. The group that it fills is written.
func (w *Writer) EndRow() error {
	if w.next != len(w.columns) {
		w.err = cmpErr(w.err, errValues)
	}
	w.next = 0
	w.rows++
	if w.err == nil && (w.rows >= groupRows || w.bytes >= groupBytes) {
		w.flush()
	}
	return w.err
}

// Close writes what is left, and what the file says of itself. The writer below stays open.
func (w *Writer) Close() error {
	if w.next != 0 {
		w.err = cmpErr(w.err, errValues)
	}
	if w.err == nil && w.rows > 0 {
		w.flush()
	}
	footer := w.footer()
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))) //nolint:gosec // a few hundred bytes for each group
	w.write([]byte(magic))
	return w.err
}

// flush writes the group.
func (w *Writer) flush() {
	g := group{rows: w.rows}
	for i := range w.columns {
		c := &w.columns[i]
		g.chunks = append(g.chunks, w.chunk(c))
		c.values, c.set, c.bits = c.values[:0], c.set[:0], 0
	}
	w.groups = append(w.groups, g)
	w.rows, w.bytes = 0, 0
}

// chunk writes a column of the group, as one page.
func (w *Writer) chunk(c *column) chunk {
	levels := c.levels()
	w.page.Reset()
	w.gzip.Reset(&w.page)
	_, _ = w.gzip.Write(levels) // a buffer takes all
	_, _ = w.gzip.Write(c.values)
	_ = w.gzip.Close()
	plain, packed := len(levels)+len(c.values), w.page.Len()
	var t thrift
	t.open()
	t.i32(1, 0)             // a data page
	t.i32(2, int32(plain))  //nolint:gosec // a group has bounds
	t.i32(3, int32(packed)) //nolint:gosec // as above
	t.in(5)
	t.i32(1, int32(w.rows)) //nolint:gosec // as above
	t.i32(2, encodingPlain)
	t.i32(3, encodingRLE)
	t.i32(4, encodingRLE)
	t.end()
	t.end()
	at := w.at
	w.write(t.b)
	w.write(w.page.Bytes())
	return chunk{at: at, plain: int64(len(t.b) + plain), packed: int64(len(t.b) + packed)}
}

// levels says which rows have a value, as runs; empty where all must have one.
func (c *column) levels() []byte {
	if !c.Optional {
		return nil
	}
	b := make([]byte, 4, 64)
	for from := 0; from < len(c.set); {
		to := from + 1
		for to < len(c.set) && c.set[to] == c.set[from] {
			to++
		}
		b = binary.AppendUvarint(b, uint64(to-from)<<1) //nolint:gosec // not negative
		level := byte(0)
		if c.set[from] {
			level = 1
		}
		b = append(b, level)
		from = to
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4)) //nolint:gosec // a group has bounds
	return b
}
