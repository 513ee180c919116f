package wire

import (
	"slices"

	"evergate/internal/llm"
	"evergate/internal/sse"
)

// Translation carries one attempt's request to another dialect and its answer back (ARCHITECTURE decision 1). The
// upstream's dialect judges what comes; a translation only says it anew. Not safe for concurrent use.
type Translation interface {
	// AppendRequest appends the request in the upstream's dialect. The error is a *RequestError: the target cannot be asked this.
	AppendRequest(dst []byte, w Rewrite) ([]byte, error)
	// AppendReply appends a whole reply, which the upstream's dialect has judged, in the client's words.
	AppendReply(dst, body []byte) ([]byte, error)
	// AppendEvent appends what one event of the upstream's stream says to the client, which may be nothing.
	AppendEvent(dst, data []byte) ([]byte, error)
	// AppendEnd appends the proper end of the stream. After it nothing is appended any more.
	AppendEnd(dst []byte) []byte
	// Forget lets go of the conversation: the request was written for the last time.
	Forget()
	// Dropped are the names of what was lost so far (x-evergate-dropped); Unsaid those of them that were a part of the
	// question (R46).
	Dropped() []string
	Unsaid() []string
	// Said is what a stream's client was told.
	Said() Said
	// Through has the stream told through a seam, so that another translation can go on with it. It comes before the first
	// event.
	Through(s *Seam)
	// Watch has the answer go through a filter. It comes before the first event, or the reply.
	Watch(f Filter)
	// Stopped is why the filter lets nothing more of the answer out; nil: it does. What was appended by the call before is not to go out.
	Stopped() error
}

// Filter stands between an upstream's decoder and the client's encoder and says what of an answer goes out. It may hold events back, change
// texts, and stop the whole by an error. Its events are those of a decoder, and so are those that it hands on. Not safe for concurrent use.
type Filter interface {
	Reply(a *llm.Reply) error
	Put(e *llm.Event, next func(*llm.Event)) error
	// End lets out what was held back: the stream ended properly.
	End(next func(*llm.Event)) error
}

// Canonical is a client's request in no vendor's words, decoded once for all attempts that need it. It points into the
// request's body and holds for as long as that does.
type Canonical struct {
	generation *llm.Request
	embedding  *llm.EmbedRequest
}

// Decode reads a client's request for translation. The error is a *RequestError.
func Decode(d Dialect, r *Request) (*Canonical, error) {
	switch d := d.(type) {
	case Embedder:
		q, err := d.DecodeEmbed(r)
		return &Canonical{embedding: q}, err
	case Client:
		carried := *r
		carried.Carry = true
		q, err := d.DecodeRequest(&carried)
		return &Canonical{generation: q}, err
	}
	return nil, &RequestError{Message: "requests to " + d.Path() + " cannot be translated to another provider's API"}
}

// Generation is the request, nil if it is for embeddings. Its texts are read by TextOf.
func (c *Canonical) Generation() *llm.Request { return c.generation }

// CanTranslate says whether an answer of the upstream's dialect can be given to a client of the other.
func CanTranslate(client, upstream Dialect) bool {
	if _, ok := client.(Counter); ok {
		return false // a count is of one model's tokens
	}
	if _, ok := client.(Embedder); ok {
		_, ok = upstream.(Embedder)
		return ok
	}
	_, from := client.(Client)
	_, to := upstream.(Upstream)
	return from && to
}

// NewTranslation makes the translation of one attempt. CanTranslate must hold.
func NewTranslation(client, upstream Dialect, c *Canonical, t Target) Translation {
	if c.embedding != nil {
		q := *c.embedding
		q.Dropped = q.Dropped.Clone()
		return &embedding{client: client.(Embedder), upstream: upstream.(Embedder), q: &q, target: t}
	}
	q := *c.generation
	q.Dropped = q.Dropped.Clone()
	if t.Prefix != "" {
		q.Messages = append(slices.Clip(q.Messages), llm.Message{Role: llm.Assistant, Content: []llm.Part{{Kind: llm.Text, Text: t.Prefix}}})
	}
	return &generation{client: client.(Client), upstream: upstream.(Upstream), q: &q, target: t}
}

// maxWaiting is how much of a stream may wait for a tool call's arguments to be complete, in bytes; as much as a plain reply
// may have.
const maxWaiting = 16 << 20

// generation translates chat-like requests.
type generation struct {
	client   Client
	upstream Upstream
	q        *llm.Request
	target   Target

	decoder Decoder
	order   llm.Order
	encoder Encoder
	seam    *Seam  // has order and encoder, if there is one
	filter  Filter // nil: there is none
	next    func(*llm.Event)
	stopped error // the filter's
	dst     []byte
	ended   bool
	// put and say are the two steps of an event's way, made once: a closure for each event would be garbage.
	put, say func(*llm.Event)
}

func (g *generation) AppendRequest(dst []byte, w Rewrite) ([]byte, error) {
	g.target.Model, g.target.AskUsage = w.Model, w.AskUsage
	out, err := g.upstream.EncodeRequest(dst, g.q, &g.target)
	if err != nil || len(w.Params) == 0 && !w.OmitModel {
		return out, err
	}
	return override(g.upstream, dst, out, w)
}

// override applies a target's parameters, and what it will not have in the body, to a request that was written already.
func override(d Dialect, dst, body []byte, w Rewrite) ([]byte, error) {
	written := append([]byte(nil), body[len(dst):]...)
	r, err := d.ReadRequest(written)
	if err != nil {
		return dst, err
	}
	out := d.AppendRequest(dst, &r, Rewrite{Model: w.Model, Params: w.Params, OmitModel: w.OmitModel})
	if len(out) > 0 && len(written) > 0 && &out[0] == &written[0] {
		out = append(dst, written...)
	}
	return out, nil
}

