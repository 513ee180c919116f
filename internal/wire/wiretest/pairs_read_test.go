package wiretest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The readers here read what a dialect says as its SDKs do, and know nothing of the codecs. A stream is first gathered
// into a whole reply, as SDKs gather it.

type (
	object = map[string]any
	array  = []any
)

// meaning is what an answer says in no vendor's words.
type meaning struct {
	Choices []spoken
	Usage   counts
}

// spoken is one choice.
type spoken struct {
	Text, Thought, Refusal string
	// Order is the kinds of the parts as they came, without repetition.
	Order  string
	Calls  []called
	Finish string
	// Probs are tokens with their logarithmic probabilities.
	Probs []string
}

// called is one tool call.
type called struct {
	ID, Name  string
	Arguments any
}

// counts are tokens; -1: unsaid.
type counts struct{ Input, Output, Cached, Write, Reasoning int64 }

// The classes of finish.
const (
	finishEnd     = "end"
	finishLength  = "length"
	finishTools   = "tools"
	finishStop    = "stop sequence"
	finishFilter  = "filter"
	finishRefusal = "refusal"
	finishUnknown = "unknown: "
)

func classOf(word string, classes map[string]string) string {
	if c, ok := classes[word]; ok {
		return c
	}
	return finishUnknown + word
}

func (s *spoken) came(kind string) {
	if !strings.HasSuffix(s.Order, kind) {
		s.Order = strings.TrimPrefix(s.Order+" "+kind, " ")
	}
}

func (s *spoken) text(t string) {
	if t != "" {
		s.Text += t
		s.came("text")
	}
}

func (s *spoken) thought(t string) {
	if t != "" {
		s.Thought += t
		s.came("thought")
	}
}

func (s *spoken) call(id, name string, arguments any) {
	if text, ok := arguments.(string); ok {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			v = "not JSON: " + text
		}
		arguments = v
	}
	s.Calls = append(s.Calls, called{id, name, arguments})
	s.came("call")
}

func (s *spoken) probs(tokens array, token, probability string) {
	for _, t := range tokens {
		s.Probs = append(s.Probs, fmt.Sprint(at(t, token), " ", at(t, probability)))
	}
}

// at goes down into JSON by names and indices; nil if there is no such thing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[p]
		case int:
			l, _ := v.(array)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

func items(v any, path ...any) array {
	l, _ := at(v, path...).(array)
	return l
}

// number is -1 where nothing is said.
func number(v any, path ...any) int64 {
	if f, ok := at(v, path...).(float64); ok {
		return int64(f)
	}
	return -1
}

func atLeast0(n int64) int64 { return max(n, 0) }

func parse(data []byte) (object, error) {
	var v object
	err := json.Unmarshal(data, &v)
	return v, err
}

// happened is one event of a stream.
type happened struct {
	name string
	data string
	body object
}

// eventsOf cuts a stream as the grammar has it, and reads each event's JSON.
func eventsOf(stream []byte) ([]happened, error) {
	var out []happened
	blocks := strings.Split(string(stream), "\n\n")
	if last := blocks[len(blocks)-1]; last != "" {
		return nil, fmt.Errorf("the stream does not end with an empty line: %q", last)
	}
	for _, block := range blocks[:len(blocks)-1] {
		var e happened
		for line := range strings.SplitSeq(block, "\n") {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "event":
				e.name = value
			case "data":
				e.data += value
			default:
				return nil, fmt.Errorf("an odd line: %q", line)
			}
		}
		if e.data != "[DONE]" {
			var err error
			if e.body, err = parse([]byte(e.data)); err != nil {
				return nil, fmt.Errorf("%w: %s", err, e.data)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// errNoEnd is a stream without its proper end.
var errNoEnd = errors.New("the stream has no proper end")

// reader reads one dialect.
type reader struct {
	// read says what a whole reply means.
	read func(reply object) meaning
	// gather makes a whole reply of a stream; errNoEnd if it has no proper end.
	gather func(events []happened) (object, error)
}

func readers() map[string]reader {
	return map[string]reader{
		"chat":      {readChat, gatherChat},
		"azure":     {readChat, gatherChat},
		"messages":  {readMessages, gatherMessages},
		"anthropic": {readMessages, gatherMessages},
		"responses": {readResponses, gatherResponses},
		"gemini":    {readGemini, gatherGemini},
		"converse":  {readConverse, gatherConverse},
		"cohere":    {readCohere, gatherCohere},
	}
}

// wholeOf gathers a stream.
func (r *reader) wholeOf(stream []byte) (object, error) {
	events, err := eventsOf(stream)
	if err != nil {
		return nil, err
	}
	return r.gather(events)
}

func (r *reader) ofPlain(body []byte) (meaning, error) {
	reply, err := parse(body)
	if err != nil {
		return meaning{}, err
	}
	return r.read(reply), nil
}

func (r *reader) ofStream(stream []byte) (meaning, error) {
	reply, err := r.wholeOf(stream)
	if err != nil {
		return meaning{}, err
	}
	return r.read(reply), nil
}
