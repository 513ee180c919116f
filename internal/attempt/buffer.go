package attempt

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Buffer is a pooled byte slice with a count of its readers: a transport may still be sending a request's body after
// its answer came, so the bytes go back to the pool only when the last one let go. Safe for concurrent Retain and
// Release; B is changed only by the first holder.
type Buffer struct {
	B    []byte
	refs atomic.Int32
}

// Buffers are pooled by size class, so that one huge body does not make every small one expensive.
const (
	minClass = 9  // 512 B
	maxClass = 21 // 2 MiB; larger ones are left to the garbage collector
)

//nolint:gochecknoglobals // a pool is process-wide by nature and holds no state
var pools [maxClass - minClass + 1]sync.Pool

func class(n int) int {
	c := max(bits.Len(uint(max(n-1, 0))), minClass)
	return c
}

// GetBuffer gives an empty buffer of at least n bytes' capacity, held once.
func GetBuffer(n int) *Buffer {
	c := class(n)
	var b *Buffer
	if c <= maxClass {
		b, _ = pools[c-minClass].Get().(*Buffer)
	}
	if b == nil {
		size := 1 << c
		if c > maxClass {
			size = n // it comes back to no pool of its size, and rounding up would double a large body
		}
		b = &Buffer{B: make([]byte, 0, size)}
	}
	b.B = b.B[:0]
	b.refs.Store(1)
	return b
}

// Retain adds a holder.
func (b *Buffer) Retain() { b.refs.Add(1) }

// Release lets go; the last holder's puts the bytes back.
func (b *Buffer) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("BUG: buffer released twice") //nolint:forbidigo // an impossible state
	}
	// A buffer that grew goes to the class it can fully serve.
	c := bits.Len(uint(cap(b.B))) - 1
	if c < minClass || c > maxClass {
		return
	}
	pools[c-minClass].Put(b)
}

// Grow makes room for n more bytes beyond len(B), keeping what is there.
func (b *Buffer) Grow(n int) {
	if cap(b.B)-len(b.B) >= n {
		return
	}
	next := make([]byte, len(b.B), max(2*cap(b.B), len(b.B)+n))
	copy(next, b.B)
	b.B = next
}
