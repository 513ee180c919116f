package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// answer is what the provider would say if nothing went wrong on the way: a plain body, and the events of a stream
// where the operation has one.
type answer struct {
	status int
	plain  []byte
	events []event
}

// event is one event of a stream.
type event struct {
	kind kind
	data []byte
}

type kind uint8

const (
	kindRole kind = iota
	kindContent
	kindFinish
	kindUsage
	kindDone
)

// apiError is an error as OpenAI says it.
type apiError struct {
	Status                     int
	Message, Type, Param, Code string
}

func (e *apiError) body() []byte {
	if e.Type == "" {
		e.Type = errorType(e.Status)
	}
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return encode(struct {
		Error any `json:"error"`
	}{struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Code    any    `json:"code"`
	}{e.Message, e.Type, orNull(e.Param), orNull(e.Code)}})
}

func errorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "requests"
	case status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

// scripted is the error that a behaviour asks for, at this status.
func (b *Behaviour) scripted(status int, model string) *apiError {
	e := &apiError{Status: status, Message: b.Message, Type: b.Type, Code: b.Code}
	message, code := "", ""
	switch status {
	case http.StatusUnauthorized:
		message, code = "Incorrect API key provided.", "invalid_api_key"
	case http.StatusPaymentRequired:
		message, code = "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota"
	case http.StatusNotFound:
		message, code = notFound(model), "model_not_found"
	case http.StatusTooManyRequests:
		message, code = fmt.Sprintf("Rate limit reached for %s in simulation. Please try again later.", model), "rate_limit_exceeded"
	case http.StatusServiceUnavailable, 529:
		message = "The engine is currently overloaded, please try again later."
	default:
		if message = "The server had an error while processing your request."; status < 500 {
			message = http.StatusText(status)
		}
	}
	if e.Message == "" {
		e.Message = message
	}
	if e.Code == "" && b.Type == "" {
		e.Code = code
	}
	return e
}

func notFound(model string) string {
	return fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model)
}

// answer is the provider's normal answer to the n-th request.
func (s *Script) answer(q *request, b *Behaviour, n int, now time.Time) answer {
	_, isPreset := preset(q.Model)
	if q.refusal == nil && q.route != routeModels && len(s.Models) > 0 && !isPreset && !slices.Contains(s.Models, q.Model) {
		q.refusal = &apiError{Status: http.StatusNotFound, Message: notFound(q.Model), Code: "model_not_found"}
	}
	if q.refusal != nil {
		return answer{status: q.refusal.Status, plain: q.refusal.body()}
	}
	switch q.route {
	case routeChat:
		return s.chat(q, b, n, now)
	case routeCompletions:
		return s.completion(q, b, n, now)
	case routeEmbeddings:
		return embeddings(q)
	case routeModels:
		return s.models(q)
	case routeNone:
	}
	return answer{status: http.StatusNotFound}
}

// models is the list of models, or one of them.
func (s *Script) models(q *request) answer {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	names := s.Models
	if len(names) == 0 {
		names = []string{"mock-chat", "mock-embedding"}
	}
	const released = 1735689600 // the first second of 2025, as good as any
	if _, id, ok := strings.Cut(q.path, "/models/"); ok {
		if !slices.Contains(names, id) {
			e := apiError{Status: http.StatusNotFound, Message: notFound(id), Code: "model_not_found"}
			return answer{status: e.Status, plain: e.body()}
		}
		return answer{status: http.StatusOK, plain: encode(model{id, "model", released, "evergate-mock"})}
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, id := range names {
		list.Data = append(list.Data, model{id, "model", released, "evergate-mock"})
	}
	return answer{status: http.StatusOK, plain: encode(list)}
}

// encode writes JSON as real providers do, without escapes for HTML.
func encode(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: mock answer does not encode: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
