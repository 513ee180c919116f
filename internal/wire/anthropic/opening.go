package anthropic

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Opening implements wire.Conversing.
func (Messages) Opening(q *wire.Request) wire.Opening {
	var o wire.Opening
	r := jsonscan.Again(q.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "metadata":
			o.User = userPlace(&r)
		case "system":
			o.System = wire.Place(&r)
		case "tools":
			o.Tools = wire.Place(&r)
		case "messages":
			o.Turns(&r, q.Spans.Turns)
		default:
			r.Skip()
		}
	}
	return o
}

// userPlace is the place of metadata's user_id. Claude Code puts its session into it.
func userPlace(r *jsonscan.Reader) (user wire.Span) {
	if !r.Object() {
		return user
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "user_id" {
			user = wire.TextPlace(r)
		} else {
			r.Skip()
		}
	}
	return user
}
