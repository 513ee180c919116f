package mock_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const responsesTools = `,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}},` +
	`{"type":"function","name":"get_time","parameters":{"type":"object","properties":{}}}]`

func respond(rest string) string { return `{"model":"m",` + rest + `}` }

func TestResponsesAnswers(t *testing.T) {
	const stream = `,"stream":true`
	reasoning := `,"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"store":false`
	goldens(t, "responses", map[string]call{
		"text":             {"/v1/responses", respond(`"input":"hi"`)},
		"text-stream":      {"/v1/responses", respond(`"input":"hi"` + stream)},
		"call":             {"/v1/responses", respond(`"input":"hi"` + responsesTools)},
		"call-stream":      {"/v1/responses", respond(`"input":"in parallel"` + responsesTools + stream)},
		"reasoning":        {"/v1/responses", respond(`"input":"hi"` + reasoning)},
		"reasoning-stream": {"/v1/responses", respond(`"input":"hi"` + reasoning + stream)},
		"refusal-stream":   {"/v1/responses", respond(`"input":"refuse"` + stream)},
		"limit-stream":     {"/v1/responses", respond(`"input":"one two three four five six seven","max_output_tokens":16` + stream)},
		"schema":           {"/v1/responses", respond(`"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}`)},
		"image":            {"/v1/responses", respond(`"input":[{"role":"user","content":[{"type":"input_text","text":"what?"},{"type":"input_image","image_url":"https://x/y.png"}]}]`)},
		"count":            {"/v1/responses/input_tokens", respond(`"input":"how many?"`)},
		"no-response":      {"GET /v1/responses/resp_none", ""},
		"no-previous":      {"/v1/responses", respond(`"input":"hi","previous_response_id":"resp_none"`)},
		"azure":            {"/openai/v1/responses", respond(`"input":"hi"`)},
	})
}

func TestResponsesRefuses(t *testing.T) {
	refusals(t, "/v1/responses", map[string]struct{ body, want string }{
		"unreadable: no model":       {`{"input":"x"}`, "Missing required parameter: 'model'."},
		"no input":                   {`{"model":"m"}`, "Missing required parameter: 'input'."},
		"messages":                   {respond(`"input":"x","messages":[]`), "has moved to 'input'"},
		"response_format":            {respond(`"input":"x","response_format":{}`), "has moved to 'text.format'"},
		"unknown parameter":          {respond(`"input":"x","stop":["y"]`), "Unknown parameter: 'stop'."},
		"small limit":                {respond(`"input":"x","max_output_tokens":5`), "Expected a value >= 16, but got 5 instead."},
		"temperature":                {respond(`"input":"x","temperature":3`), "decimal above maximum value"},
		"temperature of a reasoner":  {`{"model":"gpt-5","input":"x","temperature":0.5}`, "Unsupported value: 'temperature' does not support 0.5 with this model."},
		"tool in chat's form":        {respond(`"input":"x","tools":[{"type":"function","function":{"name":"f"}}]`), "Missing required parameter: 'tools[0].name'."},
		"tool name":                  {respond(`"input":"x","tools":[{"type":"function","name":"a b"}]`), "Invalid 'tools[0].name'"},
		"unknown tool":               {respond(`"input":"x"` + responsesTools + `,"tool_choice":{"type":"function","name":"g"}`), "not found in 'tools'"},
		"odd choice":                 {respond(`"input":"x"` + responsesTools + `,"tool_choice":"any"`), "Invalid value: 'any'."},
		"format without name":        {respond(`"input":"x","text":{"format":{"type":"json_schema","schema":{}}}`), "Missing required parameter: 'text.format.name'."},
		"open object in strict":      {respond(`"input":"x","text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object","properties":{}}}}`), "'additionalProperties' is required to be supplied and to be false"},
		"odd item":                   {respond(`"input":[{"type":"tool_result"}]`), "Invalid value: 'tool_result'."},
		"odd role":                   {respond(`"input":[{"role":"tool","content":"x"}]`), "Invalid value: 'tool'."},
		"user text as output":        {respond(`"input":[{"role":"user","content":[{"type":"output_text","text":"x"}]}]`), "Invalid value: 'output_text'."},
		"assistant text as input":    {respond(`"input":[{"role":"assistant","content":[{"type":"input_text","text":"x"}]}]`), "Supported values are: 'output_text' and 'refusal'."},
		"output without call":        {respond(`"input":[{"type":"function_call_output","call_id":"c","output":"x"}]`), "No tool call found for function call output with call_id c."},
		"call without output":        {respond(`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"role":"user","content":"x"}]`), "No tool output found for function call c."},
		"id of another kind":         {respond(`"input":[{"type":"function_call","id":"call_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]`), "Expected an ID that begins with 'fc'."},
		"foreign thought":            {respond(`"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Zm9yZWlnbg=="},{"role":"assistant","content":"x"},{"role":"user","content":"x"}]`), "could not be verified"},
		"thought that is not stored": {respond(`"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"assistant","content":"x"},{"role":"user","content":"x"}]`), "Item with id 'rs_1' not found."},
	})
}

