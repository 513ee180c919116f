package gemini

import (
	"bytes"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// seal is the signature that a seal is for the target, empty if it is none or may not be sent.
func (w *writer) seal(s *llm.Seal) string {
	switch {
	case s == nil:
		return ""
	case w.t.Unsealed, s.Vendor != w.t.Vendor, s.Kind != llm.Signed:
		w.dropped.Add(llm.DropSignatures)
		return ""
	}
	return s.Data
}

// own is the signature of a part: its own, else that of the hidden thoughts before it.
func (w *writer) own(p *llm.Part) string {
	s := w.seal(p.Signature)
	if s == "" && w.loose != nil {
		s = w.loose.Data
		w.loose = nil
	}
	return s
}

func (w *writer) part(role string, p *llm.Part) {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		w.said(role, p)
	case llm.Reasoning:
		w.thought(role, p)
	case llm.ToolCall:
		if p.Call != nil {
			w.call(role, p)
		}
	case llm.Image, llm.Document, llm.Audio, llm.Video:
		if p.Media != nil {
			w.file(role, p)
		}
	case llm.Opaque:
		w.block(role, p)
	case llm.ToolResult: // written before all others
	}
}

func (w *writer) said(role string, p *llm.Part) {
	if !p.HasText() {
		if p.Signature != nil && p.Signature.Vendor == w.t.Vendor && !w.t.Unsealed {
			w.signature(role, p.Signature)
		}
		return
	}
	signature := w.own(p)
	w.begin(role, false)
	w.dst = append(w.dst, `{"text":`...)
	w.dst = wire.AppendText(w.dst, p)
	w.endPart(signature)
}

// signature writes a signature that stands alone, as streams bring it.
func (w *writer) signature(role string, s *llm.Seal) {
	w.begin(role, false)
	w.dst = append(w.dst, `{"text":""`...)
	w.endPart(s.Data)
}

// endPart closes a part, after its signature if it has one.
func (w *writer) endPart(signature string) {
	if signature != "" {
		w.dst = append(w.dst, `,"thoughtSignature":`...)
		w.dst = jsonscan.AppendString(w.dst, signature)
	}
	w.dst = append(w.dst, '}')
}

// thought writes a thought with its seal. Without one it would be taken for something that was said.
func (w *writer) thought(role string, p *llm.Part) {
	signature := w.seal(p.Seal)
	switch {
	case signature == "":
		if p.Text != "" {
			w.dropped.Add(llm.DropReasoning)
		}
	case p.Text == "":
		if w.loose != nil {
			w.signature(role, w.loose)
		}
		w.loose = p.Seal
	default:
		w.begin(role, false)
		w.dst = append(w.dst, `{"text":`...)
		w.dst = jsonscan.AppendString(w.dst, p.Text)
		w.dst = append(w.dst, `,"thought":true`...)
		w.endPart(signature)
	}
}

func (w *writer) call(role string, p *llm.Part) {
	w.calls = append(w.calls, asked{id: p.Call.ID, name: p.Call.Name})
	signature := w.own(p)
	w.begin(role, false)
	if signature == "" && !w.signed && !w.model.unsigned {
		signature = skipSignature
	}
	w.signed = true
	w.dst = append(w.dst, `{"functionCall":`...)
	w.dst = appendCall(w.dst, p.Call, w.says(p.Call.ID))
	w.endPart(signature)
}

// says says that an id is written: not one that was made here, nor to a target that knows none.
func (w *writer) says(id string) bool { return id != "" && !isMade(id) && !w.refused("id") }

// result writes what a function gave back, which is named by its call.
func (w *writer) result(p *llm.Part) {
	r := p.Result
	name := r.Name
	for i := len(w.calls) - 1; i >= 0 && name == ""; i-- {
		if w.calls[i].id == r.CallID {
			name = w.calls[i].name
		}
	}
	if name == "" {
		name = r.CallID
	}
	w.begin("user", true)
	w.dst = append(w.dst, `{"functionResponse":{`...)
	w.more = false
	if w.says(r.CallID) {
		w.text("id", r.CallID)
	}
	w.text("name", name)
	w.key("response")
	w.dst = appendOutcome(w.dst, r)
	w.resultFiles(r)
	w.dst = append(w.dst, "}}"...)
	w.more = true
}

