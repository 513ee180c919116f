package responses

import (
	"errors"
	"fmt"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readRequest reads body in one pass. Of a member that comes more than once the last one counts.
func readRequest(body []byte) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true} // usage is always said
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, noObject(body)
	}
	var model, stream, input, context jsonscan.Kind // what the last one is; None: there is none
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
			q.Stream, _ = r.Bool()
		case "input":
			input = r.Kind()
			r.Skip()
		case "previous_response_id":
			q.Previous, _ = r.Text()
		case "conversation", "prompt":
			if kind := r.Kind(); kind != jsonscan.Null {
				context = kind
			}
			r.Skip()
		case "background":
			q.Background, _ = r.Bool()
		case "store":
			store, said := r.Bool()
			q.Stateless = said && !store
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return q, noJSON(body, r.Err())
	}
	switch {
	case model == jsonscan.None || model == jsonscan.Null:
		return q, &wire.RequestError{Param: "model", Message: `"model" is missing: name the model to use, such as {"model": "gpt-4o-mini"}`}
	case model != jsonscan.String:
		return q, wrongKind("model", "a string", model)
	case strings.TrimSpace(q.Model) == "":
		return q, &wire.RequestError{Param: "model", Message: `"model" is empty: name the model to use`}
	case stream != jsonscan.None && stream != jsonscan.Null && stream != jsonscan.Bool:
		return q, wrongKind("stream", "true or false", stream)
	case input == jsonscan.None || input == jsonscan.Null:
		if q.Previous == "" && context == jsonscan.None {
			return q, &wire.RequestError{Param: "input", Message: `"input" is missing: send a text or an array of items, such as "Hello"`}
		}
	case input != jsonscan.String && input != jsonscan.Array:
		return q, wrongKind("input", "a string or an array of items", input)
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
