package responses

import (
	"slices"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// maxUser is how many characters the API takes of who asks.
const maxUser = 64

// minOutputTokens is the smallest max_output_tokens that the API takes.
const minOutputTokens = 16

// encodeRequest appends q for a target. The gateway keeps the conversation, so nothing is stored upstream unless the
// client asked for it, and thoughts are asked for in sealed form, to be sent back.
func encodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	e := requestEncoder{members: members{dst: append(dst, '{')}, q: q, t: t}
	e.text("model", t.Model)
	if err := e.conversation(); err != nil {
		return dst, err
	}
	e.tools()
	if q.Parallel != nil && len(q.Tools) > 0 {
		e.bool("parallel_tool_calls", *q.Parallel)
	}
	if n := q.MaxTokens; n > 0 && e.takes("max_output_tokens", "max_tokens") {
		if n < minOutputTokens {
			n = minOutputTokens
			q.Dropped.Add("max_tokens")
		}
		e.dst = strconv.AppendInt(e.key([]byte("max_output_tokens")), n, 10)
	}
	e.float("temperature", q.Temperature)
	e.float("top_p", q.TopP)
	if q.TopLogProbs > 0 && e.takes("top_logprobs", "top_logprobs") {
		e.dst = strconv.AppendInt(e.key([]byte("top_logprobs")), int64(q.TopLogProbs), 10)
	}
	e.reasoning()
	e.form()
	e.include()
	e.bool("store", q.Store != nil && *q.Store)
	if len(q.Metadata) > 0 && e.takes("metadata", "metadata") {
		e.add([]byte("metadata"), q.Metadata)
	}
	if len(q.User) > maxUser {
		q.Dropped.Add("user")
	} else {
		e.word("user", q.User)
	}
	e.word("prompt_cache_key", q.CacheKey)
	e.word("prompt_cache_retention", q.CacheRetention)
	tier := q.ServiceTier
	if tier == "standard_only" || tier == "standard" {
		tier = "default"
	}
	e.word("service_tier", tier)
	if q.Stream {
		e.bool("stream", true)
	}
	e.unsayable()
	return append(e.dst, '}'), nil
}

// requestEncoder writes the members of a request.
type requestEncoder struct {
	members
	q *llm.Request
	t *wire.Target
	// inMessage: a message item is open, until something comes that is no part of it.
	inMessage bool
	items     bool // an item was written
}

// takes says whether the target takes a field; one that it refuses is noted by the client's name for it.
func (e *requestEncoder) takes(field, name string) bool {
	if slices.Contains(e.t.Quirks.Refuses, field) {
		e.q.Dropped.Add(name)
		return false
	}
	return true
}

func (e *requestEncoder) text(name, value string) {
	e.dst = jsonscan.AppendString(e.key([]byte(name)), value)
}

// word writes a field that is set, and that the target takes.
func (e *requestEncoder) word(name, value string) {
	if value != "" && e.takes(name, name) {
		e.text(name, value)
	}
}

func (e *requestEncoder) bool(name string, value bool) {
	if e.takes(name, "") || value && e.takes(name, name) {
		e.dst = strconv.AppendBool(e.key([]byte(name)), value)
	}
}

func (e *requestEncoder) float(name string, value *float64) {
	if value != nil && e.takes(name, name) {
		e.dst = strconv.AppendFloat(e.key([]byte(name)), *value, 'g', -1, 64)
	}
}

// reasoning writes how much the model may think. A model that is not known to think is not told to stop: it would refuse.
func (e *requestEncoder) reasoning() {
	r := e.q.Reasoning
	if r == nil {
		return
	}
	level := r.LevelOf("none", "minimal", "low", "medium", "high", "xhigh", "max")
	if r.Off || level == "none" {
		level = least(e.t.Model)
	}
	show := ""
	switch r.Show {
	case "auto", "concise", "detailed":
		show = r.Show
	case "summarized":
		show = "auto"
	}
	if level == "" && show == "" || !e.takes("reasoning", "reasoning") {
		return
	}
	e.dst = append(e.key([]byte("reasoning")), '{')
	inner := members{dst: e.dst}
	if level != "" {
		inner.dst = jsonscan.AppendString(inner.key([]byte("effort")), level)
	}
	if show != "" {
		inner.dst = jsonscan.AppendString(inner.key([]byte("summary")), show)
	}
	e.dst = append(inner.dst, '}')
}

