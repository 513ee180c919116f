package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Question is a request that somebody asks about.
type Question struct {
	// Body is the client's request, in any dialect; of a question about a model alone it may hold nothing but "model".
	Body []byte
	// Dialect is the dialect's name; empty: Looks says it.
	Dialect string
	// Model stands in the place of the body's, where the body has none or is in a dialect that has the model in its path.
	Model string
	// Stream: it is to be streamed, whatever the body says.
	Stream bool
	// Key is the caller's, by name; empty: one that may use everything.
	Key string
	// Strict: x-evergate-prefer: strict. Prefer is that header's whole value.
	Strict bool
	Prefer string
	// Brings are the providers for which the caller brings a key of its own.
	Brings []string
}

// QuestionError is a question that cannot be understood; its text says why.
type QuestionError struct{ Message, Param string }

func (e *QuestionError) Error() string { return e.Message }

// modelInPath are the dialects whose requests name the model in their path.
func modelInPath(dialect string) bool { return strings.HasPrefix(dialect, "gemini") }

// samples are what a question about a model alone asks, by dialect: the smallest request that means something.
func samples() map[string]string {
	const turn = `[{"role":"user","content":"hello"}]`
	return map[string]string{ //nolint:gosec // words, not credentials
		"chat":                `{"messages":` + turn + `}`,
		"completions":         `{"prompt":"hello"}`,
		"embeddings":          `{"input":"hello"}`,
		"responses":           `{"input":"hello"}`,
		"messages":            `{"max_tokens":16,"messages":` + turn + `}`,
		"count_tokens":        `{"messages":` + turn + `}`,
		"gemini":              `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`,
		"gemini_count_tokens": `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`,
		"gemini_embed":        `{"content":{"parts":[{"text":"hello"}]}}`,
		"gemini_batch_embed":  `{"requests":[{"content":{"parts":[{"text":"hello"}]}}]}`,
	}
}

// Settle completes a question: its dialect, its model, and a body that has both. The error is an *QuestionError.
func (q *Question) Settle() error {
	members := map[string]json.RawMessage{}
	switch trimmed := bytes.TrimSpace(q.Body); {
	case len(trimmed) == 0:
	case trimmed[0] != '{':
		return &QuestionError{Message: `the body must be a JSON object, the request to be explained, such as {"model": "smart", "messages": [...]}`}
	default:
		if err := json.Unmarshal(trimmed, &members); err != nil {
			return &QuestionError{Message: "the body is not valid JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
		}
	}
	asked := false
	for _, name := range []string{"messages", "contents", "content", "requests", "input", "prompt"} {
		asked = asked || members[name] != nil
	}
	if q.Dialect == "" {
		q.Dialect = looks(members)
	}
	if q.Model == "" && members["model"] != nil {
		if json.Unmarshal(members["model"], &q.Model) != nil {
			return &QuestionError{Message: "model must be text", Param: "model"}
		}
	}
	if q.Model == "" {
		q.Model = firstOf(members)
	}
	if q.Model == "" {
		return &QuestionError{Message: "model is missing, and so is models: name it in the body, or as ?model=", Param: "model"}
	}
	if !asked {
		if err := json.Unmarshal([]byte(samples()[q.Dialect]), &members); err != nil && samples()[q.Dialect] != "" {
			return errors.Join(errors.New("BUG: a sample is no JSON"), err)
		}
	}
	if modelInPath(q.Dialect) {
		delete(members, "model")
	} else {
		members["model"], _ = json.Marshal(q.Model) //nolint:errchkjson // text has a form
		if q.Stream {
			members["stream"] = json.RawMessage("true")
		}
	}
	q.Body, _ = json.Marshal(members) //nolint:errchkjson // as above
	return nil
}

// firstOf takes the first of a body's "models", which is the model where no other is named; empty: there is none.
func firstOf(members map[string]json.RawMessage) string {
	var names []json.RawMessage
	first := ""
	if json.Unmarshal(members["models"], &names) != nil || len(names) == 0 || json.Unmarshal(names[0], &first) != nil || first == "" {
		return ""
	}
	members["models"], _ = json.Marshal(names[1:]) //nolint:errchkjson // it was JSON before
	return first
}

// looks says which dialect a body is in, by its top-level members.
func looks(members map[string]json.RawMessage) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if members[name] != nil {
				return true
			}
		}
		return false
	}
	switch {
	case has("contents"):
		return "gemini"
	case has("content"):
		return "gemini_embed"
	case has("requests"):
		return "gemini_batch_embed"
	case has("messages") && has("system", "anthropic_version", "thinking", "stop_sequences", "top_k"):
		return "messages"
	case has("messages"):
		return "chat"
	case has("input") && has("encoding_format", "dimensions"):
		return "embeddings"
	case has("input"):
		return "responses"
	case has("prompt"):
		return "completions"
	}
	return "chat"
}
