package drill

import (
	"bytes"
	"errors"
	"io"

	"evergate/internal/sse"
	"evergate/internal/wire"
)

const (
	readSize = 4 << 10
	// heldBack is how much of a plain answer's end never comes.
	heldBack = 16
)

// Maim gives an answer's body as the shape would have it. stall is called where nothing more is to come, on the goroutine that reads: it
// waits for as long as the attempt lasts, and gives the error that ended it. Not safe for concurrent use, but for Close.
//
// The body of a stream brings the provider's own events up to the fault, byte by byte what they were. A plain answer has no events: there
// the fault takes its last bytes, whatever After says.
func (s *Shape) Maim(d wire.Dialect, body io.ReadCloser, stream bool, stall func() error) io.ReadCloser {
	if stream {
		m := &maimed{shape: *s, dialect: d, body: body, stall: stall}
		m.split.Whole = wire.WholeEvent
		return m
	}
	return &cropped{shape: *s, dialect: d, body: body, stall: stall}
}

// maimed is the body of a stream.
type maimed struct {
	shape    Shape
	dialect  wire.Dialect
	body     io.ReadCloser
	stall    func() error
	progress wire.Progress
	split    sse.Splitter
	in       []byte // read and not yet parted
	out      []byte // to be given
	err      error  // of the body
	end      func() error
	content  int // events given
	struck   bool
}

// Close implements io.Closer.
func (m *maimed) Close() error { return m.body.Close() }

// Read implements io.Reader.
func (m *maimed) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.end != nil {
			return 0, m.end()
		}
		m.more()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// more takes the next event, or reads on.
func (m *maimed) more() {
	if !m.struck && m.shape.Kind != NoEnd && m.content >= m.shape.After {
		m.strike()
		return
	}
	f, n, err := m.split.Next(m.in, m.err != nil)
	switch {
	case err != nil: // whatever that is, it is not ours to judge
		m.out, m.in, m.end = m.in, nil, func() error { return err }
	case n > 0:
		frame := m.in[:n]
		m.in = m.in[n:]
		m.take(&f, frame)
	case m.err != nil: // half an event may be left
		m.out, m.in, m.end = m.in, nil, func() error { return m.err }
	default:
		m.read()
	}
}

// take gives an event on, unless it is what is to be missing.
func (m *maimed) take(f *sse.Frame, frame []byte) {
	m.out = frame
	if f.Comment {
		return
	}
	e := m.dialect.JudgeEvent(f.Data, &m.progress)
	if e.Content {
		m.content++
	}
	if e.End && m.shape.Kind == NoEnd {
		m.out, m.end = nil, func() error { return io.EOF }
	}
}

func (m *maimed) read() {
	if cap(m.in)-len(m.in) < readSize/4 {
		room := make([]byte, len(m.in), 2*len(m.in)+readSize) // what is given out may still be read from
		copy(room, m.in)
		m.in = room
	}
	n, err := m.body.Read(m.in[len(m.in):cap(m.in)])
	m.in, m.err = m.in[:len(m.in)+n], err
}

// strike is the fault.
func (m *maimed) strike() {
	m.struck = true
	switch m.shape.Kind {
	case Cut:
		m.end = func() error { return io.ErrUnexpectedEOF }
	case Stall:
		m.end = m.stall
	case Error:
		m.out = m.dialect.AppendStreamError(nil, failure(overloaded))
		m.end = func() error { return io.EOF }
	case Garbage:
		m.out = []byte(garbage)
	case Status, Slow, Refused, Reset, Hang, Invalid, NoEnd:
	}
}

// cropped is the body of a plain answer: its last bytes never come.
type cropped struct {
	shape   Shape
	dialect wire.Dialect
	body    io.ReadCloser
	stall   func() error
	in      []byte // the last bytes read, held back
	out     []byte // to be given
	end     func() error
	begun   bool
}

// Close implements io.Closer.
func (c *cropped) Close() error { return c.body.Close() }

// Read implements io.Reader.
func (c *cropped) Read(p []byte) (int, error) {
	if !c.begun && c.shape.Kind == Error { // an error object in a 200, as it is with some
		c.out = c.dialect.AppendError(nil, failure(overloaded))
		c.end = func() error { return io.EOF }
	}
	for c.begun = true; len(c.out) == 0; {
		if c.end != nil {
			return 0, c.end()
		}
		c.read()
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

func (c *cropped) read() {
	room := make([]byte, len(c.in), len(c.in)+readSize)
	copy(room, c.in)
	n, err := c.body.Read(room[len(c.in):cap(room)])
	room = room[:len(c.in)+n]
	keep := max(0, len(room)-heldBack)
	c.out, c.in = room[:keep], bytes.Clone(room[keep:])
	switch {
	case errors.Is(err, io.EOF):
		c.over()
	case err != nil:
		c.end = func() error { return err }
	}
}

// over is the end of what the provider sent.
func (c *cropped) over() {
	if len(c.out) == 0 && len(c.in) > 0 { // a short one loses half of it
		c.out = c.in[:len(c.in)/2]
	}
	switch c.shape.Kind {
	case Cut:
		c.end = func() error { return io.ErrUnexpectedEOF }
	case Stall:
		c.end = c.stall
	case Garbage:
		c.out = append(bytes.Clone(c.out), "\x00drill"...)
		fallthrough
	default: // NoEnd: it ends in the midst
		c.end = func() error { return io.EOF }
	}
}
