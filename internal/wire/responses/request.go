package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readRequest reads body in one pass. Of a member that comes more than once the last one counts.
func readRequest(body []byte) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true} // usage is always said
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, wire.NoObject(body)
	}
	var named wire.Naming
	var stream, input, context jsonscan.Kind // what the last one is; None: there is none
	r.Object()
	q.Spans.Insert = r.Offset()
	q.Spans.Empty = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		q.Spans.Empty = false
		switch string(key) {
		case "model":
			named.Read(&q, &r)
		case "stream":
			stream = r.Kind()
			q.Stream, _ = r.Bool()
		case "input":
			input = r.Kind()
			q.Spans.PlaceTurns(&r, 2) // an item with parts may have an image's address in one
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
	case input == jsonscan.None || input == jsonscan.Null:
		if q.Previous == "" && context == jsonscan.None {
			return q, &wire.RequestError{Param: "input", Message: `"input" is missing: send a text or an array of items, such as "Hello"`}
		}
	case input != jsonscan.String && input != jsonscan.Array:
		return q, wire.WrongKind("input", "a string or an array of items", input)
	}
	return q, nil
}
