package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// readUsage reads usageMetadata. The prompt's count holds cached tokens but not those of tool use, and the candidates'
// count holds no thoughts; in [wire.Usage] Input and Output hold them all.
func readUsage(r *jsonscan.Reader) (u wire.Usage, tier []byte) {
	if !r.Object() {
		return u, nil
	}
	var prompt, tools, candidates, thoughts, response int64
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "promptTokenCount":
			count(r, &prompt, &u)
		case "toolUsePromptTokenCount":
			count(r, &tools, &u)
		case "candidatesTokenCount":
			count(r, &candidates, &u)
		case "responseTokenCount": // what live models call it
			count(r, &response, &u)
		case "thoughtsTokenCount":
			count(r, &thoughts, &u)
		case "cachedContentTokenCount":
			count(r, &u.CachedInput, &u)
		case "totalTokenCount":
			var total int64
			count(r, &total, &u)
		case "promptTokensDetails", "promptTokenDetails":
			u.AudioInput += readAudio(r)
		case "toolUsePromptTokensDetails":
			u.AudioInput += readAudio(r)
		case "candidatesTokensDetails":
			u.AudioOutput += readAudio(r)
		case "serviceTier":
			tier, _ = r.Literal()
		default:
			r.Skip()
		}
	}
	u.Input = prompt + tools
	u.Output = max(candidates, response) + thoughts
	u.Reasoning = thoughts
	return u, tier
}

func count(r *jsonscan.Reader, to *int64, u *wire.Usage) {
	if n, ok := r.Int(); ok && n >= 0 {
		*to = min(n, llm.MaxTokens)
		u.Known = true
	}
}

// readAudio is the count of audio tokens among counts by modality.
func readAudio(r *jsonscan.Reader) (tokens int64) {
	if !r.Array() {
		return 0
	}
	for r.Elem() {
		if !r.Object() {
			continue
		}
		audio := false
		var n int64
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "modality":
				word, _ := r.RawString()
				audio = string(word) == "AUDIO"
			case "tokenCount":
				n, _ = r.Int()
				n = min(max(n, 0), llm.MaxTokens)
			default:
				r.Skip()
			}
		}
		if audio {
			tokens += n
		}
	}
	return tokens
}

// appendUsage appends the value of usageMetadata.
func appendUsage(dst []byte, u wire.Usage, tier string) []byte {
	out := list{dst: append(dst, '{')}
	out.number("promptTokenCount", u.Input)
	if u.CachedInput > 0 {
		out.number("cachedContentTokenCount", u.CachedInput)
	}
	out.number("candidatesTokenCount", max(u.Output-u.Reasoning, 0))
	if u.Reasoning > 0 {
		out.number("thoughtsTokenCount", u.Reasoning)
	}
	out.number("totalTokenCount", u.Input+u.Output)
	if u.AudioInput > 0 {
		out.key("promptTokensDetails")
		out.dst = appendAudio(out.dst, u.Input-u.AudioInput, u.AudioInput)
	}
	if u.AudioOutput > 0 {
		out.key("candidatesTokensDetails")
		out.dst = appendAudio(out.dst, u.Output-u.Reasoning-u.AudioOutput, u.AudioOutput)
	}
	if tier = tierWord(tier); tier != "" {
		out.text("serviceTier", tier)
	}
	return append(out.dst, '}')
}

func appendAudio(dst []byte, text, audio int64) []byte {
	out := list{dst: append(dst, '[')}
	for _, m := range [...]struct {
		modality string
		tokens   int64
	}{{"TEXT", text}, {"AUDIO", audio}} {
		if m.tokens <= 0 {
			continue
		}
		out.next()
		one := list{dst: append(out.dst, '{')}
		one.text("modality", m.modality)
		one.number("tokenCount", m.tokens)
		out.dst = append(one.dst, '}')
	}
	return append(out.dst, ']')
}

// tierWord is Google's word for a service tier; empty: it has none.
func tierWord(tier string) string {
	switch tier {
	case "default", "standard", "standard_only":
		return "standard"
	case "flex", "priority":
		return tier
	}
	return ""
}

// tierOf is the common word for Google's service tier.
func tierOf(word []byte) string {
	switch string(word) {
	case "", "unspecified":
		return ""
	case "standard", "STANDARD":
		return "default"
	case "flex", "FLEX":
		return "flex"
	case "priority", "PRIORITY":
		return "priority"
	}
	return string(word)
}
