package e2e

import "fmt"

// strictResponses is a client of OpenAI's Responses.
var strictResponses = strictClient{
	name: "responses", path: "/v1/responses",
	body: func(model string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%t,"store":false,"input":"hi"}`, model, stream)
	},
	plain: func(g *got, body []byte) {
		var r response
		g.read(body, &r)
		g.take(&r, "completed")
	},
	stream:  responsesEvents,
	refusal: openAIRefusal,
}

type response struct {
	ID, Object, Status, Model string
	Output                    []struct {
		Type, Role, Status string
		Content            []struct{ Type, Text string }
	}
	Usage *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	Error *openAIError
}

// take reads a whole response.
func (g *got) take(r *response, status string) {
	g.want(r.ID != "" && r.Object == "response", "no response")
	g.want(r.Status == status, "a response that is %q, not %q", r.Status, status)
	g.model = r.Model
	if status != "completed" {
		return
	}
	g.finish, g.text = r.Status, ""
	for _, item := range r.Output {
		g.want(item.Type == "message" && item.Role == "assistant" && item.Status == "completed", "an item %+v", item)
		for _, c := range item.Content {
			g.want(c.Type == "output_text", "a part of type %q", c.Type)
			g.text += c.Text
		}
	}
	if r.Usage != nil {
		g.want(r.Usage.Input+r.Usage.Output == r.Usage.Total, "usage %+v", *r.Usage)
		g.in, g.out = r.Usage.Input, r.Usage.Output
	}
}

// responsesEvents: numbered without a gap, created, items and parts opened and closed, completed with the whole answer and nothing more; or
// response.failed, or an error event, and nothing more.
func responsesEvents(g *got, next func() (sseEvent, bool)) {
	n, id, text, ended := 0, "", "", false
	for {
		e, ok := next()
		if !ok {
			break
		}
		var v struct {
			Type     string
			Sequence *int `json:"sequence_number"`
			Response response
			Delta    string
			Text     string
			openAIError
		}
		g.read(e.data, &v)
		g.want(e.name == v.Type, "an event named %q of type %q", e.name, v.Type)
		g.want(v.Sequence != nil && *v.Sequence == n, "sequence number out of order at %d: %s", n, e.data)
		g.want(!ended, "an event after the end: %s", e.data)
		n++
		if v.Response.ID != "" {
			g.want(id == "" || id == v.Response.ID, "another id in the middle of a stream: %q after %q", v.Response.ID, id)
			id = v.Response.ID
		}
		switch v.Type {
		case "response.created":
			g.want(n == 1, "created as event %d", n)
		case "response.in_progress", "response.output_item.added", "response.content_part.added", "response.content_part.done", "response.output_item.done":
			g.want(n > 1, "%s before created", v.Type)
		case "response.output_text.delta":
			text += v.Delta
		case "response.output_text.done":
			g.want(v.Text == text, "the text at its end is not what was streamed: %q", v.Text)
		case "response.completed":
			ended = true
			g.take(&v.Response, "completed")
			g.want(g.text == text, "the whole response says %q, the stream said %q", g.text, text)
		case "response.failed":
			ended = true
			g.take(&v.Response, "failed")
			if g.want(v.Response.Error != nil, "response.failed without an error"); v.Response.Error != nil {
				g.err = &raised{"response.failed", v.Response.Error.Code, v.Response.Error.Message}
			}
		case "error":
			ended = true
			g.err = &raised{"error", v.Code, v.Message}
		default:
			g.want(false, "an event of type %q", v.Type)
		}
	}
	g.text = text
	g.want(ended, "the stream ended without response.completed, and without an error")
}
