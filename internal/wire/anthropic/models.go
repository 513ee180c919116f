package anthropic

import "strings"

// traits are what is known of a model by its id, as data: the dialect's rules changed with the generations of models.
// The zero value stands for a model that is not known, such as another maker's behind this dialect, or a deployment's
// own name: for it the older, widely copied forms are written.
type traits struct {
	known bool
	// thinks: it takes "thinking"; adaptive: in the adaptive form, with output_config.effort, where a budget is refused
	// or deprecated.
	thinks, adaptive bool
	// alwaysThinks: thinking cannot be turned off.
	alwaysThinks bool
	// efforts are the words of output_config.effort, ascending.
	efforts []string
	// fixedSampling: temperature but 1, top_p and top_k are refused.
	fixedSampling bool
	// oneSampler: temperature and top_p are refused together.
	oneSampler bool
	// schemas: output_config.format, and strict tools.
	schemas bool
	// systemTurns: role system is taken after a user's turn.
	systemTurns bool
	// maxTokens is a limit of the output that it takes, for requests that have none.
	maxTokens int64
}

// traitsOf reads generation and version out of an id such as claude-3-7-sonnet-20250219, claude-opus-4-1,
// us.anthropic.claude-sonnet-4-6-v1 or claude-haiku-4-5@20251001.
func traitsOf(model string) traits {
	major, minor, ok := version(model)
	if !ok {
		return traits{thinks: true, schemas: true, maxTokens: 8192}
	}
	v := major*100 + minor
	t := traits{
		known:         true,
		thinks:        v >= 307,
		adaptive:      v >= 406,
		alwaysThinks:  v >= 500,
		fixedSampling: v >= 407,
		oneSampler:    v >= 401,
		schemas:       v >= 405,
		systemTurns:   v >= 408,
		maxTokens:     32000,
	}
	switch {
	case v < 305:
		t.maxTokens = 4096
	case v < 307:
		t.maxTokens = 8192
	}
	switch {
	case v >= 407:
		t.efforts = []string{"low", "medium", "high", "xhigh", "max"}
	case v >= 406:
		t.efforts = []string{"low", "medium", "high", "max"}
	}
	return t
}

// version finds the first one or two numbers of at most two digits after "claude": longer ones are dates.
func version(model string) (major, minor int, ok bool) {
	_, rest, found := strings.Cut(strings.ToLower(model), "claude")
	if !found {
		return 0, 0, false
	}
	var numbers []int
	for word := range strings.FieldsFuncSeq(rest, func(r rune) bool {
		return r == '-' || r == '.' || r == '@' || r == ':' || r == '/' || r == '_'
	}) {
		n, isNumber := shortNumber(word)
		if isNumber {
			if numbers = append(numbers, n); len(numbers) == 2 {
				break
			}
		} else if len(numbers) > 0 {
			break
		}
	}
	switch {
	case len(numbers) == 2:
		return numbers[0], numbers[1], true
	case len(numbers) == 1:
		return numbers[0], 0, true
	case strings.Contains(rest, "mythos"):
		return 4, 7, true // its preview has no number; it came with that generation's rules
	}
	return 0, 0, false
}

func shortNumber(word string) (n int, ok bool) {
	if len(word) == 0 || len(word) > 2 {
		return 0, false
	}
	for _, c := range []byte(word) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
