package openaichat

import (
	"strconv"
	"unicode/utf8"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// encoder writes one stream of chat.completion.chunk events. Each event of the answer is one chunk at most.
type encoder struct {
	q       *llm.Request
	said    wire.Said
	head    []byte // what every chunk begins with, up to the value of choices
	tail    []byte // what every chunk ends with after its choices
	usage   llm.Usage
	choices []encodedChoice
}

// encodedChoice is the state of one choice.
type encodedChoice struct {
	index    int
	spoke    bool // its role is out
	kind     llm.PartKind
	calls    int // that have begun
	thoughts int // that have begun
	sources  int // that were told
	images   int // that were told
	custom   bool
	silent   bool // the open part is not told
	empty    bool // nothing of the open part came yet
	runes    int  // of content, before the open part
	length   int  // of the open text in code points
	// part is the open one, with what came of it in held, where it can go out only whole: an image, or a call whose input
	// is to be taken out of an object.
	held []byte
	part llm.Part
}

// NewEncoder makes the encoder of one stream that answers q.
func (Chat) NewEncoder(q *llm.Request) wire.Encoder {
	e := &encoder{q: q}
	if q.StreamUsage {
		e.tail = append(e.tail, `],"usage":null}`+eventEnd...)
	} else {
		e.tail = append(e.tail, "]}"+eventEnd...)
	}
	e.start(&llm.Event{})
	return e
}

// Said is what the client was told so far.
func (e *encoder) Said() wire.Said { return e.said }

// Append appends the chunk that says v, if there is one.
func (e *encoder) Append(dst []byte, v *llm.Event) []byte {
	switch v.Kind {
	case llm.Start:
		e.start(v)
		return dst
	case llm.Used:
		e.usage = v.Usage
		return dst
	case llm.Alive:
		return dst
	case llm.PartStart, llm.Delta, llm.Sealing, llm.Cited, llm.Probs, llm.PartStop, llm.Finish:
	}
	c := e.choice(v.Choice)
	switch v.Kind {
	case llm.PartStart:
		return e.partStart(dst, c, v.Head)
	case llm.Delta:
		return e.delta(dst, c, v.Text)
	case llm.Sealing:
		return e.sealing(dst, c, v.Seal)
	case llm.Cited:
		return e.cited(dst, c, v.Citation)
	case llm.Probs:
		return e.probs(dst, c, v.LogProbs)
	case llm.PartStop:
		return e.partStop(dst, c)
	case llm.Finish:
		return e.finish(dst, c, v)
	case llm.Start, llm.Used, llm.Alive:
	}
	return dst
}

// start makes what every chunk begins with.
func (e *encoder) start(v *llm.Event) {
	e.said = wire.Said{ID: v.ID, Model: v.Model, Created: v.Created, Begun: e.said.Begun}
	h := append(e.head[:0], eventStart+`{"id":`...)
	h = jsonscan.AppendString(h, v.ID)
	h = append(h, `,"object":"chat.completion.chunk","created":`...)
	h = strconv.AppendInt(h, v.Created, 10)
	h = append(h, `,"model":`...)
	h = jsonscan.AppendString(h, v.Model)
	h = appendTier(h, v.ServiceTier)
	e.head = append(h, `,"choices":[`...)
}

func (e *encoder) choice(index int) *encodedChoice {
	for i := range e.choices {
		if e.choices[i].index == index {
			return &e.choices[i]
		}
	}
	e.choices = append(e.choices, encodedChoice{index: index})
	return &e.choices[len(e.choices)-1]
}

// open appends a chunk up to the inside of its delta, in which the first one of a choice says the role.
func (e *encoder) open(dst []byte, c *encodedChoice) []byte {
	e.said.Begun = true
	dst = append(dst, e.head...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	dst = append(dst, `,"delta":{`...)
	if !c.spoke {
		c.spoke = true
		dst = append(dst, `"role":"assistant",`...)
	}
	return dst
}

// shut appends the rest of a chunk that says nothing but a delta.
func (e *encoder) shut(dst []byte) []byte {
	dst = append(dst, `},"logprobs":null,"finish_reason":null}`...)
	return append(dst, e.tail...)
}

func (e *encoder) partStart(dst []byte, c *encodedChoice, p *llm.Part) []byte {
	c.runes += c.length
	c.kind, c.silent, c.empty, c.length = p.Kind, false, true, 0
	c.part, c.held = llm.Part{}, c.held[:0]
	switch p.Kind {
	case llm.Text, llm.Refusal:
	case llm.Reasoning:
		c.silent = hidesThoughts(e.q)
		c.thoughts++
	case llm.ToolCall:
		return e.callStart(dst, c, p.Call)
	case llm.Audio:
		return e.audioStart(dst, c, p.Media)
	case llm.Image:
		c.part.Media = &llm.Media{Type: p.Media.Type, URL: p.Media.URL}
	case llm.Document, llm.Video, llm.ToolResult, llm.Opaque:
		c.silent = true
		e.q.Dropped.Add(unsaid(p.Kind))
	}
	return dst
}

func (e *encoder) callStart(dst []byte, c *encodedChoice, call *llm.Call) []byte {
	c.calls++
	if e.q.OldFunctions {
		if c.silent = c.calls > 1; c.silent {
			e.q.Dropped.Add("tool_calls") // there is room for one
			return dst
		}
		dst = e.openCall(dst, c)
		dst = append(dst, `"function_call":{"name":`...)
		dst = jsonscan.AppendString(dst, call.Name)
		dst = append(dst, `,"arguments":""}`...)
		return e.shut(dst)
	}
	c.custom = call.Custom
	if !call.Custom && isCustom(e.q, call.Name) {
		c.part.Call = &llm.Call{ID: call.ID, Name: call.Name} // told when its input is whole
		return dst
	}
	return e.callHead(dst, c, call)
}

// openCall is open for a call's first chunk: if it is the choice's first, it says that there is no text.
func (e *encoder) openCall(dst []byte, c *encodedChoice) []byte {
	first := !c.spoke
	dst = e.open(dst, c)
	if first {
		dst = append(dst, `"content":null,`...)
	}
	return dst
}

// callHead appends the chunk that says which call it is.
func (e *encoder) callHead(dst []byte, c *encodedChoice, call *llm.Call) []byte {
	dst = e.openCall(dst, c)
	dst = e.callIndex(dst, c)
	dst = append(dst, `,"id":`...)
	dst = jsonscan.AppendString(dst, call.ID)
	dst = appendCall(dst, c.custom, call.Name)
	return e.shut(append(dst, `""}}]`...))
}

func (e *encoder) callIndex(dst []byte, c *encodedChoice) []byte {
	dst = append(dst, `"tool_calls":[{"index":`...)
	return strconv.AppendInt(dst, int64(c.calls-1), 10)
}

func (e *encoder) audioStart(dst []byte, c *encodedChoice, m *llm.Media) []byte {
	dst = e.open(dst, c)
	dst = append(dst, `"audio":{"id":`...)
	dst = jsonscan.AppendString(dst, m.FileID)
	if m.Transcript != "" {
		dst = append(dst, `,"transcript":`...)
		dst = jsonscan.AppendString(dst, m.Transcript)
	}
	return e.shut(append(dst, '}'))
}

func (e *encoder) delta(dst []byte, c *encodedChoice, text []byte) []byte {
	if c.silent || len(text) == 0 {
		return dst
	}
	c.empty = false
	switch c.kind {
	case llm.Text:
		c.length += utf8.RuneCount(text)
		dst = append(e.open(dst, c), `"content":`...)
		dst = jsonscan.AppendText(dst, text)
	case llm.Refusal:
		dst = append(e.open(dst, c), `"refusal":`...)
		dst = jsonscan.AppendText(dst, text)
	case llm.Reasoning:
		dst = append(e.open(dst, c), `"reasoning_content":`...)
		dst = jsonscan.AppendText(dst, text)
		if listsThoughts(e.q) {
			dst = append(dst, `,"reasoning_details":[`...)
			dst = appendThought(dst, string(text), nil, c.thoughts-1)
			dst = append(dst, ']')
		}
	case llm.ToolCall:
		return e.arguments(dst, c, text)
	case llm.Audio:
		dst = append(e.open(dst, c), `"audio":{"data":`...)
		dst = jsonscan.AppendText(dst, text)
		dst = append(dst, '}')
	case llm.Image:
		c.held = append(c.held, text...)
		return dst
	case llm.Document, llm.Video, llm.ToolResult, llm.Opaque: // silent
		return dst
	}
	return e.shut(dst)
}

func (e *encoder) arguments(dst []byte, c *encodedChoice, text []byte) []byte {
	switch {
	case c.part.Call != nil:
		c.held = append(c.held, text...)
		return dst
	case e.q.OldFunctions:
		dst = append(e.open(dst, c), `"function_call":{"arguments":`...)
		dst = jsonscan.AppendText(dst, text)
		return e.shut(append(dst, '}'))
	}
	dst = e.callIndex(e.open(dst, c), c)
	if c.custom {
		dst = append(dst, `,"custom":{"input":`...)
	} else {
		dst = append(dst, `,"function":{"arguments":`...)
	}
	dst = jsonscan.AppendText(dst, text)
	return e.shut(append(dst, "}}]"...))
}

func (e *encoder) partStop(dst []byte, c *encodedChoice) []byte {
	if c.silent {
		return dst
	}
	switch c.kind {
	case llm.ToolCall:
		dst = e.heldCall(dst, c)
		if c.empty && !c.custom {
			dst = e.arguments(dst, c, []byte("{}")) // clients parse it
		}
	case llm.Image:
		c.part.Media.Data = string(c.held)
		dst = append(e.open(dst, c), `"images":[`...)
		dst = appendImage(dst, c.part.Media, c.images)
		c.images++
		dst = e.shut(append(dst, ']'))
		c.part.Media, c.held = nil, nil
	case llm.Text, llm.Refusal, llm.Reasoning, llm.Audio, llm.Document, llm.Video, llm.ToolResult, llm.Opaque:
	}
	return dst
}

// heldCall appends a call that was held back, as far as it came: its input if that is what its arguments are.
func (e *encoder) heldCall(dst []byte, c *encodedChoice) []byte {
	call := c.part.Call
	if call == nil {
		return dst
	}
	c.part.Call = nil
	arguments := c.held
	if input, ok := inputOf(string(c.held)); ok {
		c.custom, arguments = true, []byte(input)
	}
	dst = e.callHead(dst, c, call)
	if c.empty = len(arguments) == 0; !c.empty {
		dst = e.arguments(dst, c, arguments)
	}
	return dst
}

// sealing appends a seal: of a thought, of a call, or of text.
func (e *encoder) sealing(dst []byte, c *encodedChoice, s *llm.Seal) []byte {
	if c.silent {
		return dst
	}
	switch c.kind {
	case llm.Reasoning:
		dst = append(e.open(dst, c), `"reasoning_details":[`...)
		dst = appendThought(dst, "", s, c.thoughts-1)
		return e.shut(append(dst, ']'))
	case llm.ToolCall:
		if e.q.OldFunctions {
			e.q.Dropped.Add(llm.DropSignatures)
			return dst
		}
		dst = e.heldCall(dst, c)
		dst = e.callIndex(e.open(dst, c), c)
		if c.custom { // empty, but not absent: some clients look into it
			dst = append(dst, `,"custom":{"input":""}`...)
		} else {
			dst = append(dst, `,"function":{"arguments":""}`...)
		}
		dst = append(dst, `,"extra_content":`...)
		dst = appendExtra(dst, s)
		return e.shut(append(dst, "}]"...))
	case llm.Text, llm.Refusal:
		dst = append(e.open(dst, c), `"extra_content":`...)
		return e.shut(appendExtra(dst, s))
	case llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
		e.q.Dropped.Add(llm.DropSignatures)
	}
	return dst
}

func (e *encoder) cited(dst []byte, c *encodedChoice, cite *llm.Citation) []byte {
	if cite.URL == "" {
		e.q.Dropped.Add(llm.DropCitations)
		return dst
	}
	dst = append(e.open(dst, c), `"annotations":[`...)
	dst = appendCitation(dst, cite, c.runes, c.sources)
	c.sources++
	return e.shut(append(dst, ']'))
}

func (e *encoder) probs(dst []byte, c *encodedChoice, probs []byte) []byte {
	if !e.q.LogProbs || len(probs) == 0 {
		return dst
	}
	dst = append(e.open(dst, c), `"content":""},"logprobs":`...)
	dst = appendProbs(dst, probs, c.kind == llm.Refusal)
	dst = append(dst, `,"finish_reason":null}`...)
	return append(dst, e.tail...)
}

func (e *encoder) finish(dst []byte, c *encodedChoice, v *llm.Event) []byte {
	first := !c.spoke
	dst = e.open(dst, c)
	if first {
		dst = append(dst, `"content":""`...)
	}
	dst = append(dst, `},"logprobs":null,"finish_reason":`...)
	dst = appendFinish(dst, v.Stop, e.q.OldFunctions)
	dst = append(dst, '}')
	return append(dst, e.tail...)
}

// AppendEnd appends the usage, if it was asked for and is known, and the end marker.
func (e *encoder) AppendEnd(dst []byte) []byte {
	if e.q.StreamUsage && e.usage.Known {
		dst = append(dst, e.head...)
		dst = append(dst, `],"usage":`...)
		dst = appendUsage(dst, &e.usage)
		dst = append(dst, "}"+eventEnd...)
	}
	return append(dst, endMarker...)
}
