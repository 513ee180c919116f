package openaichat

import (
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// A thought comes as plain text (reasoning_content, reasoning, …) or as an element of a list that can say its seal too:
// OpenRouter's reasoning_details, which is the form that is written here, and LiteLLM's thinking_blocks. OpenRouter's
// "format" says whose seal it is, so the seals of the vendors that it has a word for go as they are; others are wrapped.

// Words of reasoning_details.
const (
	thoughtText      = "reasoning.text"
	thoughtSummary   = "reasoning.summary"
	thoughtEncrypted = "reasoning.encrypted"
)

// Words of "format".
const (
	formatAnthropic = "anthropic-claude-v1"
	formatGoogle    = "google-gemini-v1"
	formatOpenAI    = "openai-responses-v1"
	formatAzure     = "azure-openai-responses-v1"
	formatXAI       = "xai-responses-v1"
	formatUnknown   = "unknown"
)

const xai llm.Vendor = "xai"

// unknownVendor is whose seal it is if the upstream itself does not say.
const unknownVendor llm.Vendor = "unknown"

// thought is one element of a list of thoughts, or a piece of one in a stream. Its slices hold as long as the text that
// was read.
type thought struct {
	index      int64 // of the thought that it is a piece of; -1: unsaid
	summary    bool
	text       []byte
	sealed     []byte // a signature, or what is encrypted
	encrypted  bool
	format, id []byte
}

// readThought reads an element of reasoning_details or thinking_blocks.
func readThought(r *jsonscan.Reader) thought {
	t := thought{index: -1}
	if !r.Object() {
		return t
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			switch kind, _ := r.Literal(); string(kind) {
			case thoughtSummary:
				t.summary = true
			case thoughtEncrypted:
				t.encrypted = true
			case "redacted_thinking":
				t.encrypted, t.format = true, []byte(formatAnthropic)
			}
		case "text", "summary", "thinking":
			t.text, _ = r.Literal()
		case "signature", "data":
			t.sealed, _ = r.Literal()
		case "format":
			t.format, _ = r.Literal()
		case "id":
			t.id, _ = r.Literal()
		case "index":
			if n, ok := r.Int(); ok {
				t.index = max(n, 0)
			}
		default:
			r.Skip()
		}
	}
	return t
}

// seal is the seal that t brings, nil if none.
func (t *thought) seal() *llm.Seal {
	if len(t.sealed) == 0 {
		return nil
	}
	if s, ok := llm.Unwrap(string(t.sealed)); ok {
		return &s
	}
	s := &llm.Seal{Vendor: t.vendor(), Data: string(t.sealed), ID: string(t.id)}
	s.Kind = naturalKind(s.Vendor, t.encrypted)
	return s
}

// vendor is who sealed t. Unlabelled seals are Anthropic's: nobody else signs thoughts in the open, and clients that
// lose the label exist.
func (t *thought) vendor() llm.Vendor {
	switch string(t.format) {
	case formatOpenAI, formatAzure:
		return llm.OpenAI
	case formatGoogle:
		return llm.Google
	case formatXAI:
		return xai
	case formatAnthropic:
		return llm.Anthropic
	case "":
		if strings.HasPrefix(string(t.id), "rs_") {
			return llm.OpenAI
		}
		return llm.Anthropic
	}
	return unknownVendor
}

// naturalKind is what a seal in "signature", or in "data", is.
func naturalKind(v llm.Vendor, encrypted bool) llm.SealKind {
	switch {
	case !encrypted:
		return llm.Signed
	case v == llm.Anthropic:
		return llm.Redacted
	default:
		return llm.Encrypted
	}
}

func formatOf(v llm.Vendor) string {
	switch v {
	case llm.OpenAI:
		return formatOpenAI
	case llm.Google:
		return formatGoogle
	case llm.Anthropic:
		return formatAnthropic
	case xai:
		return formatXAI
	case llm.Amazon, llm.Cohere:
	}
	return formatUnknown
}

