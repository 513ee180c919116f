package converse

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// EncodeRequest appends the body of a Converse or ConverseStream call: model and kind of answer are in its path. The
// error is a *wire.RequestError where nothing that can be sent is left of the conversation.
func (Converse) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	w := writer{q: q, t: t, drop: q.Dropped, claude: t.Vendor == llm.Anthropic}
	if w.claude {
		w.generation = generationOf(t.Model)
	}
	w.blocks = make([]block, 0, 2*len(q.Messages))
	w.render()
	w.tools = w.declared()
	w.decideThinking()
	out := append(dst, '{')
	out, ok := w.appendMessages(out)
	if !ok {
		return dst, &wire.RequestError{Param: "messages", Message: "nothing of the conversation can be sent to Amazon Bedrock: " + strings.Join(q.Dropped.Names(), ", ")}
	}
	out = w.appendSystem(out)
	out = w.appendTools(out)
	out = w.appendInference(out)
	out = w.appendAdditional(out)
	out = w.appendOutput(out)
	out = w.appendRest(out)
	return append(out, '}'), nil
}

// writer writes one request.
type writer struct {
	q          *llm.Request
	t          *wire.Target
	drop       *llm.Dropped
	claude     bool
	generation generation

	// buf holds the content blocks that blocks point into.
	buf    []byte
	blocks []block
	names  map[string]bool // of documents
	// used are the names of the tools that the history calls.
	used []string
	// unnamed counts calls and results without an id.
	unnamedCalls, unnamedResults int

	tools    []tool
	thinking thinking
}

// refuses says whether the target's quirks forbid a field, and notes it then by the client's word for it.
func (w *writer) refuses(field, word string) bool {
	if !slices.Contains(w.t.Quirks.Refuses, field) {
		return false
	}
	w.drop.Add(word)
	return true
}

// appendSystem appends the system prompt. Bedrock refuses blank text.
func (w *writer) appendSystem(dst []byte) []byte {
	from := len(dst)
	dst = append(jsonscan.AppendKey(dst, "system"), '[')
	empty := len(dst)
	for i := range w.q.System {
		p := &w.q.System[i]
		if p.Kind != llm.Text {
			w.dropPart(p)
			continue
		}
		if blankPart(p) {
			continue
		}
		dst = append(jsonscan.AppendComma(dst), '{')
		dst = wire.AppendText(jsonscan.AppendKey(dst, "text"), p)
		dst = append(dst, '}')
		if p.Cache != nil && w.caches() {
			dst = appendCachePoint(append(dst, ','), w.ttl(p.Cache))
		}
	}
	if len(dst) == empty {
		return dst[:from]
	}
	return append(dst, ']')
}

// caches says whether the model knows cache points, and notes it if it does not.
func (w *writer) caches() bool {
	if (w.claude || w.t.Vendor == llm.Amazon) && !slices.Contains(w.t.Quirks.Refuses, "cachePoint") {
		return true
	}
	w.drop.Add(llm.DropCache)
	return false
}

// ttl is how long a cached prompt is to live, where that is not the usual.
func (w *writer) ttl(c *llm.Cache) string {
	if w.claude && c.TTL == "1h" {
		return c.TTL
	}
	if c.TTL != "" && c.TTL != "5m" {
		w.drop.Add(llm.DropCache + ".ttl")
	}
	return ""
}

func appendCachePoint(dst []byte, ttl string) []byte {
	dst = append(dst, `{"cachePoint":{"type":"default"`...)
	if ttl != "" {
		dst = jsonscan.AppendStringMember(dst, "ttl", ttl)
	}
	return append(dst, "}}"...)
}

