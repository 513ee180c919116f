package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

const (
	question     = "What is the weather in Paris?"
	instructions = "You are a weather service. Use your tools."
	weather      = "12 degrees, rain" // what the tool answers
	wantCall     = `get_weather{"city":"Paris"}`
	faultHeader  = "x-mock-fault"
)

var weatherSchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string", "enum": []string{"Paris", "Rome"}}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

// told is what a client understood of an answer, in whichever dialect.
type told struct {
	text          string
	calls         []string // name and arguments
	input, output int64    // tokens, those from a cache and thoughts included
	pieces        int      // of the text, in a stream
	ended         bool
}

// turn is one request of the scripted conversation. A client goes on from the answer before if result is set.
type turn struct {
	model   string
	stream  bool
	tools   []string // names; get_weather has the schema above
	fault   string   // for the simulated provider
	result  string   // of the tool that was called, with which the conversation goes on
	maximum int64    // tokens
}

// talker is a client that keeps its conversation.
type talker func(ctx context.Context, t turn) (told, error)

// goTalkers are the Go SDKs, one for each dialect; status gives the HTTP status of an SDK's own error, 0 of a stream that
// broke off, and false for an error that is not the SDK's own.
func goTalkers(url string) map[string]struct {
	talk   func() talker
	status func(error) (int, bool)
} {
	openAIStatus := func(err error) (int, bool) {
		var e *openai.Error
		if errors.As(err, &e) {
			return e.StatusCode, true
		}
		return 0, err != nil // an error event in a stream has no class of its own in this SDK
	}
	return map[string]struct {
		talk   func() talker
		status func(error) (int, bool)
	}{
		"chat":      {func() talker { return talkChat(goClient(url)) }, openAIStatus},
		"responses": {func() talker { return talkResponses(goClient(url)) }, openAIStatus},
		"messages": {func() talker {
			return talkMessages(anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("unused"),
				anthropicoption.WithMaxRetries(0), anthropicoption.WithRequestTimeout(time.Minute)))
		}, func(err error) (int, bool) {
			var e *anthropic.Error
			if errors.As(err, &e) {
				return e.StatusCode, true
			}
			return 0, err != nil
		}},
		"gemini": {func() talker { return talkGemini(url) }, func(err error) (int, bool) {
			var e genai.APIError
			if errors.As(err, &e) {
				return e.Code, true
			}
			return 0, err != nil
		}},
	}
}

func talkChat(client openai.Client) talker {
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(instructions), openai.UserMessage(question)}
	var last openai.ChatCompletionMessage
	return func(ctx context.Context, t turn) (told, error) {
		if t.result != "" {
			messages = append(messages, last.ToParam())
			for _, c := range last.ToolCalls {
				messages = append(messages, openai.ToolMessage(t.result, c.ID))
			}
		}
		q := openai.ChatCompletionNewParams{Model: t.model, Messages: messages}
		if t.maximum > 0 {
			q.MaxTokens = openai.Int(t.maximum)
		}
		for _, name := range t.tools {
			q.Tools = append(q.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: name, Parameters: weatherSchema}))
		}
		opt := option.WithHeader(faultHeader, t.fault)
		var whole openai.ChatCompletion
		var got told
		if t.stream {
			q.StreamOptions.IncludeUsage = openai.Bool(true)
			s := client.Chat.Completions.NewStreaming(ctx, q, opt)
			var acc openai.ChatCompletionAccumulator
			for s.Next() {
				acc.AddChunk(s.Current())
				got.pieces++
			}
			if s.Err() != nil {
				return got, s.Err()
			}
			whole = acc.ChatCompletion
		} else {
			r, err := client.Chat.Completions.New(ctx, q, opt)
			if err != nil {
				return got, err
			}
			whole = *r
		}
		last = whole.Choices[0].Message
		got.text, got.ended = last.Content+last.Refusal, whole.Choices[0].FinishReason != ""
		got.input, got.output = whole.Usage.PromptTokens, whole.Usage.CompletionTokens
		for _, c := range last.ToolCalls {
			got.calls = append(got.calls, c.Function.Name+ordered(c.Function.Arguments))
		}
		return got, nil
	}
}

