package mock

import (
	"fmt"
	"net/http"
	"time"
)

// dialect is how one API is spoken. Its values are stateless.
type dialect interface {
	// read puts what a request asks for into its talk. It refuses only what cannot be made out at all.
	read(q *request) *apiError
	// check refuses what the real API refuses beyond that. A lenient script leaves it out.
	check(q *request) *apiError
	// answer is the normal answer.
	answer(j *job) answer
	// failure is an error as a whole reply; it fills in the words that e leaves open.
	failure(q *request, e *apiError) failure
}

// job is one request that is to be answered.
type job struct {
	*request
	p   *Provider
	s   *Script
	b   *Behaviour
	n   int // of the request, from 1
	now time.Time
}

// id is an identifier that is the same for the same n-th request.
func (j *job) id(prefix string) string { return fmt.Sprintf("%smock%06d", prefix, j.n) }

// answer is what the provider would say if nothing went wrong on the way: a plain body, and the events of a stream
// where the operation has one.
type answer struct {
	status int
	header http.Header
	plain  []byte
	// contentType is of the plain body, JSON if empty.
	contentType string
	events      []event
	framing     framing
	// late is an error in the stream after so many events.
	late func(e *apiError, sent int) event
	// recorded: the events are sent whatever form was asked for.
	recorded bool
	// refusal takes the place of all of the above.
	refusal *apiError
}

func refused(e *apiError) answer { return answer{refusal: e} }

func answered(v any) answer { return answer{status: http.StatusOK, plain: encode(v)} }

// apiError is an error before it is put in an API's words.
type apiError struct {
	Status                     int
	Message, Type, Param, Code string
	// scripted: a behaviour asks for it, so that the words it leaves open are those for its status.
	scripted bool
}

// badRequest is a refusal of a request as the client wrote it.
func badRequest(format string, args ...any) *apiError {
	return &apiError{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

// failure is an error as a whole reply.
type failure struct {
	body        []byte
	contentType string
	header      http.Header
}

// scripted is the error that a behaviour asks for, at this status.
func (b *Behaviour) scripted(status int) *apiError {
	return &apiError{Status: status, Message: b.Message, Type: b.Type, Code: b.Code, scripted: true}
}

// event is one event of a stream.
type event struct {
	kind kind
	// name is the event's type where the framing carries it.
	name string
	data []byte
	// exception is an error in a framing that tells errors from events.
	exception bool
}

type kind uint8

// The kinds of events. Opening is all that is neither content nor the end: it moves no point.
const (
	kindOpening kind = iota
	kindContent
	kindFinish
	kindUsage
	kindDone
	// kindEnd is finish and end marker in one.
	kindEnd
)

// opening is an event that moves no point.
func opening(name string, v any) event { return event{kind: kindOpening, name: name, data: encode(v)} }

// typed is an event that says its type in its data too, first of all as the APIs do.
func typed(k kind, name string, members map[string]any) event {
	data := append([]byte(`{"type":"`+name+`"`), '}')
	if len(members) > 0 {
		data = append(append(data[:len(data)-1], ','), encode(members)[1:]...)
	}
	return event{kind: k, name: name, data: data}
}

// answer is the provider's normal answer to the n-th request.
func (p *Provider) answer(q *request, s *Script, b *Behaviour, n int, now time.Time) answer {
	j := &job{request: q, p: p, s: s, b: b, n: n, now: now}
	if q.refusal != nil {
		return refused(q.refusal)
	}
	if e := s.serves(q); e != nil {
		return refused(e)
	}
	if a, ok := s.recorded(q, b); ok {
		return a
	}
	if !s.Lenient {
		if e := q.dialect.check(q); e != nil {
			return refused(e)
		}
	}
	if e := j.refusesPrefill(); e != nil {
		return refused(e)
	}
	return q.dialect.answer(j)
}

// refusesPrefill is the refusal of a conversation that ends in the model's own words, where the behaviour asks for it.
func (j *job) refusesPrefill() *apiError {
	if j.b.Prefill != Refuse || j.op != opGenerate || j.last().role != roleModel {
		return nil
	}
	return badRequest("This model does not support assistant message prefill. The conversation must end with a user message.")
}
