package responses

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// unnamed is the id of a response whose upstream gave none.
const unnamed = "resp_unnamed"

// encoder writes one stream, or, muted, builds one response object. The dialect repeats all that was said at the end of
// each part, each item and the response, so it is kept, once: out is the response's output as it will be, JSON that
// grows by each event; the repetitions are cut from it.
type encoder struct {
	w writer
	q *llm.Request

	id, model, base, tier string
	created               int64
	begun, finished       bool
	stop                  llm.Stop
	usage                 llm.Usage

	out   []byte // of the array output, without its brackets
	item  int    // where the open item starts in out; its id follows
	index int    // the open item's place in the output
	open  openItem
	id0   []byte // the open item's id, as JSON
	// part, text and content are where the open part and its text start in out, and its place in the item.
	part, text, content int
	inPart              llm.PartKind // 0: none
	name                string       // of the open call

	citations, probs []byte // of the open part, without brackets
	cited            int
	fresh            []byte // log probabilities that no delta has carried yet
	seal             string // of the open thought
	signature        string // of the open item's last part, wrapped
	hidden           bool   // the open part cannot be said
}

// openItem is what the open item is.
type openItem uint8

const (
	noItem openItem = iota
	message
	reasoning
	functionCall
	customCall
	freeCall // a custom call that came as a function call: its input is one of its arguments
	image
)

// Append writes what an event says. Only the first choice can be said.
func (e *encoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Choice != 0 {
		return dst
	}
	e.w.dst = dst
	e.put(ev)
	dst, e.w.dst = e.w.dst, nil
	return dst
}

func (e *encoder) put(ev *llm.Event) {
	if ev.ServiceTier != "" {
		e.tier = ev.ServiceTier
	}
	if !e.begun && ev.Kind != llm.Alive {
		e.begin(ev)
	}
	switch ev.Kind {
	case llm.PartStart:
		e.start(ev.Head)
	case llm.Delta:
		e.delta(ev.Text)
	case llm.Sealing:
		e.sealing(ev.Seal)
	case llm.Cited:
		e.cite(ev.Citation)
	case llm.Probs:
		e.probs = appendElements(e.probs, ev.LogProbs)
		e.fresh = appendElements(e.fresh, ev.LogProbs)
	case llm.PartStop:
		e.closePart()
	case llm.Finish:
		e.stop = ev.Stop
		e.finish()
	case llm.Used:
		e.usage = ev.Usage
	case llm.Start, llm.Alive:
	}
}

// AppendEnd writes the terminal event.
func (e *encoder) AppendEnd(dst []byte) []byte {
	e.w.dst = dst
	if !e.begun {
		e.begin(&llm.Event{})
	}
	e.finish()
	status := e.status()
	if e.w.begin("response." + status) {
		e.w.name("response")
		e.w.dst = e.appendResponse(e.w.dst, status, true)
		e.w.end()
	}
	dst, e.w.dst = e.w.dst, nil
	return dst
}

// Said is what the client was told.
func (e *encoder) Said() wire.Said {
	return wire.Said{ID: e.id, Model: e.model, Created: e.created, Sequence: e.w.sequence, Begun: e.begun}
}

func (e *encoder) begin(ev *llm.Event) {
	e.begun = true
	e.id, e.base = responseID(ev.ID)
	e.created = ev.Created
	if e.model = ev.Model; e.model == "" {
		e.model = e.q.Model
	}
	for _, kind := range [...]string{"response.created", "response.in_progress"} {
		if e.w.begin(kind) {
			e.w.name("response")
			e.w.dst = e.appendResponse(e.w.dst, "in_progress", false)
			e.w.end()
		}
	}
}

// maxBase bounds the part of an item's id that names its response: the API takes ids of 64 bytes.
const maxBase = 52

