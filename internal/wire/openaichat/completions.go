package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// DecodeRequest reads a request for an older completion, as a conversation of one turn. The error is a
// *wire.RequestError.
func (Completions) DecodeRequest(r *wire.Request) (*llm.Request, error) {
	d := newRequestDecoder(r)
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "prompt":
			d.prompt()
		case "logprobs":
			if n := d.whole("logprobs"); n != nil {
				d.q.LogProbs, d.q.TopLogProbs = true, int(max(*n, 0))
			}
		case "best_of":
			if n := d.integer("best_of"); n > 1 {
				d.q.Dropped.Add("best_of")
			}
		case "suffix", "echo":
			d.drop(string(key))
		default:
			d.common(string(key))
		}
	}
	if d.hasEffort {
		d.q.Reasoning = &d.effort
	}
	if d.err == nil && len(d.q.Messages) == 0 {
		d.fail("prompt", `"prompt" is missing`)
	}
	return d.done(r.Body)
}

func (d *requestDecoder) prompt() {
	d.q.Messages = nil
	switch d.r.Kind() {
	case jsonscan.String:
		text := d.str()
		d.say(text)
	case jsonscan.Array:
		d.r.Array()
		for d.r.Elem() {
			switch d.r.Kind() {
			case jsonscan.String:
				if len(d.q.Messages) > 0 {
					d.fail("prompt", `several prompts in one request cannot be translated to another provider's API: send one a request`)
				}
				text := d.str()
				d.say(text)
			case jsonscan.Number, jsonscan.Array:
				d.fail("prompt", `"prompt" as token ids cannot be translated to another provider's API: send text`)
				d.r.Skip()
			case jsonscan.Object, jsonscan.Bool, jsonscan.Null, jsonscan.None:
				d.refuse("prompt", "a string")
			}
		}
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Number, jsonscan.Bool:
		d.refuse("prompt", "a string")
	}
}

func (d *requestDecoder) say(text string) {
	d.append(llm.Message{Role: llm.User, Content: []llm.Part{{Kind: llm.Text, Text: text}}})
}

// AppendReply appends a text_completion.
func (Completions) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, a.ID)
	dst = append(dst, `,"object":"text_completion","created":`...)
	dst = strconv.AppendInt(dst, a.Created, 10)
	dst = append(dst, `,"model":`...)
	dst = jsonscan.AppendString(dst, a.Model)
	dst = append(dst, `,"choices":[`...)
	for i := range a.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		c := &a.Choices[i]
		var text []byte
		for j := range c.Content {
			if p := &c.Content[j]; p.Kind == llm.Text || p.Kind == llm.Refusal {
				text = append(text, p.Text...)
			} else {
				q.Dropped.Add(notText(p.Kind))
				text = append(text, p.Spoken()...)
			}
		}
		dst = appendTextChoice(dst, i, string(text))
		probs := c.LogProbs
		if !q.LogProbs {
			probs = nil
		}
		dst, _ = appendOldProbs(dst, probs, 0)
		dst = append(dst, `,"finish_reason":`...)
		dst = appendTextFinish(dst, c.Stop)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if a.Usage.Known {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, &a.Usage)
	}
	return append(dst, '}')
}

// notText is the word for a part that no text says.
func notText(k llm.PartKind) string {
	switch k {
	case llm.Reasoning:
		return llm.DropReasoning
	case llm.ToolCall:
		return "tool_calls"
	case llm.Text, llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Refusal, llm.Opaque:
	}
	return unsaid(k)
}

// appendTextChoice appends a choice up to the value of its logprobs.
func appendTextChoice(dst []byte, index int, text string) []byte {
	dst = append(dst, `{"text":`...)
	dst = jsonscan.AppendString(dst, text)
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, `,"logprobs":`...)
}

// appendTextFinish is appendFinish where there are no tools.
func appendTextFinish(dst []byte, s llm.Stop) []byte {
	if s == llm.ToolUse {
		s = llm.EndTurn
	}
	return appendFinish(dst, s, false)
}

