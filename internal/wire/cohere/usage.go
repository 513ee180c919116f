package cohere

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// readUsage reads a usage: the tokens that there were, or where only those are said the ones that are billed, which leave
// out what Cohere itself adds to a prompt.
func readUsage(r *jsonscan.Reader) (u llm.Usage) {
	if !r.Object() {
		return u
	}
	var billed llm.Usage
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "tokens":
			readTokens(r, &u)
		case "billed_units":
			readTokens(r, &billed)
		case "cached_tokens":
			if n, ok := r.Int(); ok && n > 0 {
				u.CachedInput = min(n, llm.MaxTokens)
			}
		default:
			r.Skip()
		}
	}
	if !u.Known {
		u.Input, u.Output, u.Known = billed.Input, billed.Output, billed.Known
	}
	u.Input = max(u.Input, u.CachedInput)
	return u
}

func readTokens(r *jsonscan.Reader, u *llm.Usage) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		var to *int64
		switch string(key) {
		case "input_tokens":
			to = &u.Input
		case "output_tokens":
			to = &u.Output
		default:
			r.Skip()
			continue
		}
		if n, ok := r.Int(); ok && n >= 0 {
			*to, u.Known = min(n, llm.MaxTokens), true
		}
	}
}

func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = append(dst, `{"tokens":{`...)
	dst = jsonscan.AppendIntMember(dst, "input_tokens", u.Input)
	dst = jsonscan.AppendIntMember(dst, "output_tokens", u.Output)
	dst = append(dst, '}')
	if u.CachedInput > 0 {
		dst = jsonscan.AppendIntMember(dst, "cached_tokens", u.CachedInput)
	}
	return append(dst, '}')
}

// stops are the words for why an answer ended. ERROR and TIMEOUT are none: they stand for a failure.
var stops = [...]struct {
	word string
	stop llm.Stop
}{
	{"COMPLETE", llm.EndTurn},
	{"STOP_SEQUENCE", llm.StopSequence},
	{"MAX_TOKENS", llm.Length},
	{"TOOL_CALL", llm.ToolUse},
	{"ERROR_TOXIC", llm.ContentFilter},
	{"ERROR_LIMIT", llm.ContextFull},
}

func stopOf(word []byte) (stop llm.Stop, text string) {
	for i := range stops {
		if string(word) == stops[i].word {
			return stops[i].stop, ""
		}
	}
	return llm.OtherStop, string(word)
}

func stopWord(stop llm.Stop, text string) string {
	for i := range stops {
		if stop == stops[i].stop {
			return stops[i].word
		}
	}
	if text != "" {
		return text
	}
	return "COMPLETE"
}

// failed says of a finish reason that it stands for a failure and for no end of an answer.
func failed(word []byte) bool {
	return string(word) == "ERROR" || string(word) == "TIMEOUT"
}
