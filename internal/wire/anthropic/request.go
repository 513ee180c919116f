package anthropic

import (
	"errors"
	"fmt"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readRequest reads body in one pass. Of a member that comes more than once the last one counts. Usage counts as asked
// for: this dialect's streams always say it.
func readRequest(body []byte, streams bool) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true}
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, noObject(body)
	}
	var model, stream, messages jsonscan.Kind // what the last one is; None: there is none
	r.Object()
	q.Spans.Insert = r.Offset()
	q.Spans.Empty = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		q.Spans.Empty = false
		switch string(key) {
		case "model":
			q.Spans.Again = q.Spans.Again || model != jsonscan.None
			model = r.Kind()
			from := r.Offset()
			q.Model, _ = r.Text()
			q.Spans.Model = wire.Span{From: from, To: r.Offset()}
		case "stream":
			stream = r.Kind()
			value, _ := r.Bool()
			q.Stream = value && streams
		case "messages":
			messages = r.Kind()
			r.Skip()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return q, noJSON(body, r.Err())
	}
	switch {
	case model == jsonscan.None || model == jsonscan.Null:
		return q, &wire.RequestError{Param: "model", Message: `"model" is missing: name the model to use, such as {"model": "claude-sonnet-4-5"}`}
	case model != jsonscan.String:
		return q, wrongKind("model", "a string", model)
	case strings.TrimSpace(q.Model) == "":
		return q, &wire.RequestError{Param: "model", Message: `"model" is empty: name the model to use`}
	case streams && stream != jsonscan.None && stream != jsonscan.Null && stream != jsonscan.Bool:
		return q, wrongKind("stream", "true or false", stream)
	case messages == jsonscan.None || messages == jsonscan.Null:
		return q, &wire.RequestError{Param: "messages", Message: `"messages" is missing: send the conversation as an array of messages, such as [{"role": "user", "content": "Hello"}]`}
	case messages != jsonscan.Array:
		return q, wrongKind("messages", "an array of messages", messages)
	}
	return q, nil
}

var kindWords = [...]string{
	jsonscan.None: "nothing", jsonscan.Object: "an object", jsonscan.Array: "an array", jsonscan.String: "a string",
	jsonscan.Number: "a number", jsonscan.Bool: "a boolean", jsonscan.Null: "null",
}

func wrongKind(param, want string, got jsonscan.Kind) error {
	return &wire.RequestError{Param: param, Message: fmt.Sprintf("%q must be %s, not %s", param, want, kindWords[got])}
}

func noObject(body []byte) error {
	r := jsonscan.New(body)
	kind := r.Kind()
	if kind == jsonscan.None && r.Offset() == len(body) {
		return &wire.RequestError{Message: "the body is empty: send a JSON object"}
	}
	r.Skip()
	if !r.End() {
		return noJSON(body, r.Err())
	}
	return &wire.RequestError{Message: "the body must be a JSON object, not " + kindWords[kind]}
}

func noJSON(body []byte, err error) error {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return &wire.RequestError{Message: "the body is not valid JSON"}
	}
	line, column := jsonscan.Position(body, syntax.Offset)
	return &wire.RequestError{Message: fmt.Sprintf("the body is not valid JSON: line %d, column %d (byte %d): %s",
		line, column, syntax.Offset, syntax.Msg)}
}
