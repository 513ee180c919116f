package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
)

// errSentTwice ends the transport's own repetition: R58 allows one.
var errSentTwice = errors.New("the upstream refused the request twice without taking it")

// closedIdle are the transport's words for a connection whose end it had read before it gave it a request.
const closedIdle = "http: server closed idle connection"

// maxAgain bounds how often the transport may ask for the body again, read or not: it asks twice for one GOAWAY.
const maxAgain = 2

// payload is a request body that is read by whoever sends the request, and that its owner gets back when nobody reads
// it any more. Only a reader that has begun counts: the transport forgets to close some that it never read.
//
// Over TLS the transport reads bodyReaders, which count themselves. Without TLS it is given plain bytes.Readers: it
// knows those and sends head and body with one write, where any other reader would cost it two. HTTP/1 reads a body
// only between Carried and Written, and no longer when RoundTrip has failed, so these two events count instead.
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
	secure bool
	first  bodyReader
	asked  atomic.Int32 // for the body again
	trace  httptrace.ClientTrace

	carrier sync.Mutex // guards what follows
	conn    *conn
	reused  bool  // conn had carried another request before
	mark    int64 // bytes written to conn before this request
	http2   bool
	writing bool // without TLS: the transport may read the body
	carried bool // a connection was there for it
}

// twin is an exchange that sends the same body again; it is sealed on its own, and the owner gets the body back when
// both are done with it. Requires that this one is not sealed.
func (x *exchange) twin() *exchange {
	release, left := x.release, new(atomic.Int32)
	left.Store(2)
	x.release = func() {
		if left.Add(-1) == 0 && release != nil {
			release()
		}
	}
	return &exchange{payload: payload{data: x.data, release: x.release}, secure: x.secure}
}

// traced is ctx with the exchange listening. The hooks must be set first: those that ctx may have already are joined to
// them.
func (x *exchange) traced(ctx context.Context) context.Context {
	x.trace.GotConn = x.gotConn
	if !x.secure {
		x.trace.WroteRequest = x.wroteRequest
	}
	return httptrace.WithClientTrace(ctx, &x.trace)
}

// carry gives the request its body.
func (x *exchange) carry(req *http.Request) {
	req.ContentLength = int64(len(x.data))
	if len(x.data) == 0 {
		return
	}
	req.GetBody = x.again
	if x.first.payload = &x.payload; x.secure {
		req.Body = &x.first
	} else {
		req.Body = x.open()
	}
}

// open starts another reading of the body.
func (x *exchange) open() io.ReadCloser {
	if x.secure {
		return &bodyReader{payload: &x.payload}
	}
	return io.NopCloser(bytes.NewReader(x.data))
}

// again is the request's GetBody: the transport calls it before it sends the request again by itself, which it does
// only where nothing was written, or where HTTP/2 said that the stream was not processed.
func (x *exchange) again() (io.ReadCloser, error) {
	if x.asked.Add(1) > maxAgain || x.sent() > 1 {
		return nil, errSentTwice
	}
	return x.open(), nil
}

// gotConn is Carried, in net/http's words.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	x.Carried(info.Conn, info.Reused || info.WasIdle)
}

// wroteRequest is Written, in net/http's words.
func (x *exchange) wroteRequest(httptrace.WroteRequestInfo) { x.Written() }

// Carried notes the connection that is about to carry the request (http1.Watcher).
func (x *exchange) Carried(raw net.Conn, reused bool) {
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	c, _ := raw.(*conn)
	x.carrier.Lock()
	defer x.carrier.Unlock()
	x.setWriting(!x.secure)
	x.carried = true
	if x.conn, x.reused, x.http2 = c, false, false; c == nil {
		return
	}
	x.http2, x.reused = c.http2.Load(), reused
	x.mark = c.begin()
}

// unsent says whether nothing of the request was sent, as no connection was ever made for it.
func (x *exchange) unsent() bool {
	x.carrier.Lock()
	defer x.carrier.Unlock()
	return !x.carried
}

// cutHead says whether what the transport took for a malformed head is one that the end of the connection cut short.
func (x *exchange) cutHead(err error) bool {
	x.carrier.Lock()
	defer x.carrier.Unlock()
	return notHTTP(err) && x.conn != nil && x.conn.ended()
}

// Written notes that the body is read no more (http1.Watcher).
func (x *exchange) Written() {
	x.carrier.Lock()
	defer x.carrier.Unlock()
	x.setWriting(false)
}

// setWriting begins or ends a reading of the body. Requires the lock.
func (x *exchange) setWriting(on bool) {
	if on == x.writing {
		return
	}
	if x.writing = on; on {
		x.begin()
	} else {
		x.end()
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
	x.carrier.Lock()
	defer x.carrier.Unlock()
	if errors.Is(err, errSentTwice) {
		return !x.http2
	}
	// These errors have no name outside of net/http; tests hold them to their words.
	switch s := err.Error(); {
	case s == closedIdle, strings.Contains(s, "readLoopPeekFailLocked: "):
		return x.reused // else it was closed as soon as it was made: R1
	case strings.HasPrefix(s, "http2: Transport received GOAWAY from server"):
		return x.sent() < 2
	}
	return x.reused && x.sent() < 2 && x.conn.endedBefore(x.mark)
}
