package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// writing is a request being encoded.
type writing struct {
	dst    []byte
	q      *llm.Request
	t      *wire.Target
	traits traits

	turns     []turn
	places    []*llm.Part // for the first parts of turns, most of which have no other
	system    []*llm.Part
	tools     bool // the request has tools
	thinks    thinking
	maxTokens int64
	// skipCache is how many cache markers are left out, of those that come first: the dialect takes four.
	skipCache int
	ids       ids
	only      map[string]bool // the names in Choice.Only, once they are needed
}

// EncodeRequest appends the request for a target; see [wire.Upstream].
func (Messages) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	w := &writing{dst: dst, q: q, t: t, traits: traitsOf(t.Model)}
	w.collect()
	if len(w.turns) == 0 {
		return dst, &wire.RequestError{Param: "messages", Message: "the conversation holds nothing that can be sent to this model"}
	}
	w.maxTokens = w.limit()
	w.think()
	w.countCache()

	w.dst = append(w.dst, `{"model":`...)
	w.dst = jsonscan.AppendString(w.dst, t.Model)
	w.dst = append(w.dst, `,"max_tokens":`...)
	w.dst = strconv.AppendInt(w.dst, w.maxTokens, 10)
	w.appendTools()
	w.appendSystem()
	w.dst = append(w.dst, `,"messages":`...)
	w.appendTurns()
	if q.Cache != nil {
		w.appendCache(q.Cache)
	}
	w.appendChoice()
	w.appendThinking()
	w.appendOutputConfig()
	w.appendSampling()
	w.appendStops()
	w.appendUser()
	w.appendTier()
	if q.Stream {
		w.dst = append(w.dst, `,"stream":true`...)
	}
	w.dst = append(w.dst, '}')
	w.noteLost()
	return w.dst, nil
}

func (w *writing) drop(names ...string) { w.q.Dropped.Add(names...) }

// allows says whether the target takes a field; one that it does not is noted.
func (w *writing) allows(field string) bool {
	if slices.Contains(w.t.Quirks.Refuses, field) {
		w.drop(field)
		return false
	}
	return true
}

// limit is max_tokens, which this dialect must have.
func (w *writing) limit() int64 {
	switch {
	case w.q.MaxTokens > 0:
		return w.q.MaxTokens
	case w.t.Quirks.DefaultMaxTokens > 0:
		return w.t.Quirks.DefaultMaxTokens
	}
	return w.traits.maxTokens
}

func (w *writing) appendCache(c *llm.Cache) {
	if w.skipCache > 0 {
		w.skipCache--
		return
	}
	w.dst = append(w.dst, `,"cache_control":{"type":"ephemeral"`...)
	switch c.TTL {
	case "5m", "1h":
		w.dst = append(w.dst, `,"ttl":`...)
		w.dst = jsonscan.AppendString(w.dst, c.TTL)
	case "":
	default:
		w.drop("cache_control.ttl")
	}
	w.dst = append(w.dst, '}')
}

// maxCache is how many markers a request may have.
const maxCache = 4

// countCache finds how many markers are too many. The last ones stay: they end the longest prompts.
func (w *writing) countCache() {
	n := 0
	mark := func(c *llm.Cache) {
		if c != nil {
			n++
		}
	}
	mark(w.q.Cache)
	for i := range w.q.Tools {
		if w.sends(&w.q.Tools[i]) {
			mark(w.q.Tools[i].Cache)
		}
	}
	for _, p := range w.system {
		mark(p.Cache)
	}
	for i := range w.turns {
		for _, p := range w.turns[i].results {
			mark(p.Cache)
		}
		for _, p := range w.turns[i].parts {
			mark(p.Cache)
		}
	}
	if slices.Contains(w.t.Quirks.Refuses, "cache_control") {
		w.skipCache = n
	} else {
		w.skipCache = max(n-maxCache, 0)
	}
	if w.skipCache > 0 {
		w.drop(llm.DropCache)
	}
}

func (w *writing) appendSystem() {
	note := w.formatNote()
	if len(w.system) == 0 && note == "" {
		return
	}
	w.dst = append(w.dst, `,"system":[`...)
	for i, p := range w.system {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.appendText(p)
	}
	if note != "" {
		if len(w.system) > 0 {
			w.dst = append(w.dst, ',')
		}
		w.appendText(&llm.Part{Text: note})
	}
	w.dst = append(w.dst, ']')
}

// formatNote asks in words for a form of answer that the model cannot be held to.
func (w *writing) formatNote() string {
	switch w.q.Format.Kind {
	case llm.JSONObject:
		w.drop("response_format")
		return "Answer with one valid JSON object and nothing else: no text around it, no code fence."
	case llm.JSONSchema:
		if w.holdsSchema() {
			return ""
		}
		w.drop("json_schema")
		return "Answer with JSON that keeps to this JSON Schema and with nothing else, no text around it, no code fence:\n" +
			string(w.q.Format.Schema)
	case llm.FreeText:
	}
	return ""
}

// holdsSchema says whether the model can be held to a schema.
func (w *writing) holdsSchema() bool {
	return w.traits.schemas && !w.t.Quirks.PlainSchema && len(w.q.Format.Schema) > 0 &&
		!slices.Contains(w.t.Quirks.Refuses, "output_config")
}

