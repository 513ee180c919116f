package wire

import (
	"bytes"
	"errors"
	"strings"

	"evergate/internal/llm"
)

// How a continuation is told from a repetition.
const (
	// leastOverlap is how many bytes of what was sent a continuation must begin with for them to be dropped, if they are the
	// end of it: less may be meant. wholeOverlap is the same where it is all that was sent.
	leastOverlap = 16
	wholeOverlap = 4
	// mostOverlap is how far back an overlap is looked for.
	mostOverlap = 1024
	// anew is how many bytes a continuation must have in common with the beginning of the answer to be one that began anew.
	anew = 32
)

// errContradicts is a continuation that says something else than what the client has been told.
var errContradicts = errors.New("the answer began anew, and not with what was said before")

// Seam is one client's stream across the attempts that it takes to complete it (R70). It stands between the upstreams'
// decoders and the client's encoder, which lives as long as the stream, remembers the text that was sent, and joins what
// another attempt goes on with: a part that is open stays open, what is repeated is dropped. Not safe for concurrent use.
type Seam struct {
	encoder Encoder
	order   llm.Order

	text     []byte // what the client was told, of the answer's text
	begun    bool   // Start was passed on
	spoiled  bool   // there is more than text, which cannot be gone on with
	thinking bool   // a reasoning part is open
	finished bool
	opened   bool // a text part was begun, which textPart names to order
	textPart int

	// Of the attempt under way.
	again     bool // it is not the first
	prefilled bool // it was given what Prefix gave
	settled   bool // what it repeats is over
	base      int  // is added to its names of parts
	first     int  // its name of the text part that goes on with the one before
	joined    bool // there is one
	parts     []seamPart
	held      []byte // its text so far, while it may be a repetition
	same      int    // how much of it is the beginning of what was sent
	trimmed   int    // bytes of white space that Prefix left out at the end
	said      int    // bytes of text that it brought
	usage     llm.Usage
	before    llm.Usage // of the attempts before
	err       error
}

type seamPart struct {
	name int
	kind llm.PartKind
}

// Able says whether another attempt can go on: nothing but text, and thoughts that are over, was sent.
func (s *Seam) Able() bool {
	return s.begun && !s.spoiled && !s.thinking && !s.finished && s.err == nil
}

// Len is how many bytes of text the client has.
func (s *Seam) Len() int { return len(s.text) }

// Prefix is the text so far as the beginning of an answer, without white space at its end, which some vendors refuse and no
// model begins its next word well after.
func (s *Seam) Prefix() string { return strings.TrimRight(string(s.text), " \t\r\n") }

// Broke closes the books of the attempt that broke. Where its upstream had not said what it cost, prompt is taken for its
// input, and its output is estimated.
func (s *Seam) Broke(prompt int64) {
	u := s.usage
	if !u.Known {
		u = llm.Usage{Known: true, Input: prompt}
	}
	if guess := llm.EstimateText(s.text[len(s.text)-s.said:]); u.Output < guess/2 { // usage at the beginning of a stream has next to no output
		u.Output = guess
	}
	s.before = sum(s.before, u)
	s.usage, s.said = llm.Usage{}, 0
}

// Again has the next attempt's events follow; prefilled: its request ends in Prefix. It may be called again if that attempt
// came to nothing.
func (s *Seam) Again(prefilled bool) {
	s.again, s.prefilled, s.settled, s.joined = true, prefilled, false, false
	s.base += 1 << 20
	s.parts, s.held, s.usage, s.said = s.parts[:0], s.held[:0], llm.Usage{}, 0
	s.same, s.trimmed = 0, 0
	if prefilled {
		s.trimmed = len(s.text) - len(s.Prefix())
	}
}

// Usage is what all attempts cost.
func (s *Seam) Usage() llm.Usage { return sum(s.before, s.usage) }

// pass takes one event of the attempt under way and hands on what the client is to hear of it.
func (s *Seam) pass(e *llm.Event, next func(*llm.Event)) {
	if s.err != nil {
		return
	}
	switch e.Kind {
	case llm.Start:
		if !s.begun {
			s.begun = true
			next(e)
		}
	case llm.Used:
		s.usage = e.Usage
		all := *e
		all.Usage = s.Usage()
		next(&all)
	case llm.Alive:
		next(e)
	case llm.Finish:
		if s.settle(next) {
			s.finished = true
			next(e)
		}
	case llm.PartStart:
		s.start(e, next)
	case llm.Delta, llm.Sealing, llm.Cited, llm.Probs, llm.PartStop:
		s.more(e, next)
	}
}

