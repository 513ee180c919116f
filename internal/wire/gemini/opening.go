package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// Opening implements wire.Conversing. What the API knows as cachedContent stands for a key of what is cached.
func (Generate) Opening(q *wire.Request) wire.Opening {
	var o wire.Opening
	r := jsonscan.Again(q.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(camel(key)) {
		case "cachedContent":
			o.CacheKey = wire.TextPlace(&r)
		case "systemInstruction":
			o.System = wire.Place(&r)
		case "tools":
			o.Tools = wire.Place(&r)
		case "contents":
			o.Turns(&r, q.Spans.Turns)
		default:
			r.Skip()
		}
	}
	return o
}
