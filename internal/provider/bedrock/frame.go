package bedrock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/sse"
)

// eventStream is the content type of AWS's binary framing.
const eventStream = "application/vnd.amazon.eventstream"

const (
	preludeSize = 12       // bytes: length of the frame, length of its headers, checksum of both
	crcSize     = 4        // bytes of the frame's checksum at its end
	maxFrame    = 16 << 20 // bytes; more is no frame
	keepBuffer  = 32 << 10 // bytes of a buffer that a stream keeps between two frames
)

// corrupt is the fault of bytes that are no event stream, or one that was damaged on its way (R14; after content, R15).
func corrupt(what string) error {
	return &fault.Fault{Class: fault.Invalid, Message: "the answer's event stream is corrupt", Cause: errors.New(what)}
}

// frames reads a binary event stream as server-sent events, one frame at a time: an event X with payload P becomes the
// event X with data {"X":P}, an exception becomes an event named error. It is read as io.EOF only after a whole
// frame; a cut within one is io.ErrUnexpectedEOF, damage a *fault.Fault. Not safe for concurrent use, but for Close.
//
// The SDK's decoder takes some twenty allocations and ten times the time for a frame; tests hold the two together.
type frames struct {
	body io.ReadCloser
	// frame holds the one that is read, out what is to be given out of the last one.
	frame, out []byte
	given      int // of out
	err        error
}

func newFrames(body io.ReadCloser) *frames { return &frames{body: body} }

// Read implements io.Reader. It gives a frame's event as soon as the frame is there.
func (f *frames) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for f.given == len(f.out) {
		if f.err != nil {
			return 0, f.err
		}
		f.given, f.out = 0, small(f.out)
		f.err = f.next()
	}
	n := copy(p, f.out[f.given:])
	f.given += n
	return n, nil
}

// Close closes the upstream's body.
func (f *frames) Close() error { return f.body.Close() }

// next reads one frame into out. With an error nothing of the frame is in it.
func (f *frames) next() error {
	f.frame = grown(small(f.frame), preludeSize)
	if n, err := io.ReadFull(f.body, f.frame); err != nil {
		if n > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	size, headers := binary.BigEndian.Uint32(f.frame), binary.BigEndian.Uint32(f.frame[4:])
	switch {
	case crc32.ChecksumIEEE(f.frame[:8]) != binary.BigEndian.Uint32(f.frame[8:]):
		return corrupt("checksum of a frame's length")
	case size > maxFrame:
		return corrupt("a frame of more than 16 MiB")
	case size < preludeSize+crcSize || headers > size-preludeSize-crcSize:
		return corrupt("length of a frame")
	}
	if err := f.fill(int(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	end := int(size) - crcSize
	if crc32.ChecksumIEEE(f.frame[:end]) != binary.BigEndian.Uint32(f.frame[end:]) {
		return corrupt("checksum of a frame")
	}
	payload := preludeSize + int(headers)
	m, err := readHeaders(f.frame[preludeSize:payload])
	if err != nil {
		return err
	}
	f.out = m.append(f.out, f.frame[payload:end])
	return nil
}

// fill reads the rest of a frame of size bytes. The buffer grows with what has come, not with what was announced.
func (f *frames) fill(size int) error {
	for at := len(f.frame); at < size; at = len(f.frame) {
		f.frame = grown(f.frame, min(size, max(2*at, 4<<10)))
		if _, err := io.ReadFull(f.body, f.frame[at:]); err != nil {
			return err
		}
	}
	return nil
}

// grown is b with length n; its bytes are kept.
func grown(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return append(b, make([]byte, n-len(b))...)
}

// small is b emptied, or nothing if it has become large.
func small(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// message is what a frame's headers say.
type message struct {
	// kind is event, exception or error; event and exception are the type of those, code and text an error's own words.
	kind, event, exception, code, text []byte
}

// valueSizes are the sizes of header values by their type; 6 and 7 (bytes and strings) say their own.
var valueSizes = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// readHeaders reads a frame's headers: each a name with its length, a type and a value. What is not needed is passed over.
func readHeaders(b []byte) (message, error) {
	var m message
	for len(b) > 0 {
		at := 1 + int(b[0])
		if at >= len(b) {
			return m, corrupt("a frame's headers")
		}
		name, kind := b[1:at], b[at]
		at++
		size := 0
		switch {
		case kind == 6 || kind == 7:
			if at+2 > len(b) {
				return m, corrupt("a frame's headers")
			}
			size = int(binary.BigEndian.Uint16(b[at:]))
			at += 2
		case int(kind) < len(valueSizes):
			size = valueSizes[kind]
		default:
			return m, corrupt("a header of unknown type")
		}
		if at+size > len(b) {
			return m, corrupt("a frame's headers")
		}
		if kind == 7 {
			m.set(name, b[at:at+size])
		}
		b = b[at+size:]
	}
	return m, nil
}

func (m *message) set(name, value []byte) {
	switch string(name) {
	case ":message-type":
		m.kind = value
	case ":event-type":
		m.event = value
	case ":exception-type":
		m.exception = value
	case ":error-code":
		m.code = value
	case ":error-message":
		m.text = value
	}
}

// append appends the server-sent event that says what a frame said.
func (m *message) append(dst, payload []byte) []byte {
	switch string(m.kind) {
	case "exception":
		return appendError(dst, m.exception, payload, nil)
	case "error":
		return appendError(dst, m.code, nil, m.text)
	}
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	if name(m.event) {
		dst = append(dst, "event: "...)
		dst = append(dst, m.event...)
		dst = append(dst, '\n')
	}
	at := len(dst)
	dst = append(dst, "data: {"...)
	dst = jsonscan.AppendText(dst, m.event)
	dst = append(dst, ':')
	dst = append(dst, payload...)
	if bytes.IndexByte(payload, '\n') >= 0 || bytes.IndexByte(payload, '\r') >= 0 {
		// JSON may be written over several lines; each is a data line then.
		data := append(bytes.Clone(dst[at+len("data: "):]), '}')
		return sse.AppendData(dst[:at], data)
	}
	return append(dst, "}\n\n"...)
}

// appendError appends an event named error: the exception's name first, then what its payload has, or a message.
func appendError(dst, exception, payload, text []byte) []byte {
	data := jsonscan.AppendString([]byte(`{"exception":`), string(exception))
	r := jsonscan.New(payload)
	switch {
	case len(payload) > 0 && r.Object() && jsonscan.Valid(payload) == nil:
		if inner := payload[r.Offset():]; !empty(inner) {
			data = append(append(data, ','), inner...)
		} else {
			data = append(data, '}')
		}
	default:
		if text == nil {
			text = payload
		}
		if len(text) > 0 {
			data = jsonscan.AppendString(append(data, `,"message":`...), string(text))
		}
		data = append(data, '}')
	}
	return sse.AppendData(append(dst, "event: error\n"...), data)
}

// empty says whether an object's inside has no members; inner begins after the opening brace.
func empty(inner []byte) bool {
	for _, c := range inner {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c == '}'
		}
	}
	return true
}

// name says whether an event's name can stand in an event line.
func name(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(b) > 0
}
