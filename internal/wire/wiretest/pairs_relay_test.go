package wiretest_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// attempt carries one request to an upstream and its answer back, with the steps, in the order, that package attempt
// has.
type attempt struct {
	from        *client
	to          *upstream
	request     wire.Request
	translation wire.Translation // nil: both speak the same dialect
	sent        []byte
}

// ask writes the request. The error is a *wire.RequestError: the upstream cannot be asked this.
func ask(t testing.TB, from *client, to *upstream, model string, body []byte, stream bool) (*attempt, error) {
	t.Helper()
	if stream && from.stream != "" {
		body = slices.Concat([]byte("{"+from.stream+","), bytes.TrimLeft(body, " {"))
	}
	a := &attempt{from: from, to: to}
	var err error
	if a.request, err = from.dialect.ReadRequest(body); err != nil {
		t.Fatalf("%s: %v", from.name, err)
	}
	if from.name == "gemini" { // the path says it
		a.request.Model, a.request.Stream = "fast", stream
	}
	if a.request.Stream != stream {
		t.Fatalf("%s: stream is %v", from.name, a.request.Stream)
	}
	w := wire.Rewrite{Model: model, AskUsage: stream && !a.request.AskedUsage}
	if from.dialect.Name() == to.dialect.Name() {
		a.sent = from.dialect.AppendRequest(nil, &a.request, w)
		return a, nil
	}
	if !wire.CanTranslate(from.dialect, to.dialect) {
		t.Fatalf("%s cannot be asked by %s", to.name, from.name)
	}
	canonical, err := wire.Decode(from.dialect, &a.request)
	if err != nil {
		return nil, err
	}
	target := to.target(model)
	target.Answer, target.Created = "answer_1", 1782321700
	a.translation = wire.NewTranslation(from.dialect, to.dialect, canonical, target)
	a.sent, err = a.translation.AppendRequest(nil, w)
	return a, err
}

func (a *attempt) dropped() []string {
	if a.translation == nil {
		return nil
	}
	return a.translation.Dropped()
}

// plain gives a whole reply to the client.
func (a *attempt) plain(body []byte) ([]byte, *fault.Fault, error) {
	if _, f := a.to.dialect.Judge(body); f != nil {
		return nil, f, nil
	}
	if a.translation == nil {
		return body, nil, nil
	}
	out, err := a.translation.AppendReply(nil, body)
	return out, nil, err
}

// told is what a client got of a stream.
type told struct {
	bytes []byte
	// ended: properly.
	ended bool
	// fault is what broke the stream; before any content nothing was written.
	fault *fault.Fault
	said  wire.Said
}

var errEvent = errors.New("an event cannot be translated")

// relay gives a stream to the client.
func (a *attempt) relay(stream []byte) (told, error) {
	var out told
	var p wire.Progress
	p.Choices = a.request.Choices
	begun := false
	split := sse.Splitter{Whole: wire.WholeEvent}
	end := func() {
		if a.translation != nil {
			out.bytes = a.translation.AppendEnd(out.bytes)
		} else {
			out.bytes = a.to.dialect.AppendEnd(out.bytes, &p)
		}
		out.ended = true
		if a.translation != nil { // whatever comes then, nothing goes out
			late, err := a.translation.AppendEvent(nil, []byte(`{}`))
			if late = a.translation.AppendEnd(late); len(late) > 0 || err != nil {
				out.bytes = append(out.bytes, late...)
			}
		}
	}
	for !out.ended && out.fault == nil {
		f, n, err := split.Next(stream, true)
		if err != nil {
			return out, err
		}
		if n == 0 {
			break
		}
		stream = stream[n:]
		if f.Comment {
			continue
		}
		ev := a.to.dialect.JudgeEvent(f.Data, &p)
		switch {
		case ev.Malformed:
			return out, fmt.Errorf("malformed: %s", f.Data)
		case ev.Fault != nil:
			out.fault = ev.Fault
		case ev.UsageOnly && a.translation == nil && !a.request.AskedUsage:
		case ev.End && !begun:
			out.fault = &fault.Fault{Class: fault.Invalid, Message: "the end before any content"}
		case ev.End:
			end()
		default:
			begun = begun || ev.Content
			if a.translation == nil {
				out.bytes = wire.AppendEvent(out.bytes, ev.Name, f.Data)
				continue
			}
			if out.bytes, err = a.translation.AppendEvent(out.bytes, f.Data); err != nil {
				return out, fmt.Errorf("%w: %w: %s", errEvent, err, f.Data)
			}
		}
	}
	if !out.ended && out.fault == nil && begun && p.SawFinish {
		end()
	}
	if !out.ended && out.fault == nil {
		out.fault = &fault.Fault{Class: fault.Cut, Message: "the end without a finish"}
	}
	out.said = wire.Said{ID: p.ID, Model: p.Reply.Model, Created: p.Created, Sequence: p.Sequence, Begun: begun}
	if a.translation != nil {
		out.said = a.translation.Said()
	}
	if !begun {
		out.bytes = nil
	}
	return out, nil
}

// broken is what the client of a broken stream gets at last (R15).
func (a *attempt) broken(out *told) []byte {
	f := wire.Failure{Status: 502, Code: "provider_error", Message: "The stream broke.", RequestID: "req_1", Said: out.said}
	return a.from.dialect.AppendStreamError(slices.Clone(out.bytes), f)
}
