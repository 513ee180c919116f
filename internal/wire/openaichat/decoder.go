package openaichat

import (
	"bytes"
	"errors"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// decoder reads what an upstream says, event by event or as one reply. Everything that any vendor of the dialect says is
// understood from all of them.
type decoder struct {
	emit func(*llm.Event)
	// whole: it reads one reply, whose choices hold messages.
	whole       bool
	started     bool
	id          string
	tier        string
	usage       llm.Usage
	choices     []decodedChoice
	around      envelope // of the event in hand
	toldSources bool     // Perplexity's list of sources was told
	scratch     []byte
	event       llm.Event
}

// Keys of the parts of a choice. Calls, thoughts with an index, and images are counted from their first.
const (
	keyText = iota
	keyRefusal
	keyThought
	keyAudio
	keyOldCall
	keyThoughts = 1 << 8
	keyImages   = 1 << 16
	keyCalls    = 1 << 17
)

// decodedChoice is the state of one choice.
type decodedChoice struct {
	index    int
	begun    uint8 // a bit for each of the first keys
	finished bool
	tools    bool
	inTag    bool // Google: between <thought> and </thought>
	images   int
	audioID  string
	listed   []listedPart
	// thoughtSealed: the thought that came plain has its seal.
	thoughtSealed bool
	calls         []decodedCall
	oldCall       decodedCall
}

var errNotAnObject = errors.New("an event that is not an object")

// NewDecoder makes the decoder of one stream.
func (Chat) NewDecoder() wire.Decoder { return &decoder{} }

// Decode reads one chat.completion.chunk.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	data = bytes.TrimSpace(data)
	if isDone(data) {
		return nil
	}
	d.emit = emit
	err := d.read(data)
	d.emit, d.around = nil, envelope{} // neither is ours
	return err
}

// End has nothing to add: what was held back for a call's name will never have one.
func (d *decoder) End(func(*llm.Event)) {}

// envelope is what stands around the choices.
type envelope struct {
	id, model, tier  []byte
	created          int64
	choices          []byte
	usage            llm.Usage
	sources, results []byte
}

func (d *decoder) read(data []byte) error {
	r := jsonscan.New(data)
	if !r.Object() {
		return errNotAnObject
	}
	v := &d.around
	*v = envelope{}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			v.id, _ = r.Literal()
		case "model":
			v.model, _ = r.Literal()
		case "created":
			v.created, _ = r.Int()
		case "service_tier":
			v.tier, _ = r.Literal()
		case "choices":
			v.choices = r.Raw()
		case "usage":
			if u := canonicalUsage(&r); u.Known {
				v.usage = u
			}
		case "x_groq":
			if u, _ := readGroq(&r); u.Known && !v.usage.Known {
				v.usage = u
			}
		case "citations":
			v.sources = r.Raw()
		case "search_results":
			v.results = r.Raw()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return r.Err()
	}
	some := len(v.choices) > 0 && v.choices[0] == '[' && len(bytes.TrimSpace(v.choices[1:])) > 1
	if !d.started && (some || len(v.id) > 0 || v.usage.Known) {
		d.start(v)
	}
	if len(v.tier) > 0 && string(v.tier) != d.tier {
		d.tier = string(v.tier)
	}
	if some {
		d.readChoices(v.choices)
	}
	if v.usage.Known && v.usage != d.usage {
		d.usage = v.usage
		d.event = llm.Event{Kind: llm.Used, Usage: v.usage}
		d.emit(&d.event)
	}
	return nil
}

func (d *decoder) start(v *envelope) {
	d.started, d.id, d.tier = true, string(v.id), string(v.tier)
	d.event = llm.Event{Kind: llm.Start, ID: d.id, Model: string(v.model), Created: v.created, ServiceTier: d.tier}
	d.emit(&d.event)
}

func (d *decoder) readChoices(raw []byte) {
	r := jsonscan.New(raw)
	if !r.Array() {
		return
	}
	for at := 0; r.Elem(); at++ {
		d.readChoice(&r, at)
	}
}

