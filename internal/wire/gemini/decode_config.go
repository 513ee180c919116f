package gemini

import (
	"math"
	"strings"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func (d *reader) tools(raw []byte) error {
	d.q.Tools = nil // of a member that comes twice the last one counts
	for _, t := range elements(raw) {
		for _, m := range members(t) {
			switch name := string(camel([]byte(m.key))); {
			case string(m.raw) == "null":
			case name == "functionDeclarations":
				for _, f := range elements(m.raw) {
					t := d.function(f)
					switch {
					case t.Name == "":
						return &wire.RequestError{Param: "tools", Message: "a function declaration has no name"}
					case len(t.Schema) > 0 && t.Schema[0] != '{':
						return &wire.RequestError{Param: "tools", Message: "the parameters of the function " + t.Name + " must be an object"}
					}
					d.q.Tools = append(d.q.Tools, t)
				}
			default:
				one := list{dst: []byte("{")}
				one.raw(name, m.raw)
				one.dst = append(one.dst, '}')
				d.q.Tools = append(d.q.Tools, llm.Tool{Opaque: &llm.Block{Vendor: llm.Google, Type: name, Raw: one.dst}})
			}
		}
	}
	return nil
}

func (d *reader) function(raw []byte) (t llm.Tool) {
	for _, m := range members(raw) {
		switch name := string(camel([]byte(m.key))); name {
		case "name":
			t.Name = textOf(m.raw)
		case "description":
			t.Description = textOf(m.raw)
		case "parameters":
			if string(m.raw) != "null" && t.Schema == nil {
				t.Schema = appendFromOpenAPI(nil, m.raw)
			}
		case "parametersJsonSchema":
			if string(m.raw) != "null" {
				t.Schema = m.raw
			}
		default: // response, responseJsonSchema, behavior
			d.lose(name, m.raw)
		}
	}
	return t
}

func (d *reader) toolConfig(raw []byte) {
	for _, m := range members(raw) {
		name := string(camel([]byte(m.key)))
		if name != "functionCallingConfig" {
			d.lose(name, m.raw)
			continue
		}
		mode := ""
		var only []string
		for _, n := range members(m.raw) {
			switch name := string(camel([]byte(n.key))); name {
			case "mode":
				mode = strings.ToUpper(textOf(n.raw))
			case "allowedFunctionNames":
				for _, e := range elements(n.raw) {
					only = append(only, textOf(e))
				}
			default:
				d.lose(name, n.raw)
			}
		}
		d.choose(mode, only)
	}
}

func (d *reader) choose(mode string, only []string) {
	switch mode {
	case "", "MODE_UNSPECIFIED":
		d.q.Choice = llm.ToolChoice{Only: only}
	case "AUTO":
		d.q.Choice = llm.ToolChoice{How: llm.Auto, Only: only}
	case "NONE":
		d.q.Choice = llm.ToolChoice{How: llm.None}
	case "ANY":
		d.q.Choice = llm.ToolChoice{How: llm.Required, Only: only}
		if len(only) == 1 {
			d.q.Choice = llm.ToolChoice{How: llm.Named, Name: only[0]}
		}
	default: // VALIDATED: as the model likes, but by the schema
		d.q.Choice = llm.ToolChoice{How: llm.Auto, Only: only}
		d.q.Dropped.Add("functionCallingConfig.mode")
	}
}

// config reads generationConfig. The error is a *wire.RequestError.
func (d *reader) config(raw []byte) error {
	q := d.q
	mime := ""
	var openAPI, schema []byte
	if raw[0] != '{' {
		return &wire.RequestError{Param: "generationConfig", Message: `"generationConfig" must be an object`}
	}
	for _, m := range members(raw) {
		name := string(camel([]byte(m.key)))
		if string(m.raw) == "null" {
			continue
		}
		if want := mistaken(name, m.raw); want != "" {
			return &wire.RequestError{Param: "generationConfig." + name, Message: `"generationConfig.` + name + `" must be ` + want}
		}
		switch name {
		case "stopSequences":
			q.Stop = nil
			for _, e := range elements(m.raw) {
				q.Stop = append(q.Stop, textOf(e))
			}
		case "temperature":
			q.Temperature = float(m.raw)
		case "topP":
			q.TopP = float(m.raw)
		case "topK":
			if n, ok := whole(m.raw); ok {
				q.TopK = &n
			}
		case "candidateCount":
			n, _ := whole(m.raw)
			q.Choices = int(min(max(n, 0), maxCandidates))
		case "maxOutputTokens":
			q.MaxTokens, _ = whole(m.raw)
		case "seed":
			if n, ok := whole(m.raw); ok {
				q.Seed = &n
			}
		case "presencePenalty":
			q.PresencePenalty = float(m.raw)
		case "frequencyPenalty":
			q.FrequencyPenalty = float(m.raw)
		case "responseLogprobs":
			q.LogProbs = string(m.raw) == "true"
		case "logprobs":
			n, _ := whole(m.raw)
			q.TopLogProbs = int(min(max(n, 0), 20))
		case "responseMimeType":
			mime = textOf(m.raw)
		case "responseSchema":
			openAPI = m.raw
		case "responseJsonSchema", "_responseJsonSchema":
			schema = m.raw
		case "responseFormat":
			mime, schema = d.responseFormat(m.raw, mime, schema)
		case "thinkingConfig":
			d.thinking(m.raw)
		case "responseModalities":
			d.modalities(m.raw)
		case "speechConfig":
			d.speech(m.raw)
		default: // mediaResolution, imageConfig, audioTimestamp, …
			d.lose(name, m.raw)
		}
	}
	if schema == nil && openAPI != nil {
		schema = appendFromOpenAPI(nil, openAPI)
	}
	d.format(mime, schema)
	return nil
}

// mistaken is what a member of generationConfig must be and is not; empty if it is.
func mistaken(name string, raw []byte) string {
	switch name {
	case "temperature", "topP", "presencePenalty", "frequencyPenalty":
		if float(raw) == nil {
			return "a number"
		}
	case "topK", "candidateCount", "maxOutputTokens", "seed", "logprobs":
		if f := float(raw); f == nil || *f != math.Trunc(*f) {
			return "a whole number"
		}
	case "stopSequences":
		if raw[0] != '[' {
			return "an array"
		}
	}
	return ""
}

func (d *reader) format(mime string, schema []byte) {
	switch {
	case mime == "" || mime == "text/plain":
	case mime != "application/json": // text/x.enum, …
		d.q.Dropped.Add("responseMimeType")
	case schema != nil:
		d.q.Format = llm.Format{Kind: llm.JSONSchema, Name: "response", Schema: schema}
	default:
		d.q.Format.Kind = llm.JSONObject
	}
}

// responseFormat reads the newer form, in which each kind of output has its own.
func (d *reader) responseFormat(raw []byte, mime string, schema []byte) (string, []byte) {
	for _, m := range members(raw) {
		if m.key != "text" {
			d.lose("responseFormat."+m.key, m.raw)
			continue
		}
		for _, n := range members(m.raw) {
			switch string(camel([]byte(n.key))) {
			case "mimeType":
				switch textOf(n.raw) {
				case "APPLICATION_JSON":
					mime = "application/json"
				case "TEXT_PLAIN":
					mime = "text/plain"
				}
			case "schema":
				schema = n.raw
			}
		}
	}
	return mime, schema
}

func (d *reader) thinking(raw []byte) {
	e := &llm.Effort{}
	for _, m := range members(raw) {
		switch name := string(camel([]byte(m.key))); name {
		case "thinkingBudget":
			n, ok := whole(m.raw)
			e.Off = ok && n == 0
			e.Budget = max(n, -1)
		case "thinkingLevel":
			if level := strings.ToLower(textOf(m.raw)); level != "thinking_level_unspecified" {
				e.Level = level
			}
		case "includeThoughts":
			if string(m.raw) == "true" {
				e.Show = "auto"
			}
		default:
			d.lose(name, m.raw)
		}
	}
	if *e != (llm.Effort{}) {
		d.q.Reasoning = e
	}
}

func (d *reader) modalities(raw []byte) {
	d.q.Modalities = nil
	for _, e := range elements(raw) {
		d.q.Modalities = append(d.q.Modalities, strings.ToLower(textOf(e)))
	}
	if len(d.q.Modalities) == 1 && d.q.Modalities[0] == "text" {
		d.q.Modalities = nil
	}
}

func (d *reader) speech(raw []byte) {
	for _, m := range members(raw) {
		name := string(camel([]byte(m.key)))
		if name != "voiceConfig" {
			d.lose("speechConfig."+name, m.raw)
			continue
		}
		for _, n := range members(m.raw) {
			for _, v := range members(n.raw) {
				if string(camel([]byte(v.key))) == "voiceName" {
					d.q.AudioVoice = textOf(v.raw)
				}
			}
		}
	}
}
