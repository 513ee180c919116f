package mock_test

import (
	"strings"
	"testing"
)

const (
	cohereTools = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"get_time","parameters":{"type":"object"}}}]`
	cohereCall = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]}`
)

func cohereChat(text, rest string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]` + rest + `}`
}

func TestCohereAnswers(t *testing.T) {
	const stream = `,"stream":true`
	goldens(t, "cohere", map[string]call{
		"text":            {"/v2/chat", cohereChat("hi", "")},
		"text-stream":     {"/v2/chat", cohereChat("hi", stream)},
		"call":            {"/v2/chat", cohereChat("hi", cohereTools)},
		"call-stream":     {"/v2/chat", cohereChat("in parallel", cohereTools+stream)},
		"thinking-stream": {"/v2/chat", cohereChat("hi", `,"thinking":{"type":"enabled"}`+stream)},
		"refusal":         {"/v2/chat", cohereChat("refuse", "")},
		"schema":          {"/v2/chat", cohereChat("hi", `,"response_format":{"type":"json_object","json_schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`)},
		"limit":           {"/v2/chat", cohereChat("hi", `,"max_tokens":2`)},
		"stop-sequence":   {"/v2/chat", cohereChat("one END two", `,"stop_sequences":["END"]`)},
		"image":           {"/v2/chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`},
		"embed":           {"/v2/embed", `{"model":"m","texts":["a","b"],"input_type":"search_query","embedding_types":["float","int8","ubinary"],"output_dimension":8}`},
		"models":          {"GET /v1/models?page_size=1000", ""},
		"unknown-field":   {"/v2/chat", cohereChat("hi", `,"top_p":1`)},
	})
}

func TestCohereRefuses(t *testing.T) {
	with := func(rest string) string {
		return `{"model":"m","messages":[{"role":"user","content":"x"},` + rest + `]` + cohereTools + `}`
	}
	refusals(t, "/v2/chat", map[string]struct{ body, want string }{
		"unreadable: no model": {`{"messages":[]}`, "model is required"},
		"unknown field":        {cohereChat("x", `,"top_p":1`), "unknown field: parameter 'top_p' is not a valid field."},
		"strict in a tool":     {cohereChat("x", `,"tools":[{"type":"function","function":{"name":"f","strict":true}}]`), "unknown field: parameter 'strict' is not a valid field."},
		"temperature":          {cohereChat("x", `,"temperature":3`), "temperature must be between 0 and 2"},
		"p":                    {cohereChat("x", `,"p":1`), "p must be between 0.01 and 0.99"},
		"no messages":          {`{"model":"m","messages":[]}`, "at least 1 message"},
		"role":                 {`{"model":"m","messages":[{"role":"model","content":"x"}]}`, "invalid role 'model'"},
		"no content":           {cohereChat("", ""), "must have content"},
		"choice":               {cohereChat("x", cohereTools+`,"tool_choice":"auto"`), "must be one of REQUIRED, NONE"},
		"choice without tools": {cohereChat("x", `,"tool_choice":"REQUIRED"`), "tool_choice requires tools"},
		"JSON and tools":       {cohereChat("x", cohereTools+`,"response_format":{"type":"json_object"}`), "cannot specify both response_format"},
		"result without call":  {with(`{"role":"tool","tool_call_id":"c9","content":"x"}`), "which is in no preceding assistant message"},
		"call without result":  {with(cohereCall + `,{"role":"user","content":"x"}`), "has no tool message after it"},
		"call at the end":      {with(cohereCall), "has no tool message after it"},
	})
	refusals(t, "/v2/embed", map[string]struct{ body, want string }{
		"no input type": {`{"model":"m","texts":["x"]}`, "valid input_type must be provided"},
		"odd type":      {`{"model":"m","texts":["x"],"input_type":"search_query","embedding_types":["double"]}`, "embedding_types must be one of"},
	})
}

func TestCohereRound(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		first := ask2[struct{ Message map[string]any }](t, b, "/v2/chat", cohereChat("weather?", cohereTools))
		back := `{"model":"m","messages":[{"role":"user","content":"weather?"},` + encoded(t, first.Message) +
			`,{"role":"tool","tool_call_id":"get_weather_mock000001","content":[{"type":"document","document":{"data":"21 degrees"}}]}]` + cohereTools + `}`
		if text := encoded(t, ask2[any](t, b, "/v2/chat", back)); !strings.Contains(text, "The tool answered: 21 degrees") {
			t.Errorf("%s", text)
		}
	})
}
