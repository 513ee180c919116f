package openaichat

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// reading is what an operation's request has.
type reading struct {
	streams  bool
	messages bool
}

// readRequest reads body in one pass. Of a member that comes more than once the last one counts.
func readRequest(body []byte, how reading) (wire.Request, error) {
	q := wire.Request{Body: body}
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, wire.NoObject(body)
	}
	var named wire.Naming
	var stream, options, messages jsonscan.Kind // what the last one is; None: there is none
	var include includeUsage
	r.Object()
	q.Spans.Insert = r.Offset()
	q.Spans.Empty = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		q.Spans.Empty = false
		switch string(key) {
		case "model":
			named.Read(&q, &r)
		case "stream":
			if !how.streams {
				r.Skip()
				continue
			}
			stream = r.Kind()
			q.Stream, _ = r.Bool()
		case "stream_options":
			if !how.streams {
				r.Skip()
				continue
			}
			q.Spans.Again = q.Spans.Again || options != jsonscan.None
			options = r.Kind()
			from := r.Offset()
			include = readIncludeUsage(&r)
			q.Spans.StreamOptions = wire.Span{From: from, To: r.Offset()}
			q.Spans.IncludeUsage, q.AskedUsage = include.span, include.asked
		case "messages":
			messages = r.Kind()
			q.Spans.PlaceTurns(&r, 2) // a message that has parts may have an image's address in one
		case "n":
			n, _ := r.Int()
			q.Choices = int(min(max(n, 0), 64))
		case "provider":
			q.Prefers = true
			r.Skip()
		case "models":
			q.Prefers, named.Models = true, r.Kind()
			r.Skip()
		default:
			named.Other(key)
			r.Skip()
		}
	}
	if !r.End() {
		return q, wire.NoJSON(body, r.Err())
	}
	if err := named.Check(q.Model, "gpt-4o-mini"); err != nil {
		return q, err
	}
	if err := wire.CheckStream(stream); err != nil {
		return q, err
	}
	switch {
	case options != jsonscan.None && options != jsonscan.Null && options != jsonscan.Object:
		return q, wire.WrongKind("stream_options", "an object", options)
	case how.messages && (messages == jsonscan.None || messages == jsonscan.Null):
		return q, &wire.RequestError{Param: "messages", Message: `"messages" is missing: send the conversation as an array of messages, such as [{"role": "user", "content": "Hello"}]`}
	case how.messages && messages != jsonscan.Array:
		return q, wire.WrongKind("messages", "an array of messages", messages)
	}
	return q, nil
}

type includeUsage struct {
	span  wire.Span
	asked bool
}

// readIncludeUsage reads stream_options. A value of include_usage that is neither a boolean nor null counts as asked
// for, so that it is left for the upstream to refuse.
func readIncludeUsage(r *jsonscan.Reader) (u includeUsage) {
	if !r.Object() {
		return u
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "include_usage" {
			r.Skip()
			continue
		}
		kind, from := r.Kind(), r.Offset()
		value, isBool := r.Bool()
		u = includeUsage{wire.Span{From: from, To: r.Offset()}, value || !isBool && kind != jsonscan.Null}
	}
	return u
}
