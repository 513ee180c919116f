package mock_test

import (
	"strings"
	"testing"
)

const (
	converseTools = `,"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","inputSchema":{"json":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}},` +
		`{"toolSpec":{"name":"get_time","inputSchema":{"json":{"type":"object"}}}}]}`
	converseUse    = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"get_weather","input":{}}}]}`
	converseResult = `{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"21 degrees"}]}}]}`
)

func converse(text, rest string) string {
	return `{"messages":[{"role":"user","content":[{"text":"` + text + `"}]}]` + rest + `}`
}

func TestBedrockAnswers(t *testing.T) {
	const plain, stream = "/model/anthropic.claude-x-v1%3A0/converse", "/model/anthropic.claude-x-v1%3A0/converse-stream"
	thinking := `,"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}`
	goldens(t, "bedrock", map[string]call{
		"text":            {plain, converse("hi", "")},
		"text-stream":     {stream, converse("hi", "")},
		"call":            {plain, converse("hi", converseTools)},
		"call-stream":     {stream, converse("in parallel", converseTools)},
		"forced":          {plain, converse("hi", strings.TrimSuffix(converseTools, "}")+`,"toolChoice":{"tool":{"name":"get_time"}}}`)},
		"thinking":        {plain, converse("hi", thinking)},
		"thinking-stream": {stream, converse("hi", thinking)},
		"redacted-stream": {stream, converse("redact", thinking)},
		"refusal":         {plain, converse("refuse", "")},
		"limit":           {plain, converse("hi", `,"inferenceConfig":{"maxTokens":2}`)},
		"stop-sequence":   {plain, converse("one END two", `,"inferenceConfig":{"stopSequences":["END"]}`)},
		"image":           {plain, `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"text":"what?"}]}]}`},
		"cache":           {plain, converse("hi", `,"system":[{"text":"`+strings.Repeat("rules ", 20)+`"},{"cachePoint":{"type":"default"}}]`)},
		"schema":          {plain, converse("hi", `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"n","schema":"{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"}}}}`)},
		"models":          {"GET /foundation-models", ""},
		"unreadable":      {plain, `[`},
	})
}

