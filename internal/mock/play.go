package mock

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"maps"
	"net/http"
	"strings"
)

// page is what a proxy in front of a provider says in place of an answer.
const page = `<!DOCTYPE html>
<html><head><title>Simulated page</title></head><body><h1>This is not the answer you asked for</h1></body></html>
`

// play does the behaviour. A nil error is a whole exchange.
func (x *exchange) play(normal func() answer) error {
	if err := x.wait(x.b.Latency); err != nil {
		return err
	}
	if err := x.at(BeforeHeaders); err != nil {
		return err
	}
	b := &x.b
	switch status := b.status(); {
	case b.Empty:
		return x.plain(status, jsonType, nil)
	case b.HTML:
		return x.plain(status, "text/html; charset=utf-8", []byte(page))
	case b.Body != "":
		return x.plain(status, typeOf(b.Body), []byte(b.Body))
	case status == http.StatusNoContent:
		return x.plain(status, jsonType, nil)
	case status >= 300:
		return x.fail(b.scripted(status))
	}
	a := normal()
	if a.refusal != nil {
		return x.fail(a.refusal)
	}
	if b.Status != 0 {
		a.status = b.Status
	}
	maps.Copy(x.w.Header(), a.header)
	streamed := x.q.Stream && b.As != JSON || b.As == Stream
	switch {
	case a.events != nil && (streamed || a.recorded):
		return x.events(a)
	case b.Error != Never:
		e := b.scripted(http.StatusInternalServerError)
		f := x.q.dialect.failure(x.q, e)
		return x.plain(a.status, cmp.Or(f.contentType, jsonType), f.body)
	case b.Malformed > 0:
		a.plain = a.plain[:len(a.plain)/2]
	}
	return x.plain(a.status, cmp.Or(a.contentType, jsonType), a.plain)
}

const jsonType = "application/json"

// fail sends an error in the dialect's words.
func (x *exchange) fail(e *apiError) error {
	f := x.q.dialect.failure(x.q, e)
	maps.Copy(x.w.Header(), f.header)
	return x.plain(e.Status, cmp.Or(f.contentType, jsonType), f.body)
}

func typeOf(body string) string {
	switch trimmed := strings.TrimSpace(body); {
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
		return "application/json"
	case strings.HasPrefix(trimmed, "data:"), strings.HasPrefix(trimmed, "event:"), strings.HasPrefix(trimmed, ":"):
		return "text/event-stream"
	case strings.HasPrefix(trimmed, "<"):
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// plain sends a body in one piece, or in two with a fault between them.
func (x *exchange) plain(status int, contentType string, body []byte) error {
	x.b.clamp(1)
	size, half := len(body), len(body)
	if x.b.Gzip {
		x.w.Header().Set("Content-Encoding", "gzip")
		body = compress(body)
		size, half = len(body), len(body)
	}
	switch {
	case status == http.StatusNoContent, status == http.StatusNotModified:
		body, size, half = nil, -1, 0
	case x.b.Keepalive > 0 && !x.b.Gzip:
		x.beat, size = "\n", -1
	}
	for _, p := range x.b.pointFaults() {
		if *p == After(1) {
			half = len(body) / 2
		}
		if *p > BeforeHeaders && p != &x.b.Error {
			size = -1
		}
	}
	if err := x.headers(status, contentType, size); err != nil {
		return err
	}
	for _, p := range []Point{AfterHeaders, After(0)} {
		if err := x.at(p); err != nil {
			return err
		}
	}
	if err := x.wait(x.b.FirstToken); err != nil {
		return err
	}
	if len(body) > 0 {
		if err := x.send(body[:half]); err != nil {
			return err
		}
	}
	x.note(func(s *Seen) { s.Chunks = 1 })
	if err := x.at(After(1)); err != nil {
		return err
	}
	if half < len(body) {
		if err := x.send(body[half:]); err != nil {
			return err
		}
	}
	for _, p := range []Point{AfterFinish, AtEnd} {
		if err := x.at(p); err != nil {
			return err
		}
	}
	return nil
}

func compress(body []byte) []byte {
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	_, _ = gz.Write(body)
	_ = gz.Close()
	return buf.Bytes()
}

// events sends a stream.
func (x *exchange) events(a answer) error {
	total := 0
	for _, e := range a.events {
		if e.kind == kindContent {
			total++
		}
	}
	x.b.clamp(total)
	h := x.w.Header()
	h.Set("Cache-Control", "no-cache")
	if x.b.Gzip {
		h.Set("Content-Encoding", "gzip")
	}
	if err := x.headers(a.status, a.framing.contentType, -1); err != nil {
		return err
	}
	if x.b.Gzip {
		x.stream()
	}
	if x.b.Keepalive > 0 {
		x.beat = a.framing.beat
	}
	s := &streaming{answer: a}
	if err := x.point(AfterHeaders, s); err != nil {
		return err
	}
	for _, e := range a.events {
		if err := x.event(e, s); err != nil {
			return err
		}
	}
	if err := x.at(AtEnd); err != nil {
		return err
	}
	return x.finish()
}

// streaming is how far a stream has come.
type streaming struct {
	answer
	sent   int // events
	chunks int // content
	passed bool
}

// event sends one event with what comes before and after it.
func (x *exchange) event(e event, s *streaming) error {
	if e.kind == kindContent {
		pause := x.b.ChunkDelay
		if s.chunks == 0 {
			if err := x.point(After(0), s); err != nil {
				return err
			}
			pause = x.b.FirstToken
		}
		if err := x.wait(pause); err != nil {
			return err
		}
		s.chunks++
		if s.chunks == x.b.Noise {
			if err := x.emit(event{kind: kindOpening, name: e.name, data: e.data[:len(e.data)/2]}, s); err != nil {
				return err
			}
		}
		if s.chunks == x.b.Malformed {
			e.data = e.data[:len(e.data)/2]
		}
	}
	if e.kind >= kindFinish && s.chunks == 0 && !s.passed {
		s.passed = true // an answer without content: what happens before the first chunk happens before the end
		if err := x.point(After(0), s); err != nil {
			return err
		}
	}
	if x.b.leavesOut(e.kind) {
		return nil
	}
	if err := x.emit(e, s); err != nil {
		return err
	}
	switch e.kind {
	case kindContent:
		x.note(func(seen *Seen) { seen.Chunks = s.chunks })
		return x.point(After(s.chunks), s)
	case kindFinish, kindEnd:
		return x.point(AfterFinish, s)
	case kindOpening, kindUsage, kindDone:
	}
	return nil
}

// leavesOut says whether a behaviour leaves out events of a kind.
func (b *Behaviour) leavesOut(k kind) bool {
	switch k {
	case kindFinish:
		return b.NoFinish
	case kindDone:
		return b.NoDone
	case kindEnd:
		return b.NoFinish || b.NoDone
	case kindOpening, kindContent, kindUsage:
	}
	return false
}

func (x *exchange) emit(e event, s *streaming) error {
	data := s.framing.frame(e, s.sent == 0)
	s.sent++
	return x.send(data)
}

// point is at, and the error event.
func (x *exchange) point(p Point, s *streaming) error {
	if p != x.b.Error {
		return x.at(p)
	}
	if err := x.emit(s.late(x.b.scripted(http.StatusInternalServerError), s.sent), s); err != nil {
		return err
	}
	if err := x.finish(); err != nil {
		return err
	}
	return errOver
}