// appendThought appends a thought as one or two elements of reasoning_details, of which there were index before.
func appendThought(dst []byte, text string, s *llm.Seal, index int) []byte {
	if s == nil {
		return appendThoughtText(dst, thoughtText, text, "", "", index)
	}
	data, format, id := s.Data, formatOf(s.Vendor), s.ID
	if format == formatUnknown && s.Vendor != unknownVendor || s.Kind != naturalKind(s.Vendor, s.Kind != llm.Signed) {
		data, format, id = llm.Wrap(s), formatUnknown, ""
	}
	if s.Kind == llm.Signed {
		dst = append(dst, `{"type":"`+thoughtText+`",`...)
		if text != "" {
			dst = append(dst, `"text":`...)
			dst = jsonscan.AppendString(dst, text)
			dst = append(dst, ',')
		}
		dst = append(dst, `"signature":`...)
		dst = jsonscan.AppendString(dst, data)
		return appendThoughtTail(dst, id, format, index)
	}
	if text != "" {
		dst = appendThoughtText(dst, thoughtSummary, text, id, format, index)
		dst = append(dst, ',')
	}
	dst = append(dst, `{"type":"`+thoughtEncrypted+`","data":`...)
	dst = jsonscan.AppendString(dst, data)
	return appendThoughtTail(dst, id, format, index)
}

func appendThoughtText(dst []byte, kind, text, id, format string, index int) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, kind...)
	if kind == thoughtSummary {
		dst = append(dst, `","summary":`...)
	} else {
		dst = append(dst, `","text":`...)
	}
	dst = jsonscan.AppendString(dst, text)
	return appendThoughtTail(dst, id, format, index)
}

func appendThoughtTail(dst []byte, id, format string, index int) []byte {
	if id != "" {
		dst = append(dst, `,"id":`...)
		dst = jsonscan.AppendString(dst, id)
	}
	if format != "" {
		dst = append(dst, `,"format":"`...)
		dst = append(dst, format...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, '}')
}

// thoughts gathers the thoughts of a whole message, whose list may still be in the pieces that a stream came in.
type thoughts struct {
	parts   []llm.Part
	last    int64 // index of the last one
	summary bool  // so was the last one
	hasText bool
}

func (l *thoughts) add(t *thought) {
	seal := t.seal()
	if len(t.text) == 0 && seal == nil {
		return
	}
	l.hasText = l.hasText || len(t.text) > 0
	if n := len(l.parts); n > 0 && l.parts[n-1].Seal == nil &&
		(t.index >= 0 && t.index == l.last || l.summary && t.encrypted && len(t.text) == 0) {
		l.parts[n-1].Text += string(t.text)
		l.parts[n-1].Seal = seal
		return
	}
	l.parts = append(l.parts, llm.Part{Kind: llm.Reasoning, Text: string(t.text), Seal: seal})
	l.last, l.summary = t.index, t.summary
}

// with are the thoughts, given the plain text that was said beside the list: it is the text of seals that came without.
func (l *thoughts) with(plain string) []llm.Part {
	if plain == "" || l.hasText {
		return l.parts
	}
	for i := range l.parts {
		if l.parts[i].Seal.Kind != llm.Redacted {
			l.parts[i].Text = plain
			return l.parts
		}
	}
	return append([]llm.Part{{Kind: llm.Reasoning, Text: plain}}, l.parts...)
}

// Google signs text and tool calls: {"google":{"thought_signature":"…"}} is what stands in their extra_content.

// appendExtra appends the value of extra_content that carries a signature.
func appendExtra(dst []byte, s *llm.Seal) []byte {
	data := s.Data
	if s.Vendor != llm.Google || s.Kind != llm.Signed || s.ID != "" {
		data = llm.Wrap(s)
	}
	dst = append(dst, `{"google":{"thought_signature":`...)
	dst = jsonscan.AppendString(dst, data)
	return append(dst, "}}"...)
}

// readExtra reads the value of extra_content: a signature, nil if there is none, and whether the text beside it is a
// thought.
func readExtra(r *jsonscan.Reader) (s *llm.Seal, isThought bool) {
	if !r.Object() {
		return nil, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "google" || r.Kind() != jsonscan.Object {
			r.Skip()
			continue
		}
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "thought_signature":
				text, _ := r.Text()
				if u, ok := llm.Unwrap(text); ok {
					s = &u
				} else if text != "" {
					s = &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: text}
				}
			case "thought":
				isThought, _ = r.Bool()
			default:
				r.Skip()
			}
		}
	}
	return s, isThought
}
