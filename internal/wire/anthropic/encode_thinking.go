package anthropic

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// thinking is how a request says how much the model may think.
type thinking struct {
	on      bool
	budget  int64  // of the manual form
	effort  string // of output_config
	display string
}

// effortName is the name under which a wish that cannot be met is noted.
const effortName = "reasoning_effort"

// think decides on thinking: by budget for the models that want one, by effort for those that take the adaptive form. It
// gives way to what it cannot go with: a tool that must be called, an answer that was begun for the model, a limit too
// small to think in, and, by budget, a tool call in the last turn whose thoughts are not there.
func (w *writing) think() {
	e := w.q.Reasoning
	if e == nil {
		return
	}
	if e.Off || e.Level == "none" {
		// Leaving it out turns it off; for the models that always think there is no word for that.
		if w.traits.alwaysThinks {
			w.drop(effortName)
		}
		return
	}
	if e.Level == "" && e.Budget == 0 && e.Show == "" {
		return // nothing was asked
	}
	forced := w.tools && (w.q.Choice.How == llm.Required || w.q.Choice.How == llm.Named)
	if !w.traits.thinks || forced || w.prefills() || !w.allows("thinking") {
		w.drop(effortName)
		return
	}
	switch e.Show {
	case "none":
		w.thinks.display = "omitted"
	case "auto", "concise", "detailed", "summarized":
		w.thinks.display = "summarized"
	}
	if w.traits.adaptive {
		w.thinks.on = true
		w.thinks.effort = e.LevelOf(w.traits.efforts...)
		if e.Level == "" && e.Budget < 0 {
			w.thinks.effort = "" // as the model likes
		}
		return
	}
	w.thinks.budget = e.BudgetOf(w.maxTokens)
	if w.thinks.budget >= w.maxTokens || w.unthoughtCall() {
		w.thinks = thinking{}
		w.drop(effortName)
		return
	}
	w.thinks.on = true
	w.thinks.display = "" // the models with budgets know none, or show their thoughts anyway
}

func (w *writing) appendThinking() {
	t := &w.thinks
	if !t.on {
		return
	}
	if t.budget > 0 {
		w.dst = append(w.dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		w.dst = strconv.AppendInt(w.dst, t.budget, 10)
	} else {
		w.dst = append(w.dst, `,"thinking":{"type":"adaptive"`...)
	}
	if t.display != "" {
		w.dst = append(w.dst, `,"display":`...)
		w.dst = jsonscan.AppendString(w.dst, t.display)
	}
	w.dst = append(w.dst, '}')
}

// prefills says that the conversation ends with the beginning of the answer.
func (w *writing) prefills() bool { return w.turns[len(w.turns)-1].role == "assistant" }

// unthoughtCall says that the model's last turn calls tools and does not begin with a thought of its own that can be
// sent.
func (w *writing) unthoughtCall() bool {
	for i := len(w.turns) - 1; i >= 0; i-- {
		t := &w.turns[i]
		if t.role != "assistant" {
			continue
		}
		if len(t.parts) > 0 && t.parts[0].Kind == llm.Reasoning {
			return false
		}
		for _, p := range t.parts {
			if p.Kind == llm.ToolCall {
				return true
			}
		}
		return false
	}
	return false
}
