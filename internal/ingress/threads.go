package ingress

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/attempt"
	"evergate/internal/jsonscan"
	"evergate/internal/threads"
	"evergate/internal/wire"
)

// threaded is a dialect whose requests can continue an earlier answer by its id.
type threaded interface {
	wire.Dialect
	// Input gives a request's own items, as a raw JSON array, or the raw JSON string that stands for one message.
	Input(body []byte) ([]byte, error)
	// Output cuts id and items out of an answer; items is a raw JSON array.
	Output(reply []byte) (id string, items []byte, err error)
	// Dereference puts items in place of references to them, where output has the answer that they are of; nil: nothing
	// changed.
	Dereference(body []byte, output func(id string) []byte) ([]byte, error)
	// Expand puts a history's items before a request's own and takes the earlier answer's id out.
	Expand(body []byte, history [][]byte) ([]byte, error)
}

// maxAnswerID is how long the id of an answer may be, in bytes.
const maxAnswerID = 512

const codePreviousNotFound = "previous_response_not_found"

// thread is what is known of the conversation that a request continues.
type thread struct {
	own  []byte // the request's own items, where the body holds those before them, too, and its answer is to be kept
	prev string
	// provider has the earlier answer itself, so that only it can continue it; native: whoever does, it is not the
	// gateway.
	provider string
	native   bool
}

// continueThread finds the earlier answer that a request names, and puts what was said into the request where the
// gateway has it.
func (x *exchange) continueThread(d threaded) *wire.Failure {
	q := &x.call.Request
	search := x.h.threads.Search(x.r.Context())
	if f := x.dereference(d, &search); f != nil {
		return f
	}
	if !q.Stateless {
		x.call.Keep, x.call.Whole = true, x.keepAnswer
	}
	x.thread.prev = q.Previous
	if q.Previous == "" {
		return nil
	}
	if len(q.Previous) > maxAnswerID {
		return previousNotFound(clip(q.Previous), "its id is too long to be one")
	}
	a, ok := x.h.threads.Get(x.start, &search, x.key, q.Previous)
	switch {
	case !ok && x.h.threads.OfAnother(x.start, x.key, q.Previous): // the provider has one account for all callers, and would let this one
		return previousNotFound(q.Previous, "the gateway has not kept it for this caller; send the conversation as input")
	case !ok:
		x.thread.native = true // a provider may know it
		return nil
	case a.Provider != "":
		x.thread.native, x.thread.provider = true, a.Provider
		return nil
	}
	history, missing, err := x.h.threads.History(x.start, &search, x.key, q.Previous, x.cfg.MaxBody)
	switch {
	case errors.Is(err, threads.ErrLong):
		return tooLong()
	case err != nil:
		return previousNotFound(q.Previous, "its conversation began with "+clip(missing)+", which is kept no more; send the conversation as input")
	}
	if x.call.Keep {
		x.thread.own = x.ownItems(d)
	}
	body, err := d.Expand(q.Body, history)
	if err != nil {
		f := badRequest(err)
		return &f
	}
	previous := q.Previous
	if f := x.replaceBody(d, body); f != nil {
		return f
	}
	q.Previous = previous // the body has it no more; the answer says it
	return nil
}

// dereference puts the items of kept answers where the request only names them, so that any provider understands it.
func (x *exchange) dereference(d threaded, search *threads.Search) *wire.Failure {
	body, err := d.Dereference(x.call.Request.Body, func(id string) []byte {
		if a, ok := x.h.threads.Get(x.start, search, x.key, id); ok {
			return a.Output
		}
		return nil
	})
	switch {
	case err != nil:
		f := badRequest(err)
		return &f
	case body == nil:
		return nil
	}
	return x.replaceBody(d, body)
}

// replaceBody goes on with a body that says the same request in full.
func (x *exchange) replaceBody(d threaded, body []byte) *wire.Failure {
	if int64(len(body)) > 2*x.cfg.MaxBody { // the request's own part may have been as long as it may be
		return tooLong()
	}
	buf := attempt.GetBuffer(len(body))
	buf.B = append(buf.B, body...)
	request, err := d.ReadRequest(buf.B)
	if err != nil {
		buf.Release()
		f := badRequest(err)
		return &f
	}
	x.call.Body.Release()
	x.call.Body, x.call.Request = buf, request
	return nil
}

