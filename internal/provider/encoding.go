package provider

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"evergate/internal/fault"
)

// errCorrupt marks a body that does not decode as its Content-Encoding says.
var errCorrupt = errors.New("corrupt content encoding")

// errBomb marks a body that was made to fill whoever decodes it.
var errBomb = errors.New("the encoded body becomes far too large")

const (
	// maxEncodings bounds how many layers of encoding one body may have.
	maxEncodings = 3
	// A body may become so many times as large as it came, all layers together, and freeBytes more. JSON and events come to ten or thirty times,
	// gzip can do a thousand.
	maxRatio  = 100
	freeBytes = 1 << 20
)

// decode takes the content encoding off a response, asked for or not, so that everybody else sees plain bytes. It
// reads nothing itself: a decoder begins with the first Read, and gives out what a flush of the upstream made readable,
// so that an encoded event stream stays one. Without the means to decode it closes the body and returns an Invalid
// fault; an error status keeps its meaning without its body.
func decode(resp *http.Response) *fault.Fault {
	values := resp.Header["Content-Encoding"]
	if len(values) == 0 {
		return nil
	}
	var names []string
	for _, line := range values {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
				names = append(names, name)
			}
		}
	}
	delete(resp.Header, "Content-Encoding")
	if len(names) == 0 {
		return nil
	}
	delete(resp.Header, "Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
	source := &counted{Reader: resp.Body}
	var body io.Reader = source
	var outer *decoder
	for i := len(names) - 1; i >= 0; i-- { // the last one was applied last
		d := &decoder{body: body, came: source, source: resp.Body}
		switch names[i] {
		case "gzip", "x-gzip":
			d.start = startGzip
		case "deflate":
			d.start = startDeflate
		}
		if d.start == nil || len(names) > maxEncodings {
			_ = resp.Body.Close()
			resp.Body = http.NoBody
			if resp.StatusCode >= http.StatusMultipleChoices {
				return nil
			}
			return &fault.Fault{
				Class: fault.Invalid, Status: resp.StatusCode,
				Message: fmt.Sprintf("content encoding %.40q is not supported", names[i]),
			}
		}
		body, outer = d, d
	}
	resp.Body = outer
	return nil
}

// counted is a body with how many bytes were read of it.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// decoder is a body whose encoding is taken off while it is read.
type decoder struct {
	body   io.Reader // encoded
	came   *counted  // what was sent of it
	gave   int64     // bytes
	source io.Closer
	start  func(io.Reader) (io.Reader, error)
	plain  io.Reader
	err    error
}

// Read implements io.Reader. An encoded body that ends too early is an io.ErrUnexpectedEOF.
func (d *decoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.plain == nil {
		if d.plain, d.err = d.start(d.body); d.err != nil {
			d.err = corrupt(d.err)
			return 0, d.err
		}
	}
	n, err := d.plain.Read(p)
	d.gave += int64(n)
	switch {
	case d.gave > freeBytes+maxRatio*d.came.n:
		d.err = fmt.Errorf("%w: %w", errCorrupt, errBomb)
		return 0, d.err
	case err != nil:
		d.err = corrupt(err)
	}
	return n, d.err
}

// Close closes the upstream's body.
func (d *decoder) Close() error { return d.source.Close() }

func startGzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }

// startDeflate accepts both of what servers call deflate: zlib's format, as the standard says, and the raw one.
func startDeflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// corrupt marks the decoders' own errors; those of the connection below stay as they are.
func corrupt(err error) error {
	var c flate.CorruptInputError
	if errors.As(err, &c) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrDictionary) {
		return fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return err
}
