package mock

import (
	"fmt"
	"slices"
	"strings"
)

// speak is the text of an answer in the pieces in which it is streamed, and the finish reason.
func (s *Script) speak(q *request, b *Behaviour) (pieces []string, finish string) {
	text := b.Text
	if text == "" {
		text = s.words(q)
	}
	switch {
	case b.ChunkSize > 0 && b.Chunks > 0:
		pieces = split(fill(text, b.Chunks*b.ChunkSize), b.ChunkSize)
	case b.ChunkSize > 0:
		pieces = split(text, b.ChunkSize)
	default:
		pieces = strings.SplitAfter(text, " ")
		for i := 0; len(pieces) < b.Chunks; i++ {
			pieces[len(pieces)-1] = strings.TrimSuffix(pieces[len(pieces)-1], " ") + " "
			pieces = append(pieces, pieces[i])
		}
		if b.Chunks > 0 {
			pieces = pieces[:b.Chunks]
		}
	}
	if limit := q.maxTokens(); limit > 0 && limit < len(pieces) && b.Chunks == 0 {
		return pieces[:limit], "length"
	}
	return pieces, "stop"
}

// words is what the provider says when the script does not say it.
func (s *Script) words(q *request) string {
	who := "a simulated provider"
	if s.Name != "" {
		who = fmt.Sprintf("the simulated provider %s", s.Name)
	}
	asked := ""
	if len(q.Prompt) > 0 {
		asked = q.Prompt[0]
	}
	if last := q.last(); last.Role == "tool" {
		return fmt.Sprintf("This is %s in place of %s. The tool answered: %s", who, q.Model, shorten(string(last.Content)))
	}
	for _, m := range slices.Backward(q.Messages) {
		if m.Role == "user" {
			asked = string(m.Content)
			break
		}
	}
	return fmt.Sprintf("This is %s in place of %s. You said: %s", who, q.Model, shorten(asked))
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
