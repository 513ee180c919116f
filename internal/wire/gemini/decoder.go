package gemini

import (
	"bytes"
	"time"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// NewDecoder makes the decoder of one stream.
func (Generate) NewDecoder() wire.Decoder { return &decoder{} }

// DecodeReply reads a whole reply, or the JSON array of a stream's replies.
func (Generate) DecodeReply(body []byte) (*llm.Reply, error) {
	var (
		order llm.Order
		fold  llm.Fold
		side  aside
	)
	d := decoder{aside: &side}
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	events := [][]byte{body}
	if isArray(body) {
		if err := jsonscan.Valid(body); err != nil {
			return nil, wire.BrokenAnswer(err)
		}
		events = elements(body)
	}
	for _, e := range events {
		if err := d.Decode(e, put); err != nil {
			return nil, err
		}
	}
	d.End(put)
	order.End(fold.Put)
	a := fold.Reply()
	side.put(a)
	return a, nil
}

// aside is what a whole reply says of parts that came before: a stream must say it of what is still open.
type aside struct {
	cites []sideCite
	probs [][]byte // by choice
}

type sideCite struct {
	choice, part int
	citation     llm.Citation
}

func (s *aside) put(a *llm.Reply) {
	for _, c := range s.cites {
		if c.choice < len(a.Choices) && c.part < len(a.Choices[c.choice].Content) {
			p := &a.Choices[c.choice].Content[c.part]
			p.Citations = append(p.Citations, c.citation)
		}
	}
	for i, p := range s.probs {
		if i < len(a.Choices) && len(p) > 0 {
			a.Choices[i].LogProbs = p
		}
	}
}

// addProbs adds the tokens of one event.
func (s *aside) addProbs(choice int, raw []byte) {
	for len(s.probs) <= choice {
		s.probs = append(s.probs, nil)
	}
	if p := s.probs[choice]; len(p) > 0 {
		s.probs[choice] = append(append(p[:len(p)-1], ','), raw[1:]...)
		return
	}
	s.probs[choice] = bytes.Clone(raw)
}

// decoder reads one stream. Finish reasons are held back to the end: older models repeat theirs in every event, and
// what follows the first must not be lost.
type decoder struct {
	began      bool
	seed       string
	calls      int
	candidates []*candidateState
	tier       string
	event      llm.Event // the one that is emitted, used again
	scratch    []byte
	aside      *aside // of a whole reply; nil in a stream
}

// next is the next event to be emitted, empty but for this. It is filled in its place: an Event that is made elsewhere and copied
// lies on the stack below everything that encoders do with it.
func (d *decoder) next(kind llm.EventKind, choice, part int) *llm.Event {
	d.event = llm.Event{}
	d.event.Kind, d.event.Choice, d.event.Part = kind, choice, part
	return &d.event
}

// candidateState is what must be known of a candidate between two events.
type candidateState struct {
	number   int
	next     int          // the next part's number
	kind     llm.PartKind // the open part's; 0: none is open
	sealed   bool         // it has its signature
	text     int          // the last text part's number, -1: there was none
	called   bool
	reason   string
	sources  []llm.Citation // groundingChunks so far
	places   offsets        // of all text so far
	textFrom int            // where the last text part starts in it, in code points
	texts    []textPlace    // of a whole reply
	seen     int            // parts of a whole reply so far
	cited    bool
}

// textPlace is where a part of a whole reply stands: as it came, as it is numbered here, and in all the text.
type textPlace struct{ index, part, from, size int }

// head is what an event says beside its candidates.
type head struct {
	id, model, tier []byte
	created         int64
	usage           llm.Usage
	candidates      []byte
}

// Decode reads one event.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return nil
	}
	h, err := readHead(data)
	if err != nil {
		return err
	}
	if !d.began {
		d.began = true
		d.seed = seedOf(string(h.id), data)
		d.tier = tierOf(h.tier)
		e := d.next(llm.Start, 0, 0)
		e.ID, e.Model, e.Created, e.ServiceTier = string(h.id), string(h.model), h.created, d.tier
		emit(e)
	}
	if len(h.tier) > 0 && d.tier == "" {
		d.tier = tierOf(h.tier)
	}
	r := jsonscan.New(h.candidates)
	if len(h.candidates) > 0 && r.Array() {
		for r.Elem() {
			d.candidate(&r, emit)
		}
	}
	if h.usage.Known {
		e := d.next(llm.Used, 0, 0)
		e.Usage = h.usage
		emit(e)
	}
	return nil
}

