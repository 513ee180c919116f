package anthropic

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// encoder writes one stream. Blocks are opened only when there is something to say in them, so that none is empty;
// message_delta waits for the end, so that usage that comes late is in it.
type encoder struct {
	q         *llm.Request
	id, model string
	tier      string
	usage     llm.Usage
	began     bool

	next    int // number of the next block
	open    bool
	head    llm.PartKind // of the part that is open, whether its block is or not
	custom  bool         // the part is a call whose input is text
	sealed  string       // the seal of a call, which goes out behind it
	kept    string       // the seal of a thought that nobody asked for, which goes out with the call that needs it
	stop    llm.Stop
	text    string // of the stop
	calls   bool
	refuses bool
}

// NewEncoder makes the encoder of one stream that answers q.
func (Messages) NewEncoder(q *llm.Request) wire.Encoder { return &encoder{q: q} }

// Said is what the client was told so far.
func (e *encoder) Said() wire.Said {
	return wire.Said{ID: e.id, Model: e.model, Begun: e.began}
}

// Append appends what an event says; see [wire.Encoder].
func (e *encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice > 0 {
		e.q.Dropped.Add("n")
		return dst
	}
	switch ev.Kind {
	case llm.Start:
		if e.began {
			return dst
		}
		e.id, e.model, e.tier = messageID(ev.ID), ev.Model, ev.ServiceTier
		// What the prompt took is said in message_start, where it is known that early: it waits for the first block.
	case llm.Used:
		e.usage = ev.Usage
	case llm.PartStart:
		return e.partStart(dst, ev.Head)
	case llm.Delta:
		return e.delta(dst, ev.Text)
	case llm.Sealing:
		return e.seal(dst, ev.Seal)
	case llm.Cited:
		return e.cite(dst, ev.Citation)
	case llm.PartStop:
		return e.partStop(dst)
	case llm.Finish:
		e.stop, e.text = ev.Stop, ev.StopText
		if ev.ServiceTier != "" {
			e.tier = ev.ServiceTier
		}
		return e.begin(dst)
	case llm.Alive:
		if e.began {
			return append(dst, "event: ping\ndata: {\"type\":\"ping\"}"+eventEnd...)
		}
	case llm.Probs: // nobody can have asked for them in this dialect
	}
	return dst
}

// AppendEnd appends how the message ended and the end marker.
func (e *encoder) AppendEnd(dst []byte) []byte {
	dst = e.begin(dst)
	reason := reasonOf(e.stop, e.calls, e.refuses)
	dst = appendMessageDelta(dst, reason, e.text, e.stop == llm.StopSequence && e.text != "", &e.usage)
	return append(dst, stopEvent...)
}