// appendInference appends the parameters that all models share.
func (w *writer) appendInference(dst []byte) []byte {
	from := len(dst)
	dst = append(jsonscan.AppendKey(dst, "inferenceConfig"), '{')
	empty := len(dst)
	limit := w.q.MaxTokens
	if limit <= 0 {
		limit = max(w.t.Quirks.DefaultMaxTokens, w.thinking.limit)
	}
	if limit > 0 && !(w.thinking.unlimited && w.lose("max_tokens")) {
		dst = jsonscan.AppendIntMember(dst, "maxTokens", limit)
	}
	temperature, topP := w.sampling()
	if temperature != nil {
		dst = jsonscan.AppendFloatMember(dst, "temperature", *temperature)
	}
	if topP != nil {
		dst = jsonscan.AppendFloatMember(dst, "topP", *topP)
	}
	stop := dst
	stop = append(jsonscan.AppendKey(stop, "stopSequences"), '[')
	none := len(stop)
	for _, s := range w.q.Stop {
		if s == "" || w.claude && isBlank(s) { // refused
			w.drop.Add("stop")
			continue
		}
		stop = jsonscan.AppendString(jsonscan.AppendComma(stop), s)
	}
	if len(stop) > none {
		dst = append(stop, ']')
	}
	if len(dst) == empty {
		return dst[:from]
	}
	return append(dst, '}')
}

func (w *writer) lose(word string) bool {
	w.drop.Add(word)
	return true
}

// sampling are temperature and top_p as the model takes them. A value that is the model's default is left out silently.
func (w *writer) sampling() (temperature, topP *float64) {
	temperature, topP = w.q.Temperature, w.q.TopP
	if temperature != nil {
		switch {
		case w.refuses("temperature", "temperature"):
			temperature = nil
		case w.thinking.fixed || w.claude && w.generation.fixedSampling():
			if *temperature != 1 {
				w.drop.Add("temperature")
			}
			temperature = nil
		case *temperature > 1: // OpenAI's scale goes to 2, Bedrock's ends here
			one := 1.0
			temperature = &one
			w.drop.Add("temperature")
		}
	}
	if topP != nil {
		switch {
		case w.refuses("topP", "top_p"):
			topP = nil
		case w.thinking.fixed && *topP < 0.95, w.thinking.unlimited, w.claude && w.generation.fixedSampling():
			if *topP != 1 {
				w.drop.Add("top_p")
			}
			topP = nil
		}
	}
	if temperature != nil && topP != nil && w.claude && w.generation.oneSampling() {
		switch {
		case *topP == 1:
			topP = nil
		case *temperature == 1:
			temperature = nil
		default:
			topP = nil
			w.drop.Add("top_p")
		}
	}
	return temperature, topP
}

// appendOutput appends the form of the answer and the effort to make.
func (w *writer) appendOutput(dst []byte) []byte {
	schema := false
	switch w.q.Format.Kind {
	case llm.FreeText:
	case llm.JSONObject:
		w.drop.Add("response_format")
	case llm.JSONSchema:
		schema = w.structured() && !w.t.Quirks.PlainSchema && jsonscan.IsObject(w.q.Format.Schema)
		if !schema {
			w.drop.Add("response_format")
		}
	}
	if !schema && w.thinking.effort == "" {
		return dst
	}
	if slices.Contains(w.t.Quirks.Refuses, "outputConfig") {
		if schema {
			w.drop.Add("response_format")
		}
		if w.thinking.effort != "" {
			w.drop.Add("reasoning_effort")
		}
		return dst
	}
	dst = append(jsonscan.AppendKey(dst, "outputConfig"), '{')
	if w.thinking.effort != "" {
		dst = jsonscan.AppendStringMember(dst, "effort", w.thinking.effort)
	}
	if schema {
		f := &w.q.Format
		dst = append(jsonscan.AppendKey(dst, "textFormat"), `{"type":"json_schema","structure":{"jsonSchema":{`...)
		dst = jsonscan.AppendString(jsonscan.AppendKey(dst, "schema"), string(f.Schema)) // JSON in a string
		if f.Name != "" {
			dst = jsonscan.AppendStringMember(dst, "name", f.Name)
		}
		if f.Description != "" {
			dst = jsonscan.AppendStringMember(dst, "description", f.Description)
		}
		dst = append(dst, "}}}"...)
	}
	return append(dst, '}')
}

