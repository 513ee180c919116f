package mock

import (
	"net/http"
	"strings"
)

// operation is what a request wants of an API.
type operation uint8

const (
	opNone     operation = iota
	opGenerate           // an answer to a conversation
	opComplete           // a legacy completion
	opEmbed
	opCount  // of tokens
	opModels // the list of models, or one of them
	opStored // a stored response: read it, delete it, list its input
	opCancel // a stored response
)

func (op operation) methods() []string {
	switch op {
	case opModels:
		return []string{http.MethodGet}
	case opStored:
		return []string{http.MethodGet, http.MethodDelete}
	case opNone, opGenerate, opComplete, opEmbed, opCount, opCancel:
	}
	return []string{http.MethodPost}
}

// route finds dialect and operation. It goes by the end of the path, since hosts differ in what comes before it (/v1,
// /openai/v1, nothing).
func (q *request) route() {
	path := strings.TrimSuffix(q.path, "/")
	q.dialect, q.op = openAI{}, opNone
	if q.bedrock(path) || q.gemini(path) || q.cohere(path) {
		return
	}
	if rest, ok := strings.CutPrefix(path, "/openai/deployments/"); ok {
		q.azure = true
		q.resource, path, _ = strings.Cut(rest, "/")
		path = "/" + path
		q.Model = q.resource
	}
	q.azure = q.azure || strings.HasPrefix(path, "/openai/v1/") && q.header.Get("Api-Key") != ""
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		q.op = opGenerate
	case strings.HasSuffix(path, "/completions"):
		q.op = opComplete
	case strings.HasSuffix(path, "/embeddings"):
		q.op = opEmbed
	case strings.HasSuffix(path, "/messages"):
		q.dialect, q.op = anthropic{}, opGenerate
	case strings.HasSuffix(path, "/messages/count_tokens"):
		q.dialect, q.op = anthropic{}, opCount
	case strings.HasSuffix(path, "/models"), strings.Contains(path, "/models/"):
		q.models(path)
	case strings.HasSuffix(path, "/responses"), strings.Contains(path, "/responses/"):
		q.responses(path)
	}
}

// models is the operation that several APIs have under the same path.
func (q *request) models(path string) {
	q.op = opModels
	_, q.resource, _ = strings.Cut(path, "/models/")
	switch {
	case strings.HasPrefix(path, "/v1beta/"), q.header.Get("X-Goog-Api-Key") != "":
		q.dialect = gemini{}
	case q.header.Get("Anthropic-Version") != "":
		q.dialect = anthropic{}
	case q.query.Has("page_size"), q.query.Has("endpoint"):
		q.dialect = cohere{} // the same path and credential as OpenAI's: only its query tells them apart
	}
}

func (q *request) responses(path string) {
	q.dialect, q.op = responses{}, opGenerate
	_, rest, below := strings.Cut(path, "/responses/")
	if !below {
		return
	}
	id, verb, _ := strings.Cut(rest, "/")
	q.resource, q.op = id, opNone
	switch {
	case rest == "input_tokens":
		q.op = opCount
	case verb == "", verb == "input_items":
		q.op = opStored
	case verb == "cancel":
		q.op = opCancel
	}
}

// gemini takes the methods of models, of the Gemini API and of Vertex AI, where other publishers' models have them too.
func (q *request) gemini(path string) bool {
	at := strings.LastIndex(path, ":")
	before, verb := path[:max(at, 0)], path[at+1:]
	_, model, ok := strings.Cut(before, "/models/")
	if at < 0 || !ok {
		return false
	}
	q.vertex = strings.Contains(before, "/publishers/")
	op, stream := opGenerate, false
	switch verb {
	case "generateContent":
	case "streamGenerateContent":
		stream = true
	case "countTokens":
		op = opCount
	case "embedContent", "batchEmbedContents":
		op = opEmbed
	case "rawPredict", "streamRawPredict":
		if strings.Contains(before, "/publishers/anthropic/") {
			q.dialect, q.op, q.Model = anthropic{}, opGenerate, model
			if model == "count-tokens" {
				q.op, q.Model = opCount, ""
			}
			return true
		}
		return false
	default:
		return false
	}
	q.dialect, q.op, q.Model, q.Stream, q.resource = gemini{}, op, model, stream, verb
	return true
}

func (q *request) bedrock(path string) bool {
	if path == "/foundation-models" {
		q.dialect, q.op = bedrock{}, opModels
		return true
	}
	rest, ok := strings.CutPrefix(path, "/model/")
	if !ok {
		return false
	}
	at := strings.LastIndex(rest, "/")
	if at < 0 {
		return false
	}
	q.dialect, q.Model = bedrock{}, rest[:at]
	switch rest[at+1:] {
	case "converse":
		q.op = opGenerate
	case "converse-stream":
		q.op, q.Stream = opGenerate, true
	case "count-tokens":
		q.op = opCount
	}
	return true
}

func (q *request) cohere(path string) bool {
	switch {
	case strings.HasSuffix(path, "/v2/chat"):
		q.op = opGenerate
	case strings.HasSuffix(path, "/v2/embed"):
		q.op = opEmbed
	default:
		return false
	}
	q.dialect = cohere{}
	return true
}
