package e2e

import (
	"fmt"
	"slices"
)

// strictMessages is a client of Anthropic's Messages.
var strictMessages = strictClient{
	name: "messages", path: "/v1/messages",
	body: func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":500,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`, model, stream)
	},
	plain: func(g *got, body []byte) {
		var r struct {
			ID, Type, Role, Model string
			Content               []struct{ Type, Text string }
			StopReason            string `json:"stop_reason"`
			Usage                 *messagesUsage
		}
		g.read(body, &r)
		g.want(r.ID != "" && r.Type == "message" && r.Role == "assistant", "no message: %s", body)
		for _, c := range r.Content {
			g.want(c.Type == "text", "a block of type %q", c.Type)
			g.text += c.Text
		}
		g.model, g.finish = r.Model, r.StopReason
		r.Usage.into(g)
	},
	stream: messagesEvents,
	refusal: func(g *got, body []byte) {
		var r struct {
			Type  string
			Error *openAIError
		}
		g.read(body, &r)
		g.want(r.Type == "error", "no error: %s", body)
		if r.Error != nil {
			g.want(r.Error.Type != "", "an error without a type: %s", body)
			g.err = &raised{r.Error.Type, "", r.Error.Message}
		}
	},
}

type messagesUsage struct {
	Input  *int `json:"input_tokens"`
	Output *int `json:"output_tokens"`
}

// into takes the last word that the stream says about each number.
func (u *messagesUsage) into(g *got) {
	if u == nil {
		return
	}
	if u.Input != nil {
		g.in = *u.Input
	}
	if u.Output != nil {
		g.out = *u.Output
	}
}

// messagesEvents: message_start, blocks one after another, message_delta, message_stop and nothing more; or an error event and nothing more.
func messagesEvents(g *got, next func() (sseEvent, bool)) {
	var seen []string
	blocks, open := 0, false
	for {
		e, ok := next()
		if !ok {
			break
		}
		var v struct {
			Type    string
			Index   *int
			Message struct {
				ID, Role, Model string
				Content         []any
				Usage           *messagesUsage
			}
			ContentBlock struct{ Type, Text string } `json:"content_block"`
			Delta        struct {
				Type, Text string
				StopReason string `json:"stop_reason"`
			}
			Usage *messagesUsage
			Error *openAIError
		}
		g.read(e.data, &v)
		g.want(e.name == v.Type, "an event named %q of type %q", e.name, v.Type)
		g.want(g.err == nil && !slices.Contains(seen, "message_stop"), "an event after the end: %s", e.data)
		g.want(len(seen) > 0 || v.Type == "message_start" || v.Type == "ping" || v.Type == "error", "the stream begins with %s", v.Type)
		place := v.Index != nil && *v.Index == blocks
		switch v.Type {
		case "ping":
			continue
		case "error":
			if g.want(v.Error != nil, "an error event without an error: %s", e.data); v.Error != nil {
				g.err = &raised{v.Error.Type, "", v.Error.Message}
			}
		case "message_start":
			m := v.Message
			g.want(len(seen) == 0 && m.ID != "" && m.Role == "assistant" && m.Content != nil && m.Usage != nil, "a second or strange message_start: %s", e.data)
			g.model = m.Model
			m.Usage.into(g)
		case "content_block_start":
			g.want(!open && place && v.ContentBlock.Type == "text" && v.ContentBlock.Text == "", "a block out of place: %s", e.data)
			open = true
		case "content_block_delta":
			g.want(open && place && v.Delta.Type == "text_delta", "a delta out of place: %s", e.data)
			g.text += v.Delta.Text
		case "content_block_stop":
			g.want(open && place, "a stop out of place: %s", e.data)
			open, blocks = false, blocks+1
		case "message_delta":
			g.want(!open && g.finish == "", "message_delta out of place: %s", e.data)
			g.finish = v.Delta.StopReason
			v.Usage.into(g)
		case "message_stop":
			g.want(!open && g.finish != "", "message_stop out of place")
		default:
			g.want(false, "an event of type %q", v.Type)
		}
		seen = append(seen, v.Type)
	}
	if g.err == nil {
		g.want(slices.Contains(seen, "message_stop"), "the stream ended without message_stop, and without an error")
	}
}
