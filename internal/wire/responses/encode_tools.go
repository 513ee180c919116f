package responses

import (
	"bytes"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

func (e *requestEncoder) tools() {
	before := len(e.dst)
	some := e.members.some
	n := 0
	e.dst = append(e.key([]byte("tools")), '[')
	for i := range e.q.Tools {
		t := &e.q.Tools[i]
		if t.Cache != nil {
			e.q.Dropped.Add(llm.DropCache)
		}
		if t.Opaque != nil && t.Opaque.Vendor != llm.OpenAI {
			e.q.Dropped.Add(llm.DropServerTools)
			continue
		}
		if n > 0 {
			e.dst = append(e.dst, ',')
		}
		n++
		e.dst = appendTool(e.dst, t)
	}
	if n == 0 || !e.takes("tools", "tools") {
		e.dst, e.members.some = e.dst[:before], some
		return
	}
	e.dst = append(e.dst, ']')
	if e.q.Choice.How == llm.Unsaid && len(e.q.Choice.Only) == 0 || !e.takes("tool_choice", "tool_choice") {
		return
	}
	e.dst = appendChoice(e.key([]byte("tool_choice")), e.q)
}

// appendTool appends one tool. A function is strict in this dialect unless it says otherwise, and in no other.
func appendTool(dst []byte, t *llm.Tool) []byte {
	if t.Opaque != nil {
		return append(dst, t.Opaque.Raw...)
	}
	if t.Custom {
		dst = append(dst, `{"type":"custom","name":`...)
	} else {
		dst = append(dst, `{"type":"function","name":`...)
	}
	dst = jsonscan.AppendString(dst, t.Name)
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = jsonscan.AppendString(dst, t.Description)
	}
	if t.Custom {
		if len(t.Grammar) > 0 {
			dst = append(dst, `,"format":`...)
			dst = append(dst, t.Grammar...)
		}
		return append(dst, '}')
	}
	dst = append(dst, `,"parameters":`...)
	if len(t.Schema) > 0 {
		dst = append(dst, t.Schema...)
	} else {
		dst = append(dst, `{"type":"object","properties":{}}`...)
	}
	dst = append(dst, `,"strict":`...)
	dst = strconv.AppendBool(dst, t.Strict != nil && *t.Strict)
	return append(dst, '}')
}

// appendChoice appends which tools may or must be called.
func appendChoice(dst []byte, q *llm.Request) []byte {
	c := &q.Choice
	mode := []byte(`"auto"`)
	switch c.How {
	case llm.None:
		mode = []byte(`"none"`)
	case llm.Required:
		mode = []byte(`"required"`)
	case llm.Named:
		return appendNamed(dst, q, c.Name)
	case llm.Unsaid, llm.Auto:
	}
	if len(c.Only) == 0 || c.How == llm.None {
		return append(dst, mode...)
	}
	dst = append(dst, `{"type":"allowed_tools","mode":`...)
	dst = append(dst, mode...)
	dst = append(dst, `,"tools":[`...)
	for i, name := range c.Only {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNamed(dst, q, name)
	}
	return append(dst, "]}"...)
}

func appendNamed(dst []byte, q *llm.Request, name string) []byte {
	dst = append(dst, `{"type":"`...)
	if custom(q, name) {
		dst = append(dst, "custom"...)
	} else {
		dst = append(dst, "function"...)
	}
	dst = append(dst, `","name":`...)
	dst = jsonscan.AppendString(dst, name)
	return append(dst, '}')
}

// custom says whether a tool was declared as one that takes free text.
func custom(q *llm.Request, name string) bool {
	for i := range q.Tools {
		if t := &q.Tools[i]; t.Name == name && t.Opaque == nil {
			return t.Custom
		}
	}
	return false
}

// flatten makes one line of JSON that was written from from on: line ends can only be white space between its tokens.
func flatten(dst []byte, from int) []byte {
	for i := from; i < len(dst); i++ {
		at := bytes.IndexAny(dst[i:], "\r\n")
		if at < 0 {
			break
		}
		i += at
		dst[i] = ' '
	}
	return dst
}
