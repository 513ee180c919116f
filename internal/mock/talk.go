package mock

import (
	"encoding/json"
	"slices"
	"strings"
)

// talk is what a request asks for, in no API's words: each dialect reads its bodies into one.
type talk struct {
	Model  string
	Stream bool
	// wantsUsage: where usage in a stream must be asked for, whether it was.
	wantsUsage bool

	turns []turn
	tools []tool
	// forced is the tool that must be called; noCalls and oneCall forbid any and more than one.
	forced           string
	noCalls, oneCall bool

	// schema is of the JSON that is asked for as the answer; nil where text will do.
	schema json.RawMessage
	// think: thoughts are asked for.
	think bool
	limit int // tokens, 0 for none
	stops []string
	// cacheTurns is how many of the first turns a cache marker covers.
	cacheTurns int

	inputs []string // of embeddings and legacy completions
	size   int      // dimensions of an embedding
}

// turn is one message, or the part of one that matters.
type turn struct {
	role   role
	text   string
	images int
	files  int
	// results are what tools answered; a turn with some is not the user's own word.
	results []string
}

type role uint8

const (
	roleUser role = iota
	roleModel
	roleSystem
)

// tool is one that the model may call.
type tool struct {
	name   string
	schema json.RawMessage
}

// add notes a turn.
func (t *talk) add(n turn) { t.turns = append(t.turns, n) }

// mark says that a cache marker covers everything so far.
func (t *talk) mark() { t.cacheTurns = len(t.turns) }

// last is the last turn; the zero turn if there is none.
func (t *talk) last() turn {
	if len(t.turns) == 0 {
		return turn{}
	}
	return t.turns[len(t.turns)-1]
}

// results are the answers of tools since the model spoke last; what the user adds to them (agents remind the model of this
// and that) makes them no less answers.
func (t *talk) results() []string {
	var out []string
	for _, n := range slices.Backward(t.turns) {
		if n.role == roleModel {
			break
		}
		out = append(slices.Clone(n.results), out...)
	}
	return out
}

// asked is the user's last turn.
func (t *talk) asked() turn {
	for _, n := range slices.Backward(t.turns) {
		if n.role == roleUser && len(n.results) == 0 {
			return n
		}
	}
	if len(t.inputs) > 0 {
		return turn{text: t.inputs[0]}
	}
	return turn{}
}

// says tells whether the user's last turn, being the last of all, has a word.
func (t *talk) says(word string) bool {
	last := t.last()
	if last.role != roleUser || len(last.results) > 0 {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(last.text), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.Contains(words, word)
}

// calls are the tools that the simulated model calls: the one it must, else the first, or the first two if the user
// says parallel. It calls none unless the user spoke last, and none that was just answered.
func (t *talk) calls() []tool {
	if len(t.tools) == 0 || t.noCalls || t.last().role != roleUser || len(t.results()) > 0 {
		return nil
	}
	first, second := t.tools[0], t.tools[min(1, len(t.tools)-1)]
	if i := slices.IndexFunc(t.tools, func(x tool) bool { return x.name == t.forced }); i >= 0 && t.forced != "" {
		first, second = t.tools[i], t.tools[i]
	}
	if t.says("parallel") && !t.oneCall {
		return []tool{first, second}
	}
	return []tool{first}
}

// promptTokens is about one for four bytes, as real ones are.
func (t *talk) promptTokens() int { return max(1, t.tokensOf(t.turns)+bytesOf(t.inputs)/4) }

func (t *talk) tokensOf(turns []turn) int {
	n := 0
	for _, m := range turns {
		n += len(m.text) + bytesOf(m.results) + 16
	}
	return n / 4
}

func bytesOf(texts []string) (n int) {
	for _, s := range texts {
		n += len(s)
	}
	return n
}
