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
			q.Spans.Turns = wire.Place(&r)
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
		case "provider", "models":
			q.Prefers = true
			r.Skip()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return q, wire.NoJSON(body, r.Err())
	}
	if err := wire.CheckModel(q.Model, model, "gpt-4o-mini"); err != nil {
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
