package http1

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// HeaderError is a request that cannot be sent as HTTP. It names what is wrong, never a header's value.
type HeaderError struct{ what string }

// Error implements error.
func (e *HeaderError) Error() string { return "request cannot be sent: " + e.what }

// unwritten is the error of a connection that took not a byte of a request.
type unwritten struct{ error }

func (e unwritten) Unwrap() error { return e.error }

const (
	headBuffer = 4 << 10 // bytes; what of the body has room in it goes out with the head
	// largestInline is the body that is written before the answer is waited for. The kernel takes as much of a connection
	// that was idle without the peer's doing anything; to write more may have to wait until the peer reads, which may
	// have to wait until we read an answer that came early.
	largestInline = 16 << 10 // bytes
)

// head is a request's head, in a buffer that goes back to its pool.
type head struct{ bytes []byte }

var heads = sync.Pool{New: func() any { return &head{bytes: make([]byte, 0, headBuffer)} }}

func (h *head) free() {
	if cap(h.bytes) <= 4*headBuffer {
		h.bytes = h.bytes[:0]
		heads.Put(h)
	}
}

// startHead writes a request's head into a buffer.
func startHead(r *Request) (*head, error) {
	h, _ := heads.Get().(*head)
	var err error
	if h.bytes, err = appendHead(h.bytes, r.HTTP, len(r.Body)); err != nil {
		h.free()
		return nil, err
	}
	return h, nil
}

// appendHead writes the head, headers in the order of their names.
func appendHead(b []byte, r *http.Request, length int) ([]byte, error) {
	target := r.URL.RequestURI()
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	switch {
	case strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return b, &HeaderError{"the path holds a space or a control character"}
	case !httpguts.ValidHostHeader(host):
		return b, &HeaderError{"the host name holds a character that it must not"}
	}
	b = append(append(append(b, r.Method...), ' '), target...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), host...)
	b = append(b, "\r\n"...)
	if length > 0 || r.Method != http.MethodGet {
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(length), 10), "\r\n"...)
	}
	var few [32]string
	names := few[:0]
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Connection":
			continue // how the message is framed is ours to say
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return b, &HeaderError{fmt.Sprintf("%.64q is no name of a header", name)}
		}
		for _, value := range r.Header[name] {
			if !httpguts.ValidHeaderFieldValue(value) {
				return b, &HeaderError{"header " + name + " holds a character that it must not"}
			}
			b = append(append(append(append(b, name...), ": "...), strings.Trim(value, " \t")...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...), nil
}
