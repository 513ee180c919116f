package mock

import (
	"fmt"
	"net/http"
	"strings"
)

// gemini is Google's generateContent, of the Gemini API and of Vertex AI.
type gemini struct{}

var _ dialect = gemini{}

// camel gives an object's member by either spelling: Google takes maxOutputTokens and max_output_tokens alike.
func (n node) camel(names ...string) node {
	for _, name := range names {
		m := n.at(name)
		if !m.there {
			if s := n.at(snake(name)); s.there {
				m = s
			}
		}
		n = m
	}
	return n
}

// snake is maxOutputTokens as max_output_tokens.
func snake(s string) string {
	var out strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

func (gemini) read(q *request) *apiError {
	if e := q.parse("Invalid JSON payload received. Expected an object."); e != nil {
		return e
	}
	switch root := q.root; q.op {
	case opEmbed:
		q.readGeminiEmbed()
	case opCount:
		if inner := root.camel("generateContentRequest"); inner.there {
			root = inner
		}
		q.readGemini(root)
	case opGenerate, opComplete, opModels, opStored, opCancel, opNone:
		q.readGemini(root)
	}
	return nil
}

func (q *request) readGemini(root node) {
	if system := root.camel("systemInstruction"); system.there {
		t := geminiTurn(system)
		t.role = roleSystem
		q.add(t)
	}
	for _, c := range root.at("contents").each() {
		q.add(geminiTurn(c))
	}
	for _, t := range root.at("tools").each() {
		for _, f := range t.camel("functionDeclarations").each() {
			schema := f.at("parameters")
			if !schema.there {
				schema = f.camel("parametersJsonSchema")
			}
			q.tools = append(q.tools, tool{f.at("name").str(), schema.raw()})
		}
	}
	calling := root.camel("toolConfig", "functionCallingConfig")
	q.noCalls = calling.at("mode").str() == "NONE"
	if allowed := calling.camel("allowedFunctionNames").texts(); len(allowed) > 0 {
		q.forced = allowed[0]
	}
	c := root.camel("generationConfig")
	q.limit = c.camel("maxOutputTokens").whole()
	q.stops = c.camel("stopSequences").texts()
	if c.camel("responseMimeType").str() == "application/json" {
		q.schema = []byte(`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}}}`)
		for _, name := range []string{"responseSchema", "responseJsonSchema"} {
			if s := c.camel(name); s.there {
				q.schema = s.raw()
			}
		}
	}
	thinking := c.camel("thinkingConfig")
	budget := thinking.camel("thinkingBudget")
	q.think = thinking.there && !(budget.there && budget.whole() == 0) || isGemini3(q.Model)
}

// isGemini3 says whether the model always thinks and wants its signatures back.
func isGemini3(model string) bool { return strings.HasPrefix(model, "gemini-3") }

func geminiTurn(c node) turn {
	t := turn{}
	if c.at("role").str() == "model" {
		t.role = roleModel
	}
	for _, p := range c.at("parts").each() {
		if !p.at("thought").yes() {
			t.text += p.at("text").str()
		}
		for _, name := range []string{"inlineData", "fileData"} {
			switch mime := p.camel(name).camel("mimeType").str(); {
			case !p.camel(name).there:
			case strings.HasPrefix(mime, "image/"):
				t.images++
			default:
				t.files++
			}
		}
		if r := p.camel("functionResponse"); r.there {
			t.results = append(t.results, string(r.at("response").raw()))
		}
	}
	return t
}

func (q *request) readGeminiEmbed() {
	requests := q.root.at("requests").each()
	if q.resource == "embedContent" {
		requests = []node{q.root}
	}
	for _, r := range requests {
		q.inputs = append(q.inputs, geminiTurn(r.at("content")).text)
		q.size = r.camel("outputDimensionality").whole()
	}
}

func (gemini) answer(j *job) answer {
	var a answer
	switch j.op {
	case opGenerate:
		a = j.content()
	case opCount:
		n := j.promptTokens()
		a = answered(map[string]any{"totalTokens": n, "promptTokensDetails": modality(n)})
	case opEmbed:
		a = j.geminiEmbeddings()
	case opModels:
		a = j.geminiModels()
	case opNone, opComplete, opStored, opCancel:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.contentType = "application/json; charset=UTF-8"
	a.late = func(e *apiError, _ int) event { return event{data: gemini{}.failure(j.request, e).body} }
	return a
}

// failure is an error as Google's APIs say it.
func (gemini) failure(q *request, e *apiError) failure {
	status, message := geminiWords(e.Status, q)
	if e.Code != "" {
		status = e.Code
	}
	if e.Type != "" {
		status = e.Type
	}
	if e.Message != "" {
		message = e.Message
	}
	body := map[string]any{"code": e.Status, "message": message, "status": status}
	if e.Status == http.StatusTooManyRequests {
		body["details"] = []any{map[string]string{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}}
	}
	if e.Param != "" {
		body["details"] = []any{map[string]any{
			"@type":           "type.googleapis.com/google.rpc.BadRequest",
			"fieldViolations": []any{map[string]string{"field": e.Param, "description": message}},
		}}
	}
	return failure{body: encode(map[string]any{"error": body}), contentType: "application/json; charset=UTF-8"}
}

// geminiWords are the canonical status and the message for an HTTP status.
func geminiWords(status int, q *request) (canonical, message string) {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT", "Request contains an invalid argument."
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED", "Request had invalid authentication credentials."
	case http.StatusForbidden:
		return "PERMISSION_DENIED", "The caller does not have permission"
	case http.StatusNotFound:
		if q.vertex {
			return "NOT_FOUND", fmt.Sprintf("Publisher Model `%s` was not found or your project does not have access to it.", q.Model)
		}
		return "NOT_FOUND", fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for generateContent. "+
			"Call ListModels to see the list of available models and their supported methods.", q.Model)
	case http.StatusConflict:
		return "ABORTED", "The operation was aborted."
	case http.StatusTooManyRequests:
		if q.vertex {
			return "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
		}
		return "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."
	case http.StatusServiceUnavailable, 529:
		return "UNAVAILABLE", "The model is overloaded. Please try again later."
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED", "The request timed out. Please try again."
	case http.StatusNotImplemented:
		return "UNIMPLEMENTED", "Operation is not implemented, or supported, or enabled."
	}
	if status < 500 {
		return "FAILED_PRECONDITION", http.StatusText(status)
	}
	return "INTERNAL", "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
}

func (j *job) geminiEmbeddings() answer {
	type values struct {
		Values []float32 `json:"values"`
	}
	var list []values
	for _, v := range j.vectors() {
		list = append(list, values{v})
	}
	if j.resource == "embedContent" {
		return answered(map[string]any{"embedding": list[0]})
	}
	return answered(map[string]any{"embeddings": list})
}

// geminiModels is the list of models, or one of them.
func (j *job) geminiModels() answer {
	var list []any
	for _, name := range j.s.modelNames() {
		m := map[string]any{
			"name": "models/" + name, "version": "001", "displayName": name, "description": "A simulated model.",
			"inputTokenLimit": 1048576, "outputTokenLimit": 65536,
			"supportedGenerationMethods": []string{"generateContent", "countTokens", "embedContent"},
		}
		if name == j.resource {
			return answered(m)
		}
		list = append(list, m)
	}
	if j.resource != "" {
		j.Model = j.resource
		return refused(&apiError{Status: http.StatusNotFound})
	}
	return answered(map[string]any{"models": list})
}
