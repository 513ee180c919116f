package ingress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evergate/internal/attempt"
)

// passSink writes the answer to a passthrough request to the client.
type passSink struct {
	x        *exchange
	provider string
	begun    bool // the head is out
	switched bool // the connection is no HTTP any more
	status   int
}

// Begin writes the head. An answer that came before the request's body was whole is passed on beside it; the connection serves
// no other request then.
func (s *passSink) Begin(h *attempt.PassHead) error {
	x := s.x
	s.begun, s.status = true, h.Status
	header := x.w.Header()
	s.head(header, h)
	if h.Length >= 0 && h.Status != http.StatusNoContent && h.Status != http.StatusNotModified {
		header["Content-Length"] = []string{strconv.FormatInt(h.Length, 10)}
	}
	if !h.Whole && x.r.ProtoMajor < 2 { // a client of HTTP/2 is told to stop, and goes on with its other requests
		header["Connection"] = []string{"close"}
		_ = x.control.EnableFullDuplex() // without it net/http reads the body away first; a writer without it (tests) does not
	}
	x.out.extend(time.Now())
	x.w.WriteHeader(h.Status)
	return x.out.Flush()
}

// Write passes bytes of the answer on.
func (s *passSink) Write(p []byte) error { return s.x.out.Write(p) }

// Flush sends what was written.
func (s *passSink) Flush() error { return s.x.out.Flush() }

// head fills in the reply's headers.
func (s *passSink) head(to http.Header, h *attempt.PassHead) {
	passRawHeader(to, h.Header, s.provider)
	s.x.ownLimits(to, h.Header)
	for _, name := range [...]string{"X-Goog-Upload-Url", "X-Goog-Upload-Control-Url"} {
		if v := h.Header[name]; len(v) > 0 { // below the base URL, as those in passAddresses; SDKs need the whole address
			to[name] = []string{origin(s.x.r) + passRoot + s.provider + s.x.ticketed(s.provider, v[0])}
		}
	}
	to["X-Evergate-Provider"] = []string{s.provider}
	to["X-Evergate-Attempts"] = []string{strconv.Itoa(h.Attempts)}
	to["X-Evergate-Trail"] = []string{trail(h.Steps)}
	nameRequest(to, s.x.dialect, []string{s.x.id})
}

// passRawHeader copies an upstream's reply headers: as passHeader does, but with what describes the bytes, which are the
// upstream's, and its addresses, which lead through here.
func passRawHeader(to, from http.Header, provider string) {
	passHeader(to, from)
	for _, name := range [...]string{
		"Content-Type", "Content-Encoding", "Content-Md5", "Digest", "Accept-Ranges", "Etag",
	} {
		if v := from[name]; len(v) > 0 {
			to[name] = v
		}
	}
	passAddresses(to, from, provider)
}

// passAddresses copies the addresses in an upstream's reply headers as ones that lead through here.
func passAddresses(to, from http.Header, provider string) {
	for _, name := range [...]string{"Location", "Content-Location", "Operation-Location", "Azure-Asyncoperation"} {
		if v := from[name]; len(v) > 0 { // below the base URL, or it would not be there
			to[name] = []string{passRoot + provider + v[0]}
		}
	}
}

// origin is where the client reaches the gateway, as far as the request tells: it came over TLS, or a proxy that ends TLS says so, the first of several
// that of the client. A client that names no host gets paths alone.
func origin(r *http.Request) string {
	if r.Host == "" {
		return ""
	}
	if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ","); r.TLS != nil || strings.EqualFold(strings.TrimSpace(first), "https") {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// errNotTaken is a client's connection that cannot be taken over.
var errNotTaken = errors.New("the connection cannot be taken over")

// closeTime is how long the two ends of a WebSocket have to close it once the gateway has said goodbye.
const closeTime = time.Second

// Switch joins the client's connection and the upstream's until either side closes, the caller's key lets nobody in any more, or the gateway stops: both hear
// of that by a close frame, unless they take none.
func (s *passSink) Switch(h *attempt.PassHead, upstream io.ReadWriteCloser) {
	defer upstream.Close() //nolint:errcheck // the connection ends either way
	x := s.x
	s.begun, s.switched, s.status = true, true, h.Status
	conn, early, err := s.take(h)
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // as above
	both := func() { _, _ = conn.Close(), upstream.Close() }
	down := &framed{to: &patientWriter{conn: conn, patience: x.cfg.WriteTimeout}}
	up := &framed{to: &boundedWriter{to: upstream, patience: x.cfg.WriteTimeout, giveUp: both}}
	bye := func(why uint16) {
		time.AfterFunc(closeTime, both)
		go up.end(closeFrame(why, true)) // one that takes nothing does not keep the other from hearing it
		down.end(closeFrame(why, false))
	}
	defer context.AfterFunc(x.r.Context(), func() { bye(goingAway) })()
	defer x.whileWelcome(s.provider, func() { bye(notAllowed) })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer both()
		if len(early) > 0 {
			if _, err := up.Write(early); err != nil {
				return
			}
		}
		copyBytes(up, conn)
	}()
	copyBytes(down, upstream)
	both()
	<-done
}

// take takes the client's connection over and answers its handshake in the upstream's words. early is what the client has sent
// already.
func (s *passSink) take(h *attempt.PassHead) (conn net.Conn, early []byte, err error) {
	header := http.Header{}
	s.head(header, h)
	header["Connection"], header["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	for _, name := range [...]string{"Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions"} {
		if v := h.Header[name]; len(v) > 0 {
			header[name] = v
		}
	}
	delete(header, "Content-Type")
	var text strings.Builder
	text.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = header.Write(&text) // a Builder never fails
	text.WriteString("\r\n")
	conn, rw, err := s.x.control.Hijack()
	if err != nil {
		return nil, nil, errNotTaken
	}
	if d := s.x.cfg.WriteTimeout; d > 0 {
		_ = conn.SetWriteDeadline(time.Now().Add(d)) // the write fails if this does
	}
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ = rw.Reader.Peek(n) // that much is there
	}
	if _, err = io.WriteString(conn, text.String()); err != nil {
		_ = conn.Close() // it is of no use
		return nil, nil, err
	}
	return conn, early, nil
}

// patientWriter writes to a client that may take no byte for so long; 0: for ever.
type patientWriter struct {
	conn     net.Conn
	patience time.Duration
	deadline time.Time
}

// Write implements io.Writer.
func (w *patientWriter) Write(p []byte) (int, error) {
	if now := time.Now(); w.patience > 0 && w.deadline.Sub(now) < w.patience {
		w.deadline = now.Add(w.patience + w.patience/16)
		_ = w.conn.SetWriteDeadline(w.deadline) // as above
	}
	return w.conn.Write(p)
}

// boundedWriter writes to an upstream that may take no byte for so long, as a client may: nobody would see that the client has
// left meanwhile. 0: for ever.
type boundedWriter struct {
	to       io.Writer
	patience time.Duration
	giveUp   func()
}

// Write implements io.Writer.
func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.patience > 0 {
		defer time.AfterFunc(w.patience, w.giveUp).Stop()
	}
	return w.to.Write(p)
}

// copyBytes copies until either side fails.
func copyBytes(to io.Writer, from io.Reader) {
	const size = 8 << 10
	buf := attempt.GetBuffer(size)
	defer buf.Release()
	for {
		n, err := from.Read(buf.B[:size])
		if n > 0 {
			if _, err := to.Write(buf.B[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
