package e2e

import (
	"fmt"
	"strings"
	"time"
)

// refereeRow is one of the sixteen faults.
type refereeRow struct {
	n     int
	name  string
	forms []bool // streamed or not
	// faults are its variants.
	faults []refereeFault
	// chatOnly: OpenAI's provider is asked in chat completions, whatever the caller speaks.
	chatOnly bool
}

// refereeFault is what is wrong, in rules of the simulated provider, and what must come of it.
type refereeFault struct {
	name     string
	primary  func(api string) []string
	fallback []string
	// noResume: the model does without `resume`.
	noResume bool
	want     expected
}

// span is how many there may be; 0 to 0 is none.
type span struct{ from, to int }

// expected is what the caller and the providers must see.
type expected struct {
	// by is who answers with the whole text: primary, fallback, or both of them in turn; nobody: the caller gets an error.
	by string
	// refusal is the error's status (200 in a stream) and what it must say.
	status           int
	says, not        string
	orError          bool // an error will do in place of an answer
	primary, fallbck span
	gap              time.Duration // between the first two requests at the primary, at least
	within           time.Duration
}

func (w expected) String() string {
	line := "the whole answer of " + w.by
	if w.by == nobody {
		line = fmt.Sprintf("an error %d that says %q", w.status, w.says)
	} else if w.orError {
		line += " or a clear error"
	}
	return fmt.Sprintf("%s within %v; primary asked %s, fallback asked %s", line, w.within, w.primary, w.fallbck)
}

func (s span) String() string {
	if s.from == s.to {
		return fmt.Sprintf("%d×", s.from)
	}
	return fmt.Sprintf("%d–%d×", s.from, s.to)
}

func (s span) has(n int) bool { return s.from <= n && n <= s.to }

const (
	primary  = "primary"
	fallback = "fallback"
	either   = "both in turn"
	nobody   = "nobody"
)

// held says what is not as expected.
func (w expected) held(c *refereeCase) string {
	g := c.got
	switch {
	case g.breach != "":
		return "the reply is against the dialect: " + g.breach
	case g.took > w.within && c.sdk == "": // a process of its own that asks a hundred things at once is late by itself
		return fmt.Sprintf("it took %v", g.took)
	case !w.primary.has(len(c.seen[primary])):
		return fmt.Sprintf("the primary was asked %d×", len(c.seen[primary]))
	case !w.fallbck.has(len(c.seen[fallback])):
		return fmt.Sprintf("the fallback was asked %d×", len(c.seen[fallback]))
	}
	if asks := c.seen[primary]; w.gap > 0 && len(asks) > 1 && asks[1].Start.Sub(asks[0].Start) < w.gap {
		return fmt.Sprintf("the primary was asked again after %v", asks[1].Start.Sub(asks[0].Start))
	}
	if g.err != nil {
		return w.heldError(g)
	}
	if w.by == nobody {
		return "no error"
	}
	return w.heldAnswer(c)
}

func (w expected) heldError(g *got) string {
	switch {
	case w.by != nobody && !w.orError:
		return "an error"
	case w.by == nobody && g.status != w.status:
		return fmt.Sprintf("status %d", g.status)
	case w.says != "" && !strings.Contains(g.err.message, w.says):
		return "the error does not say why"
	case w.not != "" && strings.Contains(g.err.message, w.not):
		return "the error is not the one that matters"
	case !strings.HasPrefix(words60, strings.TrimSpace(g.text)):
		return "the text before the error is not how the answer begins"
	}
	return ""
}

// finishes are a whole answer's, by dialect.
var finishes = map[string]string{"chat": "stop", "messages": "end_turn", "responses": "completed"}

