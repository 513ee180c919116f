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

// whole is a plain reply that was judged and is to be delivered.
type whole struct {
	buf, said *Buffer // what came, and its translation, if it is one
	body      []byte  // what is sent
	length    int     // -1: unknown
	more      bool    // there is more of it, which cannot be judged
}

func (w *whole) release() {
	if w.buf != nil {
		w.buf.Release()
	}
	if w.said != nil {
		w.said.Release()
	}
	*w = whole{}
}

// plain reads a plain reply whole, judges it (R14) and delivers it.
func (e *exchange) plain(resp *http.Response) *fault.Fault {
	size := resp.ContentLength + 1
	if size <= 0 { // unknown: most replies are small
		size = usualReply
	}
	w := whole{buf: GetBuffer(int(min(size, maxHeld)))}
	f := e.judge(&w, resp)
	if f == nil {
		e.content = time.Now()
		f = e.claim(e.content)
	}
	if f == parked {
		e.hedge.whole = w
		return f
	}
	if f != nil {
		w.release()
		return f
	}
	return e.deliver(&w, resp.Body)
}

// judge reads a reply and says what is wrong with it.
func (e *exchange) judge(w *whole, resp *http.Response) *fault.Fault {
	err := readAll(resp.Body, w.buf, maxHeld)
	if errors.Is(err, io.ErrShortBuffer) {
		return e.tooLargeToHold(w, resp)
	}
	if err != nil {
		return e.leg.Upstream.ReadFault(e.ctx, err)
	}
	body := unmarked(w.buf.B)
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
	e.progress.Reply = reply
	e.received = int64(max(len(body)-envelope, bytesPerToken))
	if e.translation != nil {
		if w.said, f = e.asTranslated(body); f != nil {
			return f
		}
		body = w.said.B
	}
	if body, f = e.judged(body); f != nil {
		return f
	}
	w.body, w.length = body, len(body)
	return nil
}

// tooLargeToHold judges a reply that cannot be judged whole by its beginning.
func (e *exchange) tooLargeToHold(w *whole, resp *http.Response) *fault.Fault {
	if e.translation != nil {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is larger than 16 MiB and cannot be translated"})
	}
	if e.x.c.Censor != nil {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is larger than 16 MiB and cannot be judged by a guardrail"})
	}
	if b := bytes.TrimLeft(w.buf.B, " \t\r\n"); len(b) == 0 || b[0] != '{' {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is larger than 16 MiB and no JSON object"})
	}
	w.body, w.length, w.more = w.buf.B, int(max(resp.ContentLength, -1)), true
	return nil
}

// deliver hands a judged reply to the sink.
func (e *exchange) deliver(w *whole, rest io.Reader) *fault.Fault {
	defer w.release()
	if e.translation != nil && e.x.c.Keep {
		e.x.res.Answer = bytes.Clone(w.body)
	}
	head := e.head(false, w.length)
	e.complete()
	if err := e.x.sink.Begin(head); err != nil {
		return gone(err)
	}
	if w.more {
		return e.passLarge(w.buf, rest)
	}
	if err := e.x.sink.Write(w.body); err != nil {
		return gone(err)
	}
	return nil
}

// passLarge passes a reply through that is too large to be held.
func (e *exchange) passLarge(buf *Buffer, rest io.Reader) *fault.Fault {
	for {
		e.watch.pause(time.Now()) // the time that the client takes is not the upstream's
		if err := e.x.sink.Write(buf.B); err != nil {
			return gone(err)
		}
		e.watch.resume(time.Now())
		n, err := rest.Read(buf.B[:cap(buf.B)])
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
