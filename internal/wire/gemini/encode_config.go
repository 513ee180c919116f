package gemini

import (
	"slices"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// maxStops is how many stop sequences Google takes.
const maxStops = 5

func (w *writer) tools() {
	q := w.q
	own := make([]*llm.Tool, 0, len(q.Tools))
	var theirs []*llm.Tool
	for i := range q.Tools {
		t := &q.Tools[i]
		switch {
		case t.Cache != nil:
			w.dropped.Add(llm.DropCache)
		}
		switch {
		case t.Opaque != nil && t.Opaque.Vendor == llm.Google && w.t.Vendor == llm.Google:
			theirs = append(theirs, t)
		case t.Opaque != nil:
			w.dropped.Add(llm.DropServerTools)
		case w.narrowed() && !slices.Contains(q.Choice.Only, t.Name): // what may not be called is not declared
		default:
			own = append(own, t)
		}
	}
	w.functions = len(own) > 0
	if len(own)+len(theirs) == 0 {
		return
	}
	w.open("tools", '[')
	if len(own) > 0 {
		w.next()
		w.dst = append(w.dst, '{')
		w.more = false
		w.open("functionDeclarations", '[')
		for _, t := range own {
			w.next()
			w.dst = append(w.dst, '{')
			w.more = false
			w.function(t)
			w.close('}')
		}
		w.close(']')
		w.close('}')
	}
	for _, t := range theirs {
		w.next()
		w.dst = append(w.dst, jsonscan.OneLine(t.Opaque.Raw)...)
	}
	w.close(']')
	if len(own) > 0 {
		w.choice()
	}
}

// narrowed says that only some tools may be called though none must be: Google has no word for that.
func (w *writer) narrowed() bool {
	c := &w.q.Choice
	return len(c.Only) > 0 && (c.How == llm.Auto || c.How == llm.Unsaid)
}

func (w *writer) function(t *llm.Tool) {
	w.text("name", t.Name)
	if t.Description != "" {
		w.text("description", t.Description)
	}
	if t.Strict != nil && *t.Strict {
		w.dropped.Add(llm.DropStrict)
	}
	switch {
	case t.Custom:
		w.dropped.Add(llm.DropCustomTools)
		w.schema("parameters", "parametersJsonSchema", []byte(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`))
	case !empty(t.Schema):
		w.schema("parameters", "parametersJsonSchema", t.Schema)
	}
}

// schema writes a schema under one of two names: as JSON Schema where the target knows it, else as OpenAPI's subset.
func (w *writer) schema(openAPI, jsonSchema string, raw []byte) {
	if w.model.openAPI || w.refused(jsonSchema) {
		w.key(openAPI)
		var lossy bool
		if w.dst, lossy = appendOpenAPI(w.dst, raw); lossy {
			w.dropped.Add("schema")
		}
		return
	}
	w.key(jsonSchema)
	if openAPI == "parameters" {
		w.dst = appendParameters(w.dst, raw)
	} else {
		w.dst = appendJSONSchema(w.dst, raw)
	}
}

func (w *writer) choice() {
	c := &w.q.Choice
	mode := ""
	var only []string
	switch c.How {
	case llm.None:
		mode = "NONE"
	case llm.Required:
		mode, only = "ANY", c.Only
	case llm.Named:
		mode, only = "ANY", []string{c.Name}
	case llm.Auto:
		mode = "AUTO"
	case llm.Unsaid:
		return
	}
	w.open("toolConfig", '{')
	w.open("functionCallingConfig", '{')
	w.text("mode", mode)
	w.texts("allowedFunctionNames", only)
	w.close('}')
	w.close('}')
}

// texts writes a member that is an array of texts, if there are any.
func (l *list) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	l.open(name, '[')
	for _, v := range values {
		l.next()
		l.dst = jsonscan.AppendString(l.dst, v)
	}
	l.close(']')
}

func (w *writer) config() {
	q := w.q
	mark, more := len(w.dst), w.more
	w.open("generationConfig", '{')
	if q.MaxTokens > 0 {
		w.number("maxOutputTokens", q.MaxTokens)
	}
	w.float("temperature", q.Temperature)
	w.float("topP", q.TopP)
	if q.TopK != nil && w.takes("topK", "top_k") {
		w.number("topK", *q.TopK)
	}
	if q.Seed != nil && w.takes("seed", "seed") {
		w.number("seed", *q.Seed)
	}
	w.penalties()
	w.stops()
	if q.Choices > 1 && w.takes("candidateCount", "n") {
		w.number("candidateCount", int64(q.Choices))
	}
	if q.LogProbs && w.takes("responseLogprobs", "logprobs") {
		w.raw("responseLogprobs", []byte("true"))
		if q.TopLogProbs > 0 {
			w.number("logprobs", int64(q.TopLogProbs))
		}
	}
	w.format()
	w.thinking()
	w.modalities()
	if !w.more { // nothing was set
		w.dst, w.more = w.dst[:mark], more
		return
	}
	w.close('}')
}

func (w *writer) penalties() {
	for _, p := range [...]struct {
		name, client string
		value        *float64
	}{
		{"presencePenalty", "presence_penalty", w.q.PresencePenalty},
		{"frequencyPenalty", "frequency_penalty", w.q.FrequencyPenalty},
	} {
		switch {
		case p.value == nil || *p.value == 0 && w.model.noPenalties:
		case w.model.noPenalties:
			w.dropped.Add(p.client)
		case w.takes(p.name, p.client):
			w.float(p.name, p.value)
		}
	}
}

func (w *writer) stops() {
	stops := make([]string, 0, maxStops)
	for _, s := range w.q.Stop {
		switch {
		case s == "":
		case len(stops) == maxStops:
			w.dropped.Add("stop")
		default:
			stops = append(stops, s)
		}
	}
	w.texts("stopSequences", stops)
}

func (w *writer) format() {
	f := &w.q.Format
	if f.Kind == llm.FreeText {
		return
	}
	if w.functions && w.model.noJSONTools {
		w.dropped.Add("response_format")
		return
	}
	w.text("responseMimeType", "application/json")
	if f.Kind != llm.JSONSchema || empty(f.Schema) {
		return
	}
	if w.t.Quirks.PlainSchema {
		w.dropped.Add("response_format")
		return
	}
	w.schema("responseSchema", "responseJsonSchema", f.Schema)
}

// thinking writes thinkingConfig. Thoughts are asked for wherever the client may see them: they cost the same unseen.
func (w *writer) thinking() {
	e := w.q.Reasoning
	if e == nil {
		return
	}
	off := e.Off || e.Level == "none"
	wants := off || e.Level != "" || e.Budget != 0
	level, budget, hasBudget := "", int64(0), false
	switch w.model.thinks {
	case never:
		if wants && !off {
			w.dropped.Add("reasoning_effort")
		}
		return
	case fixed:
		if wants {
			w.dropped.Add("reasoning_effort")
		}
	case byLevel:
		level = strings.ToUpper(e.LevelOf(w.model.levels...))
		if off && w.model.levels[0] != "minimal" {
			w.dropped.Add("reasoning_effort") // it thinks a little all the same
		}
	case byBudget:
		budget, hasBudget = w.budget(e, off)
	}
	show := e.Show != "none" && !off
	if level == "" && !hasBudget && !show {
		return
	}
	w.open("thinkingConfig", '{')
	if level != "" {
		w.text("thinkingLevel", level)
	}
	if hasBudget {
		w.number("thinkingBudget", budget)
	}
	if show {
		w.raw("includeThoughts", []byte("true"))
	}
	w.close('}')
}

func (w *writer) budget(e *llm.Effort, off bool) (budget int64, ok bool) {
	m := &w.model
	switch {
	case off && m.canStop:
		return 0, true
	case off && m.least == 0:
		w.dropped.Add("reasoning_effort")
		return 0, false
	case off:
		w.dropped.Add("reasoning_effort") // it thinks a little all the same
		return m.least, true
	case e.Budget < 0 && e.Level == "":
		return -1, true
	case e.Budget == 0 && e.Level == "":
		return 0, false
	}
	budget = e.Budget
	if budget <= 0 {
		budget = e.BudgetOf(0)
	}
	if w.q.MaxTokens > 0 { // thoughts count as output: room must be left for the answer
		budget = min(budget, w.q.MaxTokens/5*4)
	}
	return min(max(budget, m.least, 1), m.most), true
}

func (w *writer) modalities() {
	q := w.q
	if len(q.Modalities) > 0 {
		up := make([]string, len(q.Modalities))
		for i, m := range q.Modalities {
			up[i] = strings.ToUpper(m)
		}
		if len(up) > 1 || up[0] != "TEXT" {
			w.texts("responseModalities", up)
		}
	}
	if q.AudioVoice != "" {
		w.open("speechConfig", '{')
		w.open("voiceConfig", '{')
		w.open("prebuiltVoiceConfig", '{')
		w.text("voiceName", q.AudioVoice)
		w.close('}')
		w.close('}')
		w.close('}')
	}
	if q.AudioFormat != "" {
		w.dropped.Add("audio.format")
	}
}
