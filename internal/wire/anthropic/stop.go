package anthropic

import "evergate/internal/llm"

// stopOf is what a stop reason says; text belongs to it.
func stopOf(reason, sequence string) (stop llm.Stop, text string) {
	switch reason {
	case "":
		return llm.Unstopped, ""
	case "end_turn":
		return llm.EndTurn, ""
	case "max_tokens":
		return llm.Length, ""
	case "tool_use":
		return llm.ToolUse, ""
	case "stop_sequence":
		return llm.StopSequence, sequence
	case "refusal":
		return llm.Refused, ""
	case "pause_turn":
		return llm.Paused, ""
	case "model_context_window_exceeded":
		return llm.ContextFull, ""
	}
	return llm.OtherStop, reason
}

// reasonOf is the stop reason that a stop is; calls and refuses say that there were tool calls or a refusal, which some
// dialects report with an ordinary stop. Empty: the answer has not ended.
func reasonOf(stop llm.Stop, calls, refuses bool) string {
	switch stop {
	case llm.Unstopped:
		return ""
	case llm.Length:
		return "max_tokens"
	case llm.ToolUse:
		return "tool_use"
	case llm.StopSequence:
		return "stop_sequence"
	case llm.ContentFilter, llm.Refused:
		return "refusal"
	case llm.Paused:
		return "pause_turn"
	case llm.ContextFull:
		return "model_context_window_exceeded"
	case llm.EndTurn, llm.OtherStop:
	}
	switch {
	case refuses:
		return "refusal"
	case calls:
		return "tool_use"
	}
	return "end_turn"
}