func talkResponses(client openai.Client) talker {
	previous := ""
	var calls []responses.ResponseOutputItemUnion
	return func(ctx context.Context, t turn) (told, error) {
		q := responses.ResponseNewParams{Model: t.model, Instructions: openai.String(instructions)}
		q.Input = responses.ResponseNewParamsInputUnion{OfString: openai.String(question)}
		if t.maximum > 0 {
			q.MaxOutputTokens = openai.Int(t.maximum)
		}
		if t.result != "" {
			q.PreviousResponseID = openai.String(previous)
			items := responses.ResponseInputParam{}
			for _, c := range calls {
				item := responses.ResponseInputItemParamOfFunctionCallOutput(t.result)
				item.OfFunctionCallOutput.CallID = openai.String(c.CallID)
				items = append(items, item)
			}
			q.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
		}
		for _, name := range t.tools {
			q.Tools = append(q.Tools, responses.ToolParamOfFunction(name, weatherSchema, false))
		}
		opt := option.WithHeader(faultHeader, t.fault)
		var whole responses.Response
		var got told
		if t.stream {
			s := client.Responses.NewStreaming(ctx, q, opt)
			for s.Next() {
				switch e := s.Current(); e.Type {
				case "response.output_text.delta":
					got.pieces++
				case "response.completed", "response.incomplete":
					whole = e.Response
				case "response.failed":
					return got, fmt.Errorf("response.failed: %s", e.Response.Error.Message)
				case "error":
					return got, fmt.Errorf("error: %s", e.Message)
				}
			}
			if s.Err() != nil {
				return got, s.Err()
			}
		} else {
			r, err := client.Responses.New(ctx, q, opt)
			if err != nil {
				return got, err
			}
			whole = *r
		}
		previous, calls = whole.ID, nil
		got.text, got.ended = whole.OutputText(), whole.Status == "completed" || whole.Status == "incomplete"
		got.input, got.output = whole.Usage.InputTokens, whole.Usage.OutputTokens
		for _, item := range whole.Output {
			for _, c := range item.Content {
				got.text += c.Refusal
			}
			if item.Type == "function_call" {
				calls = append(calls, item)
				got.calls = append(got.calls, item.Name+ordered(item.Arguments.OfString))
			}
		}
		return got, nil
	}
}

func talkMessages(client anthropic.Client) talker {
	messages := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))}
	var last anthropic.Message
	return func(ctx context.Context, t turn) (told, error) {
		if t.result != "" {
			var results []anthropic.ContentBlockParamUnion
			for _, b := range last.Content {
				if b.Type == "tool_use" {
					results = append(results, anthropic.NewToolResultBlock(b.ID, t.result, false))
				}
			}
			messages = append(messages, last.ToParam(), anthropic.NewUserMessage(results...))
		}
		q := anthropic.MessageNewParams{
			Model: t.model, MaxTokens: max(t.maximum, 2048), Messages: messages, System: []anthropic.TextBlockParam{{Text: instructions}},
		}
		if t.maximum > 0 {
			q.MaxTokens = t.maximum
		}
		for _, name := range t.tools {
			q.Tools = append(q.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
				Name: name, InputSchema: anthropic.ToolInputSchemaParam{Properties: weatherSchema["properties"], Required: []string{"city"}},
			}})
		}
		opt := anthropicoption.WithHeader(faultHeader, t.fault)
		var got told
		last = anthropic.Message{}
		if t.stream {
			s := client.Messages.NewStreaming(ctx, q, opt)
			for s.Next() {
				if err := last.Accumulate(s.Current()); err != nil {
					return got, err
				}
				got.ended = s.Current().Type == "message_stop"
				if s.Current().Type == "content_block_delta" {
					got.pieces++
				}
			}
			if s.Err() != nil {
				return got, s.Err()
			}
		} else {
			r, err := client.Messages.New(ctx, q, opt)
			if err != nil {
				return got, err
			}
			last, got.ended = *r, r.StopReason != ""
		}
		for _, b := range last.Content {
			got.text += b.Text
			if b.Type == "tool_use" {
				got.calls = append(got.calls, b.Name+ordered(string(b.Input)))
			}
		}
		got.input, got.output = last.Usage.InputTokens+last.Usage.CacheCreationInputTokens+last.Usage.CacheReadInputTokens, last.Usage.OutputTokens
		return got, nil
	}
}

