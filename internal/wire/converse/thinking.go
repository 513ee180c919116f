package converse

import (
	"slices"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// thinking is what was decided about how much the model may think.
type thinking struct {
	// field is raw JSON for additionalModelRequestFields under name; empty: nothing is said.
	name, field string
	// effort is outputConfig's.
	effort string
	// limit is the output limit that the budget needs, if the client gave none.
	limit int64
	// fixed: temperature, top_p and top_k are not free while it thinks; unlimited: nor is the output's limit.
	fixed, unlimited bool
}

// decideThinking says the effort in the words of the model's vendor. Converse has none of its own for it.
func (w *writer) decideThinking() {
	e := w.q.Reasoning
	if e == nil {
		return
	}
	off := e.Off || e.Level == "none"
	if !off && e.Level == "" && e.Budget == 0 && e.Show == "" {
		return // nothing was asked
	}
	switch {
	case w.claude:
		w.thinkAsClaude(e, off)
	case w.t.Vendor == llm.Amazon && strings.Contains(w.t.Model, "nova-2"):
		if off {
			return // as it is unless asked
		}
		level := orMedium(e.LevelOf("low", "medium", "high"))
		w.thinking = thinking{name: "reasoningConfig", field: `{"type":"enabled","maxReasoningEffort":"` + level + `"}`}
		w.thinking.fixed, w.thinking.unlimited = level == "high", level == "high"
	case w.t.Vendor == llm.OpenAI:
		w.thinking = thinking{name: "reasoning_effort", field: `"` + orMedium(e.LevelOf("low", "medium", "high")) + `"`}
		if off {
			w.drop.Add("reasoning_effort")
		}
	case !off:
		w.drop.Add("reasoning_effort")
	}
	if w.thinking.name != "" && slices.Contains(w.t.Quirks.Refuses, w.thinking.name) {
		w.thinking = thinking{}
		w.drop.Add("reasoning_effort")
	}
}

func orMedium(level string) string {
	if level == "" {
		return "medium"
	}
	return level
}

func (w *writer) thinkAsClaude(e *llm.Effort, off bool) {
	g := w.generation
	switch {
	case off:
		if g >= 406 { // these may think unasked
			w.thinking = thinking{name: "thinking", field: `{"type":"disabled"}`}
		}
	case !g.thinks(), w.forced(), w.prefilled():
		// It cannot; or not where it is made to call a tool, or to go on with an answer that was begun for it. Those weigh
		// more.
		w.drop.Add("reasoning_effort")
	case g.adaptive(e):
		field := `{"type":"adaptive"`
		switch {
		case e.Show == "none":
			field += `,"display":"omitted"`
		case e.Show != "" && g.hides():
			field += `,"display":"summarized"`
		}
		w.thinking = thinking{name: "thinking", field: field + "}", effort: e.LevelOf(g.efforts()...), fixed: true}
		if w.thinking.effort == "" {
			w.thinking.effort = "high" // the model's own; without one no thoughts come back
		}
	default:
		budget := e.BudgetOf(w.q.MaxTokens)
		if w.q.MaxTokens > 0 && budget >= w.q.MaxTokens || w.bareToolLoop() {
			w.drop.Add("reasoning_effort")
			return
		}
		w.thinking = thinking{
			name: "thinking", field: `{"type":"enabled","budget_tokens":` + strconv.Itoa(int(budget)) + `}`,
			limit: budget + 8192, fixed: true,
		}
	}
}

// prefilled says that the conversation ends with the beginning of the answer.
func (w *writer) prefilled() bool {
	return len(w.blocks) > 0 && w.blocks[len(w.blocks)-1].assistant
}

// bareToolLoop says that tools' results are to be answered, and the turn that called the tools does not begin with its
// thoughts: Claude refuses to think with a budget then.
func (w *writer) bareToolLoop() bool {
	if n := len(w.blocks); n == 0 || w.blocks[n-1].assistant {
		return false
	}
	first, calls, results := -1, false, false
	for i, b := range w.blocks {
		switch {
		case !b.assistant:
			results = b.result || results && !w.blocks[i-1].assistant
			continue
		case i == 0 || !w.blocks[i-1].assistant:
			first, calls = i, false
		}
		calls = calls || strings.HasPrefix(string(w.buf[b.from:b.to]), `{"toolUse":`)
	}
	return results && calls && !strings.HasPrefix(string(w.buf[w.blocks[first].from:w.blocks[first].to]), `{"reasoningContent":`)
}

// appendAdditional appends the members that are the model's own. An anthropic-beta of the client's is never among them:
// what Bedrock does not know of those it refuses.
func (w *writer) appendAdditional(dst []byte) []byte {
	from := len(dst)
	dst = append(jsonscan.AppendKey(dst, "additionalModelRequestFields"), '{')
	empty := len(dst)
	if w.thinking.name != "" {
		dst = append(jsonscan.AppendKey(dst, w.thinking.name), w.thinking.field...)
	}
	dst = w.appendTopK(dst)
	if w.serial() {
		dst = append(jsonscan.AppendKey(dst, "tool_choice"), `{"type":`...)
		switch w.q.Choice.How {
		case llm.Required:
			dst = append(dst, `"any"`...)
		case llm.Named:
			dst = jsonscan.AppendStringMember(append(dst, `"tool"`...), "name", w.q.Choice.Name)
		case llm.Unsaid, llm.Auto, llm.None:
			dst = append(dst, `"auto"`...)
		}
		dst = append(dst, `,"disable_parallel_tool_use":true}`...)
	}
	if len(dst) == empty {
		dst = dst[:from]
	} else {
		dst = append(dst, '}')
	}
	if w.claude && len(w.q.Stop) > 0 { // which of them it was, is said only if asked for
		dst = append(jsonscan.AppendKey(dst, "additionalModelResponseFieldPaths"), `["/stop_sequence"]`...)
	}
	return dst
}

// appendTopK appends top_k under the vendor's name for it.
func (w *writer) appendTopK(dst []byte) []byte {
	k := w.q.TopK
	if k == nil {
		return dst
	}
	switch {
	case w.refuses("top_k", "top_k"):
	case w.thinking.fixed, w.claude && w.generation.fixedSampling():
		w.drop.Add("top_k")
	case w.claude:
		dst = jsonscan.AppendIntMember(dst, "top_k", *k)
	case w.t.Vendor == llm.Amazon:
		dst = append(jsonscan.AppendKey(dst, "inferenceConfig"), '{')
		dst = append(jsonscan.AppendIntMember(dst, "topK", *k), '}')
	case w.t.Vendor == llm.Cohere:
		dst = jsonscan.AppendIntMember(dst, "k", *k)
	default:
		w.drop.Add("top_k")
	}
	return dst
}
