package attempt

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"evergate/internal/fault"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

const (
	// readSize is what one read of a stream may bring at first: most carry one small event, and the buffer is kept for
	// as long as the stream is open.
	readSize = 1 << 10
	// burstSize is the buffer of a stream that fills reads.
	burstSize = 32 << 10
	// maxUncommitted bounds what is held back of a stream before its first content event.
	maxUncommitted = 1 << 20
	// drainTime is what a connection is worth after the end marker; the client's time is not.
	drainTime = 100 * time.Millisecond
)

// errNoStream says that the body is not server-sent events.
var errNoStream = errors.New("not a stream")

// relay passes one upstream stream on: whole frames, untouched where nothing must change, one write and one flush for
// each read (ARCHITECTURE decisions 2 and 8).
type relay struct {
	e        *exchange
	split    sse.Splitter
	buf      *Buffer
	from     int    // start of what is not yet split
	keep     int    // start of what goes out as it is: buf.B[keep:from]
	held     []byte // frames before the first content event
	scratch  []byte
	withhold bool // the usage chunk is the gateway's own wish
	begun    bool // committed
	ended    bool // the end marker was passed on
	wrote    bool // something was written since the last flush
	full     bool // the last read filled a small buffer
	known    bool // it is known to be a stream
	// Of a hedge that is parked: the event that it is to begin with, and the error, if any, that ended the body.
	first *pending
	err   error
	usage *wire.Usage // of a plain reply that is told as a stream
}

// pending is an event that was judged, and what became of it is not yet decided.
type pending struct {
	frame sse.Frame
	event wire.Event
	start int
}

// stream relays a streamed reply; before the first content event every trouble is a fault that may be retried.
func (e *exchange) stream(resp *http.Response) *fault.Fault {
	if e.hedge == nil { // else the sink is in another's hands
		e.x.sink.Answering()
	}
	r := relay{e: e, buf: GetBuffer(readSize), withhold: e.asksUsage() && e.translation == nil}
	r.split.Whole = wire.WholeEvent
	f := r.run(resp.Body)
	if f == parked {
		e.hedge.relay = r
		return f
	}
	r.buf.Release()
	return f
}

// goOn goes on with a stream that was parked, from the event that it is to begin with.
func (r *relay) goOn(body io.Reader) *fault.Fault {
	defer func() { r.buf.Release() }()
	w, now := &r.e.watch, time.Now()
	w.pause(now)
	f := r.commit(r.e.content)
	if f == nil {
		first := r.first
		r.first = nil
		f = r.deliver(&first.frame, &first.event, first.start)
	}
	w.resume(time.Now())
	if f == nil {
		f = r.chunk(now)
	}
	switch {
	case f != nil:
		return f
	case r.ended:
		r.drain(body)
		return nil
	case r.err != nil:
		return r.over(r.err)
	}
	return r.run(body)
}

// run reads the body to its end.
func (r *relay) run(body io.Reader) *fault.Fault {
	for {
		n, err := r.read(body)
		if n > 0 {
			now := time.Now()
			r.e.watch.chunk(now)
			if !r.known {
				switch decided, isStream := sniff(r.buf.B); {
				case decided && !isStream:
					return r.plainInstead(body, err)
				case decided:
					r.known = true
				}
			}
			if f := r.chunk(now); f != nil {
				r.err = err // of a relay that is parked
				return f
			}
			if r.ended {
				r.drain(body)
				return nil
			}
		}
		if err != nil {
			return r.over(err)
		}
	}
}

// chunk passes on what one read brought. The time that the client takes is not the upstream's.
func (r *relay) chunk(now time.Time) *fault.Fault {
	w := &r.e.watch
	w.pause(now)
	f := r.frames(now, false)
	if f == nil {
		f = r.flush()
	}
	w.resume(time.Now())
	return f
}