func readHead(data []byte) (h head, err error) {
	r := jsonscan.New(data)
	if !r.Object() {
		return h, wire.Invalid("the upstream's event is no JSON object")
	}
	var tier []byte
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "candidates":
			h.candidates = r.Raw()
		case "usageMetadata":
			h.usage, tier = readUsage(&r)
			if tier != nil {
				h.tier = tier
			}
		case "modelVersion":
			h.model, _ = r.Literal()
		case "responseId":
			h.id, _ = r.Literal()
		case "createTime": // Vertex
			text, _ := r.Text()
			if t, err := time.Parse(time.RFC3339, text); err == nil {
				h.created = t.Unix()
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return h, wire.BrokenAnswer(r.Err())
	}
	return h, nil
}

// End finishes the candidates that have their reason.
func (d *decoder) End(emit func(*llm.Event)) {
	for _, c := range d.candidates {
		if c.reason == "" {
			continue
		}
		e := d.next(llm.Finish, c.number, 0)
		e.Stop, e.StopText = stopOf(c.reason, c.called)
		e.ServiceTier = d.tier
		emit(e)
	}
}

func (d *decoder) state(number int) *candidateState {
	for _, c := range d.candidates {
		if c.number == number {
			return c
		}
	}
	c := &candidateState{number: number, text: -1}
	d.candidates = append(d.candidates, c)
	return c
}

// maxCandidates is how many candidates are told apart.
const maxCandidates = 64

// candidate reads one element of candidates, which r stands before.
func (d *decoder) candidate(r *jsonscan.Reader, emit func(*llm.Event)) {
	look := *r // the index may come after the content
	var index int64
	var content, grounding, citations, probs []byte
	var reason []byte
	if !look.Object() {
		r.Skip()
		return
	}
	for key, ok := look.Key(); ok; key, ok = look.Key() {
		switch string(key) {
		case "index":
			index, _ = look.Int()
		case "content":
			content = look.Raw()
		case "finishReason":
			reason, _ = look.Literal()
		case "groundingMetadata":
			grounding = look.Raw()
		case "citationMetadata":
			citations = look.Raw()
		case "logprobsResult":
			probs = look.Raw()
		default:
			look.Skip()
		}
	}
	*r = look
	c := d.state(int(min(max(index, 0), maxCandidates-1)))
	if len(content) > 0 {
		d.content(c, content, emit)
	}
	if len(reason) > 0 && string(reason) != "FINISH_REASON_UNSPECIFIED" {
		c.reason = finishWord(reason)
	}
	if len(probs) > 0 {
		d.scratch = appendChatProbs(d.scratch[:0], probs)
		switch {
		case len(d.scratch) == 0:
		case d.aside != nil:
			d.aside.addProbs(c.number, d.scratch)
		default:
			e := d.next(llm.Probs, c.number, c.next-1)
			e.LogProbs = d.scratch
			emit(e)
		}
	}
	if len(grounding) > 0 {
		d.grounding(c, grounding, emit)
	}
	if len(citations) > 0 {
		d.citations(c, citations, emit)
	}
}