func (w *writing) appendOutputConfig() {
	format := w.q.Format.Kind == llm.JSONSchema && w.holdsSchema()
	if !format && w.thinks.effort == "" {
		return
	}
	if !w.allows("output_config") {
		return
	}
	w.dst = append(w.dst, `,"output_config":{`...)
	if w.thinks.effort != "" {
		w.dst = append(w.dst, `"effort":`...)
		w.dst = jsonscan.AppendString(w.dst, w.thinks.effort)
		if format {
			w.dst = append(w.dst, ',')
		}
	}
	if format {
		schema, lost := strictSchema(w.q.Format.Schema)
		w.drop(lost...)
		w.dst = append(w.dst, `"format":{"type":"json_schema","schema":`...)
		w.dst = append(w.dst, schema...)
		w.dst = append(w.dst, '}')
	}
	w.dst = append(w.dst, '}')
}

func (w *writing) appendSampling() {
	q := w.q
	topP := q.TopP
	if v := q.Temperature; v != nil {
		t := *v
		if t > 1 {
			t = 1
			w.drop("temperature")
		}
		switch {
		case t != 1 && (w.traits.fixedSampling || w.thinks.on):
			w.drop("temperature")
		case w.traits.oneSampler && topP != nil && t == 1:
			// temperature 1 is the default: top_p is what was chosen
		case w.allows("temperature"):
			w.appendNumber("temperature", t)
			if w.traits.oneSampler && topP != nil {
				w.drop("top_p")
				topP = nil
			}
		}
	}
	if topP != nil {
		switch {
		case w.traits.fixedSampling && *topP < 0.99, w.thinks.on && *topP < 0.95:
			w.drop("top_p")
		case w.allows("top_p"):
			w.appendNumber("top_p", min(*topP, 1))
		}
	}
	if q.TopK != nil {
		switch {
		case w.traits.fixedSampling, w.thinks.on:
			w.drop("top_k")
		case w.allows("top_k"):
			w.dst = append(w.dst, `,"top_k":`...)
			w.dst = strconv.AppendInt(w.dst, *q.TopK, 10)
		}
	}
}

func (w *writing) appendNumber(name string, v float64) {
	w.dst = append(w.dst, `,"`...)
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, `":`...)
	w.dst = strconv.AppendFloat(w.dst, v, 'f', -1, 64)
}

// appendStops leaves out stop sequences of white space alone, which the dialect refuses.
func (w *writing) appendStops() {
	n := 0
	for _, s := range w.q.Stop {
		if strings.TrimSpace(s) == "" {
			w.drop("stop")
			continue
		}
		if n == 0 {
			if !w.allows("stop_sequences") {
				return
			}
			w.dst = append(w.dst, `,"stop_sequences":[`...)
		} else {
			w.dst = append(w.dst, ',')
		}
		w.dst = jsonscan.AppendString(w.dst, s)
		n++
	}
	if n > 0 {
		w.dst = append(w.dst, ']')
	}
}

// maxUser is how many characters metadata.user_id may have.
const maxUser = 512

func (w *writing) appendUser() {
	if w.q.User == "" || !w.allows("metadata") {
		return
	}
	if len(w.q.User) > maxUser {
		w.drop("user")
		return
	}
	w.dst = append(w.dst, `,"metadata":{"user_id":`...)
	w.dst = jsonscan.AppendString(w.dst, w.q.User)
	w.dst = append(w.dst, '}')
}

func (w *writing) appendTier() {
	word := ""
	switch w.q.ServiceTier {
	case "":
		return
	case "auto", "priority": // auto takes the priority tier where there is one
		word = "auto"
	case "default", "standard", "standard_only":
		word = "standard_only"
	default:
		w.drop("service_tier")
		return
	}
	if w.allows("service_tier") {
		w.dst = append(w.dst, `,"service_tier":`...)
		w.dst = jsonscan.AppendString(w.dst, word)
	}
}

// noteLost notes what the dialect has no word for.
func (w *writing) noteLost() {
	q := w.q
	for _, f := range [...]struct {
		lost bool
		name string
	}{
		{q.MinP != nil, "min_p"},
		{q.FrequencyPenalty != nil && *q.FrequencyPenalty != 0, "frequency_penalty"},
		{q.PresencePenalty != nil && *q.PresencePenalty != 0, "presence_penalty"},
		{q.Seed != nil, "seed"},
		{q.Choices > 1, "n"},
		{q.LogProbs, "logprobs"},
		{q.TopLogProbs > 0, "top_logprobs"},
		{!empty(q.LogitBias) && len(q.LogitBias) > 0, "logit_bias"},
		{q.Verbosity != "" && q.Verbosity != "medium", "verbosity"},
		{!empty(q.Metadata) && len(q.Metadata) > 0, "metadata"},
		{q.CacheKey != "", "prompt_cache_key"},
		{q.CacheRetention != "", "prompt_cache_retention"},
		{q.Store != nil && *q.Store, "store"},
		{q.AudioVoice != "" || q.AudioFormat != "", "audio"},
		{slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }), "modalities"},
	} {
		if f.lost {
			w.drop(f.name)
		}
	}
}
