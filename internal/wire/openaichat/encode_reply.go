package openaichat

import (
	"strconv"
	"unicode/utf8"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// AppendReply appends a chat.completion.
func (Chat) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, a.ID)
	dst = append(dst, `,"object":"chat.completion","created":`...)
	dst = strconv.AppendInt(dst, a.Created, 10)
	dst = append(dst, `,"model":`...)
	dst = jsonscan.AppendString(dst, a.Model)
	dst = append(dst, `,"choices":[`...)
	for i := range a.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendChoice(dst, &a.Choices[i], i, q)
	}
	dst = append(dst, ']')
	if a.Usage.Known {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, &a.Usage)
	}
	return append(appendTier(dst, a.ServiceTier), '}')
}

// appendTier appends the service tier in OpenAI's words. SDKs with closed lists of them refuse an answer with any other, so
// one that is none of them is not said.
func appendTier(dst []byte, tier string) []byte {
	switch tier {
	case "auto", "default", "flex", "scale", "priority":
	case "standard": // Anthropic's and Google's
		tier = "default"
	default:
		return dst
	}
	dst = append(dst, `,"service_tier":`...)
	return jsonscan.AppendString(dst, tier)
}

func appendChoice(dst []byte, c *llm.Choice, index int, q *llm.Request) []byte {
	m := said{q: q}
	for i := range c.Content {
		m.part(&c.Content[i])
	}
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"message":`...)
	dst = m.appendTo(dst)
	dst = append(dst, `,"logprobs":`...)
	probs := c.LogProbs
	if !q.LogProbs {
		probs = nil
	}
	dst = appendProbs(dst, probs, len(m.content) == 0 && len(m.refusal) > 0)
	dst = append(dst, `,"finish_reason":`...)
	dst = appendFinish(dst, c.Stop, q.OldFunctions)
	return append(dst, '}')
}

// said is one message in the making.
type said struct {
	q                         *llm.Request
	content, refusal, thought []byte
	hasRefusal                bool
	runes                     int    // code points in content
	details                   []byte // elements of reasoning_details
	thoughts                  int
	sealed                    bool
	calls                     []byte // elements of tool_calls
	oldCall                   []byte
	notes                     []byte // elements of annotations
	images                    []byte
	audio                     *llm.Media
	seal                      *llm.Seal // of the text
}

func (m *said) part(p *llm.Part) {
	switch p.Kind {
	case llm.Text:
		m.cite(p)
		m.content = append(m.content, p.Text...)
		m.runes += utf8.RuneCountInString(p.Text)
		m.sign(p)
	case llm.Refusal:
		m.refusal, m.hasRefusal = append(m.refusal, p.Text...), true
	case llm.Reasoning:
		if hidesThoughts(m.q) {
			return
		}
		m.thought = append(m.thought, p.Text...)
		if m.thoughts > 0 {
			m.details = append(m.details, ',')
		}
		m.details = appendThought(m.details, p.Text, p.Seal, m.thoughts)
		m.thoughts++
		m.sealed = m.sealed || p.Seal != nil
	case llm.ToolCall:
		m.call(p)
	case llm.Audio:
		m.audio = p.Media
	case llm.Image:
		if len(m.images) > 0 {
			m.images = append(m.images, ',')
		}
		m.images = appendImage(m.images, p.Media, -1)
	case llm.Document, llm.Video, llm.ToolResult, llm.Opaque:
		m.q.Dropped.Add(unsaid(p.Kind))
	}
}

// unsaid is the word for a part of an answer that has no place.
func unsaid(k llm.PartKind) string {
	if k == llm.Opaque || k == llm.ToolResult {
		return llm.DropServerTools
	}
	return mediaWord(k)
}

// hidesThoughts says that the client wants no thoughts back.
func hidesThoughts(q *llm.Request) bool { return q.Reasoning != nil && q.Reasoning.Show == "none" }

func (m *said) sign(p *llm.Part) {
	if p.Signature != nil {
		m.seal = p.Signature
	}
}

func (m *said) cite(p *llm.Part) {
	for i := range p.Citations {
		c := &p.Citations[i]
		if c.URL == "" {
			m.q.Dropped.Add(llm.DropCitations)
			continue
		}
		if len(m.notes) > 0 {
			m.notes = append(m.notes, ',')
		}
		m.notes = appendCitation(m.notes, c, m.runes, -1)
	}
}

func (m *said) call(p *llm.Part) {
	c := unwrapCustom(p.Call, m.q)
	arguments := c.Arguments
	if arguments == "" && !c.Custom {
		arguments = "{}"
	}
	if m.q.OldFunctions {
		if m.oldCall != nil {
			m.q.Dropped.Add("tool_calls") // there is room for one
			return
		}
		m.oldCall = append(m.oldCall, `{"name":`...)
		m.oldCall = jsonscan.AppendString(m.oldCall, c.Name)
		m.oldCall = append(m.oldCall, `,"arguments":`...)
		m.oldCall = jsonscan.AppendString(m.oldCall, arguments)
		m.oldCall = append(m.oldCall, '}')
		return
	}
	if len(m.calls) > 0 {
		m.calls = append(m.calls, ',')
	}
	m.calls = append(m.calls, `{"id":`...)
	m.calls = jsonscan.AppendString(m.calls, c.ID)
	m.calls = appendCall(m.calls, c.Custom, c.Name)
	m.calls = jsonscan.AppendString(m.calls, arguments)
	m.calls = append(m.calls, '}')
	if p.Signature != nil {
		m.calls = append(m.calls, `,"extra_content":`...)
		m.calls = appendExtra(m.calls, p.Signature)
	}
	m.calls = append(m.calls, '}')
}

// appendCall appends what a call is, up to its arguments.
func appendCall(dst []byte, custom bool, name string) []byte {
	if custom {
		dst = append(dst, `,"type":"custom","custom":{"name":`...)
		dst = jsonscan.AppendString(dst, name)
		return append(dst, `,"input":`...)
	}
	dst = append(dst, `,"type":"function","function":{"name":`...)
	dst = jsonscan.AppendString(dst, name)
	return append(dst, `,"arguments":`...)
}

// unwrapCustom is a call as the client declared its tool: one that takes free text was a function with one text for
// the target.
func unwrapCustom(c *llm.Call, q *llm.Request) *llm.Call {
	if c.Custom || !isCustom(q, c.Name) {
		return c
	}
	if input, ok := inputOf(c.Arguments); ok {
		return &llm.Call{ID: c.ID, Name: c.Name, Arguments: input, Custom: true}
	}
	return c
}

// inputOf is the text in {"input": "…"}.
func inputOf(arguments string) (input string, ok bool) {
	r := jsonscan.New([]byte(arguments))
	if !r.Object() {
		return "", false
	}
	found := false
	for key, more := r.Key(); more; key, more = r.Key() {
		if string(key) == "input" && r.Kind() == jsonscan.String {
			input, found = r.Text()
			continue
		}
		r.Skip()
	}
	return input, found && r.End()
}

// appendTo appends the message. Content is null only where something else is said in its place.
func (m *said) appendTo(dst []byte) []byte {
	dst = append(dst, `{"role":"assistant","content":`...)
	switch {
	case len(m.content) > 0:
		dst = jsonscan.AppendText(dst, m.content)
	case len(m.calls) > 0 || m.oldCall != nil || m.hasRefusal || m.audio != nil:
		dst = append(dst, "null"...)
	default:
		dst = append(dst, `""`...)
	}
	dst = append(dst, `,"refusal":`...)
	if m.hasRefusal {
		dst = jsonscan.AppendText(dst, m.refusal)
	} else {
		dst = append(dst, "null"...)
	}
	if len(m.thought) > 0 {
		dst = append(dst, `,"reasoning_content":`...)
		dst = jsonscan.AppendText(dst, m.thought)
	}
	if m.thoughts > 0 && (m.sealed || listsThoughts(m.q)) {
		dst = appendList(dst, "reasoning_details", m.details)
	}
	dst = appendList(dst, "annotations", m.notes)
	dst = appendList(dst, "images", m.images)
	if m.audio != nil {
		dst = append(dst, `,"audio":{"id":`...)
		dst = jsonscan.AppendString(dst, m.audio.FileID)
		dst = append(dst, `,"expires_at":0,"data":`...)
		dst = jsonscan.AppendString(dst, m.audio.Data)
		dst = append(dst, `,"transcript":`...)
		dst = jsonscan.AppendString(dst, m.audio.Transcript)
		dst = append(dst, '}')
	}
	dst = appendList(dst, "tool_calls", m.calls)
	if m.oldCall != nil {
		dst = append(dst, `,"function_call":`...)
		dst = append(dst, m.oldCall...)
	}
	if m.seal != nil {
		dst = append(dst, `,"extra_content":`...)
		dst = appendExtra(dst, m.seal)
	}
	return append(dst, '}')
}

// listsThoughts says that the client knows lists of thoughts: it asked in the words of those that have them.
func listsThoughts(q *llm.Request) bool { return q.Reasoning != nil && q.Reasoning.Sealed }

// appendList appends a member with a list, unless it is empty.
func appendList(dst []byte, name string, elements []byte) []byte {
	if len(elements) == 0 {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":[`...)
	dst = append(dst, elements...)
	return append(dst, ']')
}

// appendIndexedStart begins an element of a list. In a stream it has an index: SDKs that gather deltas want to know which
// element a piece belongs to. A negative index is none.
func appendIndexedStart(dst []byte, index int) []byte {
	if index < 0 {
		return append(dst, '{')
	}
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, ',')
}

// appendImage appends an element of images, in the form that vendors with such answers use.
func appendImage(dst []byte, m *llm.Media, index int) []byte {
	dst = appendIndexedStart(dst, index)
	dst = append(dst, `"type":"image_url","image_url":{"url":`...)
	if m.Data == "" {
		dst = jsonscan.AppendString(dst, m.URL)
	} else {
		kind := m.Type
		if kind == "" {
			kind = "image/png"
		}
		dst = jsonscan.AppendString(dst, "data:"+kind+";base64,"+m.Data)
	}
	return append(dst, "}}"...)
}

// appendCitation appends an annotation of text that begins at code point from of the content.
func appendCitation(dst []byte, c *llm.Citation, from, index int) []byte {
	start, end := c.Start, c.End
	if start != 0 || end != 0 {
		start, end = start+from, end+from
	}
	dst = appendIndexedStart(dst, index)
	dst = append(dst, `"type":"url_citation","url_citation":{"start_index":`...)
	dst = strconv.AppendInt(dst, int64(start), 10)
	dst = append(dst, `,"end_index":`...)
	dst = strconv.AppendInt(dst, int64(end), 10)
	dst = append(dst, `,"url":`...)
	dst = jsonscan.AppendString(dst, c.URL)
	dst = append(dst, `,"title":`...)
	dst = jsonscan.AppendString(dst, c.Title)
	if c.Quote != "" {
		dst = append(dst, `,"content":`...)
		dst = jsonscan.AppendString(dst, c.Quote)
	}
	return append(dst, "}}"...)
}

// appendProbs appends the value of logprobs.
func appendProbs(dst, probs []byte, ofRefusal bool) []byte {
	switch {
	case len(probs) == 0:
		return append(dst, "null"...)
	case ofRefusal:
		dst = append(dst, `{"content":null,"refusal":`...)
		dst = append(dst, probs...)
		return append(dst, '}')
	}
	dst = append(dst, `{"content":`...)
	dst = append(dst, probs...)
	return append(dst, `,"refusal":null}`...)
}

// appendFinish appends why an answer ended; what has not ended does not say.
func appendFinish(dst []byte, s llm.Stop, oldFunctions bool) []byte {
	word := "stop"
	switch s {
	case llm.Unstopped:
		return append(dst, "null"...)
	case llm.Length, llm.ContextFull:
		word = "length"
	case llm.ToolUse:
		word = "tool_calls"
		if oldFunctions {
			word = "function_call"
		}
	case llm.ContentFilter, llm.Refused:
		word = "content_filter"
	case llm.EndTurn, llm.StopSequence, llm.Paused, llm.OtherStop:
	}
	dst = append(dst, '"')
	dst = append(dst, word...)
	return append(dst, '"')
}

func appendUsage(dst []byte, u *llm.Usage) []byte {
	num := func(name string, n int64) {
		dst = append(dst, name...)
		dst = strconv.AppendInt(dst, n, 10)
	}
	num(`{"prompt_tokens":`, u.Input)
	num(`,"completion_tokens":`, u.Output)
	num(`,"total_tokens":`, u.Input+u.Output)
	num(`,"prompt_tokens_details":{"cached_tokens":`, u.CachedInput)
	num(`,"audio_tokens":`, u.AudioInput)
	if u.CacheWrite > 0 {
		num(`,"cache_write_tokens":`, u.CacheWrite)
	}
	num(`},"completion_tokens_details":{"reasoning_tokens":`, u.Reasoning)
	num(`,"audio_tokens":`, u.AudioOutput)
	return append(dst, `,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}
