package converse

import (
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// block is one content block, written already: a place in writer.buf.
type block struct {
	from, to  int
	assistant bool
	result    bool // a tool's
	text      bool
	document  bool
}

// filler is said where Bedrock wants words and there are none: a conversation that does not begin with the user, a
// document alone.
const (
	fillTurn     = "Continue."
	fillDocument = "See the attached document."
	fillResult   = "(no output)"
)

// render writes every part of the conversation as a content block.
func (w *writer) render() {
	w.buf = make([]byte, 0, w.size())
	for i := range w.q.Messages {
		m := &w.q.Messages[i]
		if m.Name != "" {
			w.drop.Add(llm.DropNames)
		}
		for j := range m.Content {
			last := w.claude && m.Role == llm.Assistant && i == len(w.q.Messages)-1 && j == len(m.Content)-1
			w.renderPart(m.Role, &m.Content[j], last)
		}
	}
	if c := w.q.Cache; c != nil && len(w.blocks) > 0 && w.caches() {
		b := &w.blocks[len(w.blocks)-1]
		w.buf = appendCachePoint(append(w.buf, ','), w.ttl(c))
		b.to = len(w.buf)
	}
}

// size is about how long the conversation will be when it is written.
func (w *writer) size() int {
	n := 256
	for i := range w.q.Messages {
		for j := range w.q.Messages[i].Content {
			p := &w.q.Messages[i].Content[j]
			n += len(p.Text) + len(p.Quoted) + 64
			switch {
			case p.Media != nil:
				n += len(p.Media.Data) + len(p.Media.PlainText)
			case p.Call != nil:
				n += len(p.Call.Arguments) + 128
			case p.Result != nil:
				for k := range p.Result.Content {
					n += len(p.Result.Content[k].Text) + len(p.Result.Content[k].Quoted) + 128
				}
			}
		}
	}
	return n + n/16
}

// renderPart writes one part. last is the end of a turn that the model shall go on with.
func (w *writer) renderPart(role llm.Role, p *llm.Part, last bool) {
	b := block{from: len(w.buf), assistant: role == llm.Assistant}
	if p.Signature != nil {
		w.drop.Add(llm.DropSignatures)
	}
	ok := false
	switch p.Kind {
	case llm.Text, llm.Refusal:
		b.text = true
		ok = w.renderText(role, p, last)
	case llm.Image, llm.Document, llm.Video:
		b.document = p.Kind == llm.Document
		ok = w.renderMedia(p, b.assistant)
	case llm.ToolCall:
		w.renderCall(p.Call)
		b.assistant, ok = true, true
	case llm.ToolResult:
		w.renderResult(p.Result)
		b.assistant, b.result, ok = false, true, true
	case llm.Reasoning:
		ok = w.renderReasoning(p)
	case llm.Audio, llm.Opaque:
		w.dropPart(p)
	}
	if !ok {
		w.buf = w.buf[:b.from]
		return
	}
	if p.Cache != nil && p.Kind != llm.Reasoning {
		// A cache point after a document that is no PDF is refused: Bedrock gives Claude its text, and has no place for it.
		if b.document && w.claude && documentFormat(p.Media) != "pdf" {
			w.drop.Add(llm.DropCache)
		} else if w.caches() {
			w.buf = appendCachePoint(append(w.buf, ','), w.ttl(p.Cache))
		}
	}
	b.to = len(w.buf)
	w.blocks = append(w.blocks, b)
}

func (w *writer) renderText(role llm.Role, p *llm.Part, last bool) bool {
	if last { // Claude refuses white space at the end of what it shall go on with
		p = &llm.Part{Text: strings.TrimRight(wire.TextOf(p), " \t\r\n"), Citations: p.Citations}
	}
	if blankPart(p) {
		return false
	}
	if len(p.Citations) > 0 {
		w.drop.Add(llm.DropCitations)
	}
	if role == llm.System {
		// It stays where it is: in the system prompt it would change the beginning of every later request, and the prompt's
		// cache with it. As a role of its own hardly a model takes it.
		p = &llm.Part{Text: "<system>\n" + wire.TextOf(p) + "\n</system>"}
	}
	w.buf = append(wire.AppendText(append(w.buf, `{"text":`...), p), '}')
	return true
}

func (w *writer) renderMedia(p *llm.Part, assistant bool) bool {
	if p.Media == nil {
		return false
	}
	name := ""
	if p.Kind == llm.Document && !assistant {
		if w.names == nil {
			w.names = map[string]bool{}
		}
		name = documentName(p.Media.Name, w.names)
	}
	if p.Media.Detail != "" && p.Media.Detail != "auto" {
		w.drop.Add("detail")
	}
	ok := false
	if !assistant { // the model's own turns hold none
		w.buf, ok = appendMedia(w.buf, p.Kind, p.Media, name)
	}
	if !ok {
		w.dropPart(p)
	}
	return ok
}

func (w *writer) renderCall(c *llm.Call) {
	w.used = append(w.used, c.Name)
	w.buf = append(w.buf, `{"toolUse":{`...)
	w.buf = jsonscan.AppendStringMember(w.buf, "toolUseId", toolID(c.ID, &w.unnamedCalls))
	w.buf = jsonscan.AppendStringMember(w.buf, "name", c.Name)
	w.buf = jsonscan.AppendKey(w.buf, "input")
	switch {
	case !c.Custom && isBlank(c.Arguments):
		w.buf = append(w.buf, "{}"...)
	case !c.Custom && jsonscan.IsObject([]byte(c.Arguments)):
		w.buf = append(w.buf, c.Arguments...)
	default: // free text, or arguments that are broken
		if c.Custom {
			w.drop.Add(llm.DropCustomTools)
		}
		w.buf = append(jsonscan.AppendStringMember(append(w.buf, '{'), customInput, c.Arguments), '}')
	}
	w.buf = append(w.buf, "}}"...)
}

func (w *writer) renderResult(r *llm.Result) {
	w.buf = append(w.buf, `{"toolResult":{`...)
	w.buf = jsonscan.AppendStringMember(w.buf, "toolUseId", toolID(r.CallID, &w.unnamedResults))
	w.buf = append(jsonscan.AppendKey(w.buf, "content"), '[')
	empty := len(w.buf)
	for i := range r.Content {
		p := &r.Content[i]
		switch p.Kind {
		case llm.Text, llm.Refusal:
			if !blankPart(p) {
				w.buf = append(jsonscan.AppendComma(w.buf), `{"text":`...)
				w.buf = append(wire.AppendText(w.buf, p), '}')
			}
		case llm.Image, llm.Document, llm.Video:
			from := len(w.buf)
			if w.buf = jsonscan.AppendComma(w.buf); !w.renderMedia(p, false) {
				w.buf = w.buf[:from]
			}
		default:
			w.dropPart(p)
		}
	}
	if len(w.buf) == empty { // blank text is refused, and so is none
		w.buf = append(w.buf, `{"text":"`+fillResult+`"}`...)
	}
	w.buf = append(w.buf, ']')
	if r.Error {
		if w.claude || w.t.Vendor == llm.Amazon {
			w.buf = jsonscan.AppendStringMember(w.buf, "status", "error")
		} else {
			w.drop.Add(llm.DropToolErrors)
		}
	}
	w.buf = append(w.buf, "}}"...)
}

// renderReasoning writes thoughts that the model's own vendor signed; others have no place.
func (w *writer) renderReasoning(p *llm.Part) bool {
	s := p.Seal
	if s == nil {
		if p.Text != "" {
			w.drop.Add(llm.DropReasoning)
		}
		return false
	}
	if s.Vendor != w.t.Vendor || w.t.Unsealed || s.Kind == llm.Encrypted || s.Data == "" {
		w.drop.Add(llm.DropSignatures)
		if p.Text != "" {
			w.drop.Add(llm.DropReasoning)
		}
		return false
	}
	w.buf = append(w.buf, `{"reasoningContent":{`...)
	if s.Kind == llm.Redacted {
		w.buf = jsonscan.AppendStringMember(w.buf, "redactedContent", blobOf(s.Data))
	} else {
		w.buf = append(jsonscan.AppendKey(w.buf, "reasoningText"), '{')
		w.buf = jsonscan.AppendStringMember(w.buf, "text", p.Text)
		w.buf = jsonscan.AppendStringMember(w.buf, "signature", s.Data)
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.buf, "}}"...)
	return true
}

// dropPart notes a part that has no place here.
func (w *writer) dropPart(p *llm.Part) {
	if p.Media != nil && p.Media.FileID != "" {
		w.drop.Add(llm.DropFileIDs)
		return
	}
	switch p.Kind {
	case llm.Image:
		w.drop.Add(llm.DropImages)
	case llm.Document:
		w.drop.Add(llm.DropDocuments)
	case llm.Audio:
		w.drop.Add(llm.DropAudio)
	case llm.Video:
		w.drop.Add(llm.DropVideo)
	case llm.Opaque:
		w.drop.Add(llm.DropServerTools)
	case llm.Reasoning:
		w.drop.Add(llm.DropReasoning)
	case llm.Text, llm.Refusal, llm.ToolCall, llm.ToolResult:
	}
}

// appendMessages appends the turns, which alternate and begin with the user's. In the user's, results of tools come
// first, as they must. It says false if there is nothing to send.
func (w *writer) appendMessages(dst []byte) (out []byte, ok bool) {
	if len(w.blocks) == 0 && len(w.drop.Names()) > 0 && len(w.q.Messages) > 0 {
		return dst, false
	}
	dst = append(jsonscan.AppendKey(dst, "messages"), '[')
	if len(w.blocks) == 0 || w.blocks[0].assistant {
		dst = append(dst, `{"role":"user","content":[{"text":"`+fillTurn+`"}]}`...)
	}
	for from := 0; from < len(w.blocks); {
		to := from + 1
		for to < len(w.blocks) && w.blocks[to].assistant == w.blocks[from].assistant {
			to++
		}
		dst = w.appendTurn(jsonscan.AppendComma(dst), w.blocks[from:to])
		from = to
	}
	return append(dst, ']'), true
}

func (w *writer) appendTurn(dst []byte, blocks []block) []byte {
	role := "user"
	if blocks[0].assistant {
		role = "assistant"
	}
	dst = jsonscan.AppendStringMember(append(dst, '{'), "role", role)
	dst = append(jsonscan.AppendKey(dst, "content"), '[')
	text, document := false, false
	for _, results := range [...]bool{true, false} {
		for _, b := range blocks {
			if b.result == results {
				dst = append(jsonscan.AppendComma(dst), w.buf[b.from:b.to]...)
				text, document = text || b.text, document || b.document
			}
		}
	}
	if document && !text { // refused without words beside it
		dst = append(dst, `,{"text":"`+fillDocument+`"}`...)
	}
	return append(dst, "]}"...)
}

// maxToolID is how long Bedrock lets a toolUseId be.
const maxToolID = 64

// toolID makes an id of what Bedrock allows in one: letters, digits, _ and -. The same id gives the same, so that
// calls and results stay together. Ids that are empty are numbered; unnamed counts them.
func toolID(id string, unnamed *int) string {
	if id == "" {
		*unnamed++
		return "call_" + strconv.Itoa(*unnamed)
	}
	legal := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	good := len(id) <= maxToolID
	for i := 0; i < len(id) && good; i++ {
		good = legal(id[i])
	}
	if good {
		return id
	}
	// What is legal of it, and its hash (FNV-1a), which tells it from others that look alike then.
	hash := uint64(14695981039346656037)
	var out []byte
	for i := range len(id) {
		hash = (hash ^ uint64(id[i])) * 1099511628211
		if legal(id[i]) && len(out) < 40 {
			out = append(out, id[i])
		}
	}
	out = append(out, '_')
	for shift := 60; shift >= 0; shift -= 4 {
		out = append(out, "0123456789abcdef"[hash>>shift&15])
	}
	return string(out)
}

func blankPart(p *llm.Part) bool { return !wire.Visible(p) && isBlank(wire.TextOf(p)) }

// isBlank says that there is nothing but white space, which Bedrock refuses as text.
func isBlank(s string) bool {
	for _, c := range s {
		switch c {
		case ' ', '\n', '\r', '\t', '\v', '\f', '\u0085', '\u00a0':
		default:
			return false
		}
	}
	return true
}
