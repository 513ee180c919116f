package openaichat

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// streamOptions reads stream_options, whose include_usage ReadRequest has read.
func (d *requestDecoder) streamOptions() {
	if !d.enter("stream_options") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		if string(key) == "include_usage" {
			d.r.Skip()
			continue
		}
		d.drop(string(key))
	}
}

// usage reads OpenRouter's {"include": true}.
func (d *requestDecoder) usage() {
	if !d.enter("usage") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		if string(key) != "include" {
			d.drop(string(key))
			continue
		}
		if b := d.boolean("usage.include"); b != nil && *b {
			d.q.StreamUsage = true
		}
	}
}

func (d *requestDecoder) stop() {
	d.q.Stop = nil // see messages
	switch d.r.Kind() {
	case jsonscan.String:
		s := d.str()
		d.q.Stop = []string{s}
	case jsonscan.Array:
		d.r.Array()
		for d.r.Elem() {
			if d.r.Kind() != jsonscan.String {
				d.refuse("stop", "a string or an array of strings")
				continue
			}
			s := d.str()
			d.q.Stop = append(d.q.Stop, s)
		}
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Number, jsonscan.Bool:
		d.refuse("stop", "a string or an array of strings")
	}
}

// reasoning reads how much to think, in OpenAI's word, OpenRouter's object or the one that Anthropic's clients know.
func (d *requestDecoder) reasoning(key string) {
	switch key {
	case "reasoning_effort":
		if word := d.text(key); word != "" && d.effort.Level == "" && d.effort.Budget <= 0 && !d.effort.Off {
			d.hasEffort = true
			d.level(word)
		}
	case "reasoning":
		d.reasoningObject()
	case "thinking":
		d.thinkingObject()
	}
}

func (d *requestDecoder) level(word string) {
	d.effort.Level, d.effort.Off, d.effort.Budget = word, word == "none", 0
}

// unsaidEffort leaves the amount to the model where an effort was made for another reason.
func (d *requestDecoder) unsaidEffort() {
	if d.effort.Level == "" && d.effort.Budget == 0 && !d.effort.Off {
		d.effort.Budget = -1
	}
}

// reasoningObject reads OpenRouter's: {effort, max_tokens, enabled, exclude, summary}. Whoever sends it knows
// reasoning_details too.
func (d *requestDecoder) reasoningObject() {
	if !d.enter("reasoning") {
		return
	}
	var level string
	var budget int64
	var on, off bool
	e := &d.effort
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "effort":
			level = d.text("reasoning.effort")
		case "max_tokens":
			budget = d.integer("reasoning.max_tokens")
		case "enabled":
			if b := d.boolean("reasoning.enabled"); b != nil {
				on, off = *b, !*b
			}
		case "exclude":
			if b := d.boolean("reasoning.exclude"); b != nil && *b {
				e.Show = "none"
			}
		case "summary":
			if s := d.text("reasoning.summary"); s != "" && e.Show == "" {
				e.Show = s
			}
		default:
			d.drop(string(key))
		}
	}
	e.Sealed = true
	switch {
	case off:
		e.Off, e.Level, e.Budget = true, "", 0
	case budget > 0:
		e.Off, e.Level, e.Budget = false, "", budget
	case level != "":
		d.level(level)
	case on:
		d.unsaidEffort()
	default: // how to show it alone does not ask for it
		return
	}
	d.hasEffort = true
}

// thinkingObject reads {type, budget_tokens, display}.
func (d *requestDecoder) thinkingObject() {
	if !d.enter("thinking") {
		return
	}
	var kind string
	var budget int64
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "type":
			kind = d.text("thinking.type")
		case "budget_tokens":
			budget = d.integer("thinking.budget_tokens")
		case "display":
			switch show := d.text("thinking.display"); show {
			case "omitted":
				d.effort.Show = "none"
			default:
				d.effort.Show = show
			}
		default:
			d.drop(string(key))
		}
	}
	d.hasEffort = true
	switch {
	case kind == "disabled":
		d.effort.Off, d.effort.Level, d.effort.Budget = true, "", 0
	case budget > 0:
		d.effort.Off, d.effort.Level, d.effort.Budget = false, "", budget
	}
	d.unsaidEffort()
}

// format reads response_format.
func (d *requestDecoder) format() {
	if !d.enter("response_format") {
		return
	}
	f := &d.q.Format
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "type":
			switch kind := d.text("response_format.type"); kind {
			case "", "text":
			case "json_object":
				f.Kind = llm.JSONObject
			case "json_schema":
				f.Kind = llm.JSONSchema
			default:
				d.fail("response_format.type", `"response_format.type" must be text, json_object or json_schema`)
			}
		case "json_schema":
			d.schema(f)
		default:
			d.drop("response_format." + string(key))
		}
	}
	if f.Kind == llm.JSONSchema && len(f.Schema) == 0 {
		d.fail("response_format.json_schema", `"response_format" of type json_schema needs "json_schema" with a "schema"`)
	}
}

func (d *requestDecoder) schema(f *llm.Format) {
	if !d.enter("response_format.json_schema") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "name":
			f.Name = d.text("response_format.json_schema.name")
		case "description":
			f.Description = d.text("response_format.json_schema.description")
		case "schema":
			if d.r.Kind() != jsonscan.Object {
				d.refuse("response_format.json_schema.schema", "an object")
				continue
			}
			f.Schema = d.r.Raw()
		case "strict":
			f.Strict = d.boolean("response_format.json_schema.strict")
		default:
			d.drop("response_format." + string(key))
		}
	}
}

// audio reads how spoken output is wanted.
func (d *requestDecoder) audio() {
	if !d.enter("audio") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch {
		case string(key) == "voice" && d.r.Kind() == jsonscan.String:
			d.q.AudioVoice = d.str()
		case string(key) == "format":
			d.q.AudioFormat = d.text("audio.format")
		default:
			d.drop("audio." + string(key))
		}
	}
}

func (d *requestDecoder) modalities() {
	if !d.list("modalities") {
		return
	}
	other := false
	for d.r.Elem() {
		s := d.text("modalities")
		other = other || s != "text"
		d.q.Modalities = append(d.q.Modalities, s)
	}
	if !other {
		d.q.Modalities = nil // text alone is what there is anyway
	}
}

// cache reads a cache marker: Anthropic's {type, ttl}, or OpenAI's, whose lifetime is said elsewhere.
func (d *requestDecoder) cache() *llm.Cache {
	if !d.enter("cache_control") {
		return nil
	}
	c := &llm.Cache{}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		if string(key) == "ttl" {
			c.TTL = d.text("cache_control.ttl")
			continue
		}
		d.r.Skip()
	}
	return c
}
