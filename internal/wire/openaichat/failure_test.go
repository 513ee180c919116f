package openaichat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
)

func TestReadError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, code, message string }{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "c", "m"},
		{"no code", `{"error":{"message":"m","type":"t","code":null}}`, "t", "m"},
		{"a number for a code", `{"error":{"message":"m","type":"t","code":401}}`, "t", "m"},
		{"nothing but a number", `{"error":{"message":"m","code":429}}`, "429", "m"},
		{"text", `{"error":"m"}`, "", "m"},
		{"text and a code beside it (xAI)", `{"code":"invalid-argument","error":"m"}`, "invalid-argument", "m"},
		{"a word and a message (Spring)", `{"status":401,"error":"Unauthorized","message":"no key"}`, "Unauthorized", "no key"},
		{"message", `{"message":"m"}`, "", "m"},
		{"message and code (Bedrock)", `{"code":"ThrottlingException","message":"m"}`, "ThrottlingException", "m"},
		{"msg", `{"code":1302,"msg":"m"}`, "1302", "m"},
		{"Cohere", `{"error_type":"TOO_MANY_TOKENS","message":"m"}`, "TOO_MANY_TOKENS", "m"},
		{"vLLM", `{"object":"error","message":"m","type":"NotFoundError","param":null,"code":404}`, "NotFoundError", "m"},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}`, "overloaded_error", "m"},
		{"Gemini", `[{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}]`, "NOT_FOUND", "m"},
		{
			"Gemini's reason", `{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID"},{"@type":"y"}]}}`,
			"API_KEY_INVALID", "m",
		},
		{"FastAPI text", `{"detail":"m"}`, "", "m"},
		{"FastAPI list", `{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required"},{"msg":"second"}]}`, "missing", "body.messages.0: Field required"},
		{"FastAPI object", `{"detail":{"error":{"message":"m","code":"c"}}}`, "c", "m"},
		{"errors", `{"success":false,"errors":[{"code":7003,"message":"m"}]}`, "7003", "m"},
		{"errors as text", `{"errors":["m","n"]}`, "", "m"},
		{"an error in an error", `{"error":{"error":{"message":"m","type":"t"}}}`, "t", "m"},
		{"the inner words count", `{"message":"outer","error":{"message":"m","code":"c"}}`, "c", "m"},
		{"a message that is an object (Mistral)", `{"object":"error","message":{"detail":[{"msg":"m","loc":["body"]}]},"type":"invalid_request_error","code":null}`, "invalid_request_error", "body: m"},
		{"OpenRouter's provider", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m","provider_name":"p"}},"user_id":"u"}`, "429", "Provider returned error: m"},

		{"an answer", `{"choices":[{"message":{"content":"hi"}}]}`, "", ""},
		{"a code alone", `{"code":"c"}`, "", ""},
		{"not JSON", `upstream connect error`, "", ""},
		{"broken", `{"error":{"message":"m"`, "", ""},
		{"a page", `<html>`, "", ""},
		{"nothing", ``, "", ""},
		{"null", `null`, "", ""},
		{"errors all the way down", strings.Repeat(`{"error":`, 50) + `{"message":"m"}` + strings.Repeat(`}`, 50), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range dialects {
				if code, message := d.ReadError([]byte(c.body)); code != c.code || message != c.message {
					t.Errorf("got %q, %q, want %q, %q", code, message, c.code, c.message)
				}
			}
		})
	}
}

