package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
)

// Raw is one request that goes to a provider as the client made it (passthrough).
type Raw struct {
	Method string
	// Path is escaped and below the provider's base URL; it begins with a slash. Query is without its question mark.
	Path, Query string
	Header      http.Header // the caller's; read only
	// Body is what is sent where it is held whole. Where Upload is not nil, that is sent instead, once.
	Body   []byte
	Upload *Upload
	// Upgrade asks for a connection of its own (WebSocket): the answer's body, if it is a 101, is an io.ReadWriteCloser.
	Upgrade    bool
	Credential string // by name
	Key        string // the caller's own, in the place of Credential; empty: none
	// Trace and Span are as in Outgoing.
	Trace *journal.Trace
	Span  [8]byte
	// Release is called exactly once, when nothing reads Body any more; it may come after Pass returned and from another
	// goroutine. Nil where there is no Body.
	Release func()
}

// RawUpstream is one provider that takes requests as they are. Implementations are safe for concurrent use.
type RawUpstream interface {
	// Reach says why a path must not be asked for; nil: it stays below the base URL, however the servers on the way
	// read it.
	Reach(path string) error
	// Pass performs one HTTP exchange up to the response head; any status is a response, redirects included. The body must
	// be closed. Addresses of the provider in its head are paths below the base URL then, all others are left out. Faults are
	// as in Upstream.Send.
	Pass(ctx context.Context, r *Raw) (*http.Response, *fault.Fault)
	// SignsBody says whether a request can only be sent with its body at hand.
	SignsBody() bool
	// Classify and ReadFault are as in Upstream.
	Classify(status int, header http.Header, body []byte, code, message string) *fault.Fault
	ReadFault(ctx context.Context, err error) *fault.Fault
}

// errUploadOver ends what still reads a body whose request is over.
var errUploadOver = errors.New("the request is over")

// Upload is a request body that is sent while it comes, and so only once. A transport may read it from another goroutine,
// and still does when the answer is there; Close ends that.
type Upload struct {
	// Length in bytes; -1: unknown.
	Length int64

	turn  chan struct{} // of room for one: taken while the client is read from, and for what follows
	from  io.Reader
	over  bool
	watch *passWatch
	ended atomic.Pointer[error] // io.EOF: it was read whole; else what the client's connection met; nil: it goes on
}

// NewUpload makes the body of what from gives. from's errors, but for io.EOF, are the client's doing.
func NewUpload(from io.Reader, length int64) *Upload {
	return &Upload{turn: make(chan struct{}, 1), from: from, Length: length}
}

// watched has the upload tell a clock when it waits for the client.
func (u *Upload) watched(w *passWatch) {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.watch = w
}

// Read implements io.Reader. While it waits for the client the upstream's clock stands still.
func (u *Upload) Read(p []byte) (int, error) {
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	if u.over {
		return 0, errUploadOver
	}
	if end := u.ended.Load(); end != nil {
		return 0, *end
	}
	u.watch.pause()
	n, err := u.from.Read(p)
	u.watch.resume(time.Now())
	if err != nil {
		u.ended.Store(&err)
	}
	return n, err
}

// Close ends all reading, waits for one that is under way, and gives what ended the body: nil where there is more of it,
// io.EOF where it was read whole.
func (u *Upload) Close() error {
	if u == nil {
		return io.EOF
	}
	u.turn <- struct{}{}
	defer func() { <-u.turn }()
	u.over = true
	if end := u.ended.Load(); end != nil {
		return *end
	}
	return nil
}

// broke is what the client's connection met while the body was read; nil: nothing.
func (u *Upload) broke() error {
	if u == nil || u.whole() {
		return nil
	}
	if end := u.ended.Load(); end != nil {
		return *end
	}
	return nil
}

// whole says whether the body was read to its end; nil is no body.
func (u *Upload) whole() bool {
	if u == nil {
		return true
	}
	end := u.ended.Load()
	return end != nil && errors.Is(*end, io.EOF)
}
