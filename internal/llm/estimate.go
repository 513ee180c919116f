package llm

import "unicode/utf8"

// What Estimate counts with. None of it is a tokenizer's truth. These are rules of thumb: four bytes of Latin text a
// token and about one token a CJK character are what vendors' own help pages give for their tokenizers; the rest are round
// numbers of what small requests were seen to cost on top of their text, and of images of middling size.
const (
	bytesPerToken    = 4
	tokensPerRequest = 3
	tokensPerMessage = 4
	tokensPerTool    = 20
	tokensForTools   = 300 // what a vendor tells the model about tools at all
	tokensPerCall    = 10
	tokensPerImage   = 1500
	tokensPerPage    = 1500  // of a document
	bytesPerPage     = 50000 // of a PDF, in base64
	tokensPerAudioKB = 8     // of base64: compressed speech at 32 kbit/s, 25 tokens a second
)

// Estimate guesses how many tokens the prompt of q is: system, tools, messages and format. It is for where nobody
// counts. Good to about a quarter for prose, worse for pictures and documents; never 0.
func Estimate(q *Request) int64 {
	n := int64(tokensPerRequest)
	for i := range q.System {
		n += estimatePart(&q.System[i])
	}
	for i := range q.Messages {
		n += tokensPerMessage + textTokens(q.Messages[i].Name)
		for j := range q.Messages[i].Content {
			n += estimatePart(&q.Messages[i].Content[j])
		}
	}
	if len(q.Tools) > 0 {
		n += tokensForTools
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		n += tokensPerTool + textTokens(t.Name) + textTokens(t.Description) + textTokens(t.Schema) + textTokens(t.Grammar)
		if t.Opaque != nil {
			n += textTokens(t.Opaque.Raw)
		}
	}
	return n + textTokens(q.Format.Schema)
}

// AtLeast is how many tokens the prompt of q has for sure: half of what its text alone is guessed to be. Pictures and
// recordings may cost next to nothing.
func AtLeast(q *Request) int64 {
	var text func(parts []Part) int64
	text = func(parts []Part) (n int64) {
		for i := range parts {
			p := &parts[i]
			n += textTokens(p.Text) + quotedTokens(p.Quoted)
			switch {
			case p.Kind == ToolCall:
				n += textTokens(p.Call.Arguments)
			case p.Kind == ToolResult:
				n += text(p.Result.Content)
			case p.Kind == Document:
				n += textTokens(p.Media.PlainText)
			}
		}
		return n
	}
	n := text(q.System)
	for i := range q.Messages {
		n += text(q.Messages[i].Content)
	}
	return n / 2
}

// EstimateText guesses how many tokens a piece of text is.
func EstimateText(text []byte) int64 { return textTokens(text) }

// EstimateBody guesses how many tokens the prompt in a request's body is, in any dialect, by its length alone: for where nobody counts and nobody has the time
// to read it. Of a large body it looks at a few places to see how much of it are files in base64, which are few tokens. 0 only for an empty one.
func EstimateBody(body []byte) int64 {
	const (
		large  = 16 << 10
		places = 32
		look   = 48

		envelope = 100

		bytesPerFile = 250_000 // of a picture or a few pages, in base64
	)
	n := int64(len(body))
	n = max(n-envelope, (n+3)/4) // what JSON takes around a text
	if n < large {
		return (n + bytesPerToken - 1) / bytesPerToken
	}
	dense := int64(0)
	for i := range places {
		at := (2*i + 1) * (len(body) - look) / (2 * places)
		if isDense(body[at : at+look]) {
			dense++
		}
	}
	files := n / places * dense
	return (n-files)/bytesPerToken + files*tokensPerImage/bytesPerFile
}

// isDense says whether a piece of a body is of a file in base64: no text has so long a word.
func isDense(piece []byte) bool {
	for _, c := range piece {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func estimatePart(p *Part) (n int64) {
	n = textTokens(p.Text) + quotedTokens(p.Quoted)
	switch p.Kind {
	case ToolCall:
		n += tokensPerCall + textTokens(p.Call.Name) + textTokens(p.Call.Arguments)
	case ToolResult:
		n += tokensPerCall
		for i := range p.Result.Content {
			n += estimatePart(&p.Result.Content[i])
		}
	case Image:
		n += tokensPerImage
	case Document:
		if p.Media.PlainText != "" {
			return n + textTokens(p.Media.PlainText) + textTokens(p.Media.Name)
		}
		n += tokensPerPage * (1 + int64(len(p.Media.Data)/bytesPerPage))
	case Audio, Video:
		n += tokensPerAudioKB * (1 + int64(len(p.Media.Data)/1024))
	case Opaque:
		n += textTokens(p.Opaque.Raw)
	case Reasoning:
		if p.Seal != nil && p.Seal.Kind != Signed {
			n += textTokens(p.Seal.Data)
		}
	case Text, Refusal:
	}
	return n
}

// textTokens guesses the tokens of a text: wide characters count one each, everything else by its bytes.
func textTokens[T string | []byte](text T) int64 { return tokens(text, false) }

// quotedTokens is textTokens of what Part.Quoted holds: its escapes are two bytes for one.
func quotedTokens(text []byte) int64 { return tokens(text, true) }

func tokens[T string | []byte](text T, quoted bool) int64 {
	var narrow, wide int64
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			narrow++
			if i++; quoted && text[i-1] == '\\' {
				i++
			}
			continue
		}
		r, size := decodeRune(text[i:min(i+utf8.UTFMax, len(text))])
		if isWide(r) {
			wide++
		} else {
			narrow += int64(size)
		}
		i += size
	}
	return wide + (narrow+bytesPerToken-1)/bytesPerToken
}

func decodeRune[T string | []byte](text T) (r rune, size int) {
	return utf8.DecodeRuneInString(string(text))
}

// isWide says whether a character is of the scripts that are written without spaces and cost about a token each.
func isWide(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF || // radicals, kana, ideographs
		r >= 0xAC00 && r <= 0xD7AF || // Hangul
		r >= 0xF900 && r <= 0xFAFF || r >= 0xFF00 && r <= 0xFFEF ||
		r >= 0x1F000 && r <= 0x3FFFF // emoji, further ideographs
}