func (w *writer) resultFiles(r *llm.Result) {
	if !w.model.richResults {
		return
	}
	some := false
	for i := range r.Content {
		p := &r.Content[i]
		if p.Kind == llm.Text || p.Kind == llm.Refusal || p.Media == nil {
			continue
		}
		if p.Media.Data == "" {
			w.dropMedia(p.Kind)
			continue
		}
		if !some {
			w.open("parts", '[')
			some = true
		}
		w.next()
		w.dst = appendFile(w.dst, p.Media, "")
	}
	if some {
		w.close(']')
	}
}

// appendOutcome appends the response of a function, which must be an object.
func appendOutcome(dst []byte, r *llm.Result) []byte {
	var text []byte
	for i := range r.Content {
		if p := &r.Content[i]; p.Kind == llm.Text || p.Kind == llm.Refusal {
			if len(text) > 0 {
				text = append(text, '\n')
			}
			text = append(text, wire.TextOf(p)...)
		}
	}
	if b := bytes.TrimSpace(text); !r.Error && len(b) > 0 && b[0] == '{' && jsonscan.Valid(b) == nil {
		return append(dst, jsonscan.OneLine(b)...)
	}
	out := list{dst: append(dst, '{')}
	if r.Error {
		out.text("error", string(text))
	} else {
		out.text("result", string(text))
	}
	return append(out.dst, '}')
}

// file writes a file that Google can read; others are left out.
func (w *writer) file(role string, p *llm.Part) {
	m := *p.Media
	if m.Detail != "" && m.Detail != "auto" {
		w.dropped.Add("detail")
	}
	switch {
	case m.Data != "":
		if m.Type == "" {
			m.Type = usualType(p.Kind, m.Name)
		}
		m.URL, m.FileID = "", ""
	case m.PlainText != "":
		w.said(role, &llm.Part{Kind: llm.Text, Text: m.PlainText})
		return
	case m.FileID != "":
		if m.Vendor != llm.Google {
			if m.Transcript != "" {
				w.said(role, &llm.Part{Kind: llm.Text, Text: m.Transcript})
			}
			w.dropped.Add(llm.DropFileIDs)
			return
		}
		m.URL = ""
	case ofGoogle(m.URL), httpURL(m.URL) && !w.model.inlineOnly, p.Kind == llm.Video && httpURL(m.URL):
	default:
		w.dropMedia(p.Kind)
		return
	}
	signature := w.own(p)
	w.begin(role, false)
	w.dst = appendFile(w.dst, &m, signature)
}

func httpURL(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// usualType is the MIME type of a file that came without one.
func usualType(kind llm.PartKind, name string) string {
	if t := typeByName(name); t != "" {
		return t
	}
	switch kind {
	case llm.Image:
		return "image/png"
	case llm.Audio:
		return "audio/wav"
	case llm.Video:
		return "video/mp4"
	case llm.Document, llm.Text, llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Refusal, llm.Opaque:
	}
	return "application/pdf"
}

// block writes a block of Google's own as it came.
func (w *writer) block(role string, p *llm.Part) {
	if p.Opaque == nil || p.Opaque.Vendor != llm.Google || w.t.Vendor != llm.Google {
		w.dropped.Add(llm.DropServerTools)
		return
	}
	raw := p.Opaque.Raw
	if w.t.Unsealed {
		var lost bool
		if raw, lost = appendUnsigned(nil, raw); lost {
			w.dropped.Add(llm.DropSignatures)
		}
	}
	if len(raw) == 0 {
		return
	}
	w.begin(role, false)
	w.dst = append(w.dst, raw...)
}
