package attempt

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

const (
	// rawSize is how much one read of an answer that is no JSON may bring.
	rawSize = 32 << 10
	// anyBytes is the content type of an answer whose upstream names none.
	anyBytes = "application/octet-stream"
)

// raw passes on an answer that is no JSON, as it comes: sound, subtitles. Its first byte is the commit point.
func (e *exchange) raw(resp *http.Response) *fault.Fault {
	buf := GetBuffer(rawSize)
	defer buf.Release()
	err := readSome(resp.Body, buf)
	if len(buf.B) == 0 {
		if err == io.EOF { //nolint:errorlint // see relay.over
			return e.leg.Upstream.Refine(wire.Invalid("the upstream answered with an empty body"))
		}
		return e.leg.Upstream.ReadFault(e.ctx, err)
	}
	kind := resp.Header.Get("Content-Type")
	if looksJSON(kind, buf.B) { // an error, or what an upstream answers that does not know the form asked for
		resp.Body = &rejoined{Reader: io.MultiReader(bytes.NewReader(bytes.Clone(buf.B)), &remainder{resp.Body, err}), Closer: resp.Body}
		return e.plain(resp)
	}
	if f := e.leg.Dialect.(wire.Opaque).JudgeRaw(kind, buf.B); f != nil {
		return e.leg.Upstream.Refine(f)
	}
	now := time.Now()
	e.content = now
	e.watch.chunk(now)
	e.watch.content(now, false)
	e.permit.FirstContent(now)
	head := e.head(false, int(max(resp.ContentLength, -1)))
	head.ContentType = cmp.Or(kind, anyBytes)
	if err := e.x.sink.Begin(head); err != nil {
		return gone(err)
	}
	e.forget()
	return e.passRaw(buf, resp.Body, err)
}

// passRaw writes what was read, and reads on; err is that of the last read.
func (e *exchange) passRaw(buf *Buffer, body io.Reader, err error) *fault.Fault {
	for {
		if len(buf.B) > 0 {
			e.watch.pause(time.Now()) // the time that the client takes is not the upstream's
			if err := e.x.sink.Write(buf.B); err != nil {
				return gone(err)
			}
			if err := e.x.sink.Flush(); err != nil {
				return gone(err)
			}
			e.watch.resume(time.Now())
		}
		switch {
		case err == io.EOF: //nolint:errorlint // see relay.over
			return nil
		case err != nil:
			f := *e.leg.Upstream.ReadFault(e.ctx, err)
			f.Broke, f.Class = f.Class, fault.Cut
			return &f
		}
		buf.B = buf.B[:0]
		if err = readSome(body, buf); len(buf.B) > 0 {
			now := time.Now()
			e.watch.chunk(now)
			e.watch.content(now, false)
		}
	}
}

// readSome fills an empty buffer by one read that brings something, or ends.
func readSome(body io.Reader, buf *Buffer) error {
	for {
		n, err := body.Read(buf.B[:cap(buf.B)])
		if buf.B = buf.B[:n]; n > 0 || err != nil {
			return err
		}
	}
}

// looksJSON says whether an answer is JSON, by its content type, or by its first byte where that says nothing of sound.
func looksJSON(contentType string, head []byte) bool {
	kind := strings.ToLower(contentType)
	switch {
	case strings.HasPrefix(kind, "application/json"), strings.HasPrefix(kind, "application/problem+json"):
		return true
	case kind == "", strings.HasPrefix(kind, "text/"):
		head = bytes.TrimSpace(unmarked(head))
		return len(head) > 0 && head[0] == '{'
	}
	return false
}

// rejoined is a body of which the beginning was read already.
type rejoined struct {
	io.Reader
	io.Closer
}

// remainder is the rest of a body whose last read ended in err, if it did.
type remainder struct {
	body io.Reader
	err  error
}

// Read implements io.Reader.
func (a *remainder) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	return a.body.Read(p)
}
