package converse

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// readUsage reads a TokenUsage. Its inputTokens are those that were neither read from the cache nor written to it;
// canonical usage counts all of them as input. The older spellings of the cache's counts end in Count.
func readUsage(r *jsonscan.Reader) (u llm.Usage) {
	if !r.Object() {
		return u
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		var to *int64
		switch string(key) {
		case "inputTokens":
			to = &u.Input
		case "outputTokens":
			to = &u.Output
		case "cacheReadInputTokens", "cacheReadInputTokenCount":
			to = &u.CachedInput
		case "cacheWriteInputTokens", "cacheWriteInputTokenCount":
			to = &u.CacheWrite
		default:
			r.Skip()
			continue
		}
		if n, ok := r.Int(); ok && n >= 0 {
			*to = max(*to, min(n, llm.MaxTokens))
			u.Known = true
		}
	}
	u.Input += u.CachedInput + u.CacheWrite
	return u
}

// appendUsage is readUsage backwards.
func appendUsage(dst []byte, u llm.Usage) []byte {
	dst = append(dst, '{')
	dst = jsonscan.AppendIntMember(dst, "inputTokens", u.Input-u.CachedInput-u.CacheWrite)
	dst = jsonscan.AppendIntMember(dst, "outputTokens", u.Output)
	dst = jsonscan.AppendIntMember(dst, "totalTokens", u.Input+u.Output)
	dst = jsonscan.AppendIntMember(dst, "cacheReadInputTokens", u.CachedInput)
	dst = jsonscan.AppendIntMember(dst, "cacheWriteInputTokens", u.CacheWrite)
	return append(dst, '}')
}

// stops are the words for why an answer ended.
var stops = [...]struct {
	word string
	stop llm.Stop
}{
	{"end_turn", llm.EndTurn},
	{"tool_use", llm.ToolUse},
	{"max_tokens", llm.Length},
	{"stop_sequence", llm.StopSequence},
	{"content_filtered", llm.ContentFilter},
	{"guardrail_intervened", llm.ContentFilter},
	{"model_context_window_exceeded", llm.ContextFull},
	{"refusal", llm.Refused},
	{"pause_turn", llm.Paused},
}

// stopOf reads a stop reason; a word that is not known (malformed_model_output, malformed_tool_use) is its own text.
func stopOf(word []byte) (stop llm.Stop, text string) {
	for i := range stops {
		if string(word) == stops[i].word {
			return stops[i].stop, ""
		}
	}
	return llm.OtherStop, string(word)
}

// stopWord is stopOf backwards.
func stopWord(stop llm.Stop, text string) string {
	for i := range stops {
		if stop == stops[i].stop {
			return stops[i].word
		}
	}
	if text != "" {
		return text
	}
	return "end_turn"
}