func (g *generation) AppendReply(dst, body []byte) ([]byte, error) {
	a, err := g.upstream.DecodeReply(body)
	if err != nil {
		return dst, err
	}
	g.name(&a.ID, &a.Model, &a.Created)
	if g.filter != nil {
		if g.stopped = g.filter.Reply(a); g.stopped != nil {
			return dst, g.stopped
		}
	}
	return g.client.AppendReply(dst, a, g.q), nil
}

// name completes what an answer says of itself: not every upstream has an id, a model or a time to tell.
func (g *generation) name(id, model *string, created *int64) {
	if *id == "" {
		*id = g.target.Answer
	}
	if *model == "" {
		*model = g.target.Model
	}
	if *created == 0 {
		*created = g.target.Created
	}
}

func (g *generation) begin() {
	if g.encoder != nil {
		return
	}
	g.decoder = g.upstream.NewDecoder()
	g.say = func(e *llm.Event) { g.dst = g.encoder.Append(g.dst, e) }
	if g.seam != nil {
		g.join()
	} else {
		g.encoder = g.client.NewEncoder(g.q)
		g.put = func(e *llm.Event) {
			if e.Kind == llm.Start {
				g.name(&e.ID, &e.Model, &e.Created)
			}
			g.order.Put(e, g.say)
		}
	}
	if g.filter != nil {
		g.next = g.put
		g.put = func(e *llm.Event) {
			if g.stopped == nil {
				g.stopped = g.filter.Put(e, g.next)
			}
		}
	}
}

func (g *generation) Watch(f Filter) { g.filter = f }

func (g *generation) Stopped() error { return g.stopped }

// join has the events go through the seam.
func (g *generation) join() {
	s := g.seam
	if s.encoder == nil {
		s.encoder = g.client.NewEncoder(g.q)
	}
	g.encoder = s.encoder
	next := func(e *llm.Event) { s.order.Put(e, g.say) }
	g.put = func(e *llm.Event) {
		if e.Kind == llm.Start {
			g.name(&e.ID, &e.Model, &e.Created)
		}
		s.pass(e, next)
	}
}

func (g *generation) Through(s *Seam) { g.seam = s }

func (g *generation) AppendEvent(dst, data []byte) ([]byte, error) {
	if g.ended {
		return dst, nil
	}
	g.begin()
	g.dst = dst
	err := g.decoder.Decode(data, g.put)
	if err == nil && g.ordered().Held() > maxWaiting {
		err = Invalid("the upstream's stream begins ever more parts before a tool call is complete")
	}
	if err == nil && g.seam != nil {
		err = g.seam.err
	}
	if err == nil {
		err = g.stopped
	}
	return g.take(), err
}

func (g *generation) AppendEnd(dst []byte) []byte {
	if g.ended {
		return dst
	}
	g.begin()
	g.ended = true
	g.dst = dst
	g.decoder.End(g.put)
	if g.filter != nil && g.stopped == nil {
		g.stopped = g.filter.End(g.next)
	}
	if g.stopped != nil {
		return g.take()
	}
	if s := g.seam; s != nil {
		s.settle(func(e *llm.Event) { s.order.Put(e, g.say) })
		s.finished = true
	}
	g.ordered().End(g.say)
	g.dst = g.encoder.AppendEnd(g.dst)
	return g.take()
}

// ordered is the order that the stream is in.
func (g *generation) ordered() *llm.Order {
	if g.seam != nil {
		return &g.seam.order
	}
	return &g.order
}

// take gives the bytes away, so that the translation does not hold another's buffer.
func (g *generation) take() []byte {
	out := g.dst
	g.dst = nil
	return out
}

func (g *generation) Forget() { g.q.System, g.q.Messages = nil, nil }

func (g *generation) Dropped() []string { return g.q.Dropped.Names() }

func (g *generation) Unsaid() []string { return g.q.Dropped.Content() }

func (g *generation) Said() Said {
	if g.encoder == nil {
		return Said{}
	}
	return g.encoder.Said()
}

// embedding translates requests for vectors.
type embedding struct {
	client, upstream Embedder
	q                *llm.EmbedRequest
	target           Target
}

func (m *embedding) AppendRequest(dst []byte, w Rewrite) ([]byte, error) {
	m.target.Model = w.Model
	out, err := m.upstream.EncodeEmbed(dst, m.q, &m.target)
	if err != nil || len(w.Params) == 0 {
		return out, err
	}
	return override(m.upstream, dst, out, w)
}

func (m *embedding) AppendReply(dst, body []byte) ([]byte, error) {
	a, err := m.upstream.DecodeEmbedReply(body)
	if err != nil {
		return dst, err
	}
	if a.Model == "" {
		a.Model = m.target.Model
	}
	return m.client.AppendEmbedReply(dst, a, m.q), nil
}

// Vectors are not streamed: what the client asked for, and what came, is never a stream.
func (m *embedding) AppendEvent(dst, _ []byte) ([]byte, error) { return dst, nil }
func (m *embedding) AppendEnd(dst []byte) []byte               { return dst }
func (m *embedding) Unsaid() []string                          { return nil }
func (m *embedding) Forget()                                   {}
func (m *embedding) Dropped() []string                         { return m.q.Dropped.Names() }
func (m *embedding) Said() Said                                { return Said{} }
func (m *embedding) Watch(Filter)                              {}
func (m *embedding) Stopped() error                            { return nil }
func (m *embedding) Through(*Seam)                             {}

// AppendEvent appends one server-sent event: with a name where the dialect names its events.
func AppendEvent(dst, name, data []byte) []byte {
	if len(name) > 0 {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	return sse.AppendData(dst, data)
}
