package llm

import "slices"

// Order puts one stream's events into strict order, as encoders want them: in each choice one part open at a time,
// numbered from 0 without gaps, every part stopped before the next starts and before the finish; a Finish for each
// choice that began. It holds back only what cannot go out yet: the pieces of a tool call that come while another call's
// arguments are not complete. Pass every event of a decoder through Put, and call End when the stream ended properly.
// The zero value is ready. Not safe for concurrent use.
type Order struct {
	choices []ordered
}

// ordered is the state of one choice.
type ordered struct {
	number   int // of the choice
	next     int // number of the next part
	open     bool
	key      int // the open part's, as the decoder calls it
	kind     PartKind
	args     depth // of an open call
	tools    bool
	finished bool
	heads    []known
	held     []Event // of parts that wait for the open call to be complete
	size     int     // of what is held, in bytes
}

// known is a part that has begun.
type known struct {
	key  int
	head Part
}

// Put takes one event and emits what can go out. Events are emitted only during the call.
func (o *Order) Put(e *Event, emit func(*Event)) {
	switch e.Kind {
	case Start, Used, Alive:
		emit(e)
		return
	case PartStart, Delta, Sealing, Cited, Probs, PartStop, Finish:
	}
	c := o.choice(e.Choice)
	if c.finished {
		return // nothing is said after the finish
	}
	switch {
	case e.Kind == Finish:
		c.flush(emit)
		c.finished = true
		emit(e)
	case c.mustWait(e):
		c.hold(e)
	default:
		c.put(e, emit)
	}
}

// End finishes every choice that began and was not finished: R17's explicit end marker without a finish reason.
func (o *Order) End(emit func(*Event)) {
	for i := range o.choices {
		c := &o.choices[i]
		if c.finished {
			continue
		}
		c.flush(emit)
		stop := EndTurn
		if c.tools {
			stop = ToolUse
		}
		c.finished = true
		emit(&Event{Kind: Finish, Choice: c.number, Stop: stop})
	}
}

// Held is about how many bytes are held back.
func (o *Order) Held() int {
	n := 0
	for i := range o.choices {
		n += o.choices[i].size
	}
	return n
}

func (o *Order) choice(n int) *ordered {
	for i := range o.choices {
		if o.choices[i].number == n {
			return &o.choices[i]
		}
	}
	o.choices = append(o.choices, ordered{number: n})
	return &o.choices[len(o.choices)-1]
}

// mustWait says whether e belongs to a part that cannot be opened yet: the open call's arguments are not complete.
func (c *ordered) mustWait(e *Event) bool {
	if !c.open || e.Part == c.key || c.kind != ToolCall || c.args.complete() {
		return false
	}
	return e.Kind != Probs
}

func (c *ordered) hold(e *Event) {
	h := *e
	h.Text, h.LogProbs = slices.Clone(e.Text), slices.Clone(e.LogProbs)
	if e.Head != nil {
		head := *e.Head
		h.Head = &head
	}
	if e.Seal != nil {
		seal := *e.Seal
		h.Seal = &seal
	}
	if e.Citation != nil {
		cite := *e.Citation
		h.Citation = &cite
	}
	c.held = append(c.held, h)
	c.size += weight(&h)
}

// put emits an event of the open part, or opens its part first.
func (c *ordered) put(e *Event, emit func(*Event)) {
	switch e.Kind {
	case PartStart:
		c.start(e, emit)
		return
	case PartStop:
		if c.open && e.Part == c.key {
			c.stop(emit)
			c.release(emit)
		}
		return
	case Delta, Sealing, Cited:
		if !c.open || e.Part != c.key {
			head := c.head(e.Part)
			if head == nil {
				return // a piece of nothing
			}
			if head.Kind == ToolCall {
				return // its call is closed: arguments cannot be taken back
			}
			c.start(&Event{Kind: PartStart, Choice: c.number, Part: e.Part, Head: head}, emit)
		}
	case Probs:
		if !c.open {
			return
		}
	case Start, Finish, Used, Alive: // Put has them
	}
	if e.Kind == Delta && c.kind == ToolCall {
		c.args.scan(e.Text)
	}
	c.emit(e, emit)
	if e.Kind == Delta && c.kind == ToolCall && len(c.held) > 0 && c.args.complete() {
		c.release(emit)
	}
}

