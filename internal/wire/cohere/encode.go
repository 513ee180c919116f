package cohere

import (
	"slices"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// EncodeRequest appends the body of a chat. The error is a *wire.RequestError where nothing that can be sent is left of
// the conversation.
func (Chat) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	w := writer{q: q, t: t, drop: q.Dropped}
	out := jsonscan.AppendStringMember(append(dst, '{'), "model", t.Model)
	out, ok := w.appendMessages(out)
	if !ok {
		return dst, &wire.RequestError{Param: "messages", Message: "nothing of the conversation can be sent to Cohere: " + strings.Join(q.Dropped.Names(), ", ")}
	}
	if q.Stream {
		out = append(jsonscan.AppendKey(out, "stream"), "true"...)
	}
	out = w.appendDocuments(out)
	out, tools := w.appendTools(out)
	out = w.appendFormat(out, tools)
	out = w.appendParameters(out)
	out = w.appendThinking(out)
	w.noteRest()
	return append(out, '}'), nil
}

// writer writes one request.
type writer struct {
	q    *llm.Request
	t    *wire.Target
	drop *llm.Dropped

	documents                    []document
	unnamedCalls, unnamedResults int
}

// refuses says whether the target's quirks forbid a field, and notes it then by the client's word for it.
func (w *writer) refuses(field, word string) bool {
	if !slices.Contains(w.t.Quirks.Refuses, field) {
		return false
	}
	w.drop.Add(word)
	return true
}

// appendTools appends the tools that may be called, and says whether there are any. A tool that must be called is the
// only one that is declared: Cohere can be told that one must, and not which.
func (w *writer) appendTools(dst []byte) (out []byte, some bool) {
	q := w.q
	from := len(dst)
	dst = append(jsonscan.AppendKey(dst, "tools"), '[')
	none := len(dst)
	strict, loose := 0, 0
	for i := range q.Tools {
		t := &q.Tools[i]
		switch {
		case t.Opaque != nil:
			w.drop.Add(llm.DropServerTools)
			continue
		case q.Choice.How == llm.Named && t.Name != q.Choice.Name,
			len(q.Choice.Only) > 0 && !slices.Contains(q.Choice.Only, t.Name):
			continue
		}
		if t.Cache != nil {
			w.drop.Add(llm.DropCache)
		}
		if t.Strict != nil && *t.Strict {
			strict++
		} else {
			loose++
		}
		dst = w.appendTool(jsonscan.AppendComma(dst), t)
	}
	if len(dst) == none {
		if q.Choice.How == llm.Required || q.Choice.How == llm.Named {
			w.drop.Add("tool_choice")
		}
		return dst[:from], false
	}
	dst = append(dst, ']')
	if strict > 0 { // one word for all of them
		if loose > 0 {
			w.drop.Add(llm.DropStrict)
		} else if !w.refuses("strict_tools", llm.DropStrict) {
			dst = append(jsonscan.AppendKey(dst, "strict_tools"), "true"...)
		}
	}
	switch q.Choice.How {
	case llm.Required, llm.Named:
		if !w.refuses("tool_choice", "tool_choice") {
			dst = jsonscan.AppendStringMember(dst, "tool_choice", "REQUIRED")
		}
	case llm.None:
		if !w.refuses("tool_choice", "tool_choice") {
			dst = jsonscan.AppendStringMember(dst, "tool_choice", "NONE")
		}
	case llm.Unsaid, llm.Auto:
	}
	if q.Parallel != nil && !*q.Parallel {
		w.drop.Add("parallel_tool_calls")
	}
	return dst, true
}

// customInput is the one argument of a tool that takes free text, which goes as a function.
const customInput = "input"

func (w *writer) appendTool(dst []byte, t *llm.Tool) []byte {
	dst = append(dst, `{"type":"function","function":{`...)
	dst = jsonscan.AppendStringMember(dst, "name", t.Name)
	if t.Description != "" {
		dst = jsonscan.AppendStringMember(dst, "description", t.Description)
	}
	dst = jsonscan.AppendKey(dst, "parameters")
	switch {
	case t.Custom:
		w.drop.Add(llm.DropCustomTools)
		dst = append(dst, `{"type":"object","properties":{"`+customInput+`":{"type":"string"}},"required":["`+customInput+`"]}`...)
	case jsonscan.IsObject(t.Schema):
		dst = append(dst, t.Schema...)
	default:
		dst = append(dst, `{"type":"object","properties":{}}`...)
	}
	return append(dst, "}}"...)
}

// appendFormat appends the form of the answer, which Cohere does not know beside tools or documents.
func (w *writer) appendFormat(dst []byte, tools bool) []byte {
	f := &w.q.Format
	if f.Kind == llm.FreeText {
		return dst
	}
	if tools || len(w.documents) > 0 {
		w.drop.Add("response_format")
		return dst
	}
	if w.refuses("response_format", "response_format") {
		return dst
	}
	dst = append(jsonscan.AppendKey(dst, "response_format"), `{"type":"json_object"`...)
	if f.Kind == llm.JSONSchema {
		if w.t.Quirks.PlainSchema || !jsonscan.IsObject(f.Schema) {
			w.drop.Add("json_schema")
		} else {
			dst = append(jsonscan.AppendKey(dst, "json_schema"), f.Schema...)
		}
	}
	return append(dst, '}')
}