// rawChoice is one element of choices. Its parts may come in any order; they are emitted in a fixed one.
type rawChoice struct {
	index                    int64
	delta, message, logprobs []byte
	finish, native           []byte
	stop                     []byte // vLLM: the stop sequence that was met
}

func (d *decoder) readChoice(r *jsonscan.Reader, at int) {
	c := rawChoice{index: int64(at)}
	if !d.whole {
		c.index = 0
	}
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			if n, ok := r.Int(); ok {
				c.index = min(max(n, 0), maxChoices-1)
			}
		case "delta":
			c.delta = r.Raw()
		case "message":
			c.message = r.Raw()
		case "finish_reason":
			c.finish, _ = r.Literal()
		case "native_finish_reason":
			c.native, _ = r.Literal()
		case "stop_reason":
			if r.Kind() == jsonscan.String {
				c.stop, _ = r.Literal()
				continue
			}
			r.Skip()
		case "logprobs":
			c.logprobs = r.Raw()
		default:
			r.Skip()
		}
	}
	state := d.choice(int(c.index))
	if !isObject(c.delta) {
		c.delta = c.message
	}
	if isObject(c.delta) {
		d.readDelta(state, c.delta)
	}
	if isObject(c.logprobs) {
		d.probs(state, c.logprobs)
	}
	if !state.finished {
		d.cite(state)
	}
	if state.finished || !d.whole && (len(c.finish) == 0 || failed(c.finish)) {
		return
	}
	state.finished = true
	stop, text := stopOf(&c, state.tools)
	d.event = llm.Event{Kind: llm.Finish, Choice: state.index, Stop: stop, StopText: text, ServiceTier: d.tier}
	d.emit(&d.event)
}

// maxChoices bounds what an upstream can make us keep.
const maxChoices = 128

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

func (d *decoder) choice(index int) *decodedChoice {
	for i := range d.choices {
		if d.choices[i].index == index {
			return &d.choices[i]
		}
	}
	d.choices = append(d.choices, decodedChoice{index: index})
	return &d.choices[len(d.choices)-1]
}

// rawDelta is one delta or message. Values are raw, nil if absent or null.
type rawDelta struct {
	content, refusal, audio, images []byte
	plain, details, tools, oldCall  []byte
	annotations                     []byte
	seal                            *llm.Seal
	isThought                       bool
}

func (d *decoder) readDelta(c *decodedChoice, raw []byte) {
	var m rawDelta
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "content":
			m.content = value(&r)
		case "refusal":
			m.refusal = value(&r)
		case "reasoning_content", "reasoning", "reasoning_text", "thinking":
			if v := value(&r); len(v) > len(`""`) {
				m.plain = v
			}
		case "reasoning_details", "thinking_blocks":
			if v := value(&r); len(v) > len(`[]`) {
				m.details = v
			}
		case "tool_calls":
			m.tools = value(&r)
		case "function_call":
			m.oldCall = value(&r)
		case "audio":
			m.audio = value(&r)
		case "images":
			m.images = value(&r)
		case "annotations":
			m.annotations = value(&r)
		case "extra_content":
			m.seal, m.isThought = readExtra(&r)
		default:
			r.Skip()
		}
	}
	d.thoughts(c, &m)
	if m.isThought {
		d.taggedThought(c, m.content)
	} else {
		d.content(c, m.content)
	}
	d.texts(c, keyRefusal, m.refusal)
	d.audio(c, m.audio)
	d.images(c, m.images)
	d.annotations(c, m.annotations)
	d.tools(c, m.tools)
	d.functionCall(c, m.oldCall)
	if m.seal != nil {
		d.sealText(c, m.seal)
	}
}

// value is the next value raw, nil if it is null.
func value(r *jsonscan.Reader) []byte {
	if r.Null() {
		return nil
	}
	return r.Raw()
}

