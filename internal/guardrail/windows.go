package guardrail

import (
	"bytes"
	"context"
)

// before is how much of what is out a guard is shown with the next window, in bytes.
const before = 200

// mostHeld is how much of one text is held back for a guard that wants to see all of it, in bytes.
const mostHeld = 16 << 20

// ear follows one text of an answer for one guard.
type ear struct {
	g *Named
	l Listener // nil: the guard judges windows
	// Of a guard that judges windows.
	held, before []byte
}

func newEar(g *Named) *ear {
	e := &ear{g: g}
	if f, ok := g.Guard.(Follower); ok {
		e.l = f.Follow()
	}
	return e
}

// hear takes more of the text and gives what may go out. last: it is the text's end. The error is a *Blocked, or says that the text is
// too long to be held back.
func (e *ear) hear(ctx context.Context, w *Watch, piece []byte, last bool) (out []byte, changed bool, err error) {
	if e.l != nil {
		out, v := e.l.Hear(nil, piece)
		if last && v.Action != Block {
			var end Verdict
			if out, end = e.l.End(out); end.Action != Allow {
				v = end
			}
		}
		return out, v.Action == Replace, w.note(e.g, Response, v)
	}
	e.held = append(e.held, piece...)
	switch {
	case len(e.held) > mostHeld:
		return nil, false, errTooLong
	case len(e.held) == 0, !last && (e.g.Every == 0 || len(e.held) < e.g.Every):
		return nil, false, nil
	}
	p := &Passage{Phase: Response, Window: e.g.Every > 0, Before: e.before, Texts: []Text{{Words, e.held}}}
	if err := w.check(ctx, e.g, p); err != nil {
		return nil, false, err
	}
	e.before = append(e.before[:0:0], e.held[max(0, len(e.held)-before):]...)
	out, changed = p.Texts[0].Value, !bytes.Equal(p.Texts[0].Value, e.held)
	e.held = nil
	return out, changed, nil
}
