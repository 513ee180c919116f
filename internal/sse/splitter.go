// Package sse cuts a byte stream into server-sent events and writes them. It follows the event stream grammar of the
// HTML standard (line ends LF, CRLF and CR, a byte order mark, comments, data over several lines) and, where the
// caller wants it, forgives what real upstreams get wrong.
//
// It owns framing alone: it is blind to what the data says (the caller's Whole looks into it), and reads no connection.
package sse

import (
	"bytes"
	"errors"
)

// MaxFrame is the longest frame in bytes that a Splitter takes unless told otherwise.
const MaxFrame = 16 << 20

// ErrTooLong is returned for a frame that is longer than the Splitter's limit.
var ErrTooLong = errors.New("event longer than the limit")

// Frame is one event of a stream, or what stands between two events. Its slices point into the bytes given to Next or
// into the Splitter, and hold until the next call of Next.
type Frame struct {
	// Raw is the frame as it came, its blank line included.
	Raw []byte
	// Event is the event's name, empty if it has none.
	Event []byte
	// Data is the event's data, several lines of it joined by a line feed. It is never blank unless Comment.
	Data []byte
	// Comment: there is no data but white space; comments, blank lines, fields that mean nothing without data.
	Comment bool
	// Plain: Raw is exactly "data: ", Data, and two line feeds, so that it can be passed on as it is.
	Plain bool
	// Named: Raw is exactly "event: ", Event (not empty), a line feed, "data: ", Data, and two line feeds: what Plain is to
	// dialects that name their events.
	Named bool
}

// Splitter cuts one stream. The zero Splitter is strict and ready. It looks at each byte a fixed number of times,
// however the stream was cut into reads. Not safe for concurrent use.
type Splitter struct {
	// Whole says that data is one complete event of the dialect in hand, such that nothing could be added to it. With
	// it, three faults of upstreams are forgiven: two data lines that are two events with no blank line between them;
	// a last event whose blank line is missing; and an error in a line "error: {…}" instead of "data: {…}". Without it the
	// grammar is followed to the letter: the lines are one event, the last event is discarded, the error is ignored.
	Whole func(data []byte) bool
	// Max is the longest frame in bytes; 0 is MaxFrame.
	Max int

	started bool // the byte order mark was looked for
	skipLF  bool // the last line ended in CR as the last byte there was: an LF that comes next belongs to it

	f frame
	// joined holds data of several lines; it is used again for the next frame.
	joined []byte
}

// span is a place in the unread bytes.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to:s.to] }

// frame is what is known of the frame that is being read. Offsets are from the start of the unread bytes.
type frame struct {
	start int  // where the frame starts
	line  int  // where its unfinished line starts
	seen  int  // no line end before here
	event span // the name so far
	lines int  // data lines so far
	data  span // the first data line's value
	// If more follows the first data line: the name as it was there, the offset after it, and what Whole says of it.
	dataEvent span
	dataEnd   int
	whole     answer
}

type answer uint8

const (
	unasked answer = iota
	yes
	no
)

// Reset makes the Splitter ready for another stream. Whole, Max and the buffer stay.
func (s *Splitter) Reset() {
	s.started, s.skipLF, s.f = false, false, frame{}
}

// Next cuts the next frame off unread and says how many bytes to drop; with 0 more bytes are needed, and the next
// call must bring the same ones and more behind them. n can be larger than len(Raw): a byte order mark, or the second
// half of a CRLF that was cut in two, is in no frame.
//
// atEOF says that nothing will follow. Then n = 0 means that there is no further frame; what is left is half a frame,
// which the grammar discards.
//
// The error is ErrTooLong. Where the stream was cut into reads changes nothing in the sequence of events, but for Raw
// around such a CRLF.
func (s *Splitter) Next(unread []byte, atEOF bool) (f Frame, n int, err error) {
	if !s.started && !s.start(unread, atEOF) {
		return Frame{}, 0, nil
	}
	for {
		if s.skipLF && s.f.line < len(unread) {
			s.dropLF(unread)
		}
		if s.f.line == s.f.start && s.f.seen <= s.f.start {
			if f, n = s.plain(unread); n > 0 {
				return f, n, nil
			}
		}
		end, next, found := s.lineEnd(unread)
		if !found {
			break
		}
		if end == s.f.line {
			if next-s.f.start > s.limit() {
				return Frame{}, 0, ErrTooLong
			}
			f, n = s.finish(unread, next)
			return f, n, nil
		}
		if s.take(unread, end, next) {
			f, n = s.split(unread)
			return f, n, nil
		}
		s.f.line = next
	}
	if len(unread)-s.f.start > s.limit() {
		return Frame{}, 0, ErrTooLong
	}
	if atEOF && s.Whole != nil {
		f, n = s.rest(unread)
	}
	return f, n, nil
}