func (w expected) heldAnswer(c *refereeCase) string {
	g := c.got
	models := map[string]string{primary: "alpha-" + c.name, fallback: "beta-" + c.name}
	switch {
	case g.status != 200:
		return "no answer"
	case g.text != words60:
		return fmt.Sprintf("the text is not whole: %q", g.text)
	case g.finish != finishes[c.client.name]:
		return "the finish is not that of a whole answer"
	case g.in <= 0 || g.out <= 0:
		return "no usage"
	case w.by != either && g.model != models[w.by]:
		return "the reply does not name the model that answered"
	case w.by == either && g.model != models[primary] && g.model != models[fallback]:
		return "the reply names no model that answered"
	}
	return ""
}

var (
	streams = []bool{true}
	forms   = []bool{true, false}
)

// always is one rule, whatever the primary's API is.
func always(do string) func(string) []string {
	return func(string) []string { return []string{"do: { " + do + " }"} }
}

// onlyFirst is a fault of the first request alone.
func onlyFirst(do string) func(string) []string {
	return func(string) []string { return []string{"nth: 1, do: { " + do + " }"} }
}

// inWords is one rule in the words of each API.
func inWords(openAI, anthropic string) func(string) []string {
	return func(api string) []string {
		do := map[string]string{"openai": openAI, "anthropic": anthropic}[api]
		return []string{"do: { " + do + " }"}
	}
}

// prompt is time enough for what should come at once, on a loaded machine.
const prompt = 5 * time.Second

// The words of an upstream that refuses.
const (
	filtered     = "The prompt was filtered by the content management policy"
	refusesWords = "must end with a user message"
)