// family says which family of OpenAI's an id names: o1, o3, o4, gpt-5, gpt-5.1 and so on; empty for the models that do not
// think, and for those that are not known. The API refuses to be asked for sealed thoughts of a model that has none.
func family(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name = strings.TrimPrefix(name, "openai.")
	for _, f := range [...]string{"o1", "o3", "o4"} {
		if name == f || strings.HasPrefix(name, f+"-") {
			return f
		}
	}
	rest, ok := strings.CutPrefix(name, "gpt-5")
	if !ok || strings.Contains(rest, "-chat") {
		return ""
	}
	version, _, _ := strings.Cut(rest, "-")
	return "gpt-5" + version
}

// least is the word for as little thinking as a model can do; empty if it is not known to think at all.
func least(model string) string {
	switch f := family(model); f {
	case "":
		return ""
	case "o1", "o3", "o4":
		return "low"
	case "gpt-5":
		return "minimal"
	}
	return "none"
}

func (e *requestEncoder) form() {
	f := &e.q.Format
	kind := f.Kind
	if kind == llm.JSONSchema && e.t.Quirks.PlainSchema {
		kind = llm.JSONObject
		e.q.Dropped.Add("json_schema")
	}
	if kind == llm.FreeText && e.q.Verbosity == "" || !e.takes("text", "response_format") {
		return
	}
	e.dst = appendText(e.key([]byte("text")), f, kind, e.q.Verbosity)
}

// appendText appends the member text: the answer's form and how wordy it may be.
func appendText(dst []byte, f *llm.Format, kind llm.FormatKind, verbosity string) []byte {
	dst = append(dst, `{"format":{"type":`...)
	switch kind {
	case llm.FreeText:
		dst = append(dst, `"text"`...)
	case llm.JSONObject:
		dst = append(dst, `"json_object"`...)
	case llm.JSONSchema:
		dst = append(dst, `"json_schema","name":`...)
		name := f.Name
		if name == "" {
			name = "answer"
		}
		dst = jsonscan.AppendString(dst, name)
		if f.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = jsonscan.AppendString(dst, f.Description)
		}
		dst = append(dst, `,"schema":`...)
		if len(f.Schema) > 0 {
			dst = append(dst, f.Schema...)
		} else {
			dst = append(dst, `{"type":"object"}`...)
		}
		if f.Strict != nil {
			dst = append(dst, `,"strict":`...)
			dst = strconv.AppendBool(dst, *f.Strict)
		}
	}
	dst = append(dst, '}')
	if verbosity != "" {
		dst = append(dst, `,"verbosity":`...)
		dst = jsonscan.AppendString(dst, verbosity)
	}
	return append(dst, '}')
}

// include asks for sealed thoughts where there may be some, and for log probabilities.
func (e *requestEncoder) include() {
	r := e.q.Reasoning
	sealed := r != nil && !r.Off || family(e.t.Model) != ""
	if !sealed && !e.q.LogProbs {
		return
	}
	if slices.Contains(e.t.Quirks.Refuses, "include") {
		if e.q.LogProbs {
			e.q.Dropped.Add("logprobs")
		}
		return
	}
	var words []string
	if sealed {
		words = append(words, `"`+includeSealed+`"`)
	}
	if e.q.LogProbs {
		words = append(words, `"`+includeLogProbs+`"`)
	}
	e.add([]byte("include"), []byte("["+strings.Join(words, ",")+"]"))
}

// unsayable notes what the dialect has no word for.
func (e *requestEncoder) unsayable() {
	q := e.q
	for _, f := range [...]struct {
		set  bool
		name string
	}{
		{len(q.Stop) > 0, "stop"},
		{q.FrequencyPenalty != nil && *q.FrequencyPenalty != 0, "frequency_penalty"},
		{q.PresencePenalty != nil && *q.PresencePenalty != 0, "presence_penalty"},
		{q.Seed != nil, "seed"},
		{len(q.LogitBias) > len("{}"), "logit_bias"},
		{q.Choices > 1, "n"},
		{q.TopK != nil, "top_k"},
		{q.MinP != nil && *q.MinP != 0, "min_p"},
		{q.Cache != nil, llm.DropCache},
		{slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }), "modalities"},
		{q.AudioVoice != "" || q.AudioFormat != "", llm.DropAudio},
	} {
		if f.set {
			q.Dropped.Add(f.name)
		}
	}
}