// plain is the short way for the frames that nearly all are; what it does not know it leaves to the long one.
func (s *Splitter) plain(unread []byte) (Frame, int) {
	raw := unread[s.f.start:]
	lf := bytes.IndexByte(raw[:min(len(raw), 4*window)], '\n')
	if lf < len("data: ") || lf+1 >= len(raw) {
		return Frame{}, 0
	}
	if raw[lf+1] != '\n' {
		return s.named(raw, lf)
	}
	if lf+2 > s.limit() || string(raw[:len("data: ")]) != "data: " || bytes.IndexByte(raw[:lf], '\r') >= 0 {
		return Frame{}, 0
	}
	data := raw[len("data: "):lf:lf]
	if blank(data) {
		return Frame{}, 0
	}
	n := s.f.start + lf + 2
	s.f = frame{}
	return Frame{Raw: raw[: lf+2 : lf+2], Data: data, Plain: true}, n
}

// named is plain for a frame with a name, whose line ends at nameEnd.
func (s *Splitter) named(raw []byte, nameEnd int) (Frame, int) {
	from := nameEnd + len("\ndata: ")
	if nameEnd <= len("event: ") || from >= len(raw) ||
		string(raw[:len("event: ")]) != "event: " || string(raw[nameEnd:from]) != "\ndata: " {
		return Frame{}, 0
	}
	size := bytes.IndexByte(raw[from:min(len(raw), from+4*window)], '\n')
	lf := from + size
	if size <= 0 || lf+1 >= len(raw) || raw[lf+1] != '\n' || lf+2 > s.limit() || bytes.IndexByte(raw[:lf], '\r') >= 0 {
		return Frame{}, 0
	}
	f := Frame{Raw: raw[: lf+2 : lf+2], Event: raw[len("event: "):nameEnd:nameEnd], Data: raw[from:lf:lf], Named: true}
	if blank(f.Data) {
		return Frame{}, 0
	}
	n := s.f.start + lf + 2
	s.f = frame{}
	return f, n
}

func (s *Splitter) limit() int {
	if s.Max > 0 {
		return s.Max
	}
	return MaxFrame
}

const byteOrderMark = "\ufeff"

// start looks for a byte order mark; false if that needs more bytes.
func (s *Splitter) start(unread []byte, atEOF bool) bool {
	if len(unread) < len(byteOrderMark) && !atEOF && byteOrderMark[:len(unread)] == string(unread) {
		return false
	}
	if bytes.HasPrefix(unread, []byte(byteOrderMark)) {
		s.f.start, s.f.line = len(byteOrderMark), len(byteOrderMark)
	}
	s.started = true
	return true
}

// dropLF settles whether the CR at the end of the last read was half a CRLF.
func (s *Splitter) dropLF(unread []byte) {
	s.skipLF = false
	if unread[s.f.line] != '\n' {
		return
	}
	if s.f.start == s.f.line {
		s.f.start++
	}
	if s.f.dataEnd == s.f.line {
		s.f.dataEnd++
	}
	s.f.line++
}

const window = 1024

// lineEnd finds the end of the current line, and the start of the next.
func (s *Splitter) lineEnd(unread []byte) (end, next int, found bool) {
	from := max(s.f.seen, s.f.line)
	// Both line ends are searched for window by window: else a stream of only CRs would be searched for LFs to its end
	// at each of its lines.
	for from < len(unread) {
		to := min(from+window, len(unread))
		part := unread[from:to]
		lf := bytes.IndexByte(part, '\n')
		if lf >= 0 {
			part = part[:lf]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			end, next = from+cr, from+cr+1
			s.skipLF = next == len(unread)
			if next < len(unread) && unread[next] == '\n' {
				next++
			}
			return end, next, true
		}
		if lf >= 0 {
			return from + lf, from + lf + 1, true
		}
		from = to
		s.f.seen = to
	}
	return 0, 0, false
}

