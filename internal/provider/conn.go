package provider

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// alertSize is larger than any TLS alert record and smaller than any HTTP response head in one.
const alertSize = 64

// conn counts what was written to a connection and asks the kernel, when the peer ends it, how much of that the peer
// had received. That is the only proof to be had that a request was not taken (R58): a FIN carries an acknowledgement
// of every byte that had arrived when it was sent, so if it acknowledges none of a request's bytes, no program at the
// other end can have read them. A reset proves nothing: a peer that read the request and then aborted looks the same
// as one that had closed long ago.
type conn struct {
	net.Conn
	sys   syscall.RawConn // nil where there is no file descriptor
	raw   syscall.RawConn // sys, or nil where the kernel cannot be asked what arrived
	base  int64           // what the kernel counted as acknowledged when the connection was new
	tls   bool            // TLS above this connection is ours, and HTTP/1 unless http2
	http2 atomic.Bool

	written atomic.Int64
	// alert is what the peer had received when something small enough to be a TLS alert last arrived; end is the same
	// for the end of the connection. -1: nothing of the kind came since the request began.
	alert, end atomic.Int64
}

func newConn(c net.Conn) *conn {
	w := &conn{Conn: c}
	w.alert.Store(-1)
	w.end.Store(-1)
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			w.sys = raw
			if n, ok := acked(raw); ok {
				w.raw, w.base = raw, n
			}
		}
	}
	return w
}

// begin marks the begin of a request on a connection that was used before, and returns how much was written so far.
func (c *conn) begin() int64 {
	c.alert.Store(-1)
	return c.written.Load()
}

// Quiet says of an idle connection that its peer has neither ended it nor sent anything (http1.Conn).
func (c *conn) Quiet() bool {
	if c.sys != nil {
		return quiet(c.sys)
	}
	if q, ok := c.Conn.(interface{ Quiet() bool }); ok {
		return q.Quiet()
	}
	return true
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		c.end.Store(c.received())
	} else if c.tls && n > 0 && n <= alertSize && !c.http2.Load() {
		c.alert.Store(c.received())
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	// Counted before: what is on its way must not look as if it had not begun.
	c.written.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// ReadFrom implements io.ReaderFrom. What the transport hands over is the rest of a request body of exactly the limit's
// length, which a bytes.Reader can write without a copy.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if body, ok := l.R.(io.WriterTo); ok {
			return body.WriteTo(writer{c})
		}
	}
	return io.Copy(writer{c}, r)
}

// writer is a conn without its ReadFrom.
type writer struct{ c *conn }

func (w writer) Write(p []byte) (int, error) { return w.c.Write(p) }

// ended says that the peer's end of the connection was read.
func (c *conn) ended() bool { return c.end.Load() >= 0 }

// received is how many of the written bytes the peer's kernel has acknowledged, or as many as there are if it cannot
// be known.
func (c *conn) received() int64 {
	if c.raw != nil {
		if n, ok := acked(c.raw); ok {
			return n - c.base
		}
	}
	return c.written.Load()
}

// endedBefore says that the peer ended the connection before it had received any byte beyond the first mark ones.
func (c *conn) endedBefore(mark int64) bool {
	if n := c.end.Load(); n >= 0 {
		return n <= mark
	}
	// Over TLS an alert announces the end, and nothing is read after it. HTTP/2 has other small records, so there the
	// alert is not looked at.
	n := c.alert.Load()
	return n >= 0 && n <= mark
}
