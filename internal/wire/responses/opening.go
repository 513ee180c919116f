package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Opening implements wire.Conversing.
func (Responses) Opening(q *wire.Request) wire.Opening {
	var o wire.Opening
	r := jsonscan.Again(q.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "prompt_cache_key":
			o.CacheKey = wire.TextPlace(&r)
		case "user":
			o.User = wire.TextPlace(&r)
		case "instructions":
			o.System = wire.Place(&r)
		case "tools":
			o.Tools = wire.Place(&r)
		case "input":
			o.Turns(&r, q.Spans.Turns)
		default:
			r.Skip()
		}
	}
	return o
}
