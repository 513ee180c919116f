package wiretest_test

import (
	"errors"
	"strings"
	"testing"

	"evergate/internal/wire"
)

// failed is what a recorded error says.
type failed struct {
	status int // of the reply; 200 where a stream or a body tells of the error
	// code is empty where the provider says none in the body: Bedrock has it in a header.
	code string
	// message is how the provider's words begin.
	message string
}

// faults are the recordings of errors, by file.
func faults() map[string]*failed {
	return map[string]*failed{
		"anthropic-messages/error-400-invalid-request.json":                 {400, "invalid_request_error", "messages.0: Input does not match the expected shape."},
		"anthropic-messages/error-401-request-id.json":                      {401, "authentication_error", "invalid x-api-key"},
		"azure-chat/content-filter-prompt.json":                             {400, "content_filter", "The response was filtered due to the prompt"},
		"azure-chat/error-401-bad-key.json":                                 {401, "401", "Access denied due to invalid subscription key"},
		"bedrock-converse/error-400-input-tokens.json":                      {400, "", "The model returned the following errors: Input Tokens Exceeded"},
		"bedrock-converse/error-404-retired-model.json":                     {404, "", "This model version has reached the end of its life."},
		"bedrock-converse/error-in-stream-validation-exception.eventstream": {200, "validationException", "The model returned the following errors: The detected file MIME type"},
		"cohere-chat/error-400-too-many-tokens.json":                        {400, "TOO_MANY_TOKENS", "too many tokens: size limit exceeded by 25836 tokens."},
		"constructed-errors/anthropic-413-request-too-large.json":           {413, "request_too_large", "Request exceeds the maximum size"},
		"constructed-errors/anthropic-429-rate-limit.json":                  {429, "rate_limit_error", "Rate limited"},
		"constructed-errors/anthropic-500-api-error.json":                   {500, "api_error", "Internal server error"},
		"constructed-errors/anthropic-529-overloaded.json":                  {529, "overloaded_error", "Overloaded"},
		"constructed-errors/anthropic-error-in-stream-overloaded.sse":       {200, "overloaded_error", "Overloaded"},
		"constructed-errors/bedrock-429-throttling.json":                    {429, "", "Too many requests, please wait"},
		"constructed-errors/gemini-500-internal.json":                       {500, "INTERNAL", "An internal error has occurred."},
		"constructed-errors/gemini-503-unavailable.json":                    {503, "UNAVAILABLE", "The model is overloaded."},
		"constructed-errors/openai-429-tokens-per-min.json":                 {429, "rate_limit_exceeded", "Rate limit reached for gpt-4o"},
		"constructed-errors/openai-500-server-error.json":                   {500, "server_error", "The server had an error while processing your request."},
		"constructed-errors/openai-503-overloaded.json":                     {503, "server_error", "That model is currently overloaded"},
		"constructed-errors/openai-responses-failed-overloaded.sse":         {200, "server_is_overloaded", "Our servers are currently overloaded."},
		"deepseek-chat/error-401-bad-key.json":                              {401, "invalid_request_error", "Authentication Fails"},
		"gemini-generate/error-400-api-key.json":                            {400, "API_KEY_INVALID", "API key not valid."},
		"gemini-generate/error-429-quota.json":                              {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"},
		"gpustack-chat/error-in-stream-llama-box.sse":                       {200, "", "failed to decode, try again"},
		"groq-chat/error-400-tool-use-failed.json":                          {400, "tool_use_failed", "Tool call validation failed"},
		"groq-chat/error-in-stream-tool-use-failed.sse":                     {200, "tool_use_failed", "Tool call validation failed"},
		"llamacpp-embeddings/error-501-not-supported.json":                  {501, "not_supported_error", "This server does not support embeddings."},
		"mistral-chat/error-401-bad-key.json":                               {401, "", "Invalid API Key"},
		"ollama-openai-compat/error-400-prompt-too-long.json":               {400, "invalid_request_error", "prompt too long; exceeded max context length"},
		"openai-chat/error-400-unsupported-parameter.json":                  {400, "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported"},
		"openai-chat/error-404-unknown-model.json":                          {404, "model_not_found", "The model `gpt-4.1-nano-wrong` does not exist"},
		"openai-embeddings/error-404-unknown-model.json":                    {404, "model_not_found", "The model `text-embedding-4-ultra` does not exist"},
		"openai-responses/error-400-previous-response-not-found.json":       {400, "previous_response_not_found", "Previous response with id 'resp_REDACTED_1' not found."},
		"openai-responses/error-401-bad-key.json":                           {401, "invalid_api_key", "Incorrect API key provided"},
		"openai-responses/error-429-insufficient-quota-body.json":           {429, "insufficient_quota", "You exceeded your current quota"},
		"openrouter-chat/error-429-rate-limit-headers.json":                 {429, "429", "Rate limit exceeded: limit_rpm/"},
		"perplexity-chat/error-401-bad-key.json":                            {401, "invalid_api_key", "Invalid API key provided."},
		"vertex-generate/error-in-stream.sse":                               {200, "CANCELLED", "The operation was cancelled."},
		"vertex-generate/model-armor-prompt-blocked.json":                   {200, "MODEL_ARMOR", "the prompt was blocked by the provider's content filter"},
		"xai-responses/error-400-bad-key.json":                              {400, "invalid-argument", "Incorrect API key provided."},
	}
}

// Each recorded error is one, whether its status says so or a 200 hides it (R14), with its code and its words.
func TestRecordedFaults(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		want := faults()[r.file]
		if want == nil || r.streamed() {
			continue
		}
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			_, f := r.dialect.Judge(r.body(t))
			if f == nil {
				t.Fatal("it was taken for an answer")
			}
			if f.Code != want.code || !strings.HasPrefix(f.Message, want.message) {
				t.Errorf("judged as %q: %q", f.Code, f.Message)
			}
			if want.status == 200 {
				return
			}
			code, message := r.dialect.ReadError(r.body(t))
			if code != want.code || !strings.HasPrefix(message, want.message) {
				t.Errorf("read as %q: %q", code, message)
			}
			for _, c := range clients() {
				said := c.dialect.AppendError(nil, wire.Failure{Status: want.status, Code: code, Message: message, RequestID: "req_1"})
				if got := readFailure(t, c.name, said); !strings.Contains(got, message) {
					t.Errorf("%s: %s", c.name, said)
				}
			}
		})
	}
}

