package probing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/llm"
	"evergate/internal/resilience"
	"evergate/internal/sse"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

const (
	// question asks for as little as an answer can be. A target's own model stands in its place.
	question = `{"model":"-","messages":[{"role":"user","content":"ping"}],"max_tokens":1}`
	// maxAnswer is how much of an answer is read. Some servers know no limit of tokens.
	maxAnswer = 1 << 20
)

// ask makes the request. A panic on its way is a bug of ours that tells nothing of the provider, and must not end the gateway.
func (p *Prober) ask(ctx context.Context, s *Source, model, credential string) (status int, u llm.Usage, f *fault.Fault) {
	defer func() {
		if bug := recover(); bug != nil {
			f = &fault.Fault{Message: fmt.Sprint("BUG: ", bug)}
		}
	}()
	if s.Kind == Models {
		if f = s.List(ctx, credential); f == nil {
			status = http.StatusOK
		}
		return status, u, f
	}
	return p.complete(ctx, s, model, credential)
}

// outcome is what came of a probe to the guards; status is 0 where no answer came. What failed before the provider was asked
// (a key that is gone, a token that could not be had, an API that has no place for the question) proves nothing. A model
// list proves that the provider answers, as every answer does to a probe (R24), and nothing else: what it says of keys and
// models is not what a request would hear.
func (s *Source) outcome(f *fault.Fault, status int) resilience.Outcome {
	o := health.OutcomeOf(f)
	switch o.Class {
	case fault.Connect, fault.Reset, fault.Timeout, fault.Upstream, fault.Invalid, fault.Cut, fault.RateLimited:
		return o
	default:
	}
	if f != nil && status == 0 {
		o.Unasked = true
		return o
	}
	if s.Kind == Models {
		return resilience.Outcome{Class: fault.Rejected}
	}
	return o
}

// complete asks a model for one token, in the dialect that the provider speaks, and gives what the answer says of its tokens.
func (p *Prober) complete(ctx context.Context, s *Source, model, credential string) (status int, u llm.Usage, f *fault.Fault) {
	d := p.dialects.Choose(openaichat.Chat{}, s.Upstream.Speaks(model))
	body, err := p.write(d, s.Upstream, model)
	if err != nil {
		return 0, u, &fault.Fault{Class: fault.Unable, Message: "the provider's API cannot be asked for a completion: " + err.Error()}
	}
	resp, f := s.Upstream.Send(ctx, &attempt.Outgoing{
		Dialect: d.Name(), Model: model, Translated: true, Header: http.Header{}, Body: body, Credential: credential,
	})
	if f != nil {
		return 0, u, f
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		code, message := d.ReadError(answer) // as far as it came: the status decides
		return resp.StatusCode, u, s.Upstream.Classify(resp.StatusCode, resp.Header, answer, code, message)
	}
	if err != nil {
		return resp.StatusCode, u, s.Upstream.ReadFault(ctx, err)
	}
	if u, f = judge(d, answer); f != nil {
		f = s.Upstream.Refine(f)
	}
	return resp.StatusCode, u, f
}

// write writes the question in the provider's dialect.
func (p *Prober) write(d wire.Dialect, up attempt.Upstream, model string) ([]byte, error) {
	if d == nil {
		return nil, errors.New("it has none for chats")
	}
	chat := openaichat.Chat{}
	r, err := chat.ReadRequest([]byte(question))
	var q *wire.Canonical
	if err == nil {
		q, err = wire.Decode(chat, &r)
	}
	if err != nil {
		return nil, err
	}
	t := wire.NewTranslation(chat, d, q, wire.Target{Vendor: up.Maker(model), Quirks: up.Quirks(model)})
	return t.AppendRequest(nil, wire.Rewrite{Model: model, OmitModel: up.OmitsModel(d.Name(), model)})
}

// judge says what is wrong with a 2xx answer; nil if nothing is. One that is too long to be read to its end is more than was
// asked for. (To the dialects one that says why it holds nothing, as its one token went into thoughts, is as good as another.)
func judge(d wire.Dialect, answer []byte) (u llm.Usage, f *fault.Fault) {
	if len(answer) == maxAnswer {
		return u, nil
	}
	if sse.Looks(answer) {
		folded, err := d.ReplyFromStream(answer)
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			return u, f
		}
		if err != nil {
			return u, &fault.Fault{Class: fault.Invalid, Message: "the upstream answered a stream that is not whole", Cause: err}
		}
		answer = folded
	}
	reply, f := d.Judge(answer)
	return reply.Usage, f
}
