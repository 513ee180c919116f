package ingress

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/journal"
	"evergate/internal/wire"
)

// response is the sink of one request: it writes the answer to the client and keeps the commit point. Opened is the
// weaker step: a 200 and comments, while failover is still possible. Its attempt.Sink methods are called from one goroutine; the
// keep-alive timer is another, hence the lock.
type response struct {
	x *exchange

	mu        sync.Mutex
	opened    bool // status and headers are out
	committed bool
	waits     bool // the headers are ready, and go out with the first byte
	stream    bool
	array     bool // a plain body goes out as the one element of an array
	stopped   bool
	failed    error
	lastWrite time.Time
	deadline  time.Time // of the next write, as set on the connection

	keepalive atomic.Pointer[time.Timer] // nil until an upstream answered 200

	values [7]string // of headers, so that they cost no allocation each
	used   int
}

// value is a header's list of one value.
func (o *response) value(v string) []string {
	i := o.used
	if i == len(o.values) {
		return []string{v}
	}
	o.used++
	o.values[i] = v
	return o.values[i : i+1 : i+1]
}

// keepaliveComment is a server-sent events comment: clients ignore it, proxies see traffic.
var keepaliveComment = []byte(": keepalive\n\n") //nolint:gochecknoglobals // a constant in all but type

// Answering starts the keep-alive clock of a stream: an upstream answered 200 and may now be silent.
func (o *response) Answering() {
	d := o.x.cfg.Keepalive
	if d <= 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keepalive.Load() == nil {
		o.lastWrite = time.Now()
		o.keepalive.Store(time.AfterFunc(d, o.tick))
	}
}

// tick writes a comment if nothing was written for the interval; its timer sleeps on otherwise.
func (o *response) tick() {
	d, timer := o.x.cfg.Keepalive, o.keepalive.Load()
	if timer == nil {
		return // fired before it was stored: an interval of next to nothing
	}
	if !o.mu.TryLock() { // a write is under way, or waits for a slow client: no need to wait behind it
		timer.Reset(d)
		return
	}
	defer o.mu.Unlock()
	if o.stopped || o.failed != nil {
		return
	}
	if left := d - time.Since(o.lastWrite); left > 0 {
		timer.Reset(left)
		return
	}
	if !o.opened && !o.waits {
		o.open(nil)
	}
	if o.write(keepaliveComment) == nil {
		_ = o.flush() // noted in o.failed
	}
	timer.Reset(d)
}

// stop ends the keep-alive clock.
func (o *response) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	if timer := o.keepalive.Load(); timer != nil {
		timer.Stop()
	}
}

// Begin commits.
func (o *response) Begin(h *attempt.Head) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.committed, o.stream = true, h.Stream
	if !o.opened {
		o.open(h)
	}
	if o.array {
		return o.write([]byte{'['})
	}
	return o.failed
}

// close completes the body of a whole answer.
func (o *response) close() {
	if o.array && o.committed {
		o.mu.Lock()
		defer o.mu.Unlock()
		_ = o.write([]byte{']'}) // the request ends either way
	}
}

// open writes status and headers; h is nil where nobody has answered yet. It requires the lock.
func (o *response) open(h *attempt.Head) {
	o.opened = true
	header := o.x.w.Header()
	if h == nil || h.Stream {
		o.stream = true
		header["Content-Type"] = eventStream
		header["Cache-Control"] = noCache
		header["X-Accel-Buffering"] = no
	} else {
		header["Content-Type"] = applicationJSON
		if h.ContentType != "" {
			header["Content-Type"] = o.value(h.ContentType)
		}
		if h.Length >= 0 && !o.array {
			header["Content-Length"] = o.value(strconv.Itoa(h.Length))
		}
	}
	if h != nil {
		passHeader(header, h.Header)
		o.x.ownLimits(header, h.Header)
		header["X-Evergate-Provider"] = o.value(h.Leg.Target.Provider)
		header["X-Evergate-Model"] = o.value(headerText(h.Leg.Target.String()))
		header["X-Evergate-Attempts"] = o.value(strconv.Itoa(h.Attempts))
		header["X-Evergate-Trail"] = o.value(trail(h.Steps))
		if len(h.Lost) > 0 {
			header["X-Evergate-Dropped"] = o.value(strings.Join(h.Lost, ", "))
		}
	}
	nameRequest(header, o.x.dialect, o.value(o.x.id))
	if h != nil && h.Stream && o.x.call.Censor != nil { // as long as nothing was let out, it may yet be an error
		o.opened, o.waits = false, true
		return
	}
	o.x.w.WriteHeader(http.StatusOK)
}

// Header values that every response shares; net/http does not change them.
//
//nolint:gochecknoglobals // constants in all but type
var (
	eventStream     = []string{"text/event-stream"}
	noCache         = []string{"no-cache"}
	no              = []string{"no"}
	applicationJSON = []string{"application/json"}
)

// trail says how the answer was found.
func trail(steps []journal.Step) string {
	var space [128]byte
	return string(journal.AppendTrail(space[:0], steps))
}

// Write passes bytes of the answer on.
func (o *response) Write(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(p)
}

// write requires the lock.
func (o *response) write(p []byte) error {
	if o.failed != nil || o.waits && len(p) == 0 {
		return o.failed
	}
	if o.waits {
		o.opened, o.waits = true, false
		o.x.w.WriteHeader(http.StatusOK)
	}
	now := time.Now()
	o.lastWrite = now
	o.extend(now)
	if _, err := o.x.w.Write(p); err != nil {
		o.failed = err
	} else if o.x.kept != nil {
		o.x.kept.reply(o.x.w.Header(), p)
	}
	return o.failed
}

// extend moves the write deadline on. It does so at most every sixteenth of the timeout: a deadline that is a little
// late costs nobody anything, setting one for every event would.
func (o *response) extend(now time.Time) {
	d := o.x.cfg.WriteTimeout
	if d <= 0 || o.deadline.Sub(now) > d {
		return
	}
	o.deadline = now.Add(d + d/16)
	_ = o.x.control.SetWriteDeadline(o.deadline) // see readBody
}

// Flush sends what was written.
func (o *response) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flush()
}

// flush requires the lock.
func (o *response) flush() error {
	if o.failed != nil || o.waits {
		return o.failed
	}
	if err := o.x.control.Flush(); err != nil {
		o.failed = err
	} else if o.x.unlimitWrite() {
		o.deadline = time.Time{}
	}
	return o.failed
}

// fail ends an opened stream with the dialect's error event; no end marker follows (R15).
func (o *response) fail(f wire.Failure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.write(o.x.dialect.AppendStreamError(nil, f)) == nil {
		_ = o.flush() // the request ends either way
	}
}
