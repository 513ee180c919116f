package guardrail

// stream redacts one text that comes in pieces: what it lets out is, byte for byte, what whole would make of all of it, but for matches
// longer than a rule's window.
type stream struct {
	scans []scan
	scratch
	raw   []byte // what is not out; its first byte is the text's at base
	base  int
	cells []cell // of raw, as far as it can be told; places are the text's
	known int    // up to where
	spans []span // found, and not out
}

func newStream(rules []*Rule) *stream {
	s := &stream{scans: make([]scan, len(rules))}
	for i, r := range rules {
		s.scans[i].rule, s.scans[i].order, s.scans[i].prev = r, i, unseen
	}
	return s
}

// take takes more of the text and appends what can go out, and says which kind of thing was masked in it; whole: it is the last.
func (s *stream) take(dst, piece []byte, whole bool) (out []byte, found string) {
	s.raw = append(s.raw, piece...)
	for s.known < s.base+len(s.raw) {
		r, n := look(s.raw, s.known-s.base, whole)
		if n == 0 {
			break
		}
		s.cells = append(s.cells, cell{r, s.known, s.known + n})
		s.known += n
	}
	safe := s.known
	for i := range s.scans {
		c := &s.scans[i]
		s.spans = c.run(s.spans, &s.scratch, s.cells, whole)
		at := c.safe(s.known)
		if w := c.rule.window; w > 0 && s.known-at > w {
			s.spans = c.give(s.spans, s.cut(s.known-w))
			at = c.safe(s.known)
		}
		safe = min(safe, at)
	}
	if whole {
		safe = s.base + len(s.raw)
	}
	s.spans = join(s.spans)
	return s.release(dst, safe)
}

// cut is the beginning of the cell that a place is in.
func (s *stream) cut(at int) int {
	for i := len(s.cells) - 1; i >= 0; i-- {
		if s.cells[i].from <= at {
			return s.cells[i].from
		}
	}
	return s.base
}

// release appends what stands before a place, with what was found in it masked.
func (s *stream) release(dst []byte, safe int) (out []byte, found string) {
	done := s.base
	n := 0
	for ; n < len(s.spans) && s.spans[n].from < safe; n++ {
		p := &s.spans[n]
		if p.to > safe { // something may be found yet that overlaps it
			safe = p.from
			break
		}
		if p.from > done {
			dst = append(dst, s.raw[done-s.base:p.from-s.base]...)
		}
		if !p.more {
			dst = append(dst, p.rule.Mask...)
			found = p.rule.Name
		}
		done = max(done, p.to)
	}
	s.spans = s.spans[:copy(s.spans, s.spans[n:])]
	if safe > done {
		dst = append(dst, s.raw[done-s.base:safe-s.base]...)
		done = safe
	}
	s.drop(done)
	return dst, found
}

// drop lets go of what is out.
func (s *stream) drop(upTo int) {
	n := 0
	for n < len(s.cells) && s.cells[n].to <= upTo {
		n++
	}
	s.cells = s.cells[:copy(s.cells, s.cells[n:])]
	s.raw = s.raw[:copy(s.raw, s.raw[upTo-s.base:])]
	s.base = upTo
	for i := range s.scans {
		s.scans[i].at = max(s.scans[i].at-n, 0)
	}
}
