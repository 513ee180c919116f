package converse

import (
	"strings"

	"evergate/internal/llm"
)

// generation is a model's place in the line of Claudes: 405 is 4.5. 0: it cannot be told, as of the ARN of an inference
// profile. What is not known to be unable is able.
type generation int

// generationOf reads the first one or two numbers of at most two digits after "claude": us.anthropic.claude-3-7-sonnet-
// 20250219-v1:0 is 307, anthropic.claude-sonnet-4-20250514-v1:0 is 400.
func generationOf(model string) generation {
	_, rest, found := strings.Cut(strings.ToLower(model), "claude")
	if !found {
		return 0
	}
	major := -1
	for word := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune("-.:@/_", r) }) {
		n := 0
		for _, c := range []byte(word) {
			if c < '0' || c > '9' {
				n = -1
				break
			}
			n = n*10 + int(c-'0')
		}
		switch {
		case n < 0 || len(word) > 2:
			if major >= 0 {
				return generation(major * 100)
			}
		case major < 0:
			major = n
		default:
			return generation(major*100 + n)
		}
	}
	switch {
	case major >= 0:
		return generation(major * 100)
	case strings.Contains(rest, "mythos"):
		return 407 // its preview has no number; it came with that generation's rules
	}
	return 0
}

// thinks says that it has thoughts.
func (g generation) thinks() bool { return g == 0 || g >= 307 }

// adaptive says whether the model takes thinking of the adaptive kind, whose measure is an effort and not a budget.
// Where the id does not tell, the client's own words decide.
func (g generation) adaptive(e *llm.Effort) bool {
	if g == 0 {
		return e.Level != ""
	}
	return g >= 406
}

// hides says that thoughts come back without their text unless it is asked for.
func (g generation) hides() bool { return g >= 407 }

// fixedSampling says that temperature, top_p and top_k are refused by the model unless they are the defaults.
func (g generation) fixedSampling() bool { return g >= 407 }

// oneSampling says that the model refuses temperature and top_p together.
func (g generation) oneSampling() bool { return g == 0 || g >= 401 }

// schemas says that it keeps to a JSON Schema. Bedrock has none of that for 4.7.
func (g generation) schemas() bool { return g == 0 || g >= 405 && g != 407 }

// efforts are the words that the model knows.
func (g generation) efforts() []string {
	if g == 406 {
		return []string{"low", "medium", "high", "max"}
	}
	return []string{"low", "medium", "high", "xhigh", "max"}
}
