package ingress

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"evergate/internal/attempt"
	"evergate/internal/journal"
	"evergate/internal/wire"
)

// copies are the beginnings of a request's body and of its answer, where they are to be kept (log.bodies). Safe for concurrent use: a
// body may still come while the answer goes.
type copies struct {
	all *atomic.Int64 // bytes that the copies of all requests take

	mu   sync.Mutex
	of   *journal.Bodies // nil: they were handed over
	took int64           // of all
}

// maxCopied is how many bytes the copies of all open requests take, about. Beyond it they end where they are.
const maxCopied = 64 << 20

func newCopies(limit int, h http.Header, all *atomic.Int64) *copies {
	c := &copies{of: &journal.Bodies{Limit: limit}, all: all}
	c.of.Request.Kind = h.Get("Content-Type")
	c.of.Request.Binary = !textual(c.of.Request.Kind, h.Get("Content-Encoding"))
	return c
}

// textual says whether a body of a content type is text. What says none is taken for it.
func textual(kind, encoding string) bool {
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	media, _, _ := strings.Cut(kind, ";")
	switch media = strings.ToLower(strings.TrimSpace(media)); {
	case media == "", strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return true
	case strings.HasPrefix(media, "application/"):
		switch media[len("application/"):] {
		case "json", "jsonl", "x-ndjson", "ndjson", "xml", "x-www-form-urlencoded", "yaml", "x-yaml":
			return true
		}
	}
	return false
}

// request adds what came of the request's body.
func (c *copies) request(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != nil {
		c.add(&c.of.Request, p)
	}
}

// reply adds what went out of the answer; h are its headers.
func (c *copies) reply(h http.Header, p []byte) {
	c.said(h.Get("Content-Type"), h.Get("Content-Encoding"), p)
}

// said adds what went out of an answer of that kind.
func (c *copies) said(kind, encoding string, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return
	}
	if c.of.Response.Size == 0 {
		c.of.Response.Kind, c.of.Response.Binary = strings.Clone(kind), !textual(kind, encoding)
	}
	c.add(&c.of.Response, p)
}

// add requires the lock. What follows a gap is not copied.
func (c *copies) add(to *journal.Copy, p []byte) {
	room := c.of.Limit + journal.Overlap - len(to.Text)
	if !to.Binary && room > 0 && to.Size == int64(len(to.Text)) && c.all.Load() < maxCopied {
		before := cap(to.Text)
		to.Text = append(to.Text, p[:min(room, len(p))]...)
		grown := int64(cap(to.Text) - before)
		c.took += grown
		c.all.Add(grown)
	}
	to.Size += int64(len(p))
}

// take hands them over, once.
func (c *copies) take() *journal.Bodies {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of
	c.of = nil
	return of
}

// end makes room for others. Whoever took the copies has bounds of his own.
func (c *copies) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = nil
	c.all.Add(-c.took)
	c.took = 0
}

// copyFailure adds the error that the client is about to get: the fact of the request is told before.
func (x *exchange) copyFailure(f wire.Failure, own []byte) {
	switch {
	case x.kept == nil, x.out.failed != nil, x.out.committed && !x.out.stream:
	case x.out.opened:
		x.kept.said("text/event-stream", "", x.dialect.AppendStreamError(nil, f))
	case own != nil:
		x.kept.said("application/json", "", own)
	default:
		x.kept.said("application/json", "", x.dialect.AppendError(nil, f))
	}
}

// copyPassFailure is copyFailure for a passthrough request.
func (x *exchange) copyPassFailure(res *attempt.Result, f wire.Failure) {
	if own := ownWords(res); own != nil && x.kept != nil {
		x.kept.said(own.ContentType, "", own.Body)
		return
	}
	x.copyFailure(f, nil)
}
