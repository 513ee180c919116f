package http1

import (
	"bufio"
	"context"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Conn is a connection to an upstream.
type Conn interface {
	net.Conn
	// Quiet says of a connection that waits for its next request that the peer has neither ended it nor sent anything.
	// It does not block.
	Quiet() bool
}

// Options are what a Client is made with.
type Options struct {
	// Dial makes a connection to the client's address; it ends when its context does. It is called on a goroutine of its
	// own.
	Dial func(ctx context.Context) (Conn, error)
	// MaxIdle is how many connections wait for a request at most, and IdleTimeout for how long.
	MaxIdle     int
	IdleTimeout time.Duration
	MaxHead     int64 // bytes of an answer's head, and of all interim answers before it
	ReadBuffer  int   // bytes, of every connection
}

// Client keeps connections to one address. It is safe for concurrent use.
type Client struct {
	Options

	mu     sync.Mutex
	idle   []*link // the one that has waited longest first
	sweep  *time.Timer
	closed bool
}

// New makes a client. It opens no connection.
func New(o Options) *Client { return &Client{Options: o} }

// Watcher is told what happens to a request. Both are called by whichever goroutine does it, Carried before Written.
type Watcher interface {
	// Carried is called before the first byte is written to a connection; again, if nothing could be written to it, with
	// the next one. reused says whether the connection has carried another request before.
	Carried(conn net.Conn, reused bool)
	// Written is called when the body is not read any more, written or not. It follows each last Carried, at the latest
	// when RoundTrip returns an error, and may come after an answer that came early.
	Written()
}

// Request is one request.
type Request struct {
	// HTTP says method, URL (its path and query), Host and headers. Its body and its context are not looked at.
	HTTP    *http.Request
	Body    []byte
	Fresh   bool    // not on a connection that has carried a request before
	Watcher Watcher // may be nil
}

// link is a connection with what has been read of it.
type link struct {
	conn  Conn
	in    *bufio.Reader
	left  int64 // how many bytes may be read yet
	used  bool
	since time.Time // idle
}

// Read implements io.Reader for the link's buffer.
func (l *link) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, ErrHeadTooLarge
	}
	n, err := l.conn.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// RoundTrip sends a request and waits for the head of its answer. The answer's body has to be read to its end or closed;
// it may be closed while another goroutine reads it. When ctx ends, so does the connection, and with it a Read.
//
// Errors are those of Dial and of the connection as they came, io.ErrUnexpectedEOF for a connection that ended within or
// before the head, ErrHeadTooLarge, *HeaderError for a request that cannot be sent, and those of http.ReadResponse.
func (c *Client) RoundTrip(ctx context.Context, r *Request) (*http.Response, error) {
	head, err := startHead(r)
	if err != nil {
		return nil, err
	}
	defer head.free()
	for {
		var l *link
		if !r.Fresh {
			l = c.take()
		}
		if l == nil {
			if l, err = c.connect(ctx); err != nil {
				return nil, err
			}
		}
		e := &exchange{client: c, link: l}
		e.release = context.AfterFunc(ctx, e.abort)
		if r.Watcher != nil {
			r.Watcher.Carried(l.conn, l.used)
		}
		resp, err := e.run(r, head)
		if err == nil {
			return resp, nil
		}
		e.finish(false)
		if e.rest != nil {
			<-e.rest // the body is the caller's again when RoundTrip returns
		} else if r.Watcher != nil {
			r.Watcher.Written()
		}
		none, ok := err.(unwritten) //nolint:errorlint // our own, not wrapped
		if !ok {
			return nil, err
		}
		if !l.used || ctx.Err() != nil {
			return nil, none.error
		}
	}
}

// connect makes a connection. A dial goes deep: on a goroutine of its own it leaves the caller's stack small.
func (c *Client) connect(ctx context.Context) (*link, error) {
	type dialled struct {
		conn Conn
		err  error
	}
	done := make(chan dialled)
	go func() {
		conn, err := c.Dial(ctx)
		select {
		case done <- dialled{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	select {
	case d := <-done:
		if d.err != nil {
			return nil, d.err
		}
		l := &link{conn: d.conn, left: math.MaxInt64}
		l.in = bufio.NewReaderSize(l, c.ReadBuffer)
		return l, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take gives the connection that was used last, so that those a burst has left grow old; nil if there is none. Those
// that their peers have ended are closed.
func (c *Client) take() *link {
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			return nil
		}
		l := c.idle[n-1]
		c.idle[n-1] = nil
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		if l.conn.Quiet() && time.Since(l.since) < c.IdleTimeout {
			return l
		}
		_ = l.conn.Close()
	}
}

// put keeps a connection for the next request.
func (c *Client) put(l *link) {
	now := time.Now()
	c.mu.Lock()
	l.used, l.since = true, now
	full := c.closed || len(c.idle) >= c.MaxIdle
	if !full {
		c.idle = append(c.idle, l)
		if c.sweep == nil {
			c.sweep = time.AfterFunc(sweepInterval, c.sweepIdle)
		}
	}
	c.mu.Unlock()
	if full {
		_ = l.conn.Close()
	}
}

// sweepInterval is how often the connections that wait are looked at: what its peer has ended would else take up a file
// descriptor at both ends until it is chosen or too old.
const sweepInterval = 10 * time.Second

// sweepIdle closes what has waited for too long, and what its peer has ended.
func (c *Client) sweepIdle() {
	now := time.Now()
	var gone []*link
	c.mu.Lock()
	c.idle = slices.DeleteFunc(c.idle, func(l *link) bool {
		old := now.Sub(l.since) >= c.IdleTimeout
		if old {
			gone = append(gone, l)
		}
		return old
	})
	waiting := slices.Clone(c.idle)
	c.mu.Unlock()
	for _, l := range waiting {
		if l.conn.Quiet() { // asks the kernel: not under the lock
			continue
		}
		c.mu.Lock()
		if i := slices.Index(c.idle, l); i >= 0 { // else it was chosen meanwhile
			c.idle = slices.Delete(c.idle, i, i+1)
			gone = append(gone, l)
		}
		c.mu.Unlock()
	}
	closeAll(gone)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sweep = nil; len(c.idle) > 0 {
		c.sweep = time.AfterFunc(sweepInterval, c.sweepIdle)
	}
}

// Close closes the connections that wait. Requests under way go on, and those that begin yet are served; their
// connections close after them.
func (c *Client) Close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.closed = nil, true
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
	c.mu.Unlock()
	closeAll(idle)
}

func closeAll(links []*link) {
	for _, l := range links {
		_ = l.conn.Close()
	}
}
