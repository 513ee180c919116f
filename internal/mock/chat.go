package mock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
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

func tokens(prompt, completion int) usage {
	return usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
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
}

type choice struct {
	Index        int        `json:"index"`
	Message      *assistant `json:"message,omitempty"`
	Delta        *delta     `json:"delta,omitempty"`
	Text         *string    `json:"text,omitempty"`
	Logprobs     *struct{}  `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
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

// chat answers a chat completion: with a call of a tool where the user spoke last and there are tools, else with text.
func (s *Script) chat(q *request, b *Behaviour, n int, now time.Time) answer {
	frame := reply{
		ID: fmt.Sprintf("chatcmpl-mock%06d", n), Created: now.Unix(), Model: q.Model, SystemFingerprint: "fp_mock",
	}
	if t, ok := q.toolToCall(); ok {
		id := fmt.Sprintf("call_mock%06d", n)
		args := string(exampleOf(t.Function.Parameters))
		pieces := split(args, cmp.Or(b.ChunkSize, 8))
		first := toolCall{Index: new(int), ID: id, Type: "function", Function: function{Name: t.Function.Name}}
		contents := []delta{{ToolCalls: []toolCall{first}}}
		for _, p := range pieces {
			contents = append(contents, delta{ToolCalls: []toolCall{{Index: new(int), Function: function{Arguments: p}}}})
		}
		first.Index, first.Function.Arguments = nil, args
		return frame.assemble(q, b, assistant{Role: "assistant", ToolCalls: []toolCall{first}}, contents, "tool_calls")
	}
	pieces, finish := s.speak(q, b)
	contents := make([]delta, len(pieces))
	for i := range pieces {
		contents[i] = delta{Content: &pieces[i]}
	}
	text := strings.Join(pieces, "")
	return frame.assemble(q, b, assistant{Role: "assistant", Content: &text}, contents, finish)
}

// assemble makes the plain reply and the stream of a chat answer: role, contents, finish, usage if asked, [DONE].
func (r reply) assemble(q *request, b *Behaviour, whole assistant, contents []delta, finish string) answer {
	reason := &finish
	if b.NoFinish {
		reason = nil
	}
	used := encode(tokens(q.promptTokens(), len(contents)))

	plain := r
	plain.Object, plain.Usage = "chat.completion", used
	plain.Choices = []choice{{Message: &whole, FinishReason: reason}}

	r.Object = "chat.completion.chunk"
	chunk := func(d delta, reason *string) []byte {
		r.Choices = []choice{{Delta: &d, FinishReason: reason}}
		return encode(r)
	}
	if q.wantsUsage() {
		r.Usage = json.RawMessage("null")
	}
	role := delta{Role: "assistant"}
	if whole.Content != nil {
		role.Content = new(string)
	}
	events := []event{{kindRole, chunk(role, nil)}}
	for _, d := range contents {
		events = append(events, event{kindContent, chunk(d, nil)})
	}
	events = append(events, event{kindFinish, chunk(delta{}, &finish)})
	if q.wantsUsage() {
		r.Choices, r.Usage = []choice{}, used
		events = append(events, event{kindUsage, encode(r)})
	}
	return answer{status: 200, plain: encode(plain), events: append(events, event{kindDone, []byte("[DONE]")})}
}

// completion answers a legacy completion.
func (s *Script) completion(q *request, b *Behaviour, n int, now time.Time) answer {
	r := reply{
		ID: fmt.Sprintf("cmpl-mock%06d", n), Object: "text_completion", Created: now.Unix(), Model: q.Model, SystemFingerprint: "fp_mock",
	}
	pieces, finish := s.speak(q, b)
	reason := &finish
	if b.NoFinish {
		reason = nil
	}
	used := encode(tokens(q.promptTokens(), len(pieces)))
	text := strings.Join(pieces, "")
	plain := r
	plain.Choices, plain.Usage = []choice{{Text: &text, FinishReason: reason}}, used

	if q.wantsUsage() {
		r.Usage = json.RawMessage("null")
	}
	var events []event
	for i := range pieces {
		r.Choices = []choice{{Text: &pieces[i]}}
		events = append(events, event{kindContent, encode(r)})
	}
	r.Choices = []choice{{Text: new(string), FinishReason: &finish}}
	events = append(events, event{kindFinish, encode(r)})
	if q.wantsUsage() {
		r.Choices, r.Usage = []choice{}, used
		events = append(events, event{kindUsage, encode(r)})
	}
	return answer{status: 200, plain: encode(plain), events: append(events, event{kindDone, []byte("[DONE]")})}
}
