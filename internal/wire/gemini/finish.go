package gemini

import "evergate/internal/llm"

// stopOf is why a candidate ended. text is the word itself where llm has none for it.
func stopOf(reason string, called bool) (stop llm.Stop, text string) {
	switch reason {
	case "":
		return llm.Unstopped, ""
	case "STOP":
		if called {
			return llm.ToolUse, ""
		}
		return llm.EndTurn, ""
	case "MAX_TOKENS":
		return llm.Length, ""
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
		"IMAGE_RECITATION", "MODEL_ARMOR":
		return llm.ContentFilter, ""
	}
	// LANGUAGE, OTHER, MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, TOO_MANY_TOOL_CALLS, NO_IMAGE, … and what is to come
	return llm.OtherStop, reason
}

// reasonOf is Google's word for a stop; empty: it has not stopped.
func reasonOf(stop llm.Stop, text string) string {
	switch stop {
	case llm.Unstopped:
		return ""
	case llm.EndTurn, llm.ToolUse, llm.StopSequence, llm.Paused:
		return "STOP"
	case llm.Length, llm.ContextFull:
		return "MAX_TOKENS"
	case llm.ContentFilter, llm.Refused:
		return "SAFETY"
	case llm.OtherStop:
		switch text {
		case "LANGUAGE", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE",
			"IMAGE_OTHER", "NO_IMAGE", "MISSING_THOUGHT_SIGNATURE", "ESCALATION":
			return text
		}
	}
	return "OTHER"
}
