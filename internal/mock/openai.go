package mock

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// openAI is chat completions, legacy completions, embeddings and models, of OpenAI and of Azure's deployments.
type openAI struct{}

var _ dialect = openAI{}

func (openAI) read(q *request) *apiError {
	if e := q.parse("We could not parse the JSON body of your request."); e != nil {
		return e
	}
	if e := openAITypes(q.root, map[string]string{
		"model": isString, "stream": isBool, "messages": isList, "tools": isList, "max_tokens": isNumber,
		"max_completion_tokens": isNumber, "dimensions": isNumber, "encoding_format": isString,
	}); e != nil {
		return e
	}
	if m := q.root.at("model").str(); m != "" && !(q.azure && q.resource != "") {
		q.Model = m
	}
	if q.Model == "" {
		return openAIBad("model", "", "you must provide a model parameter")
	}
	q.Stream = q.root.at("stream").yes()
	q.wantsUsage = q.root.at("stream_options", "include_usage").yes()
	q.limit = max(q.root.at("max_tokens").whole(), q.root.at("max_completion_tokens").whole())
	q.stops = q.root.at("stop").texts()
	switch q.op {
	case opGenerate:
		return q.readChat()
	case opEmbed:
		if q.inputs = openAIInputs(q.root.at("input")); len(q.inputs) == 0 {
			return openAIBad("input", "", "Missing required parameter: 'input'.")
		}
		q.size = q.root.at("dimensions").whole()
	case opNone, opComplete, opCount, opModels, opStored, opCancel:
		q.inputs = openAIInputs(q.root.at("prompt"))
	}
	return nil
}

func (openAI) check(q *request) *apiError {
	if q.azure && q.resource != "" && q.query.Get("api-version") == "" {
		return &apiError{Status: http.StatusNotFound, Message: "Resource not found"}
	}
	switch q.op {
	case opGenerate:
		return q.checkChat()
	case opComplete:
		return openAIUnknown(q.root, "best_of echo frequency_penalty logit_bias logprobs max_tokens model n presence_penalty prompt seed "+
			"stop stream stream_options suffix temperature top_p user")
	case opEmbed:
		return openAIUnknown(q.root, "dimensions encoding_format input model user")
	case opNone, opCount, opModels, opStored, opCancel:
	}
	return nil
}

func (openAI) answer(j *job) answer {
	var a answer
	switch j.op {
	case opGenerate:
		a = j.chat()
	case opComplete:
		a = j.completion()
	case opEmbed:
		a = j.embeddings()
	case opModels:
		a = j.openAIModels()
	case opNone, opCount, opStored, opCancel:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.header = http.Header{"X-Request-Id": {j.id("req_")}}
	a.framing = sse()
	a.late = func(e *apiError, _ int) event { return event{data: openAI{}.failure(j.request, e).body} }
	return a
}

// failure is an error as OpenAI says it.
func (openAI) failure(q *request, e *apiError) failure {
	fill := *e
	message, code := openAIWords(e.Status, q.Model)
	if q.azure && e.scripted {
		message, code = azureWords(e.Status, message, code)
	}
	if fill.Message == "" {
		fill.Message = message
	}
	if e.scripted && e.Code == "" && e.Type == "" {
		fill.Code = code
	}
	if q.azure && e.scripted && e.Type == "" && e.Status < 500 {
		return failure{body: encode(map[string]any{"error": map[string]string{"code": fill.Code, "message": fill.Message}})}
	}
	if fill.Type == "" {
		fill.Type = openAIErrorType(e.Status)
	}
	return failure{body: encode(struct {
		Error any `json:"error"`
	}{struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
		Code    any    `json:"code"`
	}{fill.Message, fill.Type, orNull(fill.Param), orNull(fill.Code)}})}
}

// orNull is a string, or null for the empty one.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func openAIErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "requests"
	case status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

// openAIWords are the message and code for a status.
func openAIWords(status int, model string) (message, code string) {
	switch status {
	case http.StatusUnauthorized:
		return "Incorrect API key provided.", "invalid_api_key"
	case http.StatusPaymentRequired:
		return "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota"
	case http.StatusNotFound:
		return openAINotFound(model), "model_not_found"
	case http.StatusTooManyRequests:
		return fmt.Sprintf("Rate limit reached for %s in simulation. Please try again later.", model), "rate_limit_exceeded"
	case http.StatusServiceUnavailable, 529:
		return "The engine is currently overloaded, please try again later.", ""
	}
	if status < 500 {
		return http.StatusText(status), ""
	}
	return "The server had an error while processing your request.", ""
}

// azureWords are what Azure's own gateway says in place of that.
func azureWords(status int, message, code string) (string, string) {
	switch status {
	case http.StatusUnauthorized:
		return "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active " +
			"subscription and use a correct regional API endpoint for your resource.", "401"
	case http.StatusNotFound:
		return "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, " +
			"please wait a moment and try again.", "DeploymentNotFound"
	case http.StatusTooManyRequests:
		return "Requests to this simulation have exceeded the call rate limit of your current pricing tier. Please retry later.", "429"
	}
	if code == "" && status < 500 {
		code = fmt.Sprint(status)
	}
	return message, code
}

func openAINotFound(model string) string {
	return fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model)
}

// openAIBad is a refusal that names a parameter.
func openAIBad(param, code, format string, args ...any) *apiError {
	e := badRequest(format, args...)
	e.Param, e.Code = param, code
	return e
}

// openAITypes looks at the types of members; null stands for any.
func openAITypes(n node, types map[string]string) *apiError {
	for _, name := range n.names() {
		want, ok := types[name]
		if m := n.at(name); ok && m.v != nil && m.kind() != want {
			return openAIBad(m.brackets(), "", "Invalid type for '%s': got %s.", m.brackets(), m.kind())
		}
	}
	return nil
}

// openAIUnknown refuses a member that the API does not know.
func openAIUnknown(n node, known string) *apiError {
	if m, ok := n.unknown(known); ok {
		return openAIBad(m.brackets(), "unknown_parameter", "Unknown parameter: '%s'.", m.brackets())
	}
	return nil
}

// openAIOneOf refuses a word that is none of these.
func openAIOneOf(n node, words ...string) *apiError {
	if slices.Contains(words, n.str()) {
		return nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	list := strings.Join(quoted[:len(quoted)-1], ", ") + ", and " + quoted[len(quoted)-1]
	if len(words) == 2 {
		list = quoted[0] + " and " + quoted[1]
	}
	return openAIBad(n.brackets(), "invalid_value", "Invalid value: '%s'. Supported values are: %s.", n.str(), list)
}

// openAIRange refuses a number outside of a range.
func openAIRange(n node, low, high float64) *apiError {
	f, ok := n.num()
	switch {
	case !ok:
		return nil
	case f < low:
		return openAIBad(n.brackets(), "decimal_below_min_value",
			"Invalid '%s': decimal below minimum value. Expected a value >= %v, but got %v instead.", n.brackets(), low, n.v)
	case f > high:
		return openAIBad(n.brackets(), "decimal_above_max_value",
			"Invalid '%s': decimal above maximum value. Expected a value <= %v, but got %v instead.", n.brackets(), high, n.v)
	}
	return nil
}

// openAIInputs is one text or more: strings, or lists of token numbers in their JSON form.
func openAIInputs(n node) []string {
	list := n.each()
	switch {
	case n.kind() == isString:
		return []string{n.str()}
	case len(list) == 0:
		return nil
	case list[0].kind() == isString:
		return n.texts()
	case list[0].kind() == isNumber:
		return []string{string(n.raw())}
	}
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = string(l.raw())
	}
	return out
}
