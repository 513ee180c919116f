package http1

import (
	"errors"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrHeadTooLarge is an answer whose head goes on beyond Options.MaxHead.
var ErrHeadTooLarge = errors.New("the answer's head is too large")

const (
	maxInterim = 8 // answers of 1xx before the one that counts
	// A server that refuses a large body says so and hangs up, or leaves the rest unread. lateAnswer is how long a
	// connection that takes no more of a request is read from yet, and lateBody how long the rest of a request that has
	// its whole answer is written yet.
	lateAnswer = 50 * time.Millisecond
	lateBody   = 50 * time.Millisecond
)

// exchange is one request on one connection, and its answer's body.
type exchange struct {
	client  *Client
	link    *link
	from    io.ReadCloser // the body as http.ReadResponse frames it
	release func() bool   // of the context
	rest    chan struct{} // closed when the goroutine that writes the body's rest is done; nil: there is none
	cut     error         // of that goroutine; to be looked at when rest is closed
	err     error         // of the last Read; only its goroutine looks at it
	keep    bool          // the connection, after a sound end
	over    atomic.Bool   // neither Read nor Close has anything to do any more
	ends    atomic.Int32  // of the two directions of a connection that is to be kept, how many have ended
}

// abort ends the connection: the request's context has ended.
func (e *exchange) abort() { _ = e.link.conn.Close() }

// run sends the request and reads the head of its answer.
func (e *exchange) run(r *Request, h *head) (*http.Response, error) {
	werr := e.send(r, h)
	if werr != nil {
		if _, ok := werr.(unwritten); ok && e.link.used { //nolint:errorlint // our own, not wrapped
			return nil, werr
		}
		_ = e.link.conn.SetReadDeadline(time.Now().Add(lateAnswer))
	}
	resp, err := e.head(r.HTTP)
	switch {
	case err != nil && werr != nil:
		return nil, werr
	case err != nil:
		return nil, err
	case werr != nil && r.Watcher != nil: // else send says so, or RoundTrip
		r.Watcher.Written()
	}
	e.keep = werr == nil && !resp.Close && resp.StatusCode >= http.StatusOK
	if resp.Body == http.NoBody {
		e.finish(true)
		return resp, nil
	}
	e.from, resp.Body = resp.Body, e
	return resp, nil
}

// send writes the request, or begins to.
func (e *exchange) send(r *Request, h *head) error {
	body := r.Body
	n := min(len(body), max(0, cap(h.bytes)-len(h.bytes)))
	out := append(h.bytes, body[:n]...)
	sent, err := e.link.conn.Write(out)
	if err != nil {
		if sent == 0 {
			return unwritten{err}
		}
		return err
	}
	body = body[n:]
	if len(body) > largestInline {
		e.rest = make(chan struct{})
		go e.sendRest(body, r.Watcher)
		return nil
	}
	if len(body) > 0 {
		if _, err := e.link.conn.Write(body); err != nil {
			return err
		}
	}
	if r.Watcher != nil {
		r.Watcher.Written()
	}
	return nil
}

// sendRest writes what is left of a large body. Who reads from the connection meets the same end as it does.
func (e *exchange) sendRest(body []byte, w Watcher) {
	if _, e.cut = e.link.conn.Write(body); e.cut != nil { // the answer may be there yet
		_ = e.link.conn.SetReadDeadline(time.Now().Add(lateAnswer))
	}
	if w != nil {
		w.Written()
	}
	close(e.rest)
	e.direction()
}

// head reads the head of the answer that counts.
func (e *exchange) head(asked *http.Request) (*http.Response, error) {
	l := e.link
	l.left = e.client.MaxHead
	if asked.Method != http.MethodHead { // whose answer has no body, whatever it says; others need not be held on to
		asked = nil
	}
	for range maxInterim {
		resp, err := http.ReadResponse(l.in, asked)
		if err != nil {
			return nil, err
		}
		if interim := resp.StatusCode/100 == 1; !interim || resp.StatusCode == http.StatusSwitchingProtocols {
			l.left = math.MaxInt64
			return resp, nil
		}
	}
	return nil, ErrHeadTooLarge
}

// Read implements io.Reader.
func (e *exchange) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if e.over.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := e.from.Read(p)
	if err != nil {
		e.err = err
		e.finish(err == io.EOF)
	}
	return n, err
}

// Close implements io.Closer. A body that was not read to its end takes its connection with it.
func (e *exchange) Close() error {
	e.finish(false)
	return nil
}

// finish gives the connection back, or closes it.
func (e *exchange) finish(sound bool) {
	if !e.over.CompareAndSwap(false, true) {
		return
	}
	// A context that has ended meanwhile has closed it, or is about to.
	if !e.release() || !sound || !e.keep || e.link.in.Buffered() > 0 {
		_ = e.link.conn.Close()
		return
	}
	if e.rest != nil {
		_ = e.link.conn.SetWriteDeadline(time.Now().Add(lateBody))
	}
	e.direction()
}

// direction is the end of one direction. The last of them gives the connection back.
func (e *exchange) direction() {
	switch {
	case e.rest == nil:
	case e.ends.Add(1) < 2:
		return
	case e.cut != nil || e.link.conn.SetWriteDeadline(time.Time{}) != nil:
		_ = e.link.conn.Close()
		return
	}
	e.client.put(e.link)
}