func talkGemini(url string) talker {
	contents := []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}
	var last []*genai.Part
	return func(ctx context.Context, t turn) (told, error) {
		client, err := genai.NewClient(ctx, &genai.ClientConfig{
			APIKey: "unused", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
		})
		if err != nil {
			return told{}, err
		}
		if t.result != "" {
			answer := &genai.Content{Role: genai.RoleUser}
			for _, p := range last {
				if c := p.FunctionCall; c != nil {
					answer.Parts = append(answer.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
						ID: c.ID, Name: c.Name, Response: map[string]any{"output": t.result},
					}})
				}
			}
			contents = append(contents, &genai.Content{Role: genai.RoleModel, Parts: last}, answer)
		}
		config := &genai.GenerateContentConfig{
			SystemInstruction: genai.NewContentFromText(instructions, genai.RoleUser),
			MaxOutputTokens:   int32(t.maximum),
			HTTPOptions:       &genai.HTTPOptions{Headers: http.Header{faultHeader: {t.fault}}},
		}
		for _, name := range t.tools {
			config.Tools = append(config.Tools, &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: name, ParametersJsonSchema: weatherSchema}}})
		}
		var got told
		last = nil
		take := func(r *genai.GenerateContentResponse) {
			for _, c := range r.Candidates {
				got.ended = got.ended || c.FinishReason != ""
				if c.Content == nil {
					continue
				}
				for _, p := range c.Content.Parts {
					if p.Text != "" || p.FunctionCall != nil { // sent back, an empty part would be one without data
						last = append(last, p)
					}
				}
			}
			if u := r.UsageMetadata; u != nil {
				got.input, got.output = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount+u.ThoughtsTokenCount)
			}
			got.pieces++
		}
		if t.stream {
			for r, err := range client.Models.GenerateContentStream(ctx, t.model, contents, config) {
				if err != nil {
					return got, err
				}
				take(r)
			}
		} else {
			r, err := client.Models.GenerateContent(ctx, t.model, contents, config)
			if err != nil {
				return got, err
			}
			take(r)
		}
		for _, p := range last {
			if !p.Thought {
				got.text += p.Text
			}
			if c := p.FunctionCall; c != nil {
				arguments, _ := json.Marshal(c.Args)
				if c.Args == nil {
					arguments = []byte("{}")
				}
				got.calls = append(got.calls, c.Name+string(arguments))
			}
		}
		return got, nil
	}
}

// goClients has the scripted conversation with the Go SDKs of all dialects.
func goClients(t *testing.T, url string) {
	for dialect, client := range goTalkers(url) {
		for _, u := range upstreams {
			t.Run(dialect+" to "+u.Name, func(t *testing.T) {
				for _, stream := range []bool{false, true} {
					talk := client.talk()
					got, err := talk(t.Context(), turn{model: u.Model, stream: stream})
					if err != nil || !strings.Contains(got.text, question) || !got.ended || got.input == 0 || got.output == 0 || stream && got.pieces < 3 {
						t.Errorf("stream %t: %+v, %v", stream, got, err)
					}
					talk, tools := client.talk(), []string{"get_weather"}
					got, err = talk(t.Context(), turn{model: u.Model, stream: stream, tools: tools})
					if err != nil || !slices.Equal(got.calls, []string{wantCall}) || !got.ended {
						t.Errorf("stream %t, call: %+v, %v", stream, got, err)
						continue
					}
					got, err = talk(t.Context(), turn{model: u.Model, stream: stream, tools: tools, result: weather})
					if err != nil || !strings.Contains(got.text, weather) || !got.ended {
						t.Errorf("stream %t, result: %+v, %v", stream, got, err)
					}
				}
				for fault, want := range map[string]int{"status=400": 400, "status=429; retry-after=7": 429, "status=500": 502} {
					got, err := client.talk()(t.Context(), turn{model: u.Model, fault: fault})
					if status, own := client.status(err); status != want || !own {
						t.Errorf("%s: %+v, %v", fault, got, err)
					}
				}
				for _, fault := range []string{"cut=3", "eof=3", "error=3"} { // R15
					got, err := client.talk()(t.Context(), turn{model: u.Model, stream: true, fault: fault})
					if err == nil || got.pieces == 0 {
						t.Errorf("%s: %+v, %v", fault, got, err)
					}
				}
			})
		}
		t.Run(dialect+" from recordings", func(t *testing.T) {
			for _, r := range recordings(t) {
				ask := turn{model: r.model(), stream: r.streamed(), fault: "replay=" + r.File}
				for _, c := range r.Calls {
					ask.tools = append(ask.tools, fmt.Sprint(c[0]))
				}
				got, err := client.talk()(t.Context(), ask)
				if err != nil || !got.ended || !strings.Contains(got.text, r.Text) || strings.Join(got.calls, " ") != r.calls() ||
					got.input != r.Input || got.output != r.Output {
					t.Errorf("%s: %+v, %v\nwant %+v", r.File, got, err, r)
				}
			}
		})
		t.Run(dialect+" unknown model", func(t *testing.T) {
			_, err := client.talk()(t.Context(), turn{model: "no-such-model"})
			if status, own := client.status(err); status != http.StatusNotFound || !own {
				t.Error(err)
			}
		})
	}
}

// goText talks to a real model in every dialect.
func goText(t *testing.T, url, model string) {
	for dialect, client := range goTalkers(url) {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", dialect, stream), func(t *testing.T) {
				got, err := client.talk()(t.Context(), turn{model: model, stream: stream, maximum: 16})
				if err != nil || got.text == "" || !got.ended || got.output == 0 {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}
