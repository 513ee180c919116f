package jsonscan

// Editor copies an object's text member by member, so that some can be changed or left out and others added; all else is
// kept byte for byte, but for white space before the first member. It is told the offsets at which a Reader of the same
// text stands, in rising order. Not safe for concurrent use.
type Editor struct {
	dst, text []byte
	done      int  // everything before it is copied or left out
	some      bool // a member was written
}

// NewEditor appends to dst what stands before the first member, which is at or after the offset open.
func NewEditor(dst, text []byte, open int) Editor {
	return Editor{dst: append(dst, text[:open]...), text: text, done: open}
}

// Keep copies up to an offset in or at the end of a member, and minds the comma before it.
func (e *Editor) Keep(to int) {
	if !e.some {
		for e.done < to && e.text[e.done] != '"' {
			e.done++ // white space, and the comma after a member that was left out
		}
		e.some = true
	}
	e.dst = append(e.dst, e.text[e.done:to]...)
	e.done = to
}

// Drop leaves out the member that ends at an offset, with the comma before it.
func (e *Editor) Drop(to int) { e.done = to }

// Replace writes another value, which is JSON, for the one between two offsets.
func (e *Editor) Replace(from, to int, value []byte) {
	e.Keep(from)
	e.dst = append(e.dst, value...)
	e.done = to
}

// ReplaceText is Replace with a string that is not JSON yet.
func (e *Editor) ReplaceText(from, to int, text string) {
	e.Keep(from)
	e.dst = AppendString(e.dst, text)
	e.done = to
}

// Add appends a new member; only what closes the object may follow.
func (e *Editor) Add(name string, value []byte) {
	if e.some {
		e.dst = append(e.dst, ',')
	}
	e.some = true
	e.dst = AppendString(e.dst, name)
	e.dst = append(e.dst, ':')
	e.dst = append(e.dst, value...)
}

// End copies the rest and gives what was appended to dst.
func (e *Editor) End() []byte { return append(e.dst, e.text[e.done:]...) }
