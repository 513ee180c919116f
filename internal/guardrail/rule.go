package guardrail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// DefaultWindow is how many characters of an answer's stream are held back at most for a rule that has no longest match.
const DefaultWindow = 256

// mostBounded is the longest match, in characters, that a stream is held back for where a rule has one.
const mostBounded = 4096

// Rule finds one kind of text. It is frozen, and safe for concurrent use.
type Rule struct {
	// Name is the kind, such as email.
	Name string
	// Mask stands in place of what was found.
	Mask string

	whole *regexp.Regexp
	prog  *syntax.Prog
	// needs are words of which one is in every match; empty: nobody knows.
	needs [][]byte
	// valid says of what a match has in it whether it is one; nil: each match is. See pick.
	valid func(seen []byte) bool
	// first are the characters of ASCII that a match can begin with; others: one beyond ASCII may, too.
	first  [utf8.RuneSelf]bool
	others bool
	// class are the bytes that matches are made of, and least how many characters one has at least. anchored: it asks where a line or the text begins or ends.
	class    [256]bool
	least    int
	anchored bool
	// window is how many bytes of what may become a match are held back; 0: as many as it takes, since a match has an end.
	window int
}

// NewRule makes a rule of a regular expression (RE2). Where its matches have no longest one, window is how many bytes of what may become
// a match are held back in a stream; 0 is DefaultWindow.
func NewRule(name, mask, expression string, window int) (*Rule, error) {
	whole, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	if whole.MatchString("") {
		return nil, errors.New("it matches where there is nothing")
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	most := longest(tree)
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	r := &Rule{Name: name, Mask: mask, whole: whole, prog: prog}
	if most < 0 || most > mostBounded {
		if r.window = window; window <= 0 {
			r.window = DefaultWindow
		}
	}
	r.least = shortest(tree)
	r.begin(prog.Start, make([]bool, len(prog.Inst)))
	r.consist()
	return r, nil
}

// consist finds out what matches are made of.
func (r *Rule) consist() {
	for i := range r.prog.Inst {
		in := &r.prog.Inst[i]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			for c := range utf8.RuneSelf {
				r.class[c] = r.class[c] || in.MatchRune(rune(c))
			}
			if foreign(in) {
				for c := utf8.RuneSelf; c < len(r.class); c++ {
					r.class[c] = true
				}
			}
		case syntax.InstEmptyWidth:
			r.anchored = r.anchored || syntax.EmptyOp(in.Arg)&^(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 //nolint:gosec // it is one
		case syntax.InstAlt, syntax.InstAltMatch, syntax.InstCapture, syntax.InstMatch, syntax.InstFail, syntax.InstNop:
		}
	}
}

// foreign says whether a step takes a character beyond ASCII.
func foreign(in *syntax.Inst) bool {
	return in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL || syntax.Flags(in.Arg)&syntax.FoldCase != 0 || //nolint:gosec // they are flags
		slices.ContainsFunc(in.Rune, func(c rune) bool { return c >= utf8.RuneSelf })
}

// shortest is how many characters the shortest match has.
func shortest(re *syntax.Regexp) int {
	switch re.Op { //nolint:exhaustive // the others need no character
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpRepeat:
		return re.Min * shortest(re.Sub[0])
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpConcat:
		all := 0
		for _, sub := range re.Sub {
			all += shortest(sub)
		}
		return all
	case syntax.OpAlternate:
		all := shortest(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			all = min(all, shortest(sub))
		}
		return all
	}
	return 0
}

// longest is how many characters the longest match has; -1: there is none.
func longest(re *syntax.Regexp) int {
	switch re.Op { //nolint:exhaustive // the others take no character
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpPlus:
		return -1
	case syntax.OpRepeat:
		one := longest(re.Sub[0])
		if one < 0 || re.Max < 0 {
			return -1
		}
		return one * re.Max
	case syntax.OpCapture, syntax.OpQuest:
		return longest(re.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		all := 0
		for _, sub := range re.Sub {
			one := longest(sub)
			switch {
			case one < 0:
				return -1
			case re.Op == syntax.OpConcat:
				all += one
			default:
				all = max(all, one)
			}
		}
		return all
	}
	return 0
}

// begin finds out what a match can begin with.
func (r *Rule) begin(pc int, seen []bool) {
	if seen[pc] {
		return
	}
	seen[pc] = true
	in := &r.prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		r.begin(int(in.Out), seen)
		r.begin(int(in.Arg), seen)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		r.begin(int(in.Out), seen)
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		for c := range r.first {
			r.first[c] = r.first[c] || in.MatchRune(rune(c))
		}
		r.others = r.others || foreign(in)
	case syntax.InstMatch, syntax.InstFail:
	}
}

// may says whether a text can have a match at all.
func (r *Rule) may(seen []byte) bool {
	if len(r.needs) == 0 {
		return true
	}
	for _, word := range r.needs {
		if bytes.Contains(seen, word) {
			return true
		}
	}
	return false
}

// span is a place in a text that is to be masked.
type span struct {
	from, to int
	rule     *Rule
	order    int  // the rule's place in the list: of those that begin at one place the first has its mask
	more     bool // it goes on with one that was masked already: it gets no mask of its own
}

// find appends the rule's matches in a text that is seen as view says. It looks only where there are enough of the bytes in a row that
// matches are made of: in most texts that is nowhere.
func (r *Rule) find(spans []span, order int, text, seen []byte, places []int) []span {
	if !r.may(seen) {
		return spans
	}
	if r.anchored {
		return r.within(spans, order, text, seen, places, 0, len(seen))
	}
	for from := 0; ; {
		for from < len(seen) && !r.class[seen[from]] {
			from++
		}
		to := from
		for to < len(seen) && r.class[seen[to]] {
			to++
		}
		if from == to {
			return spans
		}
		if to-from >= r.least && (to-from == len(seen) || r.may(seen[from:to])) {
			spans = r.within(spans, order, text, seen, places, max(from-1, 0), min(to+1, len(seen)))
		}
		from = to
	}
}

// within is find in a part of what is seen.
func (r *Rule) within(spans []span, order int, text, seen []byte, places []int, begin, stop int) []span {
	if r.valid == nil {
		for _, m := range r.whole.FindAllIndex(seen[begin:stop], -1) {
			spans = r.at(spans, order, text, places, begin+m[0], begin+m[1])
		}
		return spans
	}
	for begin < stop {
		m := r.whole.FindIndex(seen[begin:stop])
		if m == nil {
			break
		}
		begin += m[0]
		to, next := r.pick(seen[begin : begin+m[1]-m[0]])
		if to > 0 {
			spans = r.at(spans, order, text, places, begin, begin+to)
		}
		begin += next
	}
	return spans
}

// at appends the span of what is seen from a place to another one.
func (r *Rule) at(spans []span, order int, text []byte, places []int, from, to int) []span {
	if from == to {
		return spans
	}
	if places != nil {
		last := places[to-1] // what is unseen after it stays
		_, n := look(text, last, true)
		from, to = places[from], last+n
	}
	return append(spans, span{from: from, to: to, rule: r, order: order})
}

// pick finds what is valid in a match of a rule with valid: the match, or as many of its groups from the first as can be, since a match takes numbers that
// stand behind it for more of it. to is 0 where there is none. next is where to go on: after it, or where something else can begin, which is at a group of
// four: looking again at each digit would take long where there are many.
func (r *Rule) pick(match []byte) (to, next int) {
	parted := func(i int) bool { return match[i] == ' ' || match[i] == '-' }
	for to = len(match); to >= r.least; to-- {
		if (to == len(match) || parted(to)) && !parted(to-1) && r.valid(match[:to]) {
			return to, to
		}
	}
	for next = 1; next+4 < len(match); next++ {
		if parted(next) && !parted(next+1) && !parted(next+2) && !parted(next+3) && !parted(next+4) {
			return 0, next
		}
	}
	return 0, len(match)
}

// join sorts spans and makes one of those that overlap; it has the first one's mask.
func join(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.order-b.order) })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.from < last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// String names the rule.
func (r *Rule) String() string { return fmt.Sprintf("%s (%s)", r.Name, r.Mask) }