// start is a part's beginning.
func (s *Seam) start(e *llm.Event, next func(*llm.Event)) {
	if s.kind(e.Part) == 0 {
		s.parts = append(s.parts, seamPart{e.Part, e.Head.Kind})
	}
	kind := e.Head.Kind
	switch {
	case kind == llm.Reasoning && s.again:
		return // the client had its thoughts
	case kind == llm.Text && s.again && !s.joined: // it begins when there is something in it
		s.joined, s.first = true, e.Part
		return
	case !s.settle(next):
		return
	}
	s.thinking = kind == llm.Reasoning
	s.spoiled = s.spoiled || kind != llm.Reasoning && kind != llm.Text || e.Choice != 0
	if kind == llm.Text {
		s.opened, s.textPart = true, s.base+e.Part
	}
	s.put(e, s.base+e.Part, next)
}

// more is a piece of a part, or its end.
func (s *Seam) more(e *llm.Event, next func(*llm.Event)) {
	kind := s.kind(e.Part)
	switch {
	case kind == llm.Reasoning && s.again:
		return
	case kind == llm.Reasoning:
		s.thinking = e.Kind != llm.PartStop
	case s.again && s.joined && e.Part == s.first && kind == llm.Text:
		s.join(e, next)
		return
	case kind == llm.Text && e.Kind == llm.Delta:
		s.note(e.Text)
	}
	s.put(e, s.base+e.Part, next)
}

// join is a piece of the text that goes on with what was sent.
func (s *Seam) join(e *llm.Event, next func(*llm.Event)) {
	switch {
	case e.Kind == llm.Delta && !s.settled:
		if s.same == len(s.held) { // all of it so far
			s.same += common(s.text[s.same:], e.Text)
		}
		s.held = append(s.held, e.Text...)
		if s.undecided() {
			return
		}
		s.settle(next)
	case e.Kind == llm.Delta:
		s.tell(e.Text, next)
	case e.Kind == llm.PartStop:
		if s.settle(next) && s.opened {
			s.put(e, s.textPart, next)
		}
	case s.settled && s.opened:
		s.put(e, s.textPart, next)
	}
}

// undecided says whether what is held may yet turn out to repeat what was sent.
func (s *Seam) undecided() bool {
	n := len(s.held)
	if n < len(s.text) && s.same == n {
		return true
	}
	if !s.prefilled {
		return false
	}
	for i := max(1, len(s.text)-mostOverlap); i < len(s.text)-n; i++ {
		if bytes.HasPrefix(s.text[i:], s.held) {
			return true
		}
	}
	return false
}

// settle decides what of the held text is a repetition, and hands on the rest; false: it contradicts what was sent.
func (s *Seam) settle(next func(*llm.Event)) bool {
	if s.settled || !s.again {
		return true
	}
	s.settled = true
	held, same := s.held, s.same
	s.held = nil
	switch {
	case same == len(s.text) && (!s.prefilled || same >= wholeOverlap): // it began anew, and has said it all
		held = held[same:]
	case !s.prefilled, same >= anew:
		s.err = errContradicts
		return false
	default:
		held = held[s.overlap(held):]
	}
	s.tell(held, next)
	return true
}

// overlap is how much of the held text is the end of what was sent.
func (s *Seam) overlap(held []byte) int {
	for n := min(len(held), len(s.text), mostOverlap); n > 0; n-- {
		if (n >= leastOverlap || n == s.trimmed) && bytes.HasSuffix(s.text, held[:n]) {
			return n
		}
	}
	return 0
}

// tell hands on text, as more of the part that the client knows, or in one that is begun for it.
func (s *Seam) tell(text []byte, next func(*llm.Event)) {
	if len(text) == 0 {
		return
	}
	if !s.opened {
		s.opened, s.textPart = true, s.base+s.first
		next(&llm.Event{Kind: llm.PartStart, Part: s.textPart, Head: &llm.Part{Kind: llm.Text}})
	}
	s.note(text)
	next(&llm.Event{Kind: llm.Delta, Part: s.textPart, Text: text})
}

func (s *Seam) note(text []byte) {
	s.text = append(s.text, text...)
	s.said += len(text)
}

// put hands on an event under another name of its part. The event is the decoder's own and given back as it was.
func (s *Seam) put(e *llm.Event, part int, next func(*llm.Event)) {
	own := e.Part
	e.Part = part
	next(e)
	e.Part = own
}

func (s *Seam) kind(part int) llm.PartKind {
	for i := range s.parts {
		if s.parts[i].name == part {
			return s.parts[i].kind
		}
	}
	return 0
}

// common is how long the common beginning of two texts is.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Known: a.Known || b.Known, Input: a.Input + b.Input, Output: a.Output + b.Output, CachedInput: a.CachedInput + b.CachedInput,
		CacheWrite: a.CacheWrite + b.CacheWrite, Reasoning: a.Reasoning + b.Reasoning,
		AudioInput: a.AudioInput + b.AudioInput, AudioOutput: a.AudioOutput + b.AudioOutput,
	}
}