func tooLong() *wire.Failure {
	f := failure(http.StatusRequestEntityTooLarge, codeTooLarge, "the conversation before this request has become longer than server.max_request_body; begin a new one")
	return &f
}

// fits says whether a target can continue the conversation.
func (x *exchange) fits(leg *attempt.Leg) bool {
	if !x.thread.native {
		return true
	}
	return leg.Dialect.Name() == x.dialect.Name() && (x.thread.provider == "" || x.thread.provider == leg.Target.Provider)
}

func (x *exchange) noThread() *wire.Failure {
	if p := x.thread.provider; p != "" {
		return previousNotFound(x.thread.prev, "the provider "+strconv.Quote(p)+" keeps it, at which the model has no target")
	}
	return previousNotFound(x.thread.prev, "the gateway has not kept it, and no target of the model keeps answers itself; send the conversation as input")
}

func previousNotFound(id, why string) *wire.Failure {
	f := failure(http.StatusBadRequest, codePreviousNotFound, "previous_response_id: there is no answer "+strconv.Quote(clip(id))+": "+why)
	f.Param = "previous_response_id"
	return &f
}

// keepAnswer keeps what a client may name later: the answer itself, or who has it.
func (x *exchange) keepAnswer(res *attempt.Result) {
	d, ok := x.dialect.(threaded)
	if !ok || !x.call.Keep || res.Leg == nil {
		return
	}
	if res.Leg.Dialect.Name() == d.Name() && !res.Resumed && x.call.Censor == nil { // what a guard let out nobody has but the gateway
		x.h.threads.Put(x.start, x.key, &threads.Answer{ID: strings.Clone(res.Reply.ID), Provider: res.Leg.Target.Provider, Model: res.Leg.Target.Model})
		return
	}
	id, items, err := d.Output(res.Answer)
	if err != nil {
		return // it cannot be named by an id that it lacks
	}
	own := x.thread.own
	if own == nil {
		own = x.ownItems(d)
	}
	x.h.threads.Put(x.start, x.key, &threads.Answer{
		ID: id, Previous: x.thread.prev, Input: own, Output: slices.Clone(items), Body: answerBody(res.Answer),
	})
}

// ownItems are the items of the body as it is, as a copy.
func (x *exchange) ownItems(d threaded) []byte {
	items, err := d.Input(x.call.Request.Body)
	if err != nil {
		return nil
	}
	return slices.Clone(items)
}

// answerBody is the answer's object where the answer ended a stream.
func answerBody(answer []byte) []byte {
	r := jsonscan.New(answer)
	if r.Object() {
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "response" && r.Kind() == jsonscan.Object {
				return slices.Clone(r.Raw())
			}
			r.Skip()
		}
	}
	return slices.Clone(answer)
}

// serveAnswer serves what a client asks of an answer that was given earlier: /responses/ID and below.
func (x *exchange) serveAnswer(rest string) {
	if f := x.authenticate(); f != nil {
		x.reject(*f)
		x.drainBody()
		return
	}
	id, what, _ := strings.Cut(rest, "/")
	if f := x.answer(id, what); f != nil {
		x.reject(*f)
		x.drainBody()
	}
}

