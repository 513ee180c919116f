package mock_test

import (
	"strings"
	"testing"
)

const (
	chatTools = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"get_time"}}]`
	chatCall = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]}`
)

func chatBody(text, rest string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]` + rest + `}`
}

func TestChatAnswers(t *testing.T) {
	const path, stream = "/v1/chat/completions", `,"stream":true`
	goldens(t, "chat", map[string]call{
		"parallel":        {path, chatBody("in parallel", chatTools)},
		"parallel-stream": {path, chatBody("in parallel", chatTools+stream)},
		"one-at-a-time":   {path, chatBody("in parallel", chatTools+`,"parallel_tool_calls":false`)},
		"refusal":         {path, chatBody("refuse", "")},
		"refusal-stream":  {path, chatBody("refuse", stream)},
		"reasoning":       {path, `{"model":"gpt-5-nano","reasoning_effort":"low","messages":[{"role":"user","content":"hi"}]}`},
		"thought-only":    {path, `{"model":"gpt-5-nano","reasoning_effort":"low","max_completion_tokens":5,"messages":[{"role":"user","content":"hi"}]}`},
		"schema":          {path, chatBody("hi", `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","additionalProperties":false,"required":["of"],"properties":{"of":{"$ref":"#/$defs/kind"}},"$defs":{"kind":{"enum":["a","b"]}}}}}`)},
		"json":            {path, chatBody("some JSON", `,"response_format":{"type":"json_object"}`)},
		"stop":            {path, chatBody("one END two", `,"stop":"END"`)},
		"azure":           {"/openai/deployments/d/chat/completions?api-version=2024-10-21", `{"messages":[{"role":"user","content":"hi"}]}`},
		"azure-stream":    {"/openai/deployments/d/chat/completions?api-version=2024-10-21", `{"messages":[{"role":"user","content":"hi"}],"stream":true}`},
		"azure-embed":     {"/openai/deployments/d/embeddings?api-version=2024-10-21", `{"input":"a","dimensions":2}`},
		"azure-version":   {"/openai/deployments/d/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`},
	})
}

func TestChatRefuses(t *testing.T) {
	with := func(rest string) string {
		return `{"model":"m","messages":[{"role":"user","content":"x"},` + rest + `]` + chatTools + `}`
	}
	schema := func(s string) string {
		return chatBody("x", `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":`+s+`}}`)
	}
	refusals(t, "/v1/chat/completions", map[string]struct{ body, want string }{
		"unreadable: no model":       {`{"messages":[]}`, "you must provide a model parameter"},
		"unknown parameter":          {chatBody("x", `,"top_k":1`), "Unknown parameter: 'top_k'."},
		"unknown, in a message":      {`{"model":"m","messages":[{"role":"user","content":"x","reasoning_content":"y"}]}`, "Unknown parameter: 'messages[0].reasoning_content'."},
		"unknown, in a part":         {`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]}`, "Unknown parameter: 'messages[0].content[0].cache_control'."},
		"role":                       {`{"model":"m","messages":[{"role":"model","content":"x"}]}`, "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."},
		"null content":               {`{"model":"m","messages":[{"role":"user","content":null}]}`, "expected a string, got null"},
		"result without call":        {with(`{"role":"tool","tool_call_id":"c9","content":"x"}`), "messages with role 'tool' must be a response to a"},
		"call without result":        {with(chatCall + `,{"role":"user","content":"x"}`), "did not have response messages: c1"},
		"call at the end":            {with(chatCall), "did not have response messages: c1"},
		"no calls":                   {with(`{"role":"assistant","content":"x","tool_calls":[]}`), "Invalid 'messages[1].tool_calls': empty array."},
		"long call id":               {with(`{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("x", 41) + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`), "Expected a string with maximum length 40, but got a string with length 41 instead."},
		"arguments as an object":     {with(strings.Replace(chatCall, `"{}"`, `{}`, 1)), "expected a string, but got an object instead"},
		"no tools":                   {chatBody("x", `,"tools":[]`), "Invalid 'tools': empty array."},
		"tool name":                  {chatBody("x", `,"tools":[{"type":"function","function":{"name":"a.b"}}]`), "Invalid 'tools[0].function.name'"},
		"tool in Anthropic's form":   {chatBody("x", `,"tools":[{"type":"function","name":"f","input_schema":{}}]`), "Unknown parameter: 'tools[0].input_schema'."},
		"open object in strict tool": {chatBody("x", `,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{}}}}]`), "'additionalProperties' is required"},
		"choice without tools":       {chatBody("x", `,"tool_choice":"auto"`), "'tool_choice' is only allowed when 'tools' are specified."},
		"parallel without tools":     {chatBody("x", `,"parallel_tool_calls":false`), "'parallel_tool_calls' is only allowed when 'tools' are specified."},
		"odd choice":                 {chatBody("x", chatTools+`,"tool_choice":"any"`), "Invalid value: 'any'."},
		"temperature":                {chatBody("x", `,"temperature":3`), "Expected a value <= 2, but got 3 instead."},
		"both limits":                {chatBody("x", `,"max_tokens":1,"max_completion_tokens":1`), "at the same time is not supported"},
		"max_tokens of a reasoner":   {`{"model":"gpt-5-nano","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, "Use 'max_completion_tokens' instead."},
		"temperature of a reasoner":  {`{"model":"o3","temperature":0,"messages":[{"role":"user","content":"x"}]}`, "Only the default (1) value is supported."},
		"stream options":             {chatBody("x", `,"stream_options":{"include_usage":true}`), "only allowed when 'stream' is enabled"},
		"five stops":                 {chatBody("x", `,"stop":["1","2","3","4","5"]`), "Invalid 'stop': array too long."},
		"JSON without the word":      {chatBody("x", `,"response_format":{"type":"json_object"}`), "must contain the word 'json'"},
		"schema without name":        {chatBody("x", `,"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), "Missing required parameter: 'response_format.json_schema.name'."},
		"open object in strict":      {schema(`{"type":"object","properties":{}}`), "In context=(), 'additionalProperties' is required to be supplied and to be false."},
		"optional in strict":         {schema(`{"type":"object","additionalProperties":false,"required":[],"properties":{"a":{"type":"string"}}}`), "Missing 'a'"},
		"strict, deep":               {schema(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"object","properties":{}}}}`), "In context=('properties', 'a')"},
		"image":                      {`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"AAAA"}}]}]}`, "Invalid image URL"},
		"image of an assistant":      {`{"model":"m","messages":[{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}]}`, "Supported values are: 'text' and 'refusal'."},
	})
}
