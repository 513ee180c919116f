package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// decodedCall is one tool call as far as it came.
type decodedCall struct {
	key     int
	index   int64 // the upstream's, -1 if it gives none
	id      string
	name    string
	custom  bool
	started bool
	whole   bool   // its arguments came as one object: there is no more
	pending []byte // arguments that came before the name
}

// maxCalls bounds what an upstream can make us keep.
const maxCalls = 1024

// rawCall is one piece of a call.
type rawCall struct {
	index     int64 // -1: unsaid
	id, name  string
	custom    bool
	hasBody   bool
	arguments []byte // raw: a string, or what some vendors say in place of one
	seal      *llm.Seal
}

// tools says the pieces of calls in one delta.
func (d *decoder) tools(c *decodedChoice, raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	r := jsonscan.Again(raw)
	r.Array()
	first := len(c.calls) // calls from here on began in this delta
	for r.Elem() {
		if p, ok := readCallPiece(&r); ok {
			d.piece(c, &p, first)
		}
	}
}

func readCallPiece(r *jsonscan.Reader) (p rawCall, ok bool) {
	p.index = -1
	if !r.Object() {
		return p, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			if n, ok := r.Int(); ok {
				p.index = max(n, 0)
			}
		case "id":
			p.id, _ = r.Text()
		case "type":
			kind, _ := r.Literal()
			p.custom = p.custom || string(kind) == "custom"
		case "function":
			p.readBody(r)
		case "custom":
			p.custom = p.readBody(r) || p.custom
		case "extra_content":
			p.seal, _ = readExtra(r)
		default:
			r.Skip()
		}
	}
	return p, true
}

func (p *rawCall) readBody(r *jsonscan.Reader) bool {
	if !r.Object() {
		return false
	}
	p.hasBody = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "name":
			p.name, _ = r.Text()
		case "arguments", "input":
			p.arguments = value(r)
		default:
			r.Skip()
		}
	}
	return true
}

// piece adds a piece to the call that it belongs to, which may be a new one.
func (d *decoder) piece(c *decodedChoice, p *rawCall, first int) {
	call := c.find(p, first)
	if call == nil {
		if len(c.calls) == maxCalls {
			d.tooMany = true
			return
		}
		c.calls = append(c.calls, decodedCall{key: keyCalls + len(c.calls), index: p.index})
		call = &c.calls[len(c.calls)-1]
	}
	c.tools = true
	d.extend(c, call, p)
}

// find is the call that a piece goes on with, nil if it begins one. Pieces belong together by index; where a vendor
// gives none, by id; a piece with neither goes on with the last call. But another id begins a call though the index was
// there before (some vendors number every call 0), and so does a name in the delta in which the last one began.
func (c *decodedChoice) find(p *rawCall, first int) *decodedCall {
	last := len(c.calls) - 1
	for i := last; i >= 0; i-- {
		call := &c.calls[i]
		switch {
		case p.index >= 0 && call.index != p.index:
			continue
		case p.index < 0 && p.id == "" && i < last:
			continue
		case p.id != "" && call.id != "" && p.id != call.id:
			if p.index < 0 {
				continue
			}
			return nil
		case p.id == "" && p.name != "" && call.name != "" &&
			(p.name != call.name || i >= first || call.whole):
			return nil
		case p.index < 0 && p.id != "" && call.id == "":
			continue // an id that nobody has yet
		}
		return call
	}
	return nil
}

func (d *decoder) extend(c *decodedChoice, call *decodedCall, p *rawCall) {
	if call.id == "" && !call.started {
		call.id = p.id
	}
	if call.name == "" {
		call.name = p.name
	}
	call.custom = call.custom || p.custom && !call.started
	arguments := p.arguments
	if len(arguments) > 0 && arguments[0] == '"' {
		d.text, arguments = arguments, d.unquoted(arguments)
	} else if len(arguments) > 0 {
		call.whole = true
	}
	switch {
	case !call.started && call.name == "":
		call.pending = append(call.pending, arguments...)
		return
	case !call.started:
		d.startCall(c, call)
	}
	d.delta(c, call.key, arguments)
	if p.seal != nil {
		d.sealing(c, call.key, p.seal)
	}
}

func (d *decoder) startCall(c *decodedChoice, call *decodedCall) {
	call.started = true
	if call.id == "" {
		call.id = madeCallID(d.id, c.index, call.key)
	}
	d.head(c, call.key, &llm.Part{
		Kind: llm.ToolCall,
		Call: &llm.Call{ID: call.id, Name: call.name, Custom: call.custom},
	})
	if len(call.pending) > 0 {
		// The arguments of this piece may stand in the scratch buffer, these do not.
		d.delta(c, call.key, call.pending)
		call.pending = nil
	}
}

// functionCall says a call in the form that it had before there were tools.
func (d *decoder) functionCall(c *decodedChoice, raw []byte) {
	if !isObject(raw) {
		return
	}
	r := jsonscan.Again(raw)
	p := rawCall{index: -1}
	p.readBody(&r)
	c.tools = true
	c.oldCall.key = keyOldCall
	d.extend(c, &c.oldCall, &p)
}

// madeCallID is an id for a call that came without one. It differs from answer to answer, because a history that has the
// same id twice is refused by some; and it is the same whenever the same answer is read.
func madeCallID(reply string, choice, key int) string {
	return "call_" + encodeHash(reply+"/"+strconv.Itoa(choice)+"/"+strconv.Itoa(key), 24)
}
