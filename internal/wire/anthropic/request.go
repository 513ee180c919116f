package anthropic

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readRequest reads body in one pass. Of a member that comes more than once the last one counts. Usage counts as asked
// for: this dialect's streams always say it.
func readRequest(body []byte, streams bool) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true}
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, wire.NoObject(body)
	}
	var named wire.Naming
	var stream, messages jsonscan.Kind // what the last one is; None: there is none
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
			value, _ := r.Bool()
			q.Stream = value && streams
		case "messages":
			messages = r.Kind()
			q.Spans.PlaceTurns(&r, 4) // an image or document has its source in an object
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
	if err := named.Check(q.Model, "claude-sonnet-4-5"); err != nil {
		return q, err
	}
	if err := wire.CheckStream(stream); streams && err != nil {
		return q, err
	}
	switch {
	case messages == jsonscan.None || messages == jsonscan.Null:
		return q, &wire.RequestError{Param: "messages", Message: `"messages" is missing: send the conversation as an array of messages, such as [{"role": "user", "content": "Hello"}]`}
	case messages != jsonscan.Array:
		return q, wire.WrongKind("messages", "an array of messages", messages)
	}
	return q, nil
}