// textEncoder writes one stream of text_completion events.
type textEncoder struct {
	q       *llm.Request
	said    wire.Said
	head    []byte
	tail    []byte
	usage   llm.Usage
	choices []textState
}

type textState struct {
	index, offset int // offset in code points, of the next token that has a probability
	text          bool
}

// NewEncoder makes the encoder of one stream that answers q.
func (Completions) NewEncoder(q *llm.Request) wire.Encoder {
	e := &textEncoder{q: q}
	if q.StreamUsage {
		e.tail = append(e.tail, `],"usage":null}`+eventEnd...)
	} else {
		e.tail = append(e.tail, "]}"+eventEnd...)
	}
	e.start(&llm.Event{})
	return e
}

func (e *textEncoder) start(v *llm.Event) {
	e.said = wire.Said{ID: v.ID, Model: v.Model, Created: v.Created, Begun: e.said.Begun}
	h := append(e.head[:0], eventStart+`{"id":`...)
	h = jsonscan.AppendString(h, v.ID)
	h = append(h, `,"object":"text_completion","created":`...)
	h = strconv.AppendInt(h, v.Created, 10)
	h = append(h, `,"model":`...)
	h = jsonscan.AppendString(h, v.Model)
	e.head = append(h, `,"choices":[`...)
}

// Said is what the client was told so far.
func (e *textEncoder) Said() wire.Said { return e.said }

// Append appends the event that says v, if there is one.
func (e *textEncoder) Append(dst []byte, v *llm.Event) []byte {
	switch v.Kind {
	case llm.Start:
		e.start(v)
	case llm.Used:
		e.usage = v.Usage
	case llm.PartStart:
		c := e.choice(v.Choice)
		if c.text = v.Head.Kind == llm.Text || v.Head.Kind == llm.Refusal; !c.text {
			e.q.Dropped.Add(notText(v.Head.Kind))
			if spoken := v.Head.Spoken(); spoken != "" {
				return e.event(dst, c, spoken, nil, llm.Unstopped)
			}
		}
	case llm.Delta:
		if c := e.choice(v.Choice); c.text && len(v.Text) > 0 {
			return e.event(dst, c, string(v.Text), nil, llm.Unstopped)
		}
	case llm.Probs:
		if c := e.choice(v.Choice); e.q.LogProbs {
			return e.event(dst, c, "", v.LogProbs, llm.Unstopped)
		}
	case llm.Finish:
		return e.event(dst, e.choice(v.Choice), "", nil, v.Stop)
	case llm.Sealing, llm.Cited, llm.PartStop, llm.Alive:
	}
	return dst
}

func (e *textEncoder) choice(index int) *textState {
	for i := range e.choices {
		if e.choices[i].index == index {
			return &e.choices[i]
		}
	}
	e.choices = append(e.choices, textState{index: index})
	return &e.choices[len(e.choices)-1]
}

func (e *textEncoder) event(dst []byte, c *textState, text string, probs []byte, stop llm.Stop) []byte {
	e.said.Begun = true
	dst = append(dst, e.head...)
	dst = appendTextChoice(dst, c.index, text)
	dst, c.offset = appendOldProbs(dst, probs, c.offset)
	dst = append(dst, `,"finish_reason":`...)
	dst = appendTextFinish(dst, stop)
	dst = append(dst, '}')
	return append(dst, e.tail...)
}

// AppendEnd appends the usage, if it was asked for and is known, and the end marker.
func (e *textEncoder) AppendEnd(dst []byte) []byte {
	if e.q.StreamUsage && e.usage.Known {
		dst = append(dst, e.head...)
		dst = append(dst, `],"usage":`...)
		dst = appendUsage(dst, &e.usage)
		dst = append(dst, "}"+eventEnd...)
	}
	return append(dst, endMarker...)
}