func TestBedrockRefuses(t *testing.T) {
	with := func(rest string) string {
		return `{"messages":[{"role":"user","content":[{"text":"x"}]},` + rest + `]` + converseTools + `}`
	}
	refusals(t, "/model/m/converse", map[string]struct{ body, want string }{
		"assistant first":        {`{"messages":[{"role":"assistant","content":[{"text":"x"}]}]}`, "A conversation must start with a user message."},
		"two of one role":        {with(`{"role":"user","content":[{"text":"x"}]}`), "A conversation must alternate between user and assistant roles."},
		"blank text":             {converse(" ", ""), "The text field in the ContentBlock object at messages.0.content.0 is blank."},
		"no content":             {`{"messages":[{"role":"user","content":[]}]}`, "The content field in the Message object at messages.0 is empty."},
		"blank system":           {converse("x", `,"system":[{"text":""}]`), "SystemContentBlock object at system.0 is blank"},
		"no messages":            {`{"messages":[]}`, "The value at messages is empty."},
		"system role":            {`{"messages":[{"role":"system","content":[{"text":"x"}]}]}`, "Member must satisfy enum value set: [user, assistant]"},
		"toolConfig missing":     {`{"messages":[{"role":"user","content":[{"text":"x"}]},` + converseUse + `,` + converseResult + `]}`, "The toolConfig field must be defined when using toolUse and toolResult content blocks."},
		"use without result":     {with(converseUse + `,{"role":"user","content":[{"text":"x"}]}`), "Expected toolResult blocks at messages.2.content for the following Ids: t1"},
		"use at the end":         {with(converseUse), "Expected toolResult blocks"},
		"results without use":    {with(`{"role":"assistant","content":[{"text":"x"}]},` + converseResult), "exceeds the number of toolUse blocks of previous turn"},
		"id":                     {with(strings.Replace(converseUse, `"t1"`, `"a b"`, 1) + `,` + converseResult), "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"},
		"long id":                {with(strings.Replace(converseUse, `"t1"`, `"`+strings.Repeat("x", 65)+`"`, 1) + `,` + converseResult), "Member must have length less than or equal to 64"},
		"input is a string":      {with(strings.Replace(converseUse, `{}`, `"{}"`, 1) + `,` + converseResult), "Provide a json object for the field"},
		"blank result":           {with(converseUse + `,` + strings.Replace(converseResult, "21 degrees", "", 1)), "text content blocks must contain non-whitespace text"},
		"empty error":            {with(converseUse + `,{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[],"status":"error"}}]}`), "cannot be empty when status value is error"},
		"json result is a list":  {with(converseUse + `,{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"json":[]}]}}]}`), "Provide a json object for the field"},
		"block of two":           {`{"messages":[{"role":"user","content":[{"text":"x","image":{}}]}]}`, "has more than one member set"},
		"block in another form":  {`{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, "has the unknown member type"},
		"no tools":               {converse("x", `,"toolConfig":{"tools":[]}`), "Member must have length greater than or equal to 1"},
		"tool name":              {converse("x", `,"toolConfig":{"tools":[{"toolSpec":{"name":"a.b","inputSchema":{"json":{"type":"object"}}}}]}`), "Member must satisfy regular expression pattern"},
		"empty description":      {converse("x", `,"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"","inputSchema":{"json":{"type":"object"}}}}]}`), "Member must have length greater than or equal to 1"},
		"schema without type":    {converse("x", `,"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]}`), "must be one of the following: object"},
		"temperature":            {converse("x", `,"inferenceConfig":{"temperature":1.5}`), "Value '1.5' at 'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1"},
		"maxTokens":              {converse("x", `,"inferenceConfig":{"maxTokens":0}`), "Member must have value greater than or equal to 1"},
		"foreign signature":      {with(`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"x","signature":"Zm9yZWlnbg=="}}},{"text":"y"}]},{"role":"user","content":[{"text":"x"}]}`), "Invalid `signature` in `thinking` block"},
		"foreign redacted":       {with(`{"role":"assistant","content":[{"reasoningContent":{"redactedContent":"Zm9yZWlnbg=="}},{"text":"y"}]},{"role":"user","content":[{"text":"x"}]}`), "Invalid `data`"},
		"forced tool is unknown": {converse("x", strings.TrimSuffix(converseTools, "}")+`,"toolChoice":{"tool":{"name":"g"}}}`), "is not defined in toolConfig.tools"},
	})
}

type converseReply struct {
	Output     struct{ Message map[string]any }
	StopReason string
}

func TestBedrockRound(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		head := `{"additionalModelRequestFields":{"thinking":{"type":"enabled"}}` + converseTools + `,"messages":[{"role":"user","content":[{"text":"weather?"}]}`
		first := ask2[converseReply](t, b, "/model/m/converse", head+"]}")
		if first.StopReason != "tool_use" {
			t.Fatalf("%+v", first)
		}
		result := strings.Replace(converseResult, "t1", "tooluse_mock000001", 1)
		second := ask2[converseReply](t, b, "/model/m/converse", head+","+encoded(t, first.Output.Message)+","+result+"]}")
		if text := encoded(t, second); second.StopReason != "end_turn" || !strings.Contains(text, "The tool answered: 21 degrees") {
			t.Errorf("%s", text)
		}
	})
}

// The name of a model may have slashes, as those of profiles have.
func TestBedrockModelNames(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		b.send(t, call{"/model/arn:aws:bedrock:us-east-1:1:application-inference-profile%2Fabc/converse", converse("hi", "")})
		if got := b.Requests()[0].Model; got != "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc" {
			t.Errorf("model %q", got)
		}
	})
}
