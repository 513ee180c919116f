package provider

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
)

// errSentTwice ends the transport's own repetition: R58 allows one.
var errSentTwice = errors.New("the upstream refused the request twice without taking it")

// maxAgain bounds how often the transport may ask for the body again, read or not: it asks twice for one GOAWAY.
const maxAgain = 2

// payload is a request body that is read by whoever sends the request, and that its owner gets back when nobody reads
// it any more. Only a reader that has begun counts: the transport forgets to close some that it never read.
type payload struct {
	data    []byte
	release func()

	mu     sync.Mutex
	begun  int  // readers that have read
	active int  // of these, not yet closed
	sealed bool // Send has returned: no reader may begin
}

// begin admits a reader; false if it comes too late.
func (p *payload) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sealed {
		return false
	}
	p.begun++
	p.active++
	return true
}

// end is the close of a reader that had begun.
func (p *payload) end() {
	p.mu.Lock()
	p.active--
	last := p.sealed && p.active == 0
	p.mu.Unlock()
	if last && p.release != nil {
		p.release()
	}
}

// seal is the end of Send: from here on only the readers that have begun keep the body.
func (p *payload) seal() {
	p.mu.Lock()
	p.sealed = true
	last := p.active == 0
	p.mu.Unlock()
	if last && p.release != nil {
		p.release()
	}
}

// sent is how often the body was sent, in whole or in part.
func (p *payload) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// bodyReader is one reading of a payload. The transport may close it while another of its goroutines reads (HTTP/2
// does, when a stream is aborted), and after that close nobody may touch the bytes: hence the lock.
type bodyReader struct {
	payload *payload
	mu      sync.Mutex
	offset  int
	begun   bool
	closed  bool
}

// Read implements io.Reader.
func (b *bodyReader) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || !b.begun && !b.payload.begin() {
		return 0, errors.New("request body read after its end")
	}
	b.begun = true
	if b.offset >= len(b.payload.data) {
		return 0, io.EOF
	}
	n := copy(p, b.payload.data[b.offset:])
	b.offset += n
	return n, nil
}

// Close implements io.Closer; only the first call counts.
func (b *bodyReader) Close() error {
	b.mu.Lock()
	last := b.begun && !b.closed
	b.closed = true
	b.mu.Unlock()
	if last {
		b.payload.end()
	}
	return nil
}

// exchange is the state of one Send: its body's readers, and which connection carries it.
type exchange struct {
	payload
	first bodyReader
	asked atomic.Int32 // for the body again
	trace httptrace.ClientTrace

	mu    sync.Mutex
	conn  *conn // nil unless it had been used before
	mark  int64 // bytes written to conn before this request
	http2 bool
}

// open starts another reading of the body.
func (x *exchange) open() io.ReadCloser { return &bodyReader{payload: &x.payload} }

// again is the request's GetBody: the transport calls it before it sends the request again by itself, which it does
// only where nothing was written, or where HTTP/2 said that the stream was not processed.
func (x *exchange) again() (io.ReadCloser, error) {
	if x.asked.Add(1) > maxAgain || x.sent() > 1 {
		return nil, errSentTwice
	}
	return x.open(), nil
}

// gotConn notes the connection that is about to carry the request.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	raw := info.Conn
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	c, _ := raw.(*conn)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conn, x.http2 = nil, false
	if c == nil {
		return
	}
	x.http2 = c.http2.Load()
	if info.Reused {
		x.conn, x.mark = c, c.begin()
	}
}

// untaken says whether err proves that the upstream did not take the request, so that R58's one repetition is safe.
// What the transport has proved it repeats by itself and does not come here: nothing was written, REFUSED_STREAM,
// GOAWAY below the stream. These are left:
//
//   - The transport had seen the end of a pooled connection before it gave it this request. It knows, but repeats only
//     what it holds to be idempotent, and a POST is not.
//   - The connection's end crossed the request on the wire: it was pooled and has ended without an answer, and the
//     kernel says that the peer had received no byte of the request when it sent that end (conn.ended).
//   - Two pooled connections in a row were found dead before anything was written. The limit of one repetition is
//     there for HTTP/2, where a server may refuse over and over.
//   - The first stream of an HTTP/2 connection was above the last one of a GOAWAY with an error code.
func (x *exchange) untaken(err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.Is(err, errSentTwice) {
		return !x.http2
	}
	// These three errors have no name outside of net/http; a test holds them to their words.
	switch s := err.Error(); {
	case s == "http: server closed idle connection", strings.Contains(s, "readLoopPeekFailLocked: "):
		return true
	case strings.HasPrefix(s, "http2: Transport received GOAWAY from server"):
		return x.sent() < 2
	}
	return x.conn != nil && x.sent() < 2 && x.conn.endedBefore(x.mark)
}