// read appends one read to the buffer, moving what is left to its start first. A stream that filled the last read gets
// a larger buffer; most never do.
func (r *relay) read(body io.Reader) (int, error) {
	if r.from > 0 {
		n := copy(r.buf.B, r.buf.B[r.from:])
		r.buf.B, r.from, r.keep = r.buf.B[:n], 0, 0
	}
	if room := cap(r.buf.B) - len(r.buf.B); r.full || room < readSize/2 {
		r.grow(max(2*len(r.buf.B), min(8*cap(r.buf.B), burstSize)))
	}
	n, err := body.Read(r.buf.B[len(r.buf.B):cap(r.buf.B)])
	r.buf.B = r.buf.B[:len(r.buf.B)+n]
	r.full = len(r.buf.B) == cap(r.buf.B) && cap(r.buf.B) < burstSize
	return n, err
}

func (r *relay) grow(to int) {
	next := GetBuffer(to)
	next.B = append(next.B, r.buf.B...)
	r.buf.Release()
	r.buf = next
}

// sniff decides by the first byte that is no space whether a body is a stream; content decides, not the content type
// (R17).
func sniff(b []byte) (decided, isStream bool) {
	b = bytes.TrimLeft(unmarked(b), " \t\r\n")
	if len(b) == 0 {
		return false, false
	}
	return true, b[0] != '{' && b[0] != '[' && b[0] != '<'
}

// frames takes every whole frame out of the buffer and passes them on.
func (r *relay) frames(now time.Time, eof bool) *fault.Fault {
	for {
		f, n, err := r.split.Next(r.buf.B[r.from:], eof)
		if err != nil {
			return r.broken(r.from, &fault.Fault{Class: fault.Invalid, Message: "the upstream sent an event that is too large", Cause: err})
		}
		if n == 0 {
			break
		}
		start := r.from
		r.from += n
		f.Plain, f.Named = f.Plain && n == len(f.Raw), f.Named && n == len(f.Raw) // else a byte order mark stands before it
		if fl := r.frame(now, f, start); fl != nil {
			return fl
		}
		if r.ended {
			break
		}
	}
	return r.pass(r.from)
}

// frame judges one frame and says what becomes of it.
func (r *relay) frame(now time.Time, f sse.Frame, start int) *fault.Fault {
	e := r.e
	if f.Comment { // nothing that a client must hear before content; harmless after
		if !r.begun || !pureComment(f.Raw) {
			return r.leaveOut(start)
		}
		return nil
	}
	ev := e.leg.Dialect.JudgeEvent(f.Data, &e.progress)
	switch {
	case ev.Malformed && string(f.Event) == "error":
		return r.broken(start, e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: string(f.Data)}))
	case ev.Malformed:
		e.dropped++
		if e.progress.OpenTool {
			return r.broken(start, &fault.Fault{Class: fault.Invalid, Message: "the upstream sent a malformed event inside a tool call"})
		}
		return r.leaveOut(start)
	case ev.Fault != nil:
		return r.broken(start, e.leg.Upstream.Refine(ev.Fault))
	case ev.UsageOnly && r.withhold:
		return r.leaveOut(start)
	case ev.End:
		return r.end(start)
	}
	if ev.Content {
		e.receive(f.Data)
		e.watch.content(now, e.progress.SawFinish)
		if !r.begun {
			if lost := e.claim(now); lost != nil {
				r.first = &pending{f, ev, start}
				return lost
			}
			if f := r.commit(now); f != nil {
				return f
			}
		}
		if e.progress.SawFinish && e.translation == nil { // else it has an end of ours
			e.complete()
		}
	}
	return r.deliver(&f, &ev, start)
}

// deliver hands on an event that was judged to be nothing but a piece of the answer.
func (r *relay) deliver(f *sse.Frame, ev *wire.Event, start int) *fault.Fault {
	if r.e.translation != nil {
		return r.translate(start, f.Data)
	}
	if !asItIs(f, ev.Name) { // several data lines, odd line ends, a wrong name: written anew, so that every client can read it
		if f := r.leaveOut(start); f != nil {
			return f
		}
		r.scratch = wire.AppendEvent(r.scratch[:0], ev.Name, f.Data)
		return r.write(r.scratch)
	}
	return nil
}

