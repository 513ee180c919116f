package ingress

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
)

// frames follows a WebSocket's bytes (RFC 6455 §5.2) as far as one must to know where a frame ends. Bytes that are no frames confuse
// it, and no more: a close frame may then not be sent.
type frames struct {
	head   [14]byte
	have   int    // bytes of head that have come
	left   uint64 // bytes of the payload that are still to come
	closed bool   // a close frame came: nothing may follow it
}

// next goes over bytes to the end of the frame under way, or of p, and says how many they are.
func (f *frames) next(p []byte) (n int) {
	for f.left == 0 {
		if n == len(p) {
			return n
		}
		f.head[f.have] = p[n]
		f.have++
		n++
		if f.have < 2 || f.have < f.size() {
			continue
		}
		f.left = f.payload()
		f.closed = f.closed || f.head[0]&0x0f == opClose
		f.have = 0
		if f.left == 0 {
			return n
		}
	}
	take := min(f.left, uint64(len(p)-n)) //nolint:gosec // neither is negative
	f.left -= take
	return n + int(take) //nolint:gosec // no more than p is long
}

// between says that no frame is under way.
func (f *frames) between() bool { return f.have == 0 && f.left == 0 }

// size is how long the head is, by its first two bytes.
func (f *frames) size() int {
	size := 2
	switch f.head[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if f.head[1]&masked != 0 {
		size += 4
	}
	return size
}

// payload is how long it is, by a whole head.
func (f *frames) payload() uint64 {
	switch n := f.head[1] & 0x7f; n {
	case 126:
		return uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		return binary.BigEndian.Uint64(f.head[2:])
	default:
		return uint64(n)
	}
}

const (
	opClose    = 8
	masked     = 0x80
	goingAway  = 1001 // the status of an end that goes away
	notAllowed = 1008 // and of one that may not go on
)

// closeFrame says goodbye, and why. A client masks its frames, a server does not.
func closeFrame(why uint16, asClient bool) []byte {
	frame := binary.BigEndian.AppendUint16([]byte{0x80 | opClose, 2}, why)
	if !asClient {
		return frame
	}
	mask := binary.BigEndian.AppendUint32(nil, rand.Uint32()) //nolint:gosec // no secret: it keeps proxies from reading frames as requests
	return []byte{frame[0], masked | frame[1], mask[0], mask[1], mask[2], mask[3], frame[2] ^ mask[0], frame[3] ^ mask[1]}
}

// framed passes a WebSocket's bytes on, and can put a close frame behind the frame under way, after which nothing passes. Safe for
// concurrent use.
type framed struct {
	mu   sync.Mutex
	to   io.Writer
	at   frames
	last []byte // the close frame; nil: it goes on
	over bool
}

// Write implements io.Writer. What follows a close frame is read away.
func (f *framed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.over:
		return len(p), nil
	case f.last == nil:
		for rest := p; len(rest) > 0; {
			rest = rest[f.at.next(rest):]
		}
		return f.to.Write(p)
	}
	if _, err := f.to.Write(p[:f.at.next(p)]); err != nil {
		return 0, err
	}
	return len(p), f.say()
}

// end has the close frame sent as soon as it may be. It waits for a write that is under way.
func (f *framed) end(frame []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = frame
	_ = f.say() // the other end may be gone, too
}

func (f *framed) say() error {
	if !f.at.between() || f.over {
		return nil
	}
	f.over = true
	if f.at.closed {
		return nil
	}
	_, err := f.to.Write(f.last)
	return err
}
