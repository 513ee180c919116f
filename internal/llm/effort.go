package llm

// levels are the words of effort with the budget in tokens that each stands for where a dialect wants one, ascending.
var levels = []struct {
	word   string
	budget int64
}{
	{"minimal", 1024}, {"low", 2048}, {"medium", 8192}, {"high", 16384}, {"xhigh", 32768}, {"max", 65536},
}

// MinBudget is the smallest budget in tokens that the dialects with budgets take.
const MinBudget = 1024

// BudgetOf is the budget in tokens of an effort, for dialects that want one; 0: thinking is off or nothing was said. A
// budget must leave room for the answer: with a limit of maxTokens it takes at most four fifths of it, but not less than MinBudget.
func (e *Effort) BudgetOf(maxTokens int64) int64 {
	if e == nil || e.Off || e.Level == "none" {
		return 0
	}
	b := e.Budget
	if b <= 0 {
		b = 8192 // as the model likes
		for _, l := range levels {
			if l.word == e.Level {
				b = l.budget
			}
		}
	}
	if maxTokens > 0 {
		b = min(b, maxTokens/5*4)
	}
	return max(b, MinBudget)
}

// LevelOf is the word of an effort, for dialects that want one of allowed, which ascends; empty: nothing was said.
// Off is none where that is allowed, else the first.
func (e *Effort) LevelOf(allowed ...string) string {
	if e == nil || len(allowed) == 0 {
		return ""
	}
	word := e.Level
	switch {
	case e.Off:
		word = "none"
	case word == "" && e.Budget <= 0:
		return ""
	case word == "":
		for _, l := range levels {
			if word = l.word; e.Budget <= l.budget {
				break
			}
		}
	}
	best := allowed[0]
	for _, a := range allowed {
		if rank(a) <= rank(word) {
			best = a
		}
	}
	return best
}

func rank(word string) int {
	if word == "none" {
		return -1
	}
	for i, l := range levels {
		if l.word == word {
			return i
		}
	}
	return 2 // an unknown word counts as medium
}