type responseReply struct {
	ID     string
	Status string
	Output []map[string]any
}

// An agent's round, once with the conversation sent along, once with the response's id.
func TestResponsesRound(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		head := `{"model":"gpt-5","store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"}` + responsesTools + `,"input":[{"role":"user","content":"weather?"}`
		first := ask2[responseReply](t, b, "/v1/responses", head+"]}")
		if len(first.Output) != 2 || first.Output[0]["type"] != "reasoning" || first.Output[1]["type"] != "function_call" {
			t.Fatalf("%+v", first)
		}
		items := encoded(t, first.Output)
		result := `,{"type":"function_call_output","call_id":"` + first.Output[1]["call_id"].(string) + `","output":"21 degrees"}]}`
		second := ask2[responseReply](t, b, "/v1/responses", head+","+items[1:len(items)-1]+result)
		if !strings.Contains(encoded(t, second.Output), "The tool answered: 21 degrees") {
			t.Errorf("%+v", second)
		}
		if code, _, _ := b.send(t, call{"GET /v1/responses/" + first.ID, ""}); code != http.StatusNotFound {
			t.Errorf("a response that was not to be stored is: %d", code)
		}
		alone := head + `,` + encoded(t, first.Output[0]) + `]}`
		if code, body, _ := b.send(t, call{"/v1/responses", alone}); code != 400 || !strings.Contains(string(body), "without its required following item") {
			t.Errorf("a thought alone: %d %s", code, body)
		}

		third := ask2[responseReply](t, b, "/v1/responses", respond(`"input":"weather?"`+responsesTools))
		fourth := ask2[responseReply](t, b, "/v1/responses", respond(`"previous_response_id":"`+third.ID+`","input":[{"type":"function_call_output","call_id":"`+
			third.Output[0]["call_id"].(string)+`","output":"22 degrees"}]`+responsesTools))
		if !strings.Contains(encoded(t, fourth.Output), "22 degrees") {
			t.Errorf("%+v", fourth)
		}

		fifth := ask2[responseReply](t, b, "/v1/responses", `{"model":"gpt-5","input":"weather?"`+responsesTools+`}`)
		ask2[responseReply](t, b, "/v1/responses", `{"model":"gpt-5","store":false,"previous_response_id":"`+fifth.ID+
			`","input":[{"type":"function_call_output","call_id":"`+fifth.Output[1]["call_id"].(string)+`","output":"x"}]}`) // the thought in it is stored
	})
}

func TestStoredResponses(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		code, created, _ := b.send(t, call{"/v1/responses", respond(`"input":"hi"`)})
		var r responseReply
		if err := json.Unmarshal(created, &r); err != nil || code != 200 {
			t.Fatal(code, err)
		}
		if _, again, _ := b.send(t, call{"GET /v1/responses/" + r.ID, ""}); string(again) != string(created) {
			t.Errorf("read again: %s", again)
		}
		if _, items, _ := b.send(t, call{"GET /v1/responses/" + r.ID + "/input_items", ""}); !strings.Contains(string(items), `"content":[{"text":"hi","type":"input_text"}]`) {
			t.Errorf("items: %s", items)
		}
		if code, body, _ := b.send(t, call{"/v1/responses/" + r.ID + "/cancel", ""}); code != 400 || !strings.Contains(string(body), "Cannot cancel a synchronous response.") {
			t.Errorf("cancel: %d %s", code, body)
		}
		if _, body, _ := b.send(t, call{"DELETE /v1/responses/" + r.ID, ""}); !strings.Contains(string(body), `"deleted":true`) {
			t.Errorf("delete: %s", body)
		}
		if code, _, _ := b.send(t, call{"GET /v1/responses/" + r.ID, ""}); code != 404 {
			t.Errorf("after the delete: %d", code)
		}
	})
}

// The store is bounded: the oldest go.
func TestStoredResponsesAreBounded(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		for range 257 {
			ask2[responseReply](t, b, "/v1/responses", respond(`"input":"hi"`))
		}
		for id, want := range map[int]int{1: 404, 2: 200, 257: 200} {
			if code, _, _ := b.send(t, call{fmt.Sprintf("GET /v1/responses/resp_mock%06d", id), ""}); code != want {
				t.Errorf("response %d: %d", id, code)
			}
		}
	})
}