func (d *decoder) content(c *candidateState, raw []byte, emit func(*llm.Event)) {
	r := jsonscan.New(raw)
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "parts" {
			r.Skip()
			continue
		}
		if !r.Array() {
			continue
		}
		for r.Elem() {
			p := readPart(raw, &r)
			from := c.places.size
			d.part(c, &p, emit)
			if d.aside != nil {
				if c.places.size > from {
					c.texts = append(c.texts, textPlace{c.seen, c.text, from, c.places.size - from})
				}
				c.seen++
			}
		}
	}
}

func (d *decoder) part(c *candidateState, p *part, emit func(*llm.Event)) {
	switch {
	case p.call != nil:
		d.call(c, p, emit)
	case p.opaque != "":
		d.start(c, &llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Google, Type: p.opaque, Raw: bytes.Clone(p.raw)}}, emit)
		d.stop(c, emit)
	case p.inline != nil, p.file != nil:
		d.media(c, p, emit)
	case len(p.text) > 0 || len(p.signature) > 0:
		d.text(c, p, emit)
	}
}

// text goes on with the open part of its kind, or starts one: signed and other text must not be joined. A signature
// without text belongs to what is open, else it is the seal of thoughts that are not shown.
func (d *decoder) text(c *candidateState, p *part, emit func(*llm.Event)) {
	kind := llm.Text
	switch {
	case p.thought:
		kind = llm.Reasoning
	case len(p.text) == 0 && (c.kind != llm.Text || c.sealed):
		kind = llm.Reasoning
	}
	if c.kind != kind || c.sealed {
		d.start(c, &llm.Part{Kind: kind}, emit)
	}
	if len(p.text) > 0 {
		text := jsonscan.Unescaped(&d.scratch, p.text)
		if kind == llm.Text {
			c.places.add(text)
		}
		e := d.next(llm.Delta, c.number, c.next-1)
		e.Text = text
		emit(e)
	}
	d.seal(c, p, emit)
}

func (d *decoder) seal(c *candidateState, p *part, emit func(*llm.Event)) {
	s := sealOf(p.signature)
	if s == nil {
		return
	}
	c.sealed = true
	e := d.next(llm.Sealing, c.number, c.next-1)
	e.Seal = s
	emit(e)
}

func (d *decoder) call(c *candidateState, p *part, emit func(*llm.Event)) {
	f := readCall(p.call)
	if f.id == "" {
		f.id = madeID(d.seed, d.calls)
	}
	d.calls++
	c.called = true
	d.start(c, &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: f.id, Name: f.name}}, emit)
	if f.args == nil {
		f.args = []byte("{}")
	}
	e := d.next(llm.Delta, c.number, c.next-1)
	e.Text = f.args
	emit(e)
	d.seal(c, p, emit)
	d.stop(c, emit)
}

func (d *decoder) media(c *candidateState, p *part, emit func(*llm.Event)) {
	raw := p.inline
	if raw == nil {
		raw = p.file
	}
	m := readMedia(raw)
	kind, data := kindOf(m), m.Data
	m.Data = ""
	if p.thought { // drafts of images that are thought about: no answer
		return
	}
	d.start(c, &llm.Part{Kind: kind, Media: m}, emit)
	if data != "" {
		e := d.next(llm.Delta, c.number, c.next-1)
		e.Text = []byte(data)
		emit(e)
	}
	d.seal(c, p, emit)
	d.stop(c, emit)
}

// start opens a part, after it has closed the one before.
func (d *decoder) start(c *candidateState, p *llm.Part, emit func(*llm.Event)) {
	d.stop(c, emit)
	c.kind, c.sealed = p.Kind, false
	if p.Kind == llm.Text {
		c.text = c.next
		c.textFrom, _ = c.places.points(c.places.size)
	}
	e := d.next(llm.PartStart, c.number, c.next)
	e.Head = p
	c.next++
	emit(e)
}

func (d *decoder) stop(c *candidateState, emit func(*llm.Event)) {
	if c.kind == 0 {
		return
	}
	c.kind = 0
	emit(d.next(llm.PartStop, c.number, c.next-1))
}