// field parts a line that is not empty.
func field(line []byte) (name, value []byte) {
	if len(line) > 5 && string(line[:5]) == "data:" { // the usual one
		name, value = line[:4], line[5:]
	} else {
		name, value, _ = bytes.Cut(line, []byte{':'})
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

// take reads the line that ends at end. It says true if the line starts another event although no blank line came
// since the first data line.
func (s *Splitter) take(unread []byte, end, next int) bool {
	name, value := field(unread[s.f.line:end])
	at := span{end - len(value), end}
	switch string(name) {
	case "data":
		s.f.lines++
		if s.f.lines == 1 {
			s.f.data, s.f.dataEvent, s.f.dataEnd = at, s.f.event, next
			return false
		}
		// Nothing but white space can follow a whole event within the same data.
		return !blank(value) && s.firstIsWhole(unread)
	case "event":
		s.f.event = at
	case "error":
		if s.f.lines == 0 && s.Whole != nil && s.Whole(value) {
			s.f.event = span{s.f.line, s.f.line + len(name)}
			s.f.lines, s.f.data, s.f.dataEvent, s.f.dataEnd = 1, at, s.f.event, next
		}
	}
	return false
}

// blank says that there is nothing but white space; the first byte mostly tells.
func blank(b []byte) bool {
	return len(b) == 0 || b[0] <= ' ' && len(bytes.TrimSpace(b)) == 0
}

func (s *Splitter) firstIsWhole(unread []byte) bool {
	if s.f.whole == unasked {
		s.f.whole = no
		if s.Whole != nil && s.Whole(s.f.data.of(unread)) {
			s.f.whole = yes
		}
	}
	return s.f.whole == yes
}

// split gives out the first data line as an event of its own.
func (s *Splitter) split(unread []byte) (Frame, int) {
	f := Frame{
		Raw:   span{s.f.start, s.f.dataEnd}.of(unread),
		Event: s.f.dataEvent.of(unread),
		Data:  s.f.data.of(unread),
	}
	n := s.f.dataEnd
	s.skipLF = false
	s.f = frame{}
	return f, n
}

// finish gives out the frame that ends at end.
func (s *Splitter) finish(unread []byte, end int) (Frame, int) {
	f := Frame{Raw: span{s.f.start, end}.of(unread), Event: s.f.event.of(unread)}
	f.Data = s.data(unread, end)
	f.Comment = blank(f.Data)
	if s.f.lines == 1 && !f.Comment && end == s.f.data.to+2 && unread[end-1] == '\n' && unread[end-2] == '\n' {
		event, data := s.f.event, s.f.data.from-len("data: ")
		f.Plain = data == s.f.start && f.Raw[5] == ' '
		// What stands 7 bytes in is the value of a first line "event: "; only that and the data line remain then.
		f.Named = event.to > event.from && event.from == s.f.start+len("event: ") && event.to+1 == data &&
			unread[event.to] == '\n'
	}
	s.f = frame{}
	return f, end
}

// data joins the data lines up to end.
func (s *Splitter) data(unread []byte, end int) []byte {
	if s.f.lines <= 1 {
		return s.f.data.of(unread)
	}
	s.joined = append(s.joined[:0], s.f.data.of(unread)...)
	for rest := unread[s.f.dataEnd:end]; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		if name, value := field(line); string(name) == "data" {
			s.joined = append(s.joined, '\n')
			s.joined = append(s.joined, value...)
		}
	}
	return s.joined
}

// rest gives out what is left at the end of the stream, if it is whole but for its blank line.
func (s *Splitter) rest(unread []byte) (Frame, int) {
	if s.f.line < len(unread) {
		if s.take(unread, len(unread), len(unread)) {
			return s.split(unread)
		}
		s.f.line, s.f.seen = len(unread), len(unread)
	}
	if s.f.lines == 0 || !s.Whole(s.data(unread, len(unread))) {
		return Frame{}, 0
	}
	return s.finish(unread, len(unread))
}