// responseID makes the id of a response of its upstream's, always the same one, and what the ids of its items begin with
// after their prefix.
func responseID(upstream string) (id, base string) {
	clean := []byte(upstream)
	for i, c := range clean {
		if c != '_' && c != '-' && c-'0' > 9 && (c|0x20)-'a' > 25 {
			clean[i] = '_'
		}
	}
	base = string(clean)
	if len(base) > len("resp_") && base[:len("resp_")] == "resp_" {
		base = base[len("resp_"):]
	}
	if base == "" {
		return unnamed, "unnamed"
	}
	id = "resp_" + base
	if len(base) > maxBase {
		base = base[len(base)-maxBase:]
	}
	return id, base
}

// status is how the response ended.
func (e *encoder) status() string {
	if incompleteReason(e.stop) != "" {
		return "incomplete"
	}
	return "completed"
}

// incompleteReason is why an answer is not complete; empty: it is.
func incompleteReason(s llm.Stop) string {
	switch s {
	case llm.Length, llm.ContextFull:
		return "max_output_tokens"
	case llm.ContentFilter, llm.Refused:
		return "content_filter"
	case llm.Unstopped, llm.EndTurn, llm.ToolUse, llm.StopSequence, llm.Paused, llm.OtherStop:
	}
	return ""
}

func (e *encoder) finish() {
	if e.finished {
		return
	}
	e.finished = true
	status := "completed"
	if e.status() == "incomplete" {
		status = "incomplete"
	}
	e.closeItem(status)
}

// openAs begins an item in out, up to its members' end; id is its id's prefix.
func (e *encoder) openAs(open openItem, prefix, kind string) {
	e.closeItem("completed")
	if len(e.out) > 0 {
		e.out = append(e.out, ',')
	}
	e.item, e.open = len(e.out), open
	e.id0 = append(e.id0[:0], '"')
	e.id0 = append(e.id0, prefix...)
	e.id0 = append(e.id0, e.base...)
	e.id0 = append(e.id0, '_')
	e.id0 = strconv.AppendInt(e.id0, int64(e.index), 10)
	e.id0 = append(e.id0, '"')
	e.out = append(e.out, `{"id":`...)
	e.out = append(e.out, e.id0...)
	e.out = append(e.out, `,"type":"`...)
	e.out = append(e.out, kind...)
	e.out = append(e.out, '"')
}

// added writes the event of an item that begins: what out has of it so far, and rest.
func (e *encoder) added(rest string) {
	if e.w.begin("response.output_item.added") {
		e.w.int("output_index", e.index)
		e.w.raw("item", e.out[e.item:])
		e.w.dst = append(e.w.dst, rest...)
		e.w.end()
	}
}

// closeItem ends the open item.
func (e *encoder) closeItem(status string) {
	if e.open == noItem {
		return
	}
	e.closePart()
	switch e.open {
	case message:
		e.out = append(e.out, `],"status":"`...)
		e.out = append(e.out, status...)
		e.out = append(e.out, `"}`...)
	case reasoning:
		e.out = append(e.out, ']')
		if e.seal != "" {
			e.out = append(e.out, `,"encrypted_content":`...)
			e.out = jsonscan.AppendString(e.out, e.seal)
			e.seal = ""
		}
		e.out = append(e.out, '}')
	case functionCall, customCall, freeCall, image:
		e.out = append(e.out, `,"status":"`...)
		e.out = append(e.out, status...)
		e.out = append(e.out, `"}`...)
	case noItem:
	}
	e.open = noItem
	e.w.item("response.output_item.done", e.index, e.out[e.item:])
	e.index++
	e.sign()
}

// sign writes the signature of the part before, which has no place of its own in this dialect: in an empty thought, which
// the client sends back as it does every thought.
func (e *encoder) sign() {
	if e.signature == "" {
		return
	}
	seal := e.signature
	e.signature = ""
	e.openAs(reasoning, "rs_", "reasoning")
	e.out = append(e.out, `,"summary":[`...)
	e.added("]}")
	e.seal = seal
	e.closeItem("completed")
}

// appendElements appends the elements of a raw array to those of another, both without brackets.
func appendElements(dst, array []byte) []byte {
	if len(array) <= len("[]") || array[0] != '[' {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	from := len(dst)
	return flatten(append(dst, array[1:len(array)-1]...), from)
}
