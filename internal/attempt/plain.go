package attempt

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"evergate/internal/fault"
	"evergate/internal/sse"
)

// maxHeld is how much of a plain reply is held to be judged before it is sent (CONTRACT §3).
const maxHeld = 16 << 20

// usualReply is room for most plain replies whose length is not known.
const usualReply = 4 << 10

// plain reads a plain reply whole, judges it (R14) and delivers it.
func (e *exchange) plain(resp *http.Response) *fault.Fault {
	size := resp.ContentLength + 1
	if size <= 0 { // unknown: most replies are small
		size = usualReply
	}
	buf := GetBuffer(int(min(size, maxHeld)))
	defer buf.Release()
	err := readAll(resp.Body, buf, maxHeld)
	if errors.Is(err, io.ErrShortBuffer) {
		return e.tooLargeToHold(resp, buf)
	}
	if err != nil {
		return e.leg.Upstream.ReadFault(e.ctx, err)
	}
	body := unmarked(buf.B)
	if sse.Looks(body) {
		folded, err := e.leg.Dialect.ReplyFromStream(body)
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			return e.leg.Upstream.Refine(f)
		}
		if err != nil {
			return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream answered a stream that is not whole", Cause: err})
		}
		body = folded
	}
	reply, f := e.leg.Dialect.Judge(body)
	if f != nil {
		return e.leg.Upstream.Refine(f)
	}
	e.content = time.Now()
	e.progress.Reply = reply
	if e.translation != nil {
		said, f := e.asTranslated(body)
		if f != nil {
			return f
		}
		defer said.Release()
		if body = said.B; e.x.c.Keep {
			e.x.res.Answer = bytes.Clone(body)
		}
	}
	if err := e.x.sink.Begin(e.head(false, len(body))); err != nil {
		return gone(err)
	}
	if err := e.x.sink.Write(body); err != nil {
		return gone(err)
	}
	return nil
}

// tooLargeToHold passes a reply that cannot be judged whole through, once its beginning looks like an answer.
func (e *exchange) tooLargeToHold(resp *http.Response, buf *Buffer) *fault.Fault {
	if e.translation != nil {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is larger than 16 MiB and cannot be translated"})
	}
	if b := bytes.TrimLeft(buf.B, " \t\r\n"); len(b) == 0 || b[0] != '{' {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is larger than 16 MiB and no JSON object"})
	}
	e.content = time.Now()
	if err := e.x.sink.Begin(e.head(false, int(max(resp.ContentLength, -1)))); err != nil {
		return gone(err)
	}
	for {
		e.watch.pause(time.Now()) // the time that the client takes is not the upstream's
		if err := e.x.sink.Write(buf.B); err != nil {
			return gone(err)
		}
		e.watch.resume(time.Now())
		n, err := resp.Body.Read(buf.B[:cap(buf.B)])
		buf.B = buf.B[:n]
		switch {
		case err == nil || n > 0 && err == io.EOF: // the end comes again
		case err == io.EOF:
			return nil
		default:
			f := *e.leg.Upstream.ReadFault(e.ctx, err)
			f.Class = fault.Cut
			return &f
		}
	}
}