// asItIs says whether a frame can be passed on untouched: in the plainest form, with the name that the dialect wants.
func asItIs(f *sse.Frame, name []byte) bool {
	if name == nil {
		return f.Plain
	}
	return f.Named && bytes.Equal(f.Event, name)
}

// translate says an event in the client's dialect.
func (r *relay) translate(start int, data []byte) *fault.Fault {
	if f := r.leaveOut(start); f != nil {
		return f
	}
	out, err := r.e.translation.AppendEvent(r.scratch[:0], data)
	r.scratch = out
	if err != nil {
		if why := r.e.translation.Stopped(); why != nil {
			return r.e.barred(why)
		}
		return r.broken(r.from, r.e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream sent an event that cannot be translated", Cause: err}))
	}
	return r.write(out)
}

// pureComment says that a frame without data holds nothing but comments. Names and blank data are no event by the
// grammar, but SDKs make one of them, and then miss its JSON.
func pureComment(raw []byte) bool {
	for line := range bytes.Lines(raw) {
		if line[0] != ':' && line[0] != '\n' || bytes.IndexByte(line, '\r') >= 0 {
			return false
		}
	}
	return true
}

// leaveOut passes on what stands before a frame and skips the frame.
func (r *relay) leaveOut(start int) *fault.Fault {
	if f := r.pass(start); f != nil {
		return f
	}
	r.keep = r.from
	return nil
}

// pass hands buf[keep:to] on: to the client after the commit, into held before it.
func (r *relay) pass(to int) *fault.Fault {
	p := r.buf.B[r.keep:to]
	r.keep = to
	if len(p) == 0 {
		return nil
	}
	return r.write(p)
}

// flush sends what was written: once for each read.
func (r *relay) flush() *fault.Fault {
	if !r.wrote {
		return nil
	}
	r.wrote = false
	if err := r.e.x.sink.Flush(); err != nil {
		return gone(err)
	}
	return nil
}

func (r *relay) write(p []byte) *fault.Fault {
	if !r.begun {
		if len(r.held)+len(p) > maxUncommitted {
			return &fault.Fault{Class: fault.Invalid, Message: "the upstream sent a megabyte of events without any content"}
		}
		r.held = append(r.held, p...)
		return nil
	}
	r.wrote = true
	if err := r.e.x.sink.Write(p); err != nil {
		return gone(err)
	}
	return nil
}

// commit is the commit point: the response begins, with what was held back.
func (r *relay) commit(now time.Time) *fault.Fault {
	e := r.e
	e.content = now
	e.permit.FirstContent(now)
	if e.x.seam != nil {
		e.goesOn()
	} else if err := e.x.sink.Begin(e.head(true, -1)); err != nil {
		return gone(err)
	}
	r.begun = true
	e.x.seam = e.seam
	e.forget()
	if len(r.held) > 0 {
		held := r.held
		r.held = nil
		return r.write(held)
	}
	return nil
}

// end is the dialect's end marker. Without any content before it there was no answer (R14).
func (r *relay) end(start int) *fault.Fault {
	if !r.begun {
		return &fault.Fault{Class: fault.Invalid, Message: "the upstream's stream ended before any content"}
	}
	if f := r.leaveOut(start); f != nil {
		return f
	}
	return r.close()
}

// close writes the proper end: a finish that the upstream left out (R17) and the end marker.
func (r *relay) close() *fault.Fault {
	if t := r.e.translation; t != nil {
		r.scratch = t.AppendEnd(r.scratch[:0])
		if why := t.Stopped(); why != nil {
			return r.e.barred(why)
		}
		if r.e.x.c.Keep {
			r.e.x.res.Answer = lastData(r.scratch)
		}
	} else {
		r.scratch = r.e.leg.Dialect.AppendEnd(r.scratch[:0], &r.e.progress)
	}
	r.e.complete()
	r.ended = true
	return r.write(r.scratch)
}

// lastData is a copy of the data of the last event.
func lastData(events []byte) []byte {
	var last []byte
	var split sse.Splitter
	for {
		f, n, err := split.Next(events, true)
		if n == 0 || err != nil {
			return last
		}
		if !f.Comment {
			last = bytes.Clone(f.Data)
		}
		events = events[n:]
	}
}

// over is the end of the body, or an error while reading it.
func (r *relay) over(err error) *fault.Fault {
	e := r.e
	if err == io.EOF { //nolint:errorlint // an io.Reader returns the bare value; a wrapped one is a cut
		f := r.frames(time.Now(), true)
		if r.usage != nil {
			e.progress.Reply.Usage = *r.usage // whether the client asked or not
		}
		if f != nil {
			r.err = err
			return f
		}
		if r.ended {
			return nil
		}
		if f := r.bareError(); f != nil {
			return r.broken(r.from, f)
		}
	}
	if r.begun && e.progress.SawFinish { // R17: a finish reason and no marker is complete
		if f := r.close(); f != nil {
			return f
		}
		return r.pass(r.from)
	}
	if err != io.EOF { //nolint:errorlint // as above
		return r.broken(r.from, e.leg.Upstream.ReadFault(e.ctx, err))
	}
	return r.broken(r.from, &fault.Fault{Class: fault.Invalid, Message: "the upstream's stream ended before it was finished"})
}

// bareError is an error object at the end of a stream that is in no event (Vertex has sent such): the grammar takes its
// lines for unknown fields, but what it says of the answer counts.
func (r *relay) bareError() *fault.Fault {
	rest := bytes.TrimSpace(r.buf.B[r.from:])
	if len(rest) == 0 || rest[0] != '{' {
		return nil
	}
	if ev := r.e.leg.Dialect.JudgeEvent(rest, &r.e.progress); ev.Fault != nil {
		return r.e.leg.Upstream.Refine(ev.Fault)
	}
	return nil
}

// broken is a stream that cannot go on: before the commit the fault as it is, after it a cut (R15). What came before
// the trouble, up to offset to, still reaches the client.
func (r *relay) broken(to int, f *fault.Fault) *fault.Fault {
	if !r.begun {
		return f
	}
	if g := r.pass(max(to, r.keep)); g != nil {
		return g
	}
	cut := *f
	cut.Class, cut.Broke = fault.Cut, f.Class
	return &cut
}

// drain reads what follows the end marker, so that the connection can be used again; the client has its whole answer
// already.
func (r *relay) drain(body io.Reader) {
	r.e.watch.hasten(drainTime)
	for total := 0; total < readSize; {
		n, err := body.Read(r.buf.B[:cap(r.buf.B)]) // what it held is gone
		if err != nil {
			return
		}
		total += n
	}
}

// plainInstead adapts a JSON reply where a stream was asked for (R17). err is that of the first read.
func (r *relay) plainInstead(rest io.Reader, err error) *fault.Fault {
	e := r.e
	if err == nil {
		err = readAll(rest, r.buf, maxHeld)
	}
	switch {
	case errors.Is(err, io.ErrShortBuffer):
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream answered with more than 16 MiB of JSON in place of a stream"})
	case err != nil && err != io.EOF: //nolint:errorlint // see over
		return e.leg.Upstream.ReadFault(e.ctx, err)
	}
	body := unmarked(r.buf.B)
	reply, f := e.leg.Dialect.Judge(body)
	if f != nil {
		return e.leg.Upstream.Refine(f)
	}
	events, err := e.leg.Dialect.StreamFromReply(body, e.x.c.Request.AskedUsage || e.translation != nil)
	if err != nil {
		return e.leg.Upstream.Refine(&fault.Fault{Class: fault.Invalid, Message: "the upstream answered JSON that is no stream", Cause: errors.Join(errNoStream, err)})
	}
	r.buf.B, r.from, r.keep, r.withhold = append(r.buf.B[:0], events...), 0, 0, false
	r.split.Reset() // it may have begun with spaces
	r.usage, r.err = &reply.Usage, io.EOF
	return r.over(io.EOF)
}