// begin emits the start of one of the parts of which a choice has one, unless it has begun.
func (d *decoder) begin(c *decodedChoice, key int) {
	if c.begun&(1<<key) != 0 {
		return
	}
	c.begun |= 1 << key
	kind := [...]llm.PartKind{
		keyText: llm.Text, keyRefusal: llm.Refusal, keyThought: llm.Reasoning, keyAudio: llm.Audio, keyOldCall: llm.ToolCall,
	}[key]
	d.head(c, key, &llm.Part{Kind: kind})
}

func (d *decoder) head(c *decodedChoice, key int, p *llm.Part) {
	d.event = llm.Event{Kind: llm.PartStart, Choice: c.index, Part: key, Head: p}
	d.emit(&d.event)
}

// delta emits more of a part that has begun.
func (d *decoder) delta(c *decodedChoice, key int, text []byte) {
	if len(text) == 0 {
		return
	}
	d.event = llm.Event{Kind: llm.Delta, Choice: c.index, Part: key, Text: text}
	d.emit(&d.event)
}

func (d *decoder) sealing(c *decodedChoice, key int, s *llm.Seal) {
	d.event = llm.Event{Kind: llm.Sealing, Choice: c.index, Part: key, Seal: s}
	d.emit(&d.event)
}

// unquoted is the text of a raw string, which holds until the next call; nil if it is none.
func (d *decoder) unquoted(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	d.scratch = jsonscan.AppendUnescaped(d.scratch[:0], raw)
	return d.scratch
}

// say emits text of one of the parts of which a choice has one.
func (d *decoder) say(c *decodedChoice, key int, text []byte) {
	if len(text) == 0 {
		return
	}
	d.begin(c, key)
	d.delta(c, key, text)
}

// texts says a value that is text, or parts with text.
func (d *decoder) texts(c *decodedChoice, key int, raw []byte) {
	if len(raw) == 0 {
		return
	}
	if raw[0] == '"' {
		d.say(c, key, d.unquoted(raw))
		return
	}
	r := jsonscan.New(raw)
	d.scratch = appendTexts(d.scratch[:0], &r)
	d.say(c, key, d.scratch)
}

// content says a content, which is text or typed parts.
func (d *decoder) content(c *decodedChoice, raw []byte) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		text := d.unquoted(raw)
		if c.inTag {
			text = bytes.TrimPrefix(text, []byte("</thought>"))
			c.inTag = c.inTag && len(text) == 0 && len(raw) == 2
		}
		d.say(c, keyText, text)
	case raw[0] == '[':
		r := jsonscan.New(raw)
		r.Array()
		for r.Elem() {
			d.contentPart(c, &r)
		}
	}
}

// contentPart says one part of a content: text, or Mistral's thinking.
func (d *decoder) contentPart(c *decodedChoice, r *jsonscan.Reader) {
	if r.Kind() == jsonscan.String {
		d.texts(c, keyText, r.Raw())
		return
	}
	var kind, text, image []byte
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "text", "thinking", "refusal":
			text = value(r)
		case "image_url":
			image = value(r)
		default: // reference_ids and what else there may be
			r.Skip()
		}
	}
	switch string(kind) {
	case "text", "output_text":
		d.texts(c, keyText, text)
	case "thinking", "reasoning":
		d.texts(c, keyThought, text)
	case "refusal":
		d.texts(c, keyRefusal, text)
	case "image_url":
		d.image(c, image)
	}
}

// probs emits log probabilities: those of text, or of a refusal.
func (d *decoder) probs(c *decodedChoice, raw []byte) {
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if k := string(key); k != "content" && k != "refusal" {
			r.Skip()
			continue
		}
		if list := r.Raw(); len(list) > len("[]") && list[0] == '[' {
			d.event = llm.Event{Kind: llm.Probs, Choice: c.index, LogProbs: list}
			d.emit(&d.event)
		}
	}
}

// sealText emits the seal of what was said, where it came beside it.
func (d *decoder) sealText(c *decodedChoice, s *llm.Seal) {
	if n := len(c.calls); n > 0 {
		if call := &c.calls[n-1]; call.started {
			d.sealing(c, call.key, s)
		}
		return
	}
	d.begin(c, keyText)
	d.sealing(c, keyText, s)
}
