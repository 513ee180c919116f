package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func goClient(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("unused"), option.WithMaxRetries(0), option.WithRequestTimeout(time.Minute))
}

// ask is a small chat request.
func ask(model string, maxTokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:     model,
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello")},
		MaxTokens: openai.Int(maxTokens),
	}
}

// askWeather is a request that must be answered by a call of get_weather.
func askWeather(model string) openai.ChatCompletionNewParams {
	r := ask(model, 64)
	r.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather in Paris?")}
	r.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name:        "get_weather",
		Description: openai.String("Get the weather"),
		Parameters: shared.FunctionParameters{
			"type":       "object",
			"properties": map[string]any{"city": map[string]any{"type": "string", "enum": []string{"Paris", "Rome"}}},
			"required":   []string{"city"},
		},
	})}
	r.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	r.Temperature = openai.Float(0)
	r.Stop = openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"</tool_call>"}}
	return r
}

// goSDK has the same checks as the scripts of tests/sdk.
func goSDK(t *testing.T, url string) {
	client, model := goClient(url), sdkEnv["MODEL"]
	checks := map[string]func(*testing.T){
		"models": func(t *testing.T) {
			eventually(t, 5*time.Second, func() error { // discovery runs beside the start
				page, err := client.Models.List(t.Context())
				if err != nil {
					return err
				}
				var ids []string
				for _, m := range page.Data {
					ids = append(ids, m.ID)
				}
				for _, want := range []string{model, "gemma"} { // the virtual model and the id discovered upstream
					if !slices.ContainsFunc(ids, func(id string) bool { return id == want || strings.HasSuffix(id, "/"+want) }) {
						return fmt.Errorf("%s is not in %v", want, ids)
					}
				}
				return nil
			})
			if m, err := client.Models.Get(t.Context(), model); err != nil || m.ID != model {
				t.Errorf("get %s: %v, %v", model, m, err)
			}
		},
		"chat": func(t *testing.T) {
			r, err := client.Chat.Completions.New(t.Context(), ask(model, 16))
			if err != nil {
				t.Fatal(err)
			}
			if r.Choices[0].Message.Content == "" || r.Usage.CompletionTokens == 0 {
				t.Error(r.RawJSON())
			}
		},
		"headers": func(t *testing.T) {
			var resp *http.Response
			if _, err := client.Chat.Completions.New(t.Context(), ask(model, 4), option.WithResponseInto(&resp)); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"x-request-id", "x-evergate-provider", "x-evergate-model", "x-evergate-attempts", "x-evergate-trail"} {
				if resp.Header.Get(name) == "" {
					t.Errorf("no %s in %v", name, resp.Header)
				}
			}
		},
		"stream": func(t *testing.T) {
			r := ask(model, 16)
			r.StreamOptions.IncludeUsage = openai.Bool(true)
			s := client.Chat.Completions.NewStreaming(t.Context(), r)
			var acc openai.ChatCompletionAccumulator
			chunks := 0
			for s.Next() {
				acc.AddChunk(s.Current())
				chunks++
			}
			if s.Err() != nil || chunks < 3 || acc.Choices[0].Message.Content == "" || acc.Choices[0].FinishReason == "" || acc.Usage.CompletionTokens == 0 {
				t.Errorf("%v after %d chunks: %+v", s.Err(), chunks, acc.ChatCompletion)
			}
		},
		"stream_without_usage": func(t *testing.T) {
			s := client.Chat.Completions.NewStreaming(t.Context(), ask(model, 4))
			for s.Next() {
				if len(s.Current().Choices) == 0 {
					t.Errorf("a chunk that nobody asked for: %s", s.Current().RawJSON())
				}
			}
			if s.Err() != nil {
				t.Error(s.Err())
			}
		},
		"completions": func(t *testing.T) {
			r, err := client.Completions.New(t.Context(), openai.CompletionNewParams{
				Model: openai.CompletionNewParamsModel(model), MaxTokens: openai.Int(8),
				Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon a time")},
			})
			if err != nil || r.Choices[0].Text == "" {
				t.Error(r, err)
			}
		},
		"embeddings": func(t *testing.T) {
			r, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
				Model: sdkEnv["EMBEDDING_MODEL"], Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"hello", "world"}},
			})
			if err != nil || len(r.Data) != 2 || len(r.Data[0].Embedding) < 8 {
				t.Error(r, err)
			}
		},
		"embeddings_missing": func(t *testing.T) {
			_, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
				Model: sdkEnv["NO_EMBEDDING_MODEL"], Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("hello")},
			})
			if e := apiError(t, err); e.StatusCode < 400 || e.StatusCode > 499 || !strings.Contains(e.Message, "embeddings") {
				t.Error(e)
			}
		},
		"tools": func(t *testing.T) {
			r := askWeather(model)
			first, err := client.Chat.Completions.New(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			c := first.Choices[0]
			if c.FinishReason != "tool_calls" || len(c.Message.ToolCalls) == 0 || !namesCity(c.Message.ToolCalls[0].Function.Name, c.Message.ToolCalls[0].Function.Arguments) {
				t.Fatal(first.RawJSON())
			}
			next := ask(model, 16)
			next.Messages = append(r.Messages, c.Message.ToParam(), openai.ToolMessage("12 degrees, rain", c.Message.ToolCalls[0].ID))
			second, err := client.Chat.Completions.New(t.Context(), next)
			if err != nil || second.Choices[0].Message.Content == "" {
				t.Error(second, err)
			}
		},
		"tools_streamed": func(t *testing.T) {
			s := client.Chat.Completions.NewStreaming(t.Context(), askWeather(model))
			var acc openai.ChatCompletionAccumulator
			for s.Next() {
				acc.AddChunk(s.Current())
			}
			if s.Err() != nil || len(acc.Choices) == 0 || len(acc.Choices[0].Message.ToolCalls) == 0 {
				t.Fatalf("%v: %+v", s.Err(), acc.ChatCompletion)
			}
			if f := acc.Choices[0].Message.ToolCalls[0].Function; acc.Choices[0].FinishReason != "tool_calls" || !namesCity(f.Name, f.Arguments) {
				t.Errorf("%+v", acc.Choices[0])
			}
		},
		"unknown_model": func(t *testing.T) {
			_, err := client.Chat.Completions.New(t.Context(), ask(model+"x", 1))
			e := apiError(t, err)
			if e.StatusCode != http.StatusNotFound || e.Code != "model_not_found" || e.Param != "model" || !strings.Contains(strings.ReplaceAll(e.Message, model+"x", ""), model) {
				t.Error(e, e.Message)
			}
		},
		"bad_request": func(t *testing.T) {
			_, err := client.Chat.Completions.New(t.Context(), ask(model, 1), option.WithJSONSet("stream", "yes"))
			if e := apiError(t, err); e.StatusCode != http.StatusBadRequest || e.Code != "invalid_request" || e.Param != "stream" {
				t.Error(e)
			}
		},
		"rate_limited": func(t *testing.T) {
			_, err := client.Chat.Completions.New(t.Context(), ask(sdkEnv["LIMITED_MODEL"], 1))
			e := apiError(t, err)
			if e.StatusCode != http.StatusTooManyRequests || e.Code != "all_providers_rate_limited" || e.Response.Header.Get("Retry-After") == "" {
				t.Error(e, e.Response.Header)
			}
		},
		"server_error": func(t *testing.T) {
			_, err := client.Chat.Completions.New(t.Context(), ask(sdkEnv["BROKEN_MODEL"], 1))
			if e := apiError(t, err); e.StatusCode != http.StatusBadGateway || e.Code != "provider_error" || !strings.Contains(e.RawJSON(), `"attempts"`) {
				t.Error(e)
			}
		},
		"cut_stream": func(t *testing.T) { // R15
			s := client.Chat.Completions.NewStreaming(t.Context(), ask(sdkEnv["CUT_MODEL"], 1))
			text := ""
			for s.Next() {
				text += s.Current().Choices[0].Delta.Content
			}
			if s.Err() == nil || text == "" {
				t.Errorf("a cut stream ended with %v after %q", s.Err(), text)
			}
		},
	}
	if len(checks) != len(sdkChecks) {
		t.Errorf("%d checks, the SDK scripts have %d", len(checks), len(sdkChecks))
	}
	for _, name := range sdkChecks {
		t.Run(name, checks[name])
	}
}

func namesCity(name, arguments string) bool {
	var args struct{ City *string }
	return name == "get_weather" && json.Unmarshal([]byte(arguments), &args) == nil && args.City != nil
}

func apiError(t *testing.T, err error) *openai.Error {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("an API error is expected, got %v", err)
	}
	return e
}
