package openaichat

import (
	"slices"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// requestEncoder writes one request. Its members are written by the methods below in a fixed order.
type requestEncoder struct {
	dst []byte
	q   *llm.Request
	t   *wire.Target
}

func encodeChat(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	e := requestEncoder{dst: dst, q: q, t: t}
	e.raw("{")
	e.key("model")
	e.str(t.Model)
	e.key("messages")
	if !e.messages() {
		return dst, &wire.RequestError{Message: "nothing of the conversation can be said to the target"}
	}
	e.tools()
	e.format()
	e.settings()
	e.sampling()
	e.output()
	e.stream()
	e.raw("}")
	return e.dst, nil
}

// raw appends text as it is.
func (e *requestEncoder) raw(s string) { e.dst = append(e.dst, s...) }

func (e *requestEncoder) str(s string) { e.dst = jsonscan.AppendString(e.dst, s) }

func (e *requestEncoder) said(p *llm.Part) { e.dst = wire.AppendText(e.dst, p) }

// key appends a member's key, with the comma that is due.
func (e *requestEncoder) key(name string) {
	if last := e.dst[len(e.dst)-1]; last != '{' {
		e.dst = append(e.dst, ',')
	}
	e.str(name)
	e.dst = append(e.dst, ':')
}

// field is key for a member that the target may refuse; it is noted then.
func (e *requestEncoder) field(name string) bool {
	if slices.Contains(e.t.Quirks.Refuses, name) {
		e.q.Dropped.Add(name)
		return false
	}
	e.key(name)
	return true
}

func (e *requestEncoder) strField(name, value string) {
	if value != "" && e.field(name) {
		e.str(value)
	}
}

func (e *requestEncoder) numField(name string, value *float64) {
	if value != nil && e.field(name) {
		e.dst = strconv.AppendFloat(e.dst, *value, 'g', -1, 64)
	}
}

func (e *requestEncoder) intField(name string, value int64) {
	if value != 0 && e.field(name) {
		e.dst = strconv.AppendInt(e.dst, value, 10)
	}
}

func (e *requestEncoder) boolField(name string, value bool) {
	if value && e.field(name) {
		e.raw("true")
	}
}

func (e *requestEncoder) rawField(name string, value []byte) {
	if len(value) > 0 && e.field(name) {
		e.dst = append(e.dst, value...)
	}
}

// sampling writes how tokens are chosen.
func (e *requestEncoder) sampling() {
	q := e.q
	e.numField("temperature", q.Temperature)
	e.numField("top_p", q.TopP)
	if q.TopK != nil {
		q.Dropped.Add("top_k")
	}
	if q.MinP != nil {
		q.Dropped.Add("min_p")
	}
	e.numField("frequency_penalty", q.FrequencyPenalty)
	e.numField("presence_penalty", q.PresencePenalty)
	if q.Seed != nil && e.field("seed") {
		e.dst = strconv.AppendInt(e.dst, *q.Seed, 10)
	}
	if q.Choices > 1 && e.field("n") {
		e.dst = strconv.AppendInt(e.dst, int64(q.Choices), 10)
	}
	if len(q.Stop) > 0 && e.field("stop") {
		e.list(q.Stop)
	}
	e.boolField("logprobs", q.LogProbs)
	if q.LogProbs && q.TopLogProbs > 0 && e.field("top_logprobs") {
		e.dst = strconv.AppendInt(e.dst, int64(q.TopLogProbs), 10)
	}
	e.rawField("logit_bias", q.LogitBias)
}

func (e *requestEncoder) list(values []string) {
	e.raw("[")
	for i, v := range values {
		if i > 0 {
			e.raw(",")
		}
		e.str(v)
	}
	e.raw("]")
}

// maxUser is how many characters the API takes of who asks.
const maxUser = 64

// settings writes who asks, and what the provider is to do with it.
func (e *requestEncoder) settings() {
	q := e.q
	if len(q.User) > maxUser {
		q.Dropped.Add("user")
	} else {
		e.strField("user", q.User)
	}
	if q.Store != nil && *q.Store {
		e.boolField("store", true)
		e.rawField("metadata", q.Metadata)
	} else if len(q.Metadata) > 0 {
		q.Dropped.Add("metadata") // OpenAI refuses it where there is nothing that it could be kept with
	}
	switch q.ServiceTier {
	case "", "auto":
	case "standard_only": // Anthropic's word for it
		e.strField("service_tier", "default")
	default:
		e.strField("service_tier", q.ServiceTier)
	}
	e.strField("prompt_cache_key", q.CacheKey)
	e.strField("prompt_cache_retention", q.CacheRetention)
	if q.Cache != nil {
		q.Dropped.Add(llm.DropCache)
	}
}

// output writes what is wanted: how much, thought over how long, in which form of speech.
func (e *requestEncoder) output() {
	q := e.q
	name := e.t.Quirks.MaxTokensField
	if name == "" {
		name = "max_tokens" // what compatible servers know, too
	}
	e.intField(name, q.MaxTokens)
	e.effort()
	e.strField("verbosity", q.Verbosity)
	switch {
	case slices.Contains(q.Modalities, "audio") && q.AudioVoice == "" && q.AudioFormat == "": // speech needs both
		q.Dropped.Add("modalities")
	case len(q.Modalities) > 0 && e.field("modalities"):
		e.list(q.Modalities)
	}
	if (q.AudioVoice != "" || q.AudioFormat != "") && e.field("audio") {
		e.raw("{")
		if q.AudioVoice != "" {
			e.key("voice")
			e.str(q.AudioVoice)
		}
		if q.AudioFormat != "" {
			e.key("format")
			e.str(q.AudioFormat)
		}
		e.raw("}")
	}
}

// effort writes how much to think. A word goes as the client said it. A budget becomes one that every model with
// reasoning knows. Off without a word is left out unless the target says how: models without reasoning, and those that
// always reason, answer 400 to "none".
func (e *requestEncoder) effort() {
	r := e.q.Reasoning
	switch {
	case r == nil:
	case r.Level != "":
		e.strField("reasoning_effort", r.Level)
	case r.Off && e.t.Quirks.NoThinking != "":
		e.raw("," + e.t.Quirks.NoThinking)
	case r.Off:
		e.q.Dropped.Add("reasoning_effort")
	default:
		e.strField("reasoning_effort", r.LevelOf("low", "medium", "high"))
	}
}

func (e *requestEncoder) stream() {
	if !e.q.Stream {
		return
	}
	e.key("stream")
	e.raw("true")
	if (e.t.AskUsage || e.q.StreamUsage) && !slices.Contains(e.t.Quirks.Refuses, "stream_options") {
		e.raw("," + askMember)
	}
}

// format writes response_format.
func (e *requestEncoder) format() {
	f := &e.q.Format
	switch {
	case f.Kind == llm.FreeText:
	case f.Kind == llm.JSONObject:
		if e.field("response_format") {
			e.raw(`{"type":"json_object"}`)
		}
	case e.t.Quirks.PlainSchema:
		e.q.Dropped.Add("json_schema")
		if e.field("response_format") {
			e.raw(`{"type":"json_object"}`)
		}
	default:
		if e.field("response_format") {
			e.schema(f)
		}
	}
}

func (e *requestEncoder) schema(f *llm.Format) {
	name := f.Name
	if name == "" {
		name = "response" // it must have one
	}
	e.raw(`{"type":"json_schema","json_schema":{"name":`)
	e.str(name)
	if f.Description != "" {
		e.key("description")
		e.str(f.Description)
	}
	if len(f.Schema) > 0 {
		e.key("schema")
		e.dst = append(e.dst, f.Schema...)
	}
	if f.Strict != nil {
		e.key("strict")
		e.dst = strconv.AppendBool(e.dst, *f.Strict)
	}
	e.raw("}}")
}
