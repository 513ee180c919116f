package journal

import (
	"encoding/hex"
)

// Trace is a request's place in a trace. The zero value: it is not traced.
type Trace struct {
	ID           [16]byte
	Span, Parent [8]byte // Parent is the client's; zero: it had none
	State        string  // the client's tracestate
}

// NewSpan is the id of a span, from a random number; 0, which is no id, becomes one.
func NewSpan(n uint64) (id [8]byte) {
	if n == 0 {
		n = 1
	}
	for i := range id {
		id[i] = byte(n >> (56 - 8*i)) //nolint:gosec // the rest of it is meant to go
	}
	return id
}

// Traceparent is the header that names a span of the trace to who is asked from within it (W3C Trace Context).
func (t *Trace) Traceparent(span [8]byte) string {
	var b [55]byte
	copy(b[:], "00-")
	hex.Encode(b[3:35], t.ID[:])
	b[35] = '-'
	hex.Encode(b[36:52], span[:])
	copy(b[52:], "-01")
	return string(b[:])
}