func (x *exchange) answer(id, what string) *wire.Failure {
	search := x.h.threads.Search(x.r.Context())
	a, ok := x.h.threads.Get(x.start, &search, x.key, id)
	if !ok {
		f := failure(http.StatusNotFound, codeNotFound, "there is no answer "+strconv.Quote(clip(id))+" here; it was never kept (store: false), or is kept no more")
		return &f
	}
	method := x.r.Method
	get := method == http.MethodGet || method == http.MethodHead
	switch {
	case a.Provider != "":
		return x.askKeeper(a, what)
	case what == "" && get:
		if x.r.URL.Query().Get("stream") == "true" {
			f := failure(http.StatusBadRequest, codeInvalid, "an answer that was given cannot be streamed again; leave stream out")
			f.Param = "stream"
			return &f
		}
		x.writeJSON(a.Body)
	case what == "" && method == http.MethodDelete:
		x.h.threads.Delete(x.start, x.key, id)
		body := jsonscan.AppendString([]byte(`{"id":`), id)
		x.writeJSON(append(body, `,"object":"response","deleted":true}`...))
	case what == "input_items" && get:
		return x.inputItems(a, &search)
	case what == "cancel" && method == http.MethodPost:
		f := failure(http.StatusBadRequest, codeInvalid, "only an answer that was asked for with background: true can be cancelled; this one is complete")
		return &f
	default:
		allow := map[string]string{"": "GET, HEAD, DELETE", "input_items": "GET, HEAD", "cancel": "POST"}[what]
		if allow == "" {
			f := failure(http.StatusNotFound, codeNotFound, x.noRoute())
			return &f
		}
		x.w.Header().Set("Allow", allow)
		f := failure(http.StatusMethodNotAllowed, codeInvalid, "this route takes "+allow+", not "+clip(method))
		return &f
	}
	return nil
}

// pageSize and maxPageSize are the API's own.
const (
	pageSize    = 20
	maxPageSize = 100
)

// inputItems lists what an answer was given to, the conversation before it included, the last first unless
// order=asc.
func (x *exchange) inputItems(a *threads.Answer, search *threads.Search) *wire.Failure {
	history := [][]byte{a.Input}
	if a.Previous != "" {
		before, missing, err := x.h.threads.History(x.start, search, x.key, a.Previous, x.cfg.MaxBody)
		switch {
		case errors.Is(err, threads.ErrLong):
			return tooLong()
		case err != nil:
			return previousNotFound(missing, "the beginning of the conversation is kept no more")
		}
		history = append(before, a.Input)
	}
	type item struct {
		id  string
		raw []byte
	}
	var items []item
	for _, list := range history {
		r := jsonscan.New(list)
		if r.Kind() == jsonscan.String { // an input of plain text
			text, _ := r.Text()
			list = jsonscan.AppendString([]byte(`[{"type":"message","role":"user","content":[{"type":"input_text","text":`), text)
			r = jsonscan.New(append(list, `}]}]`...))
		}
		if !r.Array() {
			continue
		}
		for r.Elem() {
			raw := r.Raw()
			id := itemID(raw)
			if id == "" { // the API's items have one
				id = "item_" + strings.TrimPrefix(a.ID, "resp_") + "_" + strconv.Itoa(len(items))
				raw = withID(raw, id)
			}
			items = append(items, item{id, raw})
		}
	}
	query := x.r.URL.Query()
	if query.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		if i := slices.IndexFunc(items, func(it item) bool { return it.id == after }); i >= 0 {
			items = items[i+1:]
		}
	}
	limit := pageSize
	if n, err := strconv.Atoi(query.Get("limit")); err == nil && n > 0 {
		limit = min(n, maxPageSize)
	}
	more := len(items) > limit
	items = items[:min(limit, len(items))]
	body := []byte(`{"object":"list","data":[`)
	var first, last string
	for i, it := range items {
		if i > 0 {
			body = append(body, ',')
		} else {
			first = it.id
		}
		last = it.id
		body = append(body, it.raw...)
	}
	body = append(body, `],"first_id":`...)
	body = appendOrNull(body, first)
	body = append(body, `,"last_id":`...)
	body = appendOrNull(body, last)
	body = append(body, `,"has_more":`...)
	x.writeJSON(append(strconv.AppendBool(body, more), '}'))
	return nil
}

func itemID(raw []byte) (id string) {
	r := jsonscan.New(raw)
	if r.Object() {
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "id" {
				id, _ = r.Text()
			} else {
				r.Skip()
			}
		}
	}
	return id
}

// withID puts an id into an object that has none.
func withID(raw []byte, id string) []byte {
	out := jsonscan.AppendString([]byte(`{"id":`), id)
	rest := strings.TrimLeft(string(raw[1:]), " \t\r\n")
	if rest != "}" {
		out = append(out, ',')
	}
	return append(out, rest...)
}
