package attempt

import (
	"net/http"
	"strconv"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/modelfacts"
	"evergate/internal/wire"
)

// incapable says what the target's model is known to be unable to do of what the request asks (R46); nil: nothing. A
// look at the request's bytes says what it cannot be asking for; only where a doubt is left is it decoded. What this gateway
// cannot read is passed on: what is not known counts as able.
func (e *exchange) incapable() *fault.Fault {
	facts := e.leg.Target.Facts
	if facts == nil {
		return nil
	}
	c := e.x.c
	if !e.foreign() && c.hinted(lacking(facts)) == 0 && !perhapsTooLong(facts, len(c.Request.Body)) {
		return nil // what is translated is decoded anyway
	}
	if c.Canonical == nil {
		q, err := wire.Decode(c.Dialect, &c.Request)
		if err != nil {
			return nil
		}
		c.Canonical = q
	}
	q := c.Canonical.Generation()
	if q == nil {
		return nil
	}
	if what := lacked(facts, q); what != "" {
		return unable(&wire.RequestError{Message: "the model " + e.leg.Target.Model + " " + what + ", as the model catalogue has it"})
	}
	return e.tooLong(facts, q)
}

// hinted are the request's hints of those that are asked about. They are looked for once in a request.
func (c *Call) hinted(of wire.Hints) wire.Hints {
	if of == 0 {
		return 0
	}
	if !c.looked {
		c.hints, c.looked = c.Request.Hints(), true
	}
	return c.hints & of
}

// lacking is what a model is known to lack.
func lacking(f *modelfacts.Facts) (h wire.Hints) {
	if f.Input != 0 {
		for _, kind := range [...]struct {
			is modelfacts.Modalities
			h  wire.Hints
		}{
			{modelfacts.Image, wire.HintsImage}, {modelfacts.File, wire.HintsFile}, {modelfacts.Audio, wire.HintsAudio}, {modelfacts.Video, wire.HintsVideo},
		} {
			if f.Input&kind.is == 0 {
				h |= kind.h
			}
		}
	}
	if f.Tools == modelfacts.No {
		h |= wire.HintsTools
	}
	if f.StructuredOutput == modelfacts.No {
		h |= wire.HintsSchema
	}
	if f.Output != 0 {
		h |= wire.HintsOutput
	}
	return h
}

// lacked says what a request asks for that the model lacks; empty: nothing.
func lacked(f *modelfacts.Facts, q *llm.Request) string {
	switch {
	case f.Tools == modelfacts.No && len(q.Tools) > 0:
		return "calls no tools"
	case f.StructuredOutput == modelfacts.No && q.Format.Kind == llm.JSONSchema:
		return "keeps to no JSON schema"
	}
	if f.Output != 0 {
		for _, word := range q.Modalities {
			if m, ok := modelfacts.Modality(word); ok && f.Output&m == 0 {
				return "gives no " + word
			}
		}
	}
	if f.Input != 0 {
		if kind := missingKind(f.Input, q.System); kind != "" {
			return kind
		}
		for i := range q.Messages {
			if kind := missingKind(f.Input, q.Messages[i].Content); kind != "" {
				return kind
			}
		}
	}
	return ""
}

// missingKind finds content that a model does not take.
func missingKind(takes modelfacts.Modalities, parts []llm.Part) string {
	for i := range parts {
		p := &parts[i]
		is, words := modelfacts.Modalities(0), ""
		switch p.Kind {
		case llm.Image:
			is, words = modelfacts.Image, "takes no images"
		case llm.Document:
			if p.Media.PlainText == "" && !isText(p.Media.Type) {
				is, words = modelfacts.File, "takes no files"
			}
		case llm.Audio:
			is, words = modelfacts.Audio, "takes no audio"
		case llm.Video:
			is, words = modelfacts.Video, "takes no video"
		case llm.ToolResult:
			if kind := missingKind(takes, p.Result.Content); kind != "" {
				return kind
			}
		case llm.Text, llm.ToolCall, llm.Reasoning, llm.Refusal, llm.Opaque:
		}
		if is != 0 && takes&is == 0 {
			return words
		}
	}
	return ""
}

// isText says whether a file of a MIME type holds text, which every model reads, however it was sent.
func isText(mime string) bool { return len(mime) > 5 && strings.EqualFold(mime[:5], "text/") }

// bytesPerSureToken is how many bytes of JSON stand, at the least, for a token that llm.AtLeast counts.
const bytesPerSureToken = 6

// perhapsTooLong says whether a body of this many bytes can hold more than a model's window at all.
func perhapsTooLong(f *modelfacts.Facts, body int) bool {
	return f.ContextWindow > 0 && int64(body) > bytesPerSureToken*f.ContextWindow
}

// tooLong refuses a prompt that is surely too long, as the provider would have (R11): half of what the text alone is
// guessed to be is more than the window. What is near the limit the provider counts better.
func (e *exchange) tooLong(f *modelfacts.Facts, q *llm.Request) *fault.Fault {
	n := llm.AtLeast(q)
	if f.ContextWindow == 0 || n <= f.ContextWindow {
		return nil
	}
	return &fault.Fault{
		Class: fault.ContextLength, Status: http.StatusBadRequest,
		Message: "the prompt is too long: it has more than " + strconv.FormatInt(n, 10) + " tokens, and the model " + e.leg.Target.Model +
			" takes " + strconv.FormatInt(f.ContextWindow, 10) + ", as the model catalogue has it",
	}
}

// takesPrefill says whether a request for this target may end in the beginning of the answer (R70): as the catalogue has it, else as
// the dialect does.
func (e *exchange) takesPrefill(d wire.Prefiller) bool {
	if f := e.leg.Target.Facts; f != nil && f.Prefill != modelfacts.Unknown {
		return f.Prefill == modelfacts.Yes
	}
	return d.TakesPrefill(e.leg.Target.Model)
}
