package parquet

import "encoding/binary"

// The types of Thrift's compact protocol that are written here.
const (
	typeTrue   = 1
	typeI32    = 5
	typeI64    = 6
	typeBinary = 8
	typeList   = 9
	typeStruct = 12
)

// thrift writes structs in Thrift's compact protocol, in which the file says what it holds.
type thrift struct {
	b    []byte
	last []int16 // number of the field before, in each of the open structs
}

func (t *thrift) field(id int16, kind byte) {
	at := len(t.last) - 1
	if delta := id - t.last[at]; delta > 0 && delta < 16 {
		t.b = append(t.b, byte(delta)<<4|kind)
	} else {
		t.b = binary.AppendVarint(append(t.b, kind), int64(id))
	}
	t.last[at] = id
}

func (t *thrift) i32(id int16, n int32) {
	t.field(id, typeI32)
	t.b = binary.AppendVarint(t.b, int64(n))
}

func (t *thrift) i64(id int16, n int64) {
	t.field(id, typeI64)
	t.b = binary.AppendVarint(t.b, n)
}

func (t *thrift) yes(id int16) { t.field(id, typeTrue) }

func (t *thrift) text(id int16, s string) {
	t.field(id, typeBinary)
	t.element(s)
}

// element is a text in a list.
func (t *thrift) element(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

// list begins a list of n; its elements follow.
func (t *thrift) list(id int16, kind byte, n int) {
	t.field(id, typeList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind) //nolint:gosec // less than 15
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(n))
}

// open begins a struct: the whole, or an element of a list.
func (t *thrift) open() { t.last = append(t.last, 0) }

// in begins a struct that is a field of the one which is open.
func (t *thrift) in(id int16) {
	t.field(id, typeStruct)
	t.open()
}

// end ends a struct.
func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}
