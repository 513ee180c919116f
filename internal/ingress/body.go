package ingress

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/wire"
)

const (
	// A client may take bodyTimeout, or what the configuration says, to send its request body, and a second more for each bodyRate bytes of it.
	bodyTimeout = time.Minute
	bodyRate    = 64 << 10
	// firstBuffer is the most that is set aside for a body on its Content-Length's word alone.
	firstBuffer = 256 << 10
	// drainTime is how long a refused client may go on sending before its connection is closed.
	drainTime = 5 * time.Second
	// serverDrains is how much of an unread body net/http reads away by itself, to keep the connection.
	serverDrains = 256 << 10
)

// bodyState is how far the reading of a request's body has come.
type bodyState struct {
	begun, ended bool
	ending       atomic.Bool   // what is still read of it has drainTime
	took         time.Duration // before anything else could be done: the client's time
}

// readBody reads the request's body within its limits.
func (x *exchange) readBody() (*attempt.Buffer, *wire.Failure) {
	r := x.r
	if f := checkContentType(r.Header, x.form() != ""); f != nil {
		return nil, f
	}
	if r.ContentLength > x.cfg.MaxBody {
		return nil, tooLarge(x.cfg.MaxBody)
	}
	// A body that came with its head is already here; only what must be waited for needs a limit.
	_ = x.control.SetReadDeadline(x.start.Add(x.patience())) // a writer without deadlines (tests) has no slow client either
	x.body.begun = true
	begin := time.Now()
	buf := attempt.GetBuffer(int(min(max(r.ContentLength, 0), firstBuffer)) + 64)
	limited := 0 // bytes that had come when the deadline was last moved on
	for {
		n, err := r.Body.Read(buf.B[len(buf.B):cap(buf.B)])
		buf.B = buf.B[:len(buf.B)+n]
		if int64(len(buf.B)) > x.cfg.MaxBody {
			buf.Release()
			return nil, tooLarge(x.cfg.MaxBody)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			x.body.ended = true
			buf.Release()
			return nil, unreadBody(err)
		}
		if len(buf.B)-limited >= 4*bodyRate {
			limited = len(buf.B)
			_ = x.control.SetReadDeadline(x.start.Add(x.patience() + time.Duration(limited/bodyRate)*time.Second)) // as above
		}
		growBody(buf, r.ContentLength)
	}
	x.body.ended, x.body.took = true, time.Since(begin)
	_ = x.control.SetReadDeadline(time.Time{})
	if len(buf.B) == 0 {
		buf.Release()
		f := failure(http.StatusBadRequest, codeInvalid, "the request body is empty; send a JSON object")
		return nil, &f
	}
	return buf, nil
}

// growBody makes room to read on: twice as much as before, or what the announced length needs if that is near.
func growBody(buf *attempt.Buffer, announced int64) {
	if cap(buf.B)-len(buf.B) > 0 {
		return
	}
	size := 2 * cap(buf.B)
	if whole := int(announced) + 64; whole > len(buf.B) && whole <= size+size/2 {
		size = whole
	}
	next := make([]byte, len(buf.B), size)
	copy(next, buf.B)
	buf.B = next
}

func unreadBody(err error) *wire.Failure {
	f := failure(http.StatusBadRequest, codeInvalid, "the request body ended early")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f = failure(http.StatusRequestTimeout, codeInvalid, "the request body came too slowly")
	}
	return &f
}

// reject answers with a failure although the body may not have been read. Whoever sends a body and reads no answer
// before it is through would meet a connection reset in place of it; so a small rest is read away by net/http (within
// drainTime), a large one by drainBody after the answer is out.
func (x *exchange) reject(f wire.Failure) {
	f.RequestID = x.id
	x.limitUnread()
	if x.drains() {
		x.w.Header().Set("Connection", "close") // which has net/http answer at once
	}
	x.limitWrite()
	x.copyFailure(f, nil)
	writeFailure(x.w, x.dialect, f, nil)
}

// limitUnread bounds how long net/http waits for a body that nobody asked for, before or after it answers.
func (x *exchange) limitUnread() {
	if x.unread() {
		_ = x.control.SetReadDeadline(time.Now().Add(drainTime)) // see readBody
	}
}

// drainBody reads away, for drainTime at most, what a refused client goes on sending.
func (x *exchange) drainBody() {
	if !x.drains() || x.control.Flush() != nil {
		return
	}
	_, _ = io.Copy(io.Discard, x.r.Body) // it ends at the deadline, if not before
}

// unread says whether some of the body is still to come.
func (x *exchange) unread() bool { return x.r.ContentLength != 0 && !x.body.ended }

// drains says whether the rest of the body is more than net/http reads away. A client that waits for 100 Continue
// sends none; one of HTTP/2 is told to stop, and goes on with its other requests.
func (x *exchange) drains() bool {
	return x.r.ProtoMajor < 2 && x.unread() && (x.r.ContentLength < 0 || x.r.ContentLength > serverDrains) && (x.body.begun || x.r.Header.Get("Expect") == "")
}

// limitWrite bounds how long a client may take no byte of an answer that is written at once.
func (x *exchange) limitWrite() {
	if d := x.cfg.WriteTimeout; d > 0 {
		if x.unread() {
			d += drainTime // net/http may read first
		}
		_ = x.control.SetWriteDeadline(time.Now().Add(d)) // see readBody
	}
}

// unlimitWrite takes the limit away once all is written; true: it did. Over HTTP/2 net/http breaks a stream off when its limit has passed, though nobody writes;
// over HTTP/1 only a write meets it, and the next one has another.
func (x *exchange) unlimitWrite() bool {
	if x.cfg.WriteTimeout <= 0 || x.r.ProtoMajor < 2 {
		return false
	}
	_ = x.control.SetWriteDeadline(time.Time{}) // see readBody
	return true
}