// structured says whether the model keeps to a JSON Schema when it is told to. What is not known to be unable is able.
func (w *writer) structured() bool {
	switch {
	case w.t.Vendor == llm.Amazon:
		return false
	case w.claude:
		return w.generation.schemas()
	}
	return true
}

// appendRest appends what is about the request and not the answer, and notes what Converse has no place for.
func (w *writer) appendRest(dst []byte) []byte {
	switch tier := w.q.ServiceTier; tier {
	case "", "auto":
	case "default", "flex", "priority", "reserved":
		if !w.refuses("serviceTier", "service_tier") {
			dst = append(jsonscan.AppendKey(dst, "serviceTier"), '{')
			dst = append(jsonscan.AppendStringMember(dst, "type", tier), '}')
		}
	case "standard_only":
		if !w.refuses("serviceTier", "service_tier") {
			dst = append(jsonscan.AppendKey(dst, "serviceTier"), `{"type":"default"}`...)
		}
	default:
		w.drop.Add("service_tier")
	}
	dst = w.appendMetadata(dst)
	q := w.q
	for _, lost := range [...]struct {
		is   bool
		word string
	}{
		{q.MinP != nil, "min_p"},
		{q.FrequencyPenalty != nil && *q.FrequencyPenalty != 0, "frequency_penalty"},
		{q.PresencePenalty != nil && *q.PresencePenalty != 0, "presence_penalty"},
		{q.Seed != nil, "seed"},
		{q.Choices > 1, "n"},
		{q.LogProbs, "logprobs"},
		{q.TopLogProbs > 0, "top_logprobs"},
		{len(q.LogitBias) > len("{}"), "logit_bias"},
		{q.Verbosity != "" && q.Verbosity != "medium", "verbosity"},
		{q.User != "", "user"},
		{q.CacheKey != "", "prompt_cache_key"},
		{q.CacheRetention != "", "prompt_cache_retention"},
		{slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }), "modalities"},
		{q.AudioVoice != "" || q.AudioFormat != "", "audio"},
		{q.Store != nil && *q.Store, "store"},
	} {
		if lost.is {
			w.drop.Add(lost.word)
		}
	}
	return dst
}

const (
	maxMetadata     = 16  // entries
	maxMetadataText = 256 // bytes of a key or a value
)

// appendMetadata appends what the client wants kept with the answer; Bedrock writes it into its invocation logs. Entries
// that it would refuse are left out.
func (w *writer) appendMetadata(dst []byte) []byte {
	if len(w.q.Metadata) == 0 {
		return dst
	}
	if w.refuses("requestMetadata", "metadata") {
		return dst
	}
	from := len(dst)
	dst = append(jsonscan.AppendKey(dst, "requestMetadata"), '{')
	entries := 0
	d := json.NewDecoder(bytes.NewReader(w.q.Metadata))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		w.drop.Add("metadata")
		return dst[:from]
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			w.drop.Add("metadata")
			return dst[:from]
		}
		name, _ := key.(string)
		var text string
		if json.Unmarshal(value, &text) != nil || entries == maxMetadata || name == "" || !loggable(name) || !loggable(text) {
			w.drop.Add("metadata")
			continue
		}
		dst = jsonscan.AppendString(jsonscan.AppendComma(dst), name)
		dst = jsonscan.AppendString(append(dst, ':'), text)
		entries++
	}
	if entries == 0 {
		return dst[:from]
	}
	return append(dst, '}')
}

// loggable says whether Bedrock takes a text as metadata.
func loggable(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(" \t\r\n:_@$#=/+,-.", c) >= 0:
		default:
			return false
		}
	}
	return len(s) <= maxMetadataText
}
