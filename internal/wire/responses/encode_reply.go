package responses

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// appendReply appends a whole response object: what the stream of the same answer would end with.
func appendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	e := encoder{q: q, w: writer{mute: true}}
	llm.Unfold(a, func(ev *llm.Event) {
		if ev.Choice == 0 {
			e.put(ev)
		}
	})
	if len(a.Choices) > 1 {
		q.Dropped.Add("n")
	}
	e.finish()
	return e.appendResponse(dst, e.status(), true)
}

// appendResponse appends the response object as it stands: with the output and the usage if it is over, else without.
// The fields that only echo the request are what the official SDKs' types demand; null stands for what is not known, and
// what must not be null is left out.
func (e *encoder) appendResponse(dst []byte, status string, over bool) []byte {
	q, from := e.q, len(dst)
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, e.id)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, e.created, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","background":false,"error":null,"incomplete_details":`...)
	if reason := incompleteReason(e.stop); over && reason != "" {
		dst = append(dst, `{"reason":"`...)
		dst = append(dst, reason...)
		dst = append(dst, `"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"instructions":null,"max_output_tokens":`...)
	if q.MaxTokens > 0 {
		dst = strconv.AppendInt(dst, q.MaxTokens, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"max_tool_calls":null,"metadata":`...)
	if len(q.Metadata) > 0 {
		dst = append(dst, q.Metadata...)
	} else {
		dst = append(dst, "{}"...)
	}
	dst = append(dst, `,"model":`...)
	dst = jsonscan.AppendString(dst, e.model)
	dst = append(dst, `,"output":[`...)
	output := len(dst)
	if over {
		dst = append(dst, e.out...)
	}
	after := len(dst)
	dst = append(dst, `],"parallel_tool_calls":`...)
	dst = strconv.AppendBool(dst, q.Parallel == nil || *q.Parallel)
	dst = append(dst, `,"previous_response_id":`...)
	dst = jsonscan.AppendStringOrNull(dst, q.Previous)
	dst = append(dst, `,"prompt_cache_key":`...)
	dst = jsonscan.AppendStringOrNull(dst, q.CacheKey)
	dst = appendEffort(dst, q.Reasoning)
	dst = append(dst, `,"safety_identifier":null,"service_tier":`...)
	dst = jsonscan.AppendStringOrNull(dst, e.serviceTier())
	dst = append(dst, `,"store":`...)
	dst = strconv.AppendBool(dst, q.Store == nil || *q.Store)
	dst = append(dst, `,"temperature":`...)
	dst = appendFloat(dst, q.Temperature)
	dst = append(dst, `,"text":`...)
	dst = appendText(dst, &q.Format, q.Format.Kind, q.Verbosity)
	dst = append(dst, `,"tool_choice":`...)
	dst = appendChoice(dst, q)
	dst = append(dst, `,"tools":[`...)
	comma := false
	for i := range q.Tools {
		if t := &q.Tools[i]; t.Opaque == nil || t.Opaque.Vendor == llm.OpenAI {
			if comma {
				dst = append(dst, ',')
			}
			comma = true
			dst = appendTool(dst, t)
		}
	}
	dst = append(dst, `],"top_logprobs":`...)
	dst = strconv.AppendInt(dst, int64(q.TopLogProbs), 10)
	dst = append(dst, `,"top_p":`...)
	dst = appendFloat(dst, q.TopP)
	dst = append(dst, `,"truncation":"disabled"`...)
	if over && e.usage.Known {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, &e.usage)
	}
	if q.User != "" {
		dst = append(dst, `,"user":`...)
		dst = jsonscan.AppendString(dst, q.User)
	}
	dst = append(dst, '}')
	flatten(dst[:output], from) // what the client wrote may have lines; the output has none
	flatten(dst, after)
	return dst
}

// serviceTier is the upstream's word, or else what the client asked for.
func (e *encoder) serviceTier() string {
	tier := e.tier
	if tier == "" {
		tier = e.q.ServiceTier
	}
	switch tier {
	case "", "auto", "default", "flex", "scale", "priority", "fast", "ultrafast":
		return tier
	}
	return "default" // another dialect's word for it
}

func appendEffort(dst []byte, e *llm.Effort) []byte {
	dst = append(dst, `,"reasoning":{"effort":`...)
	if e == nil {
		return append(dst, `null,"summary":null}`...)
	}
	dst = jsonscan.AppendStringOrNull(dst, e.Level)
	dst = append(dst, `,"summary":`...)
	dst = jsonscan.AppendStringOrNull(dst, e.Show)
	return append(dst, '}')
}

func appendFloat(dst []byte, f *float64) []byte {
	if f == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, *f, 'g', -1, 64)
}
