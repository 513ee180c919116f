package mock

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// errAbort asks ServeHTTP to break a connection that cannot be hijacked (HTTP/2).
var errAbort = errors.New("abort the connection")

// exchange is one request being answered. It writes, waits and breaks things; what is written is play.go's matter.
type exchange struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	r    *http.Request
	q    *request
	b    Behaviour
	body io.Writer // w, or gzip on it
	gz   *gzip.Writer
	note func(func(*Seen))
	// beat is what is sent during waits; empty before the headers and without keepalives.
	beat string
}

func newExchange(w http.ResponseWriter, r *http.Request, b Behaviour, note func(func(*Seen))) *exchange {
	return &exchange{w: w, rc: http.NewResponseController(w), r: r, b: b, body: w, note: note}
}

// headers sends the head and makes ready for the body.
func (x *exchange) headers(status int, contentType string, size int) error {
	h := x.w.Header()
	if x.b.ContentType != "" {
		contentType = x.b.ContentType
	}
	h.Set("Content-Type", contentType)
	if size >= 0 {
		h.Set("Content-Length", fmt.Sprint(size))
	}
	if x.b.RetryAfter != "" {
		h.Set("Retry-After", x.b.RetryAfter)
	}
	for name, values := range x.b.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	x.w.WriteHeader(status)
	x.note(func(s *Seen) { s.Status = status })
	return x.flush()
}

// stream compresses the body from here on, event by event.
func (x *exchange) stream() {
	x.gz = gzip.NewWriter(x.w)
	x.body = x.gz
}

func (x *exchange) send(data []byte) error {
	if _, err := x.body.Write(data); err != nil {
		return errGone
	}
	return x.flush()
}

func (x *exchange) flush() error {
	if x.gz != nil {
		if err := x.gz.Flush(); err != nil {
			return errGone
		}
	}
	if err := x.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errGone
	}
	return nil
}

// finish ends a compressed body; a plain one ends when the handler returns.
func (x *exchange) finish() error {
	if x.gz != nil {
		if err := x.gz.Close(); err != nil {
			return errGone
		}
	}
	return nil
}

// wait lets time pass, with keepalives, until it is over or the client goes away.
func (x *exchange) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	over := time.NewTimer(d)
	defer over.Stop()
	return x.until(over.C)
}

func (x *exchange) until(over <-chan time.Time) error {
	var beats <-chan time.Time
	if x.beat != "" {
		t := time.NewTicker(x.b.Keepalive)
		defer t.Stop()
		beats = t.C
	}
	for {
		select {
		case <-x.r.Context().Done():
			return errGone
		case <-over:
			return nil
		case <-beats:
			if err := x.send([]byte(x.beat)); err != nil {
				return err
			}
		}
	}
}

// at does the fault that the behaviour has at this point, if any.
func (x *exchange) at(p Point) error {
	switch {
	case p == Never:
	case p == x.b.Hang:
		return x.until(nil)
	case p == x.b.Reset:
		return x.sever(true)
	case p == x.b.Cut:
		return x.sever(false)
	case p == x.b.EOF:
		if err := x.finish(); err != nil {
			return err
		}
		return errOver
	}
	return nil
}

// lingerer is a connection that can be closed with a reset: TCP, and the tests' in-memory network.
type lingerer interface{ SetLinger(sec int) error }

// sever closes the connection, with a reset if the connection knows one.
func (x *exchange) sever(reset bool) error {
	c, _, err := x.rc.Hijack()
	if err != nil {
		return errAbort
	}
	if reset {
		if tls, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = tls.NetConn() // a TLS close would say goodbye first
		}
		if l, ok := c.(lingerer); ok {
			if err := l.SetLinger(0); err != nil {
				return errOver // closed already
			}
		}
	}
	_ = c.Close()
	return errOver
}
