package wiretest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// efforts is the table of words and budgets.
func efforts(*testing.T) []byte {
	var b bytes.Buffer
	row(&b, "word", "tokens")
	row(&b, "---", "---")
	for _, word := range []string{"minimal", "low", "medium", "high", "xhigh", "max"} {
		e := llm.Effort{Level: word}
		row(&b, "`"+word+"`", fmt.Sprint(e.BudgetOf(0)))
	}
	return b.Bytes()
}

// reasons are the ends that the tables have a row for.
func reasons() []struct {
	stop llm.Stop
	what string
} {
	return []struct {
		stop llm.Stop
		what string
	}{
		{llm.EndTurn, "it is done"},
		{llm.Length, "limit of the output"},
		{llm.ToolUse, "tools are called"},
		{llm.StopSequence, "a stop sequence"},
		{llm.ContentFilter, "the provider's filter"},
		{llm.Refused, "the model refuses"},
		{llm.Paused, "a server tool's turn goes on"},
		{llm.ContextFull, "the window is full"},
		{llm.OtherStop, "any other word"},
	}
}

// endings are the words that an upstream can say, each with the least reply that says it.
func endings(upstream string) []struct{ word, reply string } {
	of := func(format string, words ...string) (out []struct{ word, reply string }) {
		for _, w := range words {
			out = append(out, struct{ word, reply string }{w, fmt.Sprintf(format, w)})
		}
		return out
	}
	const responses = `{"id":"r","object":"response","status":"%s","output":[%s]}`
	switch upstream {
	case "chat":
		return append(of(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"%s"}]}`, "stop", "length", "content_filter"),
			of(`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"%s"}]}`, "tool_calls")...)
	case "responses":
		text, call := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
		out := []struct{ word, reply string }{{"completed", fmt.Sprintf(responses, "completed", text)}, {"completed, with calls", fmt.Sprintf(responses, "completed", call)}}
		return append(out, of(`{"id":"r","object":"response","status":"incomplete","incomplete_details":{"reason":"%s"},"output":[`+text+`]}`, "max_output_tokens", "content_filter")...)
	case "anthropic":
		return of(`{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"%s","usage":{"input_tokens":1,"output_tokens":1}}`,
			"end_turn", "max_tokens", "tool_use", "stop_sequence", "refusal", "pause_turn", "model_context_window_exceeded")
	case "gemini":
		out := of(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"%s"}]}`,
			"STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "OTHER", "MALFORMED_FUNCTION_CALL")
		return append(out, struct{ word, reply string }{"STOP, with calls", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}]}`})
	case "converse":
		return of(`{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}},"stopReason":"%s","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`,
			"end_turn", "max_tokens", "tool_use", "stop_sequence", "content_filtered", "guardrail_intervened", "model_context_window_exceeded")
	}
	return of(`{"id":"r","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"finish_reason":"%s"}`, "COMPLETE", "MAX_TOKENS", "TOOL_CALL", "STOP_SEQUENCE")
}

// stops are the tables of why answers end: what upstreams say, and what clients are told.
func stops(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	titles := []string{"an upstream says"}
	said := map[llm.Stop][][]string{}
	for i, col := range columns() {
		if strings.HasSuffix(col.title, "Nova") {
			continue // as Claude on Bedrock
		}
		titles = append(titles, strings.TrimSuffix(col.title, ", Claude"))
		for _, e := range endings(col.to.name) {
			a, err := col.to.dialect.(wire.Upstream).DecodeReply([]byte(e.reply))
			if err != nil {
				t.Fatalf("%s: %v", e.reply, err)
			}
			stop := a.Choices[0].Stop
			for len(said[stop]) <= i {
				said[stop] = append(said[stop], nil)
			}
			said[stop][i] = append(said[stop][i], "`"+e.word+"`")
		}
	}
	row(&b, titles...)
	row(&b, strings.Split(strings.Repeat("--- ", len(titles)-1)+"---", " ")...)
	for _, r := range reasons() {
		cells := []string{r.what}
		for i, col := range columns() {
			if strings.HasSuffix(col.title, "Nova") {
				continue
			}
			cell := ""
			if i < len(said[r.stop]) {
				cell = strings.Join(said[r.stop][i], ", ")
			}
			cells = append(cells, cell)
		}
		row(&b, cells...)
	}
	b.WriteByte('\n')
	row(&b, "a client is told", "chat completions", "Messages", "Responses", "Gemini")
	row(&b, "---", "---", "---", "---", "---")
	for _, r := range reasons() {
		cells := []string{r.what}
		for _, from := range clients() {
			cells = append(cells, wordOf(t, &from, r.stop))
		}
		row(&b, cells...)
	}
	return b.Bytes()
}

// wordOf is the word for a stop in a client's dialect.
func wordOf(t *testing.T, from *client, stop llm.Stop) string {
	t.Helper()
	c := from.dialect.(wire.Client)
	a := &llm.Reply{ID: "a", Model: "m", Choices: []llm.Choice{{Content: []llm.Part{{Kind: llm.Text, Text: "x"}}, Stop: stop, StopText: "word"}}}
	reply, err := parse(c.AppendReply(nil, a, &llm.Request{Dropped: &llm.Dropped{}}))
	if err != nil {
		t.Fatal(err)
	}
	word := str(reply, "choices", 0, "finish_reason") + str(reply, "stop_reason") + str(reply, "status") + str(reply, "candidates", 0, "finishReason")
	if why := str(reply, "incomplete_details", "reason"); why != "" {
		word += ": " + why
	}
	return "`" + word + "`"
}
