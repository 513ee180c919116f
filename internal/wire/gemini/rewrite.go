package gemini

import (
	"slices"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// appendGenerate copies r's body with what w changes. Mostly that is nothing: the model is in the path.
func appendGenerate(dst []byte, q *wire.Request, w wire.Rewrite) []byte {
	if len(w.Params) == 0 && !namesAnother(q, w) {
		return q.Body
	}
	top, config := partParams(w.Params)
	own := given(top, "generationConfig")
	out := list{dst: append(slices.Grow(dst, len(q.Body)+64), '{')}
	for _, m := range members(q.Body) {
		switch name := string(camel([]byte(m.key))); {
		case name == "model":
			if !w.OmitModel {
				out.anyKey(m.key)
				out.dst = appendModel(out.dst, m.raw, w.Model)
			}
		case overridden(top, name):
		case name == "generationConfig" && len(config) > 0:
			own = m.raw // the last one counts
		default:
			out.anyKey(m.key)
			out.dst = append(out.dst, m.raw...)
		}
	}
	for _, p := range top {
		if p.Name != "model" && p.Name != "generationConfig" {
			out.raw(p.Name, p.Value)
		}
	}
	if overridden(top, "generationConfig") || len(config) > 0 {
		out.key("generationConfig")
		out.dst = appendMerged(out.dst, own, config)
	}
	return append(out.dst, '}')
}

func overridden(params []wire.Param, name string) bool {
	return slices.ContainsFunc(params, func(p wire.Param) bool { return p.Name == name })
}

// given is the value of a parameter; nil if there is none.
func given(params []wire.Param, name string) []byte {
	for _, p := range params {
		if string(camel([]byte(p.Name))) == name {
			return p.Value
		}
	}
	return nil
}

// partParams parts a target's parameters: members of the request, and those of its generationConfig, in the API's
// spelling.
func partParams(params []wire.Param) (top, config []wire.Param) {
	for _, p := range params {
		p.Name = string(camel([]byte(p.Name)))
		if ofRequest(p.Name) {
			top = append(top, p)
			continue
		}
		switch p.Name { // what other dialects call it
		case "maxTokens", "maxCompletionTokens":
			p.Name = "maxOutputTokens"
		case "n":
			p.Name = "candidateCount"
		case "stop":
			p.Name = "stopSequences"
		}
		config = append(config, p)
	}
	return top, config
}

// ofRequest says that a name is a member of the request itself.
func ofRequest(name string) bool {
	switch name {
	case "model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
		"cachedContent", "labels", "serviceTier", "store", "modelArmorConfig":
		return true
	}
	return false
}

// appendMerged appends an object (nil or null: an empty one) with some members set.
func appendMerged(dst, raw []byte, set []wire.Param) []byte {
	out := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		if overridden(set, string(camel([]byte(m.key)))) {
			continue
		}
		out.anyKey(m.key)
		out.dst = append(out.dst, m.raw...)
	}
	for _, p := range set {
		out.anyKey(p.Name)
		out.dst = append(out.dst, p.Value...)
	}
	return append(out.dst, '}')
}

// namesAnother says that the body names a model and would have to name another, or none.
func namesAnother(q *wire.Request, w wire.Rewrite) bool {
	if q.Spans.Model.Absent() {
		return false
	}
	raw := q.Body[q.Spans.Model.From:q.Spans.Model.To]
	return w.OmitModel || q.Spans.Again || string(appendModel(nil, raw, w.Model)) != string(raw)
}

// appendModel appends the name of a model in the form that the body used: with or without models/ before it.
func appendModel(dst, raw []byte, model string) []byte {
	if model == "" || raw[0] != '"' {
		return append(dst, raw...)
	}
	was := textOf(raw)
	if at := strings.LastIndexByte(was, '/'); at >= 0 && !strings.Contains(model, "/") {
		model = was[:at+1] + model
	}
	return jsonscan.AppendString(dst, model)
}

// appendNested copies r's body with the model changed wherever one is named: at the top, in generateContentRequest, and
// in each of requests. Only top-level parameters are known here.
func appendNested(dst []byte, q *wire.Request, w wire.Rewrite) []byte {
	if len(w.Params) == 0 && !q.Spans.Again && !namesAnother(q, w) {
		return q.Body
	}
	out := list{dst: append(slices.Grow(dst, len(q.Body)+64), '{')}
	for _, m := range members(q.Body) {
		name := string(camel([]byte(m.key)))
		if name == "model" && w.OmitModel || given(w.Params, name) != nil && name != "model" {
			continue
		}
		out.anyKey(m.key)
		switch name {
		case "model":
			out.dst = appendModel(out.dst, m.raw, w.Model)
		case "generateContentRequest":
			out.dst = appendInner(out.dst, m.raw, w.Model)
		case "requests":
			if m.raw[0] != '[' {
				out.dst = append(out.dst, m.raw...)
				continue
			}
			out.dst = append(out.dst, '[')
			for i, e := range elements(m.raw) {
				if i > 0 {
					out.dst = append(out.dst, ',')
				}
				out.dst = appendInner(out.dst, e, w.Model)
			}
			out.dst = append(out.dst, ']')
		default:
			out.dst = append(out.dst, m.raw...)
		}
	}
	for _, p := range w.Params {
		if p.Name != "model" {
			out.anyKey(p.Name)
			out.dst = append(out.dst, p.Value...)
		}
	}
	return append(out.dst, '}')
}

func appendInner(dst, raw []byte, model string) []byte {
	if raw[0] != '{' {
		return append(dst, raw...)
	}
	out := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		out.anyKey(m.key)
		if m.key == "model" {
			out.dst = appendModel(out.dst, m.raw, model)
		} else {
			out.dst = append(out.dst, m.raw...)
		}
	}
	return append(out.dst, '}')
}