// readFailure is the message of an error reply, read as a dialect's SDK does.
func readFailure(t *testing.T, dialect string, body []byte) string {
	t.Helper()
	v, err := parse(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	switch dialect {
	case "messages":
		if str(v, "type") != "error" || str(v, "error", "type") == "" {
			t.Errorf("no error of Messages: %s", body)
		}
	case "gemini":
		if number(v, "error", "code") < 400 || str(v, "error", "status") == "" {
			t.Errorf("no error of Gemini: %s", body)
		}
	default:
		if str(v, "error", "type") == "" {
			t.Errorf("no error of OpenAI: %s", body)
		}
	}
	return str(v, "error", "message")
}

// An error within a stream ends it: with its code and words, never properly, and the client's SDK raises.
func TestRecordedFaultsInStreams(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		want := faults()[r.file]
		if want == nil || !r.streamed() {
			continue
		}
		for _, c := range clients() {
			t.Run(r.file+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				l := listen(t, &c, r.dialect, 1)
				l.hear(t, r.body(t), true)
				switch {
				case l.ended:
					t.Fatalf("a proper end: %s", l.out)
				case l.fault == nil:
					t.Fatal("no fault")
				case l.fault.Code != want.code || !strings.HasPrefix(l.fault.Message, want.message):
					t.Errorf("%q: %q", l.fault.Code, l.fault.Message)
				}
				if l.begun {
					l.mustBreak(t, &c)
				}
			})
		}
	}
}

// mustBreak ends a committed stream with an error (R15): there is no proper end in what the client got, and its SDK sees
// the error.
func (l *listener) mustBreak(t *testing.T, c *client) {
	t.Helper()
	said := wire.Failure{Status: 502, Code: "provider_error", Message: "The stream broke.", RequestID: "req_1", Said: l.translation.Said()}
	out := c.dialect.AppendStreamError(l.out[:len(l.out):len(l.out)], said)
	r := readerOf(c)
	if _, err := r.ofStream(l.out); len(l.out) > 0 && !errors.Is(err, errNoEnd) {
		t.Fatalf("%v, want no end: %s", err, tail(l.out))
	}
	if _, err := r.ofStream(out); !errors.Is(err, errNoEnd) || err == errNoEnd { //nolint:errorlint // the bare one is a cut
		t.Fatalf("%v, want an error: %s", err, tail(out))
	}
	if !strings.Contains(string(out[len(l.out):]), "The stream broke.") {
		t.Fatalf("the reason is not said: %s", out[len(l.out):])
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