const (
	maxStops = 5
	maxK     = 500
)

// appendParameters appends what steers the sampling, within Cohere's bounds.
func (w *writer) appendParameters(dst []byte) []byte {
	q := w.q
	limit := q.MaxTokens
	if limit <= 0 {
		limit = w.t.Quirks.DefaultMaxTokens
	}
	if limit > 0 {
		dst = jsonscan.AppendIntMember(dst, "max_tokens", limit)
	}
	if len(q.Stop) > 0 && !w.refuses("stop_sequences", "stop") {
		if len(q.Stop) > maxStops {
			w.drop.Add("stop")
		}
		dst = append(jsonscan.AppendKey(dst, "stop_sequences"), '[')
		for _, s := range q.Stop[:min(len(q.Stop), maxStops)] {
			dst = jsonscan.AppendString(jsonscan.AppendComma(dst), s)
		}
		dst = append(dst, ']')
	}
	dst = w.appendBounded(dst, "temperature", "temperature", q.Temperature, 0, 2)
	if q.TopP != nil && !w.refuses("p", "top_p") {
		dst = jsonscan.AppendFloatMember(dst, "p", min(max(*q.TopP, 0.01), 0.99)) // 1, for all there are, is out of its bounds
	}
	if q.TopK != nil && !w.refuses("k", "top_k") {
		dst = jsonscan.AppendIntMember(dst, "k", min(max(*q.TopK, 0), maxK))
	}
	dst = w.appendBounded(dst, "frequency_penalty", "frequency_penalty", q.FrequencyPenalty, 0, 1)
	dst = w.appendBounded(dst, "presence_penalty", "presence_penalty", q.PresencePenalty, 0, 1)
	if q.Seed != nil && !w.refuses("seed", "seed") {
		dst = jsonscan.AppendIntMember(dst, "seed", *q.Seed)
	}
	if q.LogProbs && !w.refuses("logprobs", "logprobs") {
		dst = append(jsonscan.AppendKey(dst, "logprobs"), "true"...)
	}
	return dst
}

// appendBounded appends a number, or the bound that it is beyond, which is noted.
func (w *writer) appendBounded(dst []byte, field, word string, value *float64, low, high float64) []byte {
	if value == nil || w.refuses(field, word) {
		return dst
	}
	v := min(max(*value, low), high)
	if v != *value {
		w.drop.Add(word)
	}
	return jsonscan.AppendFloatMember(dst, field, v)
}

// thinks says whether a model has thoughts that can be turned on and off. What is not known to be unable is able.
func thinks(model string) bool {
	for _, old := range [...]string{"command-r", "command-light", "command-nightly", "command-a-03-2025", "command-a-vision", "command-a-translate", "aya"} {
		if strings.Contains(model, old) {
			return false
		}
	}
	return true
}

func (w *writer) appendThinking(dst []byte) []byte {
	e := w.q.Reasoning
	if e == nil {
		return dst
	}
	off := e.Off || e.Level == "none"
	switch {
	case !thinks(w.t.Model) || slices.Contains(w.t.Quirks.Refuses, "thinking"):
		if !off && (e.Level != "" || e.Budget != 0) {
			w.drop.Add("reasoning_effort")
		}
	case off:
		dst = append(jsonscan.AppendKey(dst, "thinking"), `{"type":"disabled"}`...)
	case e.Budget > 0 || e.Level != "":
		dst = append(jsonscan.AppendKey(dst, "thinking"), `{"type":"enabled"`...)
		dst = append(jsonscan.AppendIntMember(dst, "token_budget", e.BudgetOf(w.q.MaxTokens)), '}')
	case e.Budget < 0:
		dst = append(jsonscan.AppendKey(dst, "thinking"), `{"type":"enabled"}`...)
	}
	return dst
}

// noteRest notes what Cohere has no place for.
func (w *writer) noteRest() {
	q := w.q
	for _, lost := range [...]struct {
		is   bool
		word string
	}{
		{q.MinP != nil, "min_p"},
		{q.Choices > 1, "n"},
		{q.TopLogProbs > 0, "top_logprobs"},
		{len(q.LogitBias) > len("{}"), "logit_bias"},
		{q.Verbosity != "" && q.Verbosity != "medium", "verbosity"},
		{q.ServiceTier != "" && q.ServiceTier != "auto" && q.ServiceTier != "default" && q.ServiceTier != "standard_only", "service_tier"},
		{q.User != "", "user"},
		{len(q.Metadata) > len("{}"), "metadata"},
		{q.CacheKey != "", "prompt_cache_key"},
		{q.CacheRetention != "", "prompt_cache_retention"},
		{q.Cache != nil, llm.DropCache},
		{slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }), "modalities"},
		{q.AudioVoice != "" || q.AudioFormat != "", "audio"},
		{q.Store != nil && *q.Store, "store"},
	} {
		if lost.is {
			w.drop.Add(lost.word)
		}
	}
}
