package mock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// saying is what the provider says to a request, in no API's words: each dialect writes it in its own.
type saying struct {
	parts []part
	stop  stop
	// sequence is the stop sequence that ended it.
	sequence string
	counts
}

// part is one thing said, in the pieces in which it is streamed.
type part struct {
	kind   partKind
	pieces []string
	// id and name are of a call; the dialect puts its own prefix before the id.
	id, name string
}

func (p part) whole() string { return strings.Join(p.pieces, "") }

type partKind uint8

const (
	partThought  partKind = iota
	partRedacted          // a thought that is sent sealed
	partText
	partCall
	partRefusal
)

type stop uint8

const (
	stopEnd stop = iota
	stopCalls
	stopLimit
	stopSequence
	stopRefusal
)

// counts are tokens. Prompt is all of the input, what was read from or written to a cache included; spoken is all of the
// output, thoughts included.
type counts struct{ prompt, read, written, spoken, thought int }

// text is all that is said of a kind.
func (s *saying) text(k partKind) string {
	var out strings.Builder
	for _, p := range s.parts {
		if p.kind == k {
			out.WriteString(p.whole())
		}
	}
	return out.String()
}

// refusalText is what a refusal says.
const refusalText = "I'm sorry, but a simulation refuses what it is told to refuse."

// say decides what to say: a refusal if it is asked for one, calls of tools where there are some and the user spoke
// last, else a text, or JSON if a schema asks for it; a thought before that if thoughts are asked for.
func (j *job) say() saying {
	s := saying{counts: counts{prompt: j.promptTokens()}}
	s.read, s.written = j.p.cached(&j.talk)
	if j.think {
		p := part{kind: partThought, pieces: strings.SplitAfter("A simulation has no thoughts, but this stands where they would.", " ")}
		if j.says("redact") {
			p.kind = partRedacted
		}
		if j.limit > 0 && j.limit < len(p.pieces) {
			p.pieces = p.pieces[:j.limit]
		}
		s.parts = append(s.parts, p)
		s.thought = len(p.pieces)
	}
	calls := j.calls()
	switch {
	case j.says("refuse"):
		s.stop = stopRefusal
		s.parts = append(s.parts, part{kind: partRefusal, pieces: strings.SplitAfter(refusalText, " ")})
	case len(calls) > 0:
		s.stop = stopCalls
		for i, t := range calls {
			id := fmt.Sprintf("mock%06d", j.n)
			if i > 0 {
				id += fmt.Sprintf("_%d", i+1)
			}
			args := string(exampleOf(t.schema))
			s.parts = append(s.parts, part{kind: partCall, id: id, name: t.name, pieces: split(args, cmp.Or(j.b.ChunkSize, 8))})
			s.spoken++
		}
	default:
		s.speak(j)
	}
	for _, p := range s.parts {
		s.spoken += len(p.pieces)
	}
	return s
}

// speak adds the text.
func (s *saying) speak(j *job) {
	text := cmp.Or(j.b.Text, j.words())
	size := j.b.ChunkSize
	if len(j.schema) > 0 && j.b.Text == "" {
		text = string(exampleOf(j.schema))
		size = cmp.Or(size, 8)
	}
	text, s.sequence = untilStop(text, j.stops)
	if s.sequence != "" {
		s.stop = stopSequence
	}
	pieces := j.b.pieces(text, size)
	if last := j.last(); j.b.Prefill == Continue && last.role == roleModel {
		if rest, ok := strings.CutPrefix(strings.Join(pieces, ""), last.text); ok {
			pieces = (&Behaviour{}).pieces(rest, size)
		}
	}
	if j.limit > 0 && j.b.Chunks == 0 {
		left := max(0, j.limit-s.thought)
		if left < len(pieces) {
			pieces, s.stop, s.sequence = pieces[:left], stopLimit, ""
		}
	}
	if len(pieces) > 0 {
		s.parts = append(s.parts, part{kind: partText, pieces: pieces})
	}
}

// untilStop cuts a text before the stop sequence that comes first in it.
func untilStop(text string, stops []string) (rest, sequence string) {
	at := -1
	for _, stop := range stops {
		if i := strings.Index(text, stop); i >= 0 && stop != "" && (at < 0 || i < at) {
			at, sequence = i, stop
		}
	}
	if at < 0 {
		return text, ""
	}
	return text[:at], sequence
}

// pieces cuts a text into the chunks that a behaviour wants of it; size 0 is a word.
func (b *Behaviour) pieces(text string, size int) []string {
	switch {
	case size > 0 && b.Chunks > 0:
		return split(fill(text, b.Chunks*size), size)
	case size > 0:
		return split(text, size)
	}
	pieces := strings.SplitAfter(text, " ")
	for i := 0; len(pieces) < b.Chunks; i++ {
		pieces[len(pieces)-1] = strings.TrimSuffix(pieces[len(pieces)-1], " ") + " "
		pieces = append(pieces, pieces[i])
	}
	if b.Chunks > 0 {
		pieces = pieces[:b.Chunks]
	}
	return pieces
}

// words is what the provider says when the script does not say it.
func (j *job) words() string {
	who := "a simulated provider"
	if j.s.Name != "" {
		who = fmt.Sprintf("the simulated provider %s", j.s.Name)
	}
	start := fmt.Sprintf("This is %s in place of %s. ", who, j.Model)
	if results := j.results(); len(results) > 0 {
		for i, r := range results {
			results[i] = shorten(r)
		}
		return start + "The tool answered: " + strings.Join(results, " and ")
	}
	asked := j.asked()
	return start + seen(asked.images, "image") + seen(asked.files, "file") + "You said: " + shorten(asked.text)
}

// seen acknowledges what came with a text.
func seen(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("I see 1 %s. ", what)
	}
	return fmt.Sprintf("I see %d %ss. ", n, what)
}

// shorten keeps the first 200 characters.
func shorten(s string) string {
	r := []rune(s)
	if len(r) <= 200 {
		return s
	}
	return string(r[:200]) + "…"
}

// fill repeats or cuts a text to n characters.
func fill(text string, n int) string {
	r := []rune(text + " ")
	out := make([]rune, n)
	for i := range out {
		out[i] = r[i%len(r)]
	}
	return string(out)
}

// split cuts a text into pieces of n characters, the last one shorter if need be. There is always a piece.
func split(text string, n int) []string {
	var out []string
	for piece := range slices.Chunk([]rune(text), n) {
		out = append(out, string(piece))
	}
	if out == nil {
		out = []string{""}
	}
	return out
}
