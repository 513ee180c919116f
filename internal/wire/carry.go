package wire

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// Most of a conversation is text that goes out as it came in. Where the client's JSON is, byte for byte, what the gateway
// would write itself, the text is left in the client's body (llm.Part.Quoted) and copied from there: neither decoded nor
// written anew. Decoders of requests read texts by Texts; encoders of requests ask for a part's text by the functions below alone,
// and for its being there by [llm.Part.HasText]. The bytes that go out are the same either way.

// Texts is what a decoder of requests makes parts of text with. The zero value decodes every text.
type Texts struct {
	// Carry says that a text may stay where it is (Request.Carry).
	Carry bool

	scratch []byte
	free    []llm.Part // see List
	made    int
}

// Part is the part of text that a valid string's inside says.
func (t *Texts) Part(inside []byte) llm.Part {
	if t.Carry && len(inside) > 0 && jsonscan.IsWritten(inside) {
		return llm.Part{Kind: llm.Text, Quoted: inside}
	}
	t.scratch = jsonscan.AppendUnescaped(t.scratch[:0], inside)
	return llm.Part{Kind: llm.Text, Text: string(t.scratch)}
}

// List is an empty list with room for one part, which is all that most messages have. Several lie in one piece of memory.
func (t *Texts) List() []llm.Part {
	if len(t.free) == 0 {
		t.made = min(2*t.made+1, 32)
		t.free = make([]llm.Part, t.made)
	}
	list := t.free[:0:1]
	t.free = t.free[1:]
	return list
}

// TextOf is the text of a part.
func TextOf(p *llm.Part) string {
	if p.Quoted != nil {
		return jsonscan.TextOf(p.Quoted)
	}
	return p.Text
}

// Visible says for sure that a part's text is not blank: it begins with a visible character of ASCII, as most do.
func Visible(p *llm.Part) bool {
	switch {
	case len(p.Quoted) > 0:
		return visible(p.Quoted[0])
	case p.Text != "":
		return visible(p.Text[0])
	}
	return false
}

func visible(c byte) bool { return c > ' ' && c < 0x7f && c != '\\' }

// AppendText appends the text of a part as a JSON string.
func AppendText(dst []byte, p *llm.Part) []byte {
	dst = AppendInside(append(dst, '"'), p)
	return append(dst, '"')
}

// AppendInside is AppendText without the quotes.
func AppendInside(dst []byte, p *llm.Part) []byte {
	if p.Quoted != nil {
		return append(dst, p.Quoted...)
	}
	return jsonscan.AppendEscaped(dst, []byte(p.Text))
}