func TestReadErrorOfRecordings(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for name, body := range files(t, "errors") {
		code, message := dialectOf(name).ReadError(body)
		got[name] = code + ": " + message[:min(len(message), 24)]
	}
	want := map[string]string{
		"azure-error-401-bad-key.json":                     "401: Access denied due to inv",
		"deepseek-error-401-bad-key.json":                  "invalid_request_error: Authentication Fails, Yo",
		"groq-error-400-tool-use-failed.json":              "tool_use_failed: Tool call validation fai",
		"llamacpp-embeddings-error-501-not-supported.json": "not_supported_error: This server does not sup",
		"mistral-error-401-bad-key.json":                   ": Invalid API Key",
		"ollama-error-400-prompt-too-long.json":            "invalid_request_error: prompt too long; exceede",
		"openai-embeddings-error-404-unknown-model.json":   "model_not_found: The model `text-embeddin",
		"openai-error-400-unsupported-parameter.json":      "unsupported_parameter: Unsupported parameter: '",
		"openai-error-404-unknown-model.json":              "model_not_found: The model `gpt-4.1-nano-",
		"openrouter-error-429-rate-limit-headers.json":     "429: Rate limit exceeded: lim",
		"perplexity-error-401-bad-key.json":                "invalid_api_key: Invalid API key provided",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAppendError(t *testing.T) {
	t.Parallel()
	full := wire.Failure{
		Status: 502, Code: "all_providers_failed", Message: "no provider \"answered\"\n", RequestID: "r1",
		Attempts: []wire.Attempt{
			{Target: "groq/llama", Status: 503, Reason: "upstream_error", Millis: 12},
			{Target: "openai/gpt", Reason: "timeout", Millis: 60000},
			{Target: "x/y", Reason: "circuit_open", Skipped: true},
		},
	}
	for _, c := range []struct {
		name string
		f    wire.Failure
		want string
	}{
		{
			"all of it", full,
			`{"error":{"message":"no provider \"answered\"\n","type":"server_error","param":null,"code":"all_providers_failed","attempts":[` +
				`{"target":"groq/llama","status":503,"reason":"upstream_error","ms":12},` +
				`{"target":"openai/gpt","status":null,"reason":"timeout","ms":60000},` +
				`{"target":"x/y","status":null,"reason":"circuit_open","ms":0,"skipped":true}],"request_id":"r1"}}`,
		},
		{
			"a bad request",
			wire.Failure{Status: 400, Message: "m", Param: "model"},
			`{"error":{"message":"m","type":"invalid_request_error","param":"model","code":null}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range dialects {
				got := string(d.AppendError([]byte("before "), c.f))
				if diff := cmp.Diff("before "+c.want, got); diff != "" || !json.Valid([]byte(c.want)) {
					t.Error(diff)
				}
				// What it writes it reads, too.
				if _, message := d.ReadError([]byte(c.want)); message != c.f.Message {
					t.Errorf("read back %q", message)
				}
				if d == (Embeddings{}) {
					continue
				}
				stream := d.AppendStreamError(nil, c.f)
				if diff := cmp.Diff("data: "+c.want+"\n\n", string(stream)); diff != "" {
					t.Error(diff)
				}
				var p wire.Progress
				if e := d.JudgeEvent(frames(t, stream)[0].Data, &p); e.Fault == nil || e.Fault.Message != c.f.Message {
					t.Errorf("judged as %+v", e)
				}
			}
		})
	}
}

// R17: after an explicit end marker the finish is added, in the name of the stream.
func TestAppendEnd(t *testing.T) {
	t.Parallel()
	const done = "data: [DONE]\n\n"
	for _, c := range []struct {
		name string
		d    wire.Dialect
		data []string
		want string
	}{
		{"finished", Chat{}, []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`}, done},
		{
			"text",
			Chat{},
			[]string{`{"id":"c","created":7,"model":"m","choices":[{"delta":{"content":"a"}}]}`},
			`data: {"id":"c","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n" + done,
		},
		{
			"a tool call",
			Chat{},
			[]string{`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"ls"}}]}}]}`},
			`data: {"id":"","object":"chat.completion.chunk","created":0,"model":"","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}` + "\n\n" + done,
		},
		{
			"two of three choices",
			Chat{},
			[]string{`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{},"finish_reason":"stop"},{"index":2,"delta":{"content":"a"}}]}`},
			`data: {"id":"","object":"chat.completion.chunk","created":0,"model":"","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"},` +
				`{"index":2,"delta":{},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n" + done,
		},
		{
			"older completions",
			Completions{},
			[]string{`{"id":"c","created":7,"model":"m","choices":[{"text":"a"}]}`},
			`data: {"id":"c","object":"text_completion","created":7,"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}]}` + "\n\n" + done,
		},
		{"a role alone", Chat{}, []string{`{"choices":[{"delta":{"role":"assistant"}}]}`}, done},
		{"nothing came", Chat{}, nil, done},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p wire.Progress
			for _, data := range c.data {
				c.d.JudgeEvent([]byte(data), &p)
			}
			got := c.d.AppendEnd(nil, &p)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			for _, f := range frames(t, got) {
				if e := c.d.JudgeEvent(f.Data, &p); !e.End && !e.Finish || !f.Plain {
					t.Errorf("%+v", e)
				}
			}
			if p.SawContent && !p.SawFinish {
				t.Error("not finished by its own end")
			}
		})
	}
}
