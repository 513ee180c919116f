package guardrail

import "regexp/syntax"

// scan looks for one rule's matches in text that comes in pieces, character by character, with the meaning that regexp gives them in the
// whole text: leftmost, and of those the first by the expression's order. It knows at each moment where the earliest match begins that
// may still come, so that everything before it can go out.
type scan struct {
	rule  *Rule
	order int  // its place in the list
	at    int  // index of the next cell
	prev  rune // the character before it; unseen: there is none
	end   int  // where that ends
	list  []thread

	has       bool // a match was found, which may still become longer
	from, to  int
	afterPrev rune // the character before to
	more      bool // what was found goes on with a span that is out
}

// thread is one way in which a match may be under way.
type thread struct {
	pc   uint32
	from int
}

// scratch is what steps need while they run; the scans of a stream share one.
type scratch struct {
	list  []thread
	marks []uint32
	mark  uint32
}

func (s *scratch) begin(n int) {
	if len(s.marks) < n {
		s.marks = make([]uint32, n)
		s.mark = 0
	}
	s.mark++
	s.list = s.list[:0]
}

// run takes the cells that the scan has not seen, and appends what it found for good. whole: no cell will follow, and the text ends at
// end.
func (s *scan) run(spans []span, b *scratch, cells []cell, whole bool) []span {
	for {
		for s.at < len(cells) {
			c := &cells[s.at]
			if c.r == unseen {
				s.at++
				continue
			}
			if !s.has && len(s.list) == 0 && !s.starts(c.r) { // most characters of most texts
				s.prev, s.end = c.r, c.to
				s.at++
				continue
			}
			s.step(b, c.r, c.from)
			if s.has && len(s.list) == 0 {
				spans = s.found(spans, cells)
				continue
			}
			s.prev, s.end = c.r, c.to
			s.at++
		}
		if !whole {
			return spans
		}
		s.step(b, unseen, s.end)
		s.list = s.list[:0]
		if !s.has {
			return spans
		}
		spans = s.found(spans, cells)
	}
}

func (s *scan) starts(r rune) bool {
	if r >= 0 && int(r) < len(s.rule.first) {
		return s.rule.first[r]
	}
	return s.rule.others
}

// step follows all threads over one character, which begins at a place; unseen is the text's end.
func (s *scan) step(b *scratch, r rune, at int) {
	b.begin(len(s.rule.prog.Inst))
	around := syntax.EmptyOpContext(s.prev, r)
	cut := false
	for _, t := range s.list {
		if cut = s.follow(b, t.pc, t.from, around); cut {
			break // what follows is of less worth
		}
	}
	if !s.has && !cut && s.starts(r) {
		s.follow(b, uint32(s.rule.prog.Start), at, around) //nolint:gosec // a program has few steps
	}
	s.list = s.list[:0]
	for _, t := range b.list {
		if in := &s.rule.prog.Inst[t.pc]; r != unseen && in.MatchRune(r) {
			s.list = append(s.list, thread{in.Out, t.from})
		}
	}
}

// follow goes on from a step to those that take a character; true: a match ends here, and what is of less worth is dropped.
func (s *scan) follow(b *scratch, pc uint32, from int, around syntax.EmptyOp) bool {
	for {
		if b.marks[pc] == b.mark {
			return false
		}
		b.marks[pc] = b.mark
		in := &s.rule.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			if s.follow(b, in.Out, from, around) {
				return true
			}
			pc = in.Arg
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^around != 0 { //nolint:gosec // it is one
				return false
			}
			pc = in.Out
		case syntax.InstCapture, syntax.InstNop:
			pc = in.Out
		case syntax.InstMatch:
			if s.end <= from {
				return false // of nothing
			}
			s.has, s.from, s.to, s.afterPrev = true, from, s.end, s.prev
			return true
		case syntax.InstFail:
			return false
		default:
			b.list = append(b.list, thread{pc, from})
			return false
		}
	}
}

// found closes a match, and has the scan go on after it.
func (s *scan) found(spans []span, cells []cell) []span {
	for s.at > 0 && cells[s.at-1].from >= s.to {
		s.at--
	}
	s.prev, s.end = s.afterPrev, s.to
	if s.rule.valid != nil {
		s.check(cells[:s.at])
	}
	if s.to > s.from {
		spans = append(spans, span{from: s.from, to: s.to, rule: s.rule, order: s.order, more: s.more})
	}
	s.has, s.more = false, false
	return spans
}

// check keeps of a match what is valid in it, which may be nothing, and has the scan go on after that. The cells end with the match.
func (s *scan) check(cells []cell) {
	var match []byte // of ASCII alone
	var at []int
	for i := range cells {
		if c := &cells[i]; c.from >= s.from && c.r != unseen {
			match, at = append(match, byte(c.r)), append(at, i) //nolint:gosec // it is less than 128
		}
	}
	to, next := s.rule.pick(match)
	before := &cells[at[next-1]]
	s.at, s.prev, s.end = at[next-1]+1, before.r, before.to
	if to == 0 {
		s.to = s.from
	} else {
		s.to = cells[at[to-1]].to
	}
}

// safe is up to where nothing can be found any more; all is where the cells end.
func (s *scan) safe(all int) int {
	if s.has {
		all = min(all, s.from)
	}
	for _, t := range s.list {
		all = min(all, t.from)
	}
	return all
}

// give lets go of what is too long to be held back, up to a place: what was found of it is masked now, and what it may still become
// after that.
func (s *scan) give(spans []span, upTo int) []span {
	if s.has && s.from < upTo {
		spans = append(spans, span{from: s.from, to: s.to, rule: s.rule, order: s.order, more: s.more})
		s.from, s.more = s.to, true
		upTo = max(upTo, s.to)
	}
	for i := range s.list {
		s.list[i].from = max(s.list[i].from, upTo)
	}
	return spans
}
