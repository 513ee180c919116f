package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"evergate/internal/journal"
)

// noRoom stands for bodies that would have taken too much memory while they wait.
const noRoom = "[left out: too many bodies were waiting to be written]"

// takeBodies takes a request's bodies away from its fact, as far as there is room for them.
func (w *Writer) takeBodies(i *item, f *journal.Request) {
	if f.Bodies == nil {
		return
	}
	i.bodies, f.Bodies = f.Bodies, nil
	if size := i.bodies.Bytes(); w.bodies.Add(size) > maxBodies {
		w.bodies.Add(-size)
		i.bodies, i.without = nil, true
	}
}

// body makes what is kept of a row's bodies.
func (w *Writer) body(i *item) *Body {
	switch {
	case w.o.Redact == nil:
		return nil
	case i.without:
		return &Body{Request: noRoom, Response: noRoom}
	case i.bodies == nil:
		return nil
	}
	b := &Body{}
	b.Request, b.RequestCut = w.keep(&i.bodies.Request, i.bodies.Limit)
	b.Response, b.ResponseCut = w.keep(&i.bodies.Response, i.bodies.Limit)
	return b
}

// keep redacts a copy and then cuts it. Where the copy itself was cut, as much is taken off its end again as was copied for that: a secret that the
// copying has cut stands there, in a form that nothing finds.
func (w *Writer) keep(c *journal.Copy, limit int) (text string, wasCut bool) {
	if c.Size == 0 {
		return "", false
	}
	if c.Binary || bytes.IndexByte(c.Text, 0) >= 0 {
		return string(w.o.Redact([]byte(named(c)))), false
	}
	out := w.o.Redact(c.Text)
	if c.Size > int64(len(c.Text)) {
		out, wasCut = out[:max(len(out)-journal.Overlap, 0)], true
	}
	text = strings.ToValidUTF8(string(out), string(utf8.RuneError))
	if len(text) > limit {
		text, wasCut = cut(text, limit), true
	}
	return text, wasCut
}

// named says of a body what it is.
func named(c *journal.Copy) string {
	media, _, _ := strings.Cut(c.Kind, ";")
	if media = strings.TrimSpace(media); media == "" {
		media = "no text"
	}
	return fmt.Sprintf("[%s, %d bytes]", strings.ToValidUTF8(cut(media, 100), ""), c.Size)
}