// begin appends message_start, once.
func (e *encoder) begin(dst []byte) []byte {
	if e.began {
		return dst
	}
	e.began = true
	if e.id == "" {
		e.id = messageID("")
	}
	dst = appendNamed(dst, "message_start", `"message":{"id":`)
	dst = jsonscan.AppendString(dst, e.id)
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = jsonscan.AppendString(dst, e.model)
	dst = append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"usage":`...)
	dst = appendUsage(dst, &e.usage, e.tier)
	return append(dst, "}}"+eventEnd...)
}

func (e *encoder) partStart(dst []byte, head *llm.Part) []byte {
	e.head = head.Kind
	switch head.Kind {
	case llm.ToolCall:
		return e.startCall(dst, head.Call)
	case llm.Opaque:
		return e.opaque(dst, head)
	case llm.Refusal:
		e.refuses = true
	case llm.Audio: // what was spoken can be read
		dropReplyPart(head, e.q)
		if text := head.Spoken(); text != "" {
			e.head = llm.Text
			dst = e.delta(dst, []byte(text))
			e.head = llm.Audio
		}
	case llm.Image, llm.Document, llm.Video, llm.ToolResult:
		dropReplyPart(head, e.q)
	case llm.Text, llm.Reasoning: // opened by what they say
	}
	return dst
}

// startCall opens a tool_use block. It is apart from partStart, whose frame lies on the stack of streams that call nothing.
func (e *encoder) startCall(dst []byte, call *llm.Call) []byte {
	if e.kept != "" {
		dst = e.redacted(dst, e.kept)
		e.kept = ""
	}
	e.calls = true
	e.custom = call.Custom
	dst = e.startBlock(dst)
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = jsonscan.AppendString(dst, legalID(call.ID))
	dst = append(dst, `,"name":`...)
	dst = jsonscan.AppendString(dst, call.Name)
	dst = append(dst, `,"input":{},"caller":{"type":"direct"}}}`+eventEnd...)
	if e.custom {
		dst = e.startDelta(dst)
		dst = append(dst, `{"type":"input_json_delta","partial_json":"{\"`+customInput+`\":\""}}`+eventEnd...)
	}
	return dst
}

// opaque opens a block of Anthropic's own that goes back as it came.
func (e *encoder) opaque(dst []byte, head *llm.Part) []byte {
	if head.Opaque.Vendor != llm.Anthropic {
		dropReplyPart(head, e.q)
		return dst
	}
	dst = e.startBlock(dst)
	dst = append(dst, head.Opaque.Raw...)
	return append(dst, "}"+eventEnd...)
}

// startBlock appends the start of a content_block_start.
func (e *encoder) startBlock(dst []byte) []byte {
	dst = e.begin(dst)
	e.open = true
	dst = appendNamed(dst, "content_block_start", `"index":`)
	dst = strconv.AppendInt(dst, int64(e.next), 10)
	return append(dst, `,"content_block":`...)
}

// startDelta appends the start of a content_block_delta of the open block.
func (e *encoder) startDelta(dst []byte) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(e.next), 10)
	return append(dst, `,"delta":`...)
}

func (e *encoder) stopBlock(dst []byte) []byte {
	if !e.open {
		return dst
	}
	e.open = false
	dst = append(dst, blockStopped...)
	dst = strconv.AppendInt(dst, int64(e.next), 10)
	e.next++
	return append(dst, "}"+eventEnd...)
}

func (e *encoder) delta(dst, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	switch e.head {
	case llm.Text, llm.Refusal:
		dst = e.openText(dst)
		dst = e.startDelta(dst)
		dst = append(dst, `{"type":"text_delta","text":`...)
	case llm.Reasoning:
		if unasked(e.q) {
			e.q.Dropped.Add(llm.DropReasoning)
			return dst
		}
		dst = e.openThought(dst)
		dst = e.startDelta(dst)
		dst = append(dst, `{"type":"thinking_delta","thinking":`...)
	case llm.ToolCall:
		dst = e.startDelta(dst)
		dst = append(dst, `{"type":"input_json_delta","partial_json":`...)
		if e.custom { // a piece of a string inside of the JSON that is being written
			quoted := jsonscan.AppendText(nil, text)
			text = quoted[1 : len(quoted)-1]
		}
	case llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
		return dst
	}
	dst = jsonscan.AppendText(dst, text)
	return append(dst, "}}"+eventEnd...)
}

func (e *encoder) openText(dst []byte) []byte {
	if e.open {
		return dst
	}
	dst = e.startBlock(dst)
	return append(dst, `{"type":"text","text":"","citations":null}}`+eventEnd...)
}

func (e *encoder) openThought(dst []byte) []byte {
	if e.open {
		return dst
	}
	dst = e.startBlock(dst)
	return append(dst, `{"type":"thinking","thinking":"","signature":""}}`+eventEnd...)
}

// seal says a seal: of a thought in the field for it, of a call in a block behind it, which comes back with the next
// turn (blockIn.appendPart).
func (e *encoder) seal(dst []byte, s *llm.Seal) []byte {
	switch {
	case e.head == llm.ToolCall:
		e.sealed = llm.Wrap(s)
		return dst
	case e.head != llm.Reasoning:
		e.q.Dropped.Add(llm.DropSignatures)
		return dst
	case unasked(e.q):
		e.kept = keptSeal(s)
		return dst
	case s.Kind == llm.Redacted || s.Kind == llm.Encrypted && !e.open:
		dst = e.stopBlock(dst)
		return e.redacted(dst, sealText(s, llm.Redacted))
	}
	dst = e.openThought(dst)
	dst = e.startDelta(dst)
	dst = append(dst, `{"type":"signature_delta","signature":`...)
	dst = jsonscan.AppendString(dst, sealText(s, llm.Signed))
	return append(dst, "}}"+eventEnd...)
}

// redacted appends a whole redacted_thinking block.
func (e *encoder) redacted(dst []byte, data string) []byte {
	dst = e.startBlock(dst)
	dst = appendRedacted(dst, data)
	dst = append(dst, "}"+eventEnd...)
	return e.stopBlock(dst)
}

func (e *encoder) cite(dst []byte, c *llm.Citation) []byte {
	if c.URL == "" || e.head != llm.Text {
		e.q.Dropped.Add(llm.DropCitations)
		return dst
	}
	dst = e.openText(dst)
	dst = e.startDelta(dst)
	dst = append(dst, `{"type":"citations_delta","citation":`...)
	dst = appendCitation(dst, c)
	return append(dst, "}}"+eventEnd...)
}

func (e *encoder) partStop(dst []byte) []byte {
	if e.custom && e.open {
		dst = e.startDelta(dst)
		dst = append(dst, `{"type":"input_json_delta","partial_json":"\"}"}}`+eventEnd...)
	}
	e.custom = false
	dst = e.stopBlock(dst)
	if e.sealed != "" {
		dst = e.redacted(dst, e.sealed)
		e.sealed = ""
	}
	return dst
}
