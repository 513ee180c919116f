package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxRequest is the longest request body that is read, in bytes.
const maxRequest = 64 << 20

// route is an operation of the dialect.
type route uint8

const (
	routeNone route = iota
	routeChat
	routeCompletions
	routeEmbeddings
	routeModels
)

// findRoute goes by the end of the path, since hosts differ in what comes before it (/v1, /openai/v1, nothing).
func findRoute(path string) route {
	switch path = strings.TrimSuffix(path, "/"); {
	case strings.HasSuffix(path, "/chat/completions"):
		return routeChat
	case strings.HasSuffix(path, "/completions"):
		return routeCompletions
	case strings.HasSuffix(path, "/embeddings"):
		return routeEmbeddings
	case strings.HasSuffix(path, "/models"), strings.Contains(path, "/models/"):
		return routeModels
	}
	return routeNone
}

// request is what the simulation reads of a request.
type request struct {
	Model         string         `json:"model"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`

	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`

	Prompt texts `json:"prompt"`

	Input          texts  `json:"input"`
	Dimensions     int    `json:"dimensions"`
	EncodingFormat string `json:"encoding_format"`

	route  route
	path   string
	key    string
	header http.Header
	// refusal is what a real provider would answer to it in place of a normal reply.
	refusal *apiError
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// content is a message's text: a string, or the text parts of a list.
type content string

// UnmarshalJSON takes any form; what is no text is left out.
func (c *content) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*c = content(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &parts) == nil {
		for _, p := range parts {
			*c += content(p.Text)
		}
	}
	return nil
}

// texts is one text or more: strings, or lists of token numbers in their JSON form.
type texts []string

// UnmarshalJSON takes a string, a list of strings, a list of numbers or a list of such lists.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*t = many
		return nil
	}
	var tokens []int
	if json.Unmarshal(data, &tokens) == nil {
		*t = texts{string(data)}
		return nil
	}
	var lists [][]int
	if err := json.Unmarshal(data, &lists); err != nil {
		return errors.New("neither text nor tokens")
	}
	for _, l := range lists {
		*t = append(*t, fmt.Sprint(l))
	}
	return nil
}

// readRequest reads a request to its end. The error is that of the connection; what is wrong with the request itself
// is its refusal.
func readRequest(r *http.Request) (*request, []byte, error) {
	q := &request{}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest+1)); err != nil {
			return nil, nil, fmt.Errorf("read request: %w", err)
		}
	}
	route := findRoute(r.URL.Path)
	q.route, q.path, q.key, q.header = route, r.URL.Path, credential(r.Header), r.Header
	switch {
	case route == routeNone:
		q.refusal = &apiError{Status: http.StatusNotFound, Message: fmt.Sprintf("Unknown request URL: %s %s.", r.Method, r.URL.Path)}
	case route == routeModels && r.Method != http.MethodGet, route != routeModels && r.Method != http.MethodPost:
		q.refusal = &apiError{Status: http.StatusMethodNotAllowed, Message: fmt.Sprintf("Not allowed to %s on %s.", r.Method, r.URL.Path)}
	case route == routeModels:
	case len(body) > maxRequest:
		q.refusal = &apiError{Status: http.StatusRequestEntityTooLarge, Message: "The request is too large."}
	default:
		q.refusal = q.parse(body)
	}
	return q, body, nil
}

func (q *request) parse(body []byte) *apiError {
	bad := func(param, message string) *apiError {
		return &apiError{Status: http.StatusBadRequest, Param: param, Message: message}
	}
	if err := json.Unmarshal(body, q); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return bad(wrong.Field, fmt.Sprintf("Invalid type for '%s': got %s.", wrong.Field, wrong.Value))
		}
		return bad("", "We could not parse the JSON body of your request.")
	}
	if q.Model == "" {
		return bad("model", "you must provide a model parameter")
	}
	switch {
	case q.route == routeChat && len(q.Messages) == 0:
		return bad("messages", "Missing required parameter: 'messages'.")
	case q.route == routeEmbeddings && len(q.Input) == 0:
		return bad("input", "Missing required parameter: 'input'.")
	}
	return nil
}

// last is the last message; the zero message if there is none.
func (q *request) last() message {
	if len(q.Messages) == 0 {
		return message{}
	}
	return q.Messages[len(q.Messages)-1]
}

func (q *request) maxTokens() int { return max(q.MaxTokens, q.MaxCompletionTokens) }

func (q *request) wantsUsage() bool { return q.StreamOptions != nil && q.StreamOptions.IncludeUsage }

// promptTokens is about one for four bytes, as real ones are.
func (q *request) promptTokens() int {
	n := 0
	for _, m := range q.Messages {
		n += len(m.Content) + 16
	}
	for _, t := range append(q.Prompt, q.Input...) {
		n += len(t)
	}
	return max(1, n/4)
}
