package mock

import (
	"encoding/json"
	"net/http"
)

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (c counts) openAI() json.RawMessage {
	u := usage{PromptTokens: c.prompt, CompletionTokens: c.spoken, TotalTokens: c.prompt + c.spoken}
	u.PromptDetails.Cached, u.CompletionDetails.Reasoning = c.read, c.thought
	return encode(u)
}

// reply is the frame of plain replies and stream chunks, of chat and of legacy completions.
type reply struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	SystemFingerprint string          `json:"system_fingerprint"`
	Choices           []choice        `json:"choices"`
	Usage             json.RawMessage `json:"usage,omitempty"`
	PromptFilter      []any           `json:"prompt_filter_results,omitempty"`
}

type choice struct {
	Index         int        `json:"index"`
	Message       *assistant `json:"message,omitempty"`
	Delta         *delta     `json:"delta,omitempty"`
	Text          *string    `json:"text,omitempty"`
	Logprobs      *struct{}  `json:"logprobs"`
	FinishReason  *string    `json:"finish_reason"`
	ContentFilter any        `json:"content_filter_results,omitempty"`
}

type assistant struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Refusal   *string    `json:"refusal,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// chatFinish is why it ended, in OpenAI's words; a refusal is a whole answer there.
func chatFinish(s stop) string {
	switch s {
	case stopCalls:
		return "tool_calls"
	case stopLimit:
		return "length"
	case stopEnd, stopSequence, stopRefusal:
	}
	return "stop"
}

// chat answers a chat completion. Thoughts stay hidden there: usage counts them.
func (j *job) chat() answer {
	s := j.say()
	whole := assistant{Role: "assistant"}
	var contents []delta
	calls := 0
	for _, p := range s.parts {
		text := p.whole()
		switch p.kind {
		case partText:
			whole.Content = &text
		case partRefusal:
			whole.Refusal = &text
		case partCall:
			at := calls
			call := toolCall{Index: &at, ID: "call_" + p.id, Type: "function", Function: function{Name: p.name}}
			contents = append(contents, delta{ToolCalls: []toolCall{call}})
			for _, piece := range p.pieces {
				contents = append(contents, delta{ToolCalls: []toolCall{{Index: &at, Function: function{Arguments: piece}}}})
			}
			call.Index, call.Function.Arguments = nil, text
			whole.ToolCalls = append(whole.ToolCalls, call)
			calls++
			continue
		case partThought, partRedacted:
			continue
		}
		for i := range p.pieces {
			if p.kind == partRefusal {
				contents = append(contents, delta{Refusal: &p.pieces[i]})
			} else {
				contents = append(contents, delta{Content: &p.pieces[i]})
			}
		}
	}
	if whole.Content == nil && whole.Refusal == nil && whole.ToolCalls == nil {
		whole.Content = new(string) // the limit was reached in thought
	}
	return j.chatForms(s, whole, contents)
}

// chatForms makes the plain reply and the stream: role, contents, finish, usage if asked, [DONE].
func (j *job) chatForms(s saying, whole assistant, contents []delta) answer {
	r := reply{ID: j.id("chatcmpl-"), Created: j.now.Unix(), Model: j.Model, SystemFingerprint: "fp_mock"}
	finish := chatFinish(s.stop)
	reason := &finish
	if j.b.NoFinish {
		reason = nil
	}
	plain := r
	plain.Object, plain.Usage = "chat.completion", s.openAI()
	plain.Choices = []choice{{Message: &whole, FinishReason: reason}}
	if j.azure {
		plain.PromptFilter = azurePromptFilter()
		plain.Choices[0].ContentFilter = azureFilter()
	}

	r.Object = "chat.completion.chunk"
	chunk := func(d delta, reason *string) []byte {
		r.Choices = []choice{{Delta: &d, FinishReason: reason}}
		return encode(r)
	}
	var events []event
	if j.azure {
		events = append(events, opening("", reply{Choices: []choice{}, PromptFilter: azurePromptFilter()}))
	}
	if j.wantsUsage {
		r.Usage = json.RawMessage("null")
	}
	role := delta{Role: "assistant"}
	if whole.Content != nil {
		role.Content = new(string)
	}
	events = append(events, event{data: chunk(role, nil)})
	for _, d := range contents {
		events = append(events, event{kind: kindContent, data: chunk(d, nil)})
	}
	events = append(events, event{kind: kindFinish, data: chunk(delta{}, &finish)})
	return answer{status: http.StatusOK, plain: encode(plain), events: j.chatEnd(events, r, s.counts)}
}

// chatEnd adds what comes after the finish: usage if it was asked for, and the end marker.
func (j *job) chatEnd(events []event, r reply, c counts) []event {
	if j.wantsUsage {
		r.Choices, r.Usage = []choice{}, c.openAI()
		events = append(events, event{kind: kindUsage, data: encode(r)})
	}
	return append(events, event{kind: kindDone, data: []byte("[DONE]")})
}

// completion answers a legacy completion.
func (j *job) completion() answer {
	s := j.say()
	text, finish := s.text(partText), chatFinish(s.stop)
	r := reply{ID: j.id("cmpl-"), Object: "text_completion", Created: j.now.Unix(), Model: j.Model, SystemFingerprint: "fp_mock"}
	reason := &finish
	if j.b.NoFinish {
		reason = nil
	}
	plain := r
	plain.Choices, plain.Usage = []choice{{Text: &text, FinishReason: reason}}, s.openAI()
	if j.wantsUsage {
		r.Usage = json.RawMessage("null")
	}
	var events []event
	for _, p := range s.parts {
		for i := range p.pieces {
			r.Choices = []choice{{Text: &p.pieces[i]}}
			events = append(events, event{kind: kindContent, data: encode(r)})
		}
	}
	r.Choices = []choice{{Text: new(string), FinishReason: &finish}}
	events = append(events, event{kind: kindFinish, data: encode(r)})
	return answer{status: http.StatusOK, plain: encode(plain), events: j.chatEnd(events, r, s.counts)}
}

// azureFilter is Azure's word on a harmless text.
func azureFilter() any {
	type verdict struct {
		Filtered bool   `json:"filtered"`
		Severity string `json:"severity"`
	}
	return map[string]verdict{
		"hate": {Severity: "safe"}, "self_harm": {Severity: "safe"}, "sexual": {Severity: "safe"}, "violence": {Severity: "safe"},
	}
}

func azurePromptFilter() []any {
	return []any{map[string]any{"prompt_index": 0, "content_filter_results": azureFilter()}}
}
