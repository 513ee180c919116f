package e2e

import "fmt"

// strictChat is a client of chat completions.
var strictChat = strictClient{
	name: "chat", path: "/v1/chat/completions",
	body: func(model string, stream bool) string {
		if stream {
			return fmt.Sprintf(`{"model":%q,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`, model)
		}
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, model)
	},
	plain: func(g *got, body []byte) {
		var r struct {
			ID, Object, Model string
			Choices           []struct {
				Index        *int
				Message      struct{ Role, Content string }
				FinishReason string `json:"finish_reason"`
			}
			Usage *chatUsage
		}
		g.read(body, &r)
		g.want(r.ID != "" && r.Object == "chat.completion" && len(r.Choices) == 1, "no completion: %s", body)
		if len(r.Choices) == 1 {
			c := r.Choices[0]
			g.want(c.Index != nil && c.Message.Role == "assistant", "a choice without index or role: %s", body)
			g.text, g.finish = c.Message.Content, c.FinishReason
		}
		g.model = r.Model
		r.Usage.into(g)
	},
	stream:  chatEvents,
	refusal: openAIRefusal,
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (u *chatUsage) into(g *got) {
	if u == nil {
		return
	}
	g.want(u.Prompt+u.Completion == u.Total, "usage %d+%d is not %d", u.Prompt, u.Completion, u.Total)
	g.in, g.out = u.Prompt, u.Completion
}

// chatEvents: chunks of one id, role first, one finish, usage after it, then [DONE] and nothing more; or an error and nothing more.
func chatEvents(g *got, next func() (sseEvent, bool)) {
	id, done := "", false
	for {
		e, ok := next()
		if !ok {
			break
		}
		g.want(!done && g.err == nil, "an event after the end: %s", e.data)
		if string(e.data) == "[DONE]" {
			done = true
			continue
		}
		var c struct {
			ID, Object, Model string
			Choices           []struct {
				Delta        struct{ Role, Content string }
				FinishReason string `json:"finish_reason"`
			}
			Usage *chatUsage
			Error *openAIError
		}
		g.read(e.data, &c)
		if c.Error != nil {
			g.err = &raised{c.Error.Type, c.Error.Code, c.Error.Message}
			continue
		}
		if id == "" {
			id = c.ID
		}
		g.want(c.Object == "chat.completion.chunk" && c.ID != "" && c.Model != "", "no chunk: %s", e.data)
		g.want(c.ID == id, "another id in the middle of a stream: %q after %q", c.ID, id)
		g.model = c.Model
		for _, choice := range c.Choices {
			g.want(g.finish == "" || choice.Delta.Content == "" && choice.FinishReason == "", "content after the finish: %s", e.data)
			g.text += choice.Delta.Content
			if choice.FinishReason != "" {
				g.finish = choice.FinishReason
			}
		}
		g.want(c.Usage == nil || g.in == 0, "usage twice")
		c.Usage.into(g)
	}
	if g.err == nil {
		g.want(done && g.finish != "", "the stream ended without finish or [DONE], and without an error")
	} else {
		g.want(!done, "[DONE] after an error")
	}
}

type openAIError struct{ Message, Type, Code string }

// openAIRefusal reads an error of chat completions or Responses.
func openAIRefusal(g *got, body []byte) {
	var r struct{ Error *openAIError }
	g.read(body, &r)
	if r.Error != nil {
		g.want(r.Error.Type != "", "an error without a type: %s", body)
		g.err = &raised{r.Error.Type, r.Error.Code, r.Error.Message}
	}
}
