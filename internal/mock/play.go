package mock

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// page is what a proxy in front of a provider says in place of an answer.
const page = `<!DOCTYPE html>
<html><head><title>Simulated page</title></head><body><h1>This is not the answer you asked for</h1></body></html>
`

// play does the behaviour. A nil error is a whole exchange.
func (x *exchange) play(q *request, normal func() answer) error {
	if err := x.wait(x.b.Latency); err != nil {
		return err
	}
	if err := x.at(BeforeHeaders); err != nil {
		return err
	}
	b := &x.b
	switch status := b.status(); {
	case b.Empty:
		return x.plain(status, "application/json", nil)
	case b.HTML:
		return x.plain(status, "text/html; charset=utf-8", []byte(page))
	case b.Body != "":
		return x.plain(status, typeOf(b.Body), []byte(b.Body))
	case status == http.StatusNoContent:
		return x.plain(status, "application/json", nil)
	case status >= 300:
		return x.plain(status, "application/json", b.scripted(status, q.Model).body())
	}
	a := normal()
	if a.status < 300 && b.Status != 0 {
		a.status = b.Status
	}
	streamed := q.Stream && b.As != JSON || b.As == Stream
	switch {
	case streamed && a.events != nil:
		return x.events(a, q.Model)
	case b.Error != Never && a.status < 300:
		return x.plain(a.status, "application/json", b.scripted(http.StatusInternalServerError, q.Model).body())
	case b.Malformed > 0 && a.status < 300:
		return x.plain(a.status, "application/json", a.plain[:len(a.plain)/2])
	}
	return x.plain(a.status, "application/json", a.plain)
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
func (x *exchange) events(a answer, model string) error {
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
	if err := x.headers(a.status, "text/event-stream; charset=utf-8", -1); err != nil {
		return err
	}
	if x.b.Gzip {
		x.stream()
	}
	if x.b.Keepalive > 0 {
		x.beat = ": keepalive\n\n"
	}
	if err := x.point(AfterHeaders, model); err != nil {
		return err
	}
	sent := 0
	for _, e := range a.events {
		if err := x.event(e, &sent, model); err != nil {
			return err
		}
	}
	if err := x.at(AtEnd); err != nil {
		return err
	}
	return x.finish()
}

// event sends one event with what comes before and after it; sent counts content chunks.
func (x *exchange) event(e event, sent *int, model string) error {
	if e.kind == kindContent {
		pause := x.b.ChunkDelay
		if *sent == 0 {
			if err := x.point(After(0), model); err != nil {
				return err
			}
			pause = x.b.FirstToken
		}
		if err := x.wait(pause); err != nil {
			return err
		}
		*sent++
		if *sent == x.b.Malformed {
			e.data = e.data[:len(e.data)/2]
		}
	}
	if e.kind == kindFinish && x.b.NoFinish || e.kind == kindDone && x.b.NoDone {
		return nil
	}
	if err := x.send([]byte("data: " + string(e.data) + "\n\n")); err != nil {
		return err
	}
	switch e.kind {
	case kindContent:
		x.note(func(s *Seen) { s.Chunks = *sent })
		return x.point(After(*sent), model)
	case kindFinish:
		return x.point(AfterFinish, model)
	case kindRole, kindUsage, kindDone:
	}
	return nil
}

// point is at, and the error event.
func (x *exchange) point(p Point, model string) error {
	if p != x.b.Error {
		return x.at(p)
	}
	body := x.b.scripted(http.StatusInternalServerError, model).body()
	if err := x.send([]byte("data: " + string(body) + "\n\n")); err != nil {
		return err
	}
	if err := x.finish(); err != nil {
		return err
	}
	return errOver
}