func (c *ordered) start(e *Event, emit func(*Event)) {
	was := c.head(e.Part)
	if c.open && e.Part == c.key || was != nil && was.Kind == ToolCall {
		return // said twice; a call that is closed cannot be taken up again
	}
	if c.open {
		c.stop(emit)
	}
	if was == nil {
		head := *e.Head
		head.Text = ""
		c.heads = append(c.heads, known{e.Part, head})
	}
	c.open, c.key, c.kind, c.args = true, e.Part, e.Head.Kind, depth{}
	if c.kind == ToolCall {
		c.tools = true
		if e.Head.Call != nil && e.Head.Call.Custom {
			c.args.free = true
		}
	}
	c.next++
	c.emit(e, emit)
}

// emit emits an event of the open part by that part's number. e is the decoder's own, and given back as it was: a copy
// of each event would be garbage.
func (c *ordered) emit(e *Event, emit func(*Event)) {
	key := e.Part
	e.Part = c.next - 1
	emit(e)
	e.Part = key
}

func (c *ordered) stop(emit func(*Event)) {
	c.open = false
	emit(&Event{Kind: PartStop, Choice: c.number, Part: c.next - 1})
}

// release lets out what waited, as far as it can go: the first waiting part whole, then the next.
func (c *ordered) release(emit func(*Event)) { c.letOut(false, emit) }

// flush ends what is open and lets everything out: nothing more will come. The open part gets what is its own first;
// then it is over, complete or not.
func (c *ordered) flush(emit func(*Event)) {
	c.letOut(true, emit)
	if c.open {
		c.stop(emit)
	}
}

// letOut goes through what waits once for each part, however much upstreams have made it. An event that is out has no
// kind.
func (c *ordered) letOut(all bool, emit func(*Event)) {
	held := c.held
	c.held, c.size = nil, 0 // put lets nothing out that waits: that is done here
	key, own := 0, 0
	for at := 0; at < len(held); {
		e := &held[at]
		if e.Kind == 0 {
			at++
			continue
		}
		if c.open && e.Part != c.key && (all || c.kind == ToolCall && !c.args.complete()) {
			if own < at || key != c.key {
				key, own = c.key, at
			}
			for own < len(held) && (held[own].Kind == 0 || held[own].Part != c.key) {
				own++
			}
			switch {
			case own < len(held):
				e = &held[own]
			case all:
				c.stop(emit)
			default:
				c.keep(held[at:])
				return
			}
		}
		c.put(e, emit)
		e.Kind = 0
	}
}

// keep has what is not out of a list wait on.
func (c *ordered) keep(held []Event) {
	c.held = slices.DeleteFunc(held, func(e Event) bool { return e.Kind == 0 })
	for i := range c.held {
		c.size += weight(&c.held[i])
	}
}

// weight is about how many bytes an event takes.
func weight(e *Event) int { return 256 + len(e.Text) + len(e.LogProbs) }

func (c *ordered) head(key int) *Part {
	for i := range c.heads {
		if c.heads[i].key == key {
			return &c.heads[i].head
		}
	}
	return nil
}

// depth follows JSON text piece by piece, as far as it takes to know whether a value is complete.
type depth struct {
	free                     bool // not JSON: never known to be complete
	begun, inString, escaped bool
	level                    int
}

func (d *depth) scan(p []byte) {
	for _, b := range p {
		switch {
		case d.escaped:
			d.escaped = false
		case d.inString:
			switch b {
			case '\\':
				d.escaped = true
			case '"':
				d.inString = false
			}
		case b == '"':
			d.begun, d.inString = true, true
		case b == '{', b == '[':
			d.begun = true
			d.level++
		case b == '}', b == ']':
			d.level--
		}
	}
}

// complete says that an object was begun and ended.
func (d *depth) complete() bool { return !d.free && d.begun && d.level <= 0 && !d.inString }