// refereeRows are the sixteen faults but for the fifteenth, which takes many requests.
var refereeRows = []refereeRow{
	{n: 1, name: "429 once with Retry-After 2", forms: forms, faults: []refereeFault{{
		name: "429 once", primary: onlyFirst("status: 429, retry_after: 2"),
		want: expected{by: primary, primary: span{2, 2}, gap: 1800 * time.Millisecond, within: 2*time.Second + prompt},
	}}},
	{n: 2, name: "429 always", forms: forms, faults: []refereeFault{
		{
			name: "no Retry-After", primary: always("status: 429"),
			want: expected{by: fallback, primary: span{1, 4}, fallbck: span{1, 1}, within: 3*time.Second + prompt},
		},
		{
			name: "Retry-After 1", primary: always("status: 429, retry_after: 1"),
			want: expected{by: fallback, primary: span{1, 4}, fallbck: span{1, 1}, gap: 900 * time.Millisecond, within: 6*time.Second + prompt},
		},
		{
			name: "Retry-After 20", primary: always("status: 429, retry_after: 20"),
			want: expected{by: fallback, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
	}},
	{n: 3, name: "one 500", forms: forms, faults: []refereeFault{{
		name: "500 once", primary: onlyFirst("status: 500"),
		want: expected{by: primary, primary: span{2, 2}, within: prompt},
	}}},
	{n: 4, name: "503 always", forms: forms, faults: []refereeFault{{
		name: "503 always", primary: always("status: 503"),
		want: expected{by: fallback, primary: span{1, 3}, fallbck: span{1, 1}, within: prompt},
	}}},
	{n: 5, name: "connection reset before headers", forms: forms, faults: []refereeFault{
		{
			name: "reset once", primary: onlyFirst("reset: before_headers"),
			want: expected{by: primary, primary: span{2, 2}, within: prompt},
		},
		{
			name: "reset always", primary: always("reset: before_headers"),
			want: expected{by: fallback, primary: span{1, 3}, fallbck: span{1, 1}, within: prompt},
		},
	}},
	{n: 6, name: "accepts and never answers", forms: forms, faults: []refereeFault{{
		name: "silence", primary: always("hang: before_headers"),
		want: expected{by: fallback, primary: span{1, 1}, fallbck: span{1, 1}, within: 30*time.Second + prompt},
	}}},
	{n: 7, name: "first token after 20 s", forms: streams, faults: []refereeFault{{
		name: "slow first token", primary: always("first_token: 20s"),
		want: expected{by: fallback, primary: span{1, 1}, fallbck: span{1, 1}, within: 15 * time.Second},
	}}},
	{n: 8, name: "stream cut after 40 of 60 tokens", forms: streams, faults: []refereeFault{
		{
			name: "connection cut", primary: always("cut: 40"),
			want: expected{by: either, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
		{
			name: "body ended", primary: always("eof: 40"),
			want: expected{by: either, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
		{
			name: "error event", primary: always("error: 40"),
			want: expected{by: either, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
		{
			name: "connection cut, and the fallback dies, too", primary: always("cut: 40"), fallback: []string{"do: { cut: 5 }"},
			want: expected{by: nobody, status: 200, primary: span{1, 3}, fallbck: span{0, 3}, within: prompt},
		},
		{
			name: "connection cut, and the fallback begins anew", primary: always("cut: 40"), fallback: []string{"do: { prefill: restart }"},
			want: expected{by: either, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
		{
			name: "connection cut, without resume", noResume: true, primary: always("cut: 40"),
			want: expected{by: nobody, status: 200, primary: span{1, 1}, within: prompt},
		},
	}},
	{n: 9, name: "stream silent after 20 tokens", forms: streams, faults: []refereeFault{
		{
			name: "silence", primary: always("hang: 20"),
			want: expected{by: either, primary: span{1, 1}, fallbck: span{1, 1}, within: 30*time.Second + prompt},
		},
		{
			name: "silence, without resume", noResume: true, primary: always("hang: 20"),
			want: expected{by: nobody, status: 200, primary: span{1, 1}, within: 30*time.Second + prompt},
		},
	}},
	{n: 10, name: "one malformed event in a sound stream", forms: streams, faults: []refereeFault{{
		name: "broken JSON", primary: always("noise: 20"),
		want: expected{by: primary, primary: span{1, 1}, within: prompt},
	}}},
	{n: 11, name: "no end marker", forms: streams, chatOnly: true, faults: []refereeFault{
		{
			name: "body ended", primary: always("no_done: true"),
			want: expected{by: primary, primary: span{1, 1}, within: prompt},
		},
		{
			name: "connection stays open", primary: always("no_done: true, hang: end"),
			want: expected{by: primary, primary: span{1, 1}, within: 5*time.Second + prompt},
		},
	}},
	{n: 12, name: "context length exceeded", forms: forms, faults: []refereeFault{{
		name: "too long", primary: inWords(
			"status: 400, code: context_length_exceeded, message: \"This model's maximum context length is 8192 tokens.\"",
			"status: 400, message: \"prompt is too long: 250000 tokens > 200000 maximum\""),
		want: expected{by: fallback, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
	}}},
	{n: 13, name: "content filter", forms: forms, faults: []refereeFault{{
		name: "refused", primary: inWords(
			fmt.Sprintf("status: 400, code: content_filter, message: %q", filtered),
			fmt.Sprintf("status: 400, message: %q", filtered+": Output blocked by content filtering policy")),
		want: expected{by: nobody, status: 400, says: filtered, primary: span{1, 1}, within: prompt},
	}}},
	{n: 14, name: "cut, and the fallback refuses prefill", forms: streams, faults: []refereeFault{
		{
			name: "prefill refused", primary: always("cut: 40"), fallback: []string{"do: { prefill: refuse }"},
			want: expected{by: either, orError: true, not: refusesWords, primary: span{1, 1}, fallbck: span{1, 2}, within: prompt},
		},
		{
			name: "prefill refused, and another answer", primary: always("cut: 40"), fallback: []string{"do: { prefill: refuse, text: \"Now for something completely different\" }"},
			want: expected{by: nobody, status: 200, not: refusesWords, primary: span{1, 1}, fallbck: span{1, 2}, within: prompt},
		},
	}},
	{n: 16, name: "the model that answered, and usage", forms: forms, faults: []refereeFault{
		{
			name: "primary answers", primary: func(string) []string { return nil },
			want: expected{by: primary, primary: span{1, 1}, within: prompt},
		},
		{
			name: "fallback answers", primary: always("status: 404"),
			want: expected{by: fallback, primary: span{1, 1}, fallbck: span{1, 1}, within: prompt},
		},
	}},
}
