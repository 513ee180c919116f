package testkit

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes a connection holds in each direction before writes block.
const window = 64 << 10

// ResetConn is a connection that can be reset, as those of a Net can.
type ResetConn interface {
	net.Conn
	// Reset closes the connection with a TCP reset: the peer reads what it was sent and then ECONNRESET; its writes
	// fail with ECONNRESET at once.
	Reset() error
	// SetLinger with 0 makes the next Close a Reset, as (*net.TCPConn).SetLinger does.
	SetLinger(sec int) error
	// CloseWrite ends what is sent: the peer reads the rest and then EOF. Reading goes on.
	CloseWrite() error
}

// conn is one end of a connection.
type conn struct {
	net           *Net
	in, out       *pipe
	local, remote net.Addr
	dialled       bool
	mu            sync.Mutex
	linger0       bool
}

var _ ResetConn = (*conn)(nil)

// Read reads what the peer sent; io.EOF after the peer's Close, ECONNRESET after its Reset, both after what was sent
// before.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write sends p, blocking while the window is full. Writes of several goroutines do not mix. After the peer closed the
// error is EPIPE, after it reset ECONNRESET.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// Quiet says that there is nothing to read, no end either.
func (c *conn) Quiet() bool { return c.in.quiet() }

// Close ends both directions. With unread bytes, or after SetLinger(0), it resets, as TCP does.
func (c *conn) Close() error {
	c.mu.Lock()
	linger0 := c.linger0
	c.mu.Unlock()
	return c.close(linger0)
}

func (c *conn) Reset() error { return c.close(true) }

func (c *conn) close(reset bool) error {
	unread, first := c.in.closeRead(reset)
	if !first {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.closeWrite(reset || unread, true)
	c.net.drop(c)
	return nil
}

func (c *conn) CloseWrite() error {
	c.out.closeWrite(false, false)
	return nil
}

func (c *conn) SetLinger(sec int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linger0 = sec == 0
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readDeadline, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeDeadline, t)
	return nil
}

// wrap dresses an error as package net does.
func (c *conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // made here, never wrapped
		return err
	}
	if no, ok := err.(syscall.Errno); ok { //nolint:errorlint // made here, never wrapped
		err = os.NewSyscallError(op, no)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// pipe is one direction of a connection: a bounded buffer and what its two ends have said.
type pipe struct {
	mu   sync.Mutex
	cond *sync.Cond // of any change
	buf  []byte
	// writing is true while a Write is under way. A flag, not a mutex: who waits for it must block durably.
	writing       bool
	ended         bool // the writer will send no more
	reset         bool // the writer reset the connection: ECONNRESET in place of EOF
	writerClosed  bool // the writer's own end is closed
	readerClosed  bool // the reader is gone
	readerReset   bool // and it reset the connection
	readDeadline  deadline
	writeDeadline deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newPipe() *pipe {
	p := &pipe{}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readerClosed:
			return 0, net.ErrClosed
		case p.readDeadline.passed():
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			p.cond.Broadcast()
			return n, nil
		case p.reset:
			return 0, syscall.ECONNRESET
		case p.ended:
			return 0, io.EOF
		}
		p.cond.Wait()
	}
}

func (p *pipe) quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.readerClosed && len(p.buf) == 0 && !p.reset && !p.ended
}

func (p *pipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.writing {
		if err := p.writeError(); err != nil {
			return 0, err
		}
		p.cond.Wait()
	}
	p.writing = true
	defer func() {
		p.writing = false
		p.cond.Broadcast()
	}()
	for {
		if err := p.writeError(); err != nil {
			return n, err
		}
		if room := window - len(p.buf); room > 0 && n < len(b) {
			k := min(room, len(b)-n)
			p.buf = append(p.buf, b[n:n+k]...)
			n += k
			p.cond.Broadcast()
		}
		if n == len(b) {
			return n, nil
		}
		p.cond.Wait()
	}
}

// writeError is why a write cannot go on. Requires the lock.
func (p *pipe) writeError() error {
	switch {
	case p.writerClosed:
		return net.ErrClosed
	case p.readerReset:
		return syscall.ECONNRESET
	case p.ended, p.readerClosed:
		return syscall.EPIPE
	case p.writeDeadline.passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// closeRead is the reader's close. It says whether bytes were left unread and whether it is the first close.
func (p *pipe) closeRead(reset bool) (unread, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readerClosed {
		return false, false
	}
	unread = len(p.buf) > 0
	p.readerClosed, p.readerReset, p.buf = true, reset || unread, nil
	p.readDeadline.stop()
	p.cond.Broadcast()
	return unread, true
}

// closeWrite is the writer's end: of what it sends, or of the connection.
func (p *pipe) closeWrite(reset, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.reset = p.reset || reset
	if whole {
		p.writerClosed = true
		p.writeDeadline.stop()
	}
	p.cond.Broadcast()
}

func (p *pipe) setDeadline(d *deadline, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.stop()
	d.at = t
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			p.mu.Lock() // so that a reader is either before its look at the clock or in Wait
			defer p.mu.Unlock()
			p.cond.Broadcast()
		})
	}
	p.cond.Broadcast()
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
