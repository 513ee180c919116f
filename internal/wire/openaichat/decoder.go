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
	tooMany     bool // calls, of which some are left out

	// pattern is what stood around the text of the last event, if it was nothing but more of one part; event then says of
	// which, and the next one of the same pattern says more of it.
	pattern wire.Pattern
	event   llm.Event // the last that was emitted: one for each would be garbage
	told    int       // events that the data in hand said
	text    []byte    // raw, the last that was told of it
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

var (
	errNotAnObject  = errors.New("an event that is not an object")
	errTooManyCalls = errors.New("an answer that calls more than 1,024 tools")
)

// NewDecoder makes the decoder of one stream.
func (Chat) NewDecoder() wire.Decoder { return &decoder{} }

// Decode reads one chat.completion.chunk.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return nil
	}
	if sameButText(data, &d.pattern) {
		d.event.Text = jsonscan.Unescaped(&d.scratch, data[len(d.pattern.Before):len(data)-len(d.pattern.After)])
		emit(&d.event)
		return nil
	}
	d.emit, d.told, d.text = emit, 0, nil
	err := d.read(data)
	d.remember(data)
	d.emit, d.around, d.text = nil, envelope{}, nil // none is ours
	return err
}

// remember keeps what stands around the text of an event that said nothing but that text of a part which had begun.
func (d *decoder) remember(data []byte) {
	p := &d.pattern
	p.Before, p.After = p.Before[:0], p.After[:0]
	if d.told != 1 || d.event.Kind != llm.Delta || len(d.text) == 0 {
		return
	}
	if at := bytes.Index(data, d.text); at == bytes.LastIndex(data, d.text) { // else who knows which it was
		p.Before = append(p.Before, data[:at+1]...)
		p.After = append(p.After, data[at+len(d.text)-1:]...)
	}
}

// next is the next event to be put, empty but for this. It is filled in its place: an Event passed by value lies on the
// stack several times over, below everything that encoders do with it.
func (d *decoder) next(kind llm.EventKind, choice, part int) *llm.Event {
	d.event = llm.Event{}
	d.event.Kind, d.event.Choice, d.event.Part = kind, choice, part
	return &d.event
}

func (d *decoder) put() {
	d.told++
	d.emit(&d.event)
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
		d.next(llm.Used, 0, 0).Usage = v.usage
		d.put()
	}
	if d.tooMany {
		return errTooManyCalls
	}
	return nil
}

func (d *decoder) start(v *envelope) {
	d.started, d.id, d.tier = true, string(v.id), string(v.tier)
	e := d.next(llm.Start, 0, 0)
	e.ID, e.Model, e.Created, e.ServiceTier = d.id, string(v.model), v.created, d.tier
	d.put()
}

func (d *decoder) readChoices(raw []byte) {
	r := jsonscan.Again(raw)
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
	e := d.next(llm.Finish, state.index, 0)
	e.Stop, e.StopText = stopOf(&c, state.tools)
	e.ServiceTier = d.tier
	d.put()
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
