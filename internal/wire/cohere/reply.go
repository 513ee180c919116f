package cohere

import (
	"errors"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

var errNoAnswer = errors.New("the answer is no chat of Cohere's")

// DecodeReply reads a whole reply: its plan is a thought, as are contents of type thinking.
func (Chat) DecodeReply(body []byte) (*llm.Reply, error) {
	a := &llm.Reply{}
	var m message
	var stop []byte
	var probs []byte
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return nil, errNoAnswer
	}
	enter(&r, func(key string) {
		switch key {
		case "id":
			a.ID, _ = r.Text()
		case "message":
			m.read(&r)
		case "finish_reason":
			stop, _ = r.Literal()
		case "usage":
			a.Usage = readUsage(&r)
		case "logprobs":
			if !r.Array() {
				return
			}
			for r.Elem() {
				probs = appendProb(probs, &r)
			}
		default:
			r.Skip()
		}
	})
	if !r.End() {
		return nil, r.Err()
	}
	if len(stop) == 0 {
		return nil, errNoAnswer
	}
	c := llm.Choice{Content: m.parts()}
	c.Stop, c.StopText = stopOf(stop)
	if len(probs) > 0 {
		c.LogProbs = append(probs, ']')
	}
	a.Choices = []llm.Choice{c}
	return a, nil
}

// message is what a reply's message holds. Its order is the one in which it was made: thoughts, plan, contents,
// calls.
type message struct {
	plan      string
	contents  []llm.Part
	calls     []llm.Part
	citations []cited
}

func (m *message) read(r *jsonscan.Reader) {
	enter(r, func(key string) {
		switch key {
		case "tool_plan":
			m.plan, _ = r.Text()
		case "content":
			if r.Kind() == jsonscan.String {
				text, _ := r.Text()
				m.contents = append(m.contents, llm.Part{Kind: llm.Text, Text: text})
				return
			}
			if !r.Array() {
				return
			}
			for r.Elem() {
				p := readContent(r)
				m.contents = append(m.contents, p)
			}
		case "tool_calls":
			if !r.Array() {
				return
			}
			for r.Elem() {
				call := readCall(r)
				m.calls = append(m.calls, llm.Part{Kind: llm.ToolCall, Call: &call})
			}
		case "citations":
			if !r.Array() {
				return
			}
			for r.Elem() {
				m.citations = append(m.citations, readCited(r))
			}
		default:
			r.Skip()
		}
	})
}

// parts puts it all together. A content that is not known is left out, but keeps its number for the citations.
func (m *message) parts() (out []llm.Part) {
	for _, c := range m.citations {
		if c.elsewhere || len(m.contents) == 0 {
			continue
		}
		at := c.content
		if at < 0 || at >= len(m.contents) || m.contents[at].Kind != llm.Text {
			at = 0
			for at < len(m.contents)-1 && m.contents[at].Kind != llm.Text {
				at++
			}
		}
		if p := &m.contents[at]; p.Kind == llm.Text {
			p.Citations = append(p.Citations, c.sources...)
		}
	}
	rest := m.contents
	for len(rest) > 0 && rest[0].Kind == llm.Reasoning { // a model that thinks does so before it plans
		out, rest = append(out, rest[0]), rest[1:]
	}
	if m.plan != "" {
		out = append(out, llm.Part{Kind: llm.Reasoning, Text: m.plan})
	}
	for _, p := range rest {
		if p.Kind != 0 {
			out = append(out, p)
		}
	}
	return append(out, m.calls...)
}

func readContent(r *jsonscan.Reader) (p llm.Part) {
	enter(r, func(key string) {
		switch key {
		case "text":
			if text, ok := r.Text(); ok {
				p.Kind, p.Text = llm.Text, text
			}
		case "thinking":
			if text, ok := r.Text(); ok {
				p.Kind, p.Text = llm.Reasoning, text
			}
		default:
			r.Skip()
		}
	})
	return p
}

func readCall(r *jsonscan.Reader) (c llm.Call) {
	enter(r, func(key string) {
		switch key {
		case "id":
			c.ID, _ = r.Text()
		case "function":
			enter(r, func(key string) {
				switch key {
				case "name":
					c.Name, _ = r.Text()
				case "arguments":
					if r.Kind() == jsonscan.Object {
						c.Arguments = string(r.Raw())
					} else {
						c.Arguments, _ = r.Text()
					}
				default:
					r.Skip()
				}
			})
		default:
			r.Skip()
		}
	})
	return c
}

// cited is a piece of the answer with its sources.
type cited struct {
	content   int // which of the contents it is in
	elsewhere bool
	sources   []llm.Citation
}

// readCited reads a citation. Its places count letters, as Python does: code points.
func readCited(r *jsonscan.Reader) (c cited) {
	var start, end int64
	enter(r, func(key string) {
		switch key {
		case "start":
			start, _ = r.Int()
		case "end":
			end, _ = r.Int()
		case "content_index":
			n, _ := r.Int()
			c.content = int(n)
		case "type":
			kind, _ := r.Literal()
			c.elsewhere = len(kind) > 0 && string(kind) != "TEXT_CONTENT"
		case "sources":
			if !r.Array() {
				return
			}
			for r.Elem() {
				c.sources = append(c.sources, readSource(r))
			}
		default:
			r.Skip()
		}
	})
	if len(c.sources) == 0 {
		c.sources = []llm.Citation{{}}
	}
	for i := range c.sources {
		c.sources[i].Start, c.sources[i].End = int(start), int(end)
	}
	return c
}

// readSource reads a document or a tool's output; both are objects of whatever members their author gave them.
func readSource(r *jsonscan.Reader) (c llm.Citation) {
	id := ""
	enter(r, func(key string) {
		switch key {
		case "id":
			id, _ = r.Text()
		case "document", "tool_output":
			enter(r, func(key string) {
				switch key {
				case "title":
					c.Title, _ = r.Text()
				case "url":
					c.URL, _ = r.Text()
				case "text", "snippet", "content":
					if text, _ := r.Text(); c.Quote == "" {
						c.Quote = text
					}
				default:
					r.Skip()
				}
			})
		default:
			r.Skip()
		}
	})
	if c.Title == "" {
		c.Title = id
	}
	return c
}

// appendProb appends a piece of text with its log probability to an array in the form of chat completions, which is
// not closed. A piece of several tokens has the sum of theirs: the probability that all of them come.
func appendProb(dst []byte, r *jsonscan.Reader) []byte {
	text, sum, some := "", 0.0, false
	enter(r, func(key string) {
		switch key {
		case "text":
			text, _ = r.Text()
		case "logprobs":
			if !r.Array() {
				return
			}
			for r.Elem() {
				if n, err := strconv.ParseFloat(string(r.Raw()), 64); err == nil {
					sum += n
					some = true
				}
			}
		default:
			r.Skip()
		}
	})
	if !some {
		return dst
	}
	if len(dst) == 0 {
		dst = append(dst, '[')
	}
	dst = jsonscan.AppendStringMember(append(jsonscan.AppendComma(dst), '{'), "token", text)
	dst = jsonscan.AppendFloatMember(dst, "logprob", sum)
	dst = append(dst, `,"bytes":[`...) // Responses wants them
	for i := range len(text) {
		dst = strconv.AppendInt(jsonscan.AppendComma(dst), int64(text[i]), 10)
	}
	return append(dst, `],"top_logprobs":[]}`...)
}
