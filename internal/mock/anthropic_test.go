package mock_test

import (
	"net/http"
	"strings"
	"testing"
)

const (
	claudeTools = `,"tools":[{"name":"get_weather","input_schema":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}},` +
		`{"name":"get_time","input_schema":{"type":"object"}}]`
	claudeUser = `"messages":[{"role":"user","content":"hi"}]`
	claudeCall = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"x"}}]}`
)

func claude(rest string) string { return `{"model":"m","max_tokens":4096,` + rest + `}` }

func version() []string { return []string{"Anthropic-Version", "2023-06-01"} }

func TestAnthropicAnswers(t *testing.T) {
	user := func(text string) string { return `"messages":[{"role":"user","content":"` + text + `"}]` }
	thinking := `,"thinking":{"type":"enabled","budget_tokens":1024}`
	const stream = `,"stream":true`
	goldens(t, "anthropic", map[string]call{
		"text":              {"/v1/messages", claude(user("hi"))},
		"text-stream":       {"/v1/messages", claude(user("hi") + stream)},
		"call":              {"/v1/messages", claude(user("hi") + claudeTools)},
		"call-stream":       {"/v1/messages", claude(user("hi") + claudeTools + stream)},
		"parallel":          {"/v1/messages", claude(user("in parallel, please") + claudeTools)},
		"forced":            {"/v1/messages", claude(user("hi") + claudeTools + `,"tool_choice":{"type":"tool","name":"get_time"}`)},
		"thinking":          {"/v1/messages", claude(user("hi") + thinking)},
		"thinking-stream":   {"/v1/messages", claude(user("hi") + thinking + stream)},
		"redacted-stream":   {"/v1/messages", claude(user("redact it") + thinking + stream)},
		"refusal":           {"/v1/messages", claude(user("refuse this"))},
		"refusal-stream":    {"/v1/messages", claude(user("refuse this") + stream)},
		"schema":            {"/v1/messages", claude(user("hi") + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":3}}}}}`)},
		"limit":             {"/v1/messages", `{"model":"m","max_tokens":3,` + user("hi") + `}`},
		"stop-sequence":     {"/v1/messages", claude(user("one END two") + `,"stop_sequences":["END"]`)},
		"image":             {"/v1/messages", claude(`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/y.png"}},{"type":"text","text":"what?"}]}]`)},
		"cache":             {"/v1/messages", claude(`"system":[{"type":"text","text":"` + strings.Repeat("rules ", 20) + `","cache_control":{"type":"ephemeral"}}],` + user("hi"))},
		"count":             {"/v1/messages/count_tokens", `{"model":"m",` + user("how many?") + `}`},
		"models":            {"GET /v1/models", ""},
		"model":             {"GET /v1/models/mock-chat", ""},
		"no-model":          {"GET /v1/models/none", ""},
		"unreadable":        {"/v1/messages", `{"model":`},
		"no-max-tokens":     {"/v1/messages", `{"model":"m",` + user("hi") + `}`},
		"vertex-stream-raw": {"/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict", `{"anthropic_version":"vertex-2023-10-16","max_tokens":9,"stream":true,` + user("hi") + `}`},
		"vertex-count":      {"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", `{"anthropic_version":"vertex-2023-10-16","model":"claude",` + user("how many?") + `}`},
	}, version()...)
}

func TestAnthropicRefuses(t *testing.T) {
	tools := claudeTools
	refusals(t, "/v1/messages", map[string]struct{ body, want string }{
		"unreadable: no model":        {`{"max_tokens":1,` + claudeUser + `}`, "model: Field required"},
		"unreadable: no messages":     {`{"model":"m","max_tokens":1}`, "messages: Field required"},
		"no max_tokens":               {`{"model":"m",` + claudeUser + `}`, "max_tokens: Field required"},
		"max_tokens 0":                {`{"model":"m","max_tokens":0,` + claudeUser + `}`, "max_tokens: Input should be greater than or equal to 1"},
		"no turns":                    {claude(`"messages":[]`), "messages: at least one message is required"},
		"unknown field":               {claude(claudeUser + `,"frequency_penalty":1`), "frequency_penalty: Extra inputs are not permitted"},
		"unknown field of a block":    {claude(`"messages":[{"role":"user","content":[{"type":"text","text":"x","foo":1}]}]`), "messages.0.content.0.text.foo: Extra inputs are not permitted"},
		"unknown field of a message":  {claude(`"messages":[{"role":"user","content":"x","name":"n"}]`), "messages.0.name: Extra inputs are not permitted"},
		"temperature":                 {claude(claudeUser + `,"temperature":1.5`), "temperature: Input should be less than or equal to 1"},
		"a turn that is a string":     {claude(`"messages":["x"]`), "messages.0: Input does not match the expected shape."},
		"system role":                 {claude(`"messages":[{"role":"system","content":"x"},{"role":"user","content":"x"}]`), `Unexpected role "system"`},
		"odd role":                    {claude(`"messages":[{"role":"tool","content":"x"}]`), "messages.0.role: Input should be 'user' or 'assistant'"},
		"assistant first":             {claude(`"messages":[{"role":"assistant","content":"x"},{"role":"user","content":"x"}]`), `first message must use the "user" role`},
		"empty text":                  {claude(`"messages":[{"role":"user","content":[{"type":"text","text":""}]}]`), "text content blocks must be non-empty"},
		"empty content":               {claude(`"messages":[{"role":"user","content":""}]`), "must have non-empty content"},
		"trailing space":              {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"x "}]`), "cannot end with trailing whitespace"},
		"call without result":         {claude(`"messages":[{"role":"user","content":"x"},` + claudeCall + `,{"role":"user","content":"x"}]` + tools), "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"},
		"call at the end":             {claude(`"messages":[{"role":"user","content":"x"},` + claudeCall + `]` + tools), "`tool_use` ids were found without"},
		"result without call":         {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"x"}]}]` + tools), "unexpected `tool_use_id` found in `tool_result` blocks: toolu_9"},
		"result first":                {claude(`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"x"}]}]` + tools), "unexpected `tool_use_id`"},
		"odd tool id":                 {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"call:1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call:1","content":"x"}]}]` + tools), "messages.1.content.0.tool_use.id: String should match pattern"},
		"arguments as a string":       {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"{}"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]` + tools), "tool_use.input: Input should be a valid dictionary"},
		"tools missing":               {claude(`"messages":[{"role":"user","content":"x"},` + claudeCall + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]`), "must define tools"},
		"ids twice":                   {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]` + tools), "`tool_use` ids must be unique"},
		"tool twice":                  {claude(claudeUser + `,"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`), "Tool names must be unique"},
		"tool name":                   {claude(claudeUser + `,"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), "tools.0.custom.name: String should match pattern"},
		"tool without schema":         {claude(claudeUser + `,"tools":[{"name":"f"}]`), "tools.0.custom.input_schema: Field required"},
		"tool in OpenAI's form":       {claude(claudeUser + `,"tools":[{"type":"function","function":{"name":"f"}}]`), "tools.0: Input tag 'function' found using 'type'"},
		"schema without type":         {claude(claudeUser + `,"tools":[{"name":"f","input_schema":{}}]`), "input_schema.type: Field required"},
		"strange field of a tool":     {claude(claudeUser + `,"tools":[{"name":"f","input_schema":{"type":"object"},"parameters":{}}]`), "tools.0.custom.parameters: Extra inputs"},
		"choice without tools":        {claude(claudeUser + `,"tool_choice":{"type":"auto"}`), "tool_choice may only be specified while providing tools"},
		"odd choice":                  {claude(claudeUser + tools + `,"tool_choice":{"type":"required"}`), "tool_choice: Input tag 'required'"},
		"none and parallel":           {claude(claudeUser + tools + `,"tool_choice":{"type":"none","disable_parallel_tool_use":true}`), "Extra inputs are not permitted"},
		"budget over limit":           {`{"model":"m","max_tokens":1024,` + claudeUser + `,"thinking":{"type":"enabled","budget_tokens":1024}}`, "`max_tokens` must be greater than `thinking.budget_tokens`"},
		"small budget":                {claude(claudeUser + `,"thinking":{"type":"enabled","budget_tokens":10}`), "greater than or equal to 1024"},
		"thinking and temperature":    {claude(claudeUser + `,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`), "may only be set to 1 when thinking is enabled"},
		"thinking and forced":         {claude(claudeUser + tools + `,"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024}`), "Thinking may not be enabled when tool_choice forces tool use"},
		"a foreign signature":         {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"c2lnbmF0dXJl"},{"type":"text","text":"y"}]},{"role":"user","content":"x"}]`), "messages.1.content.0: Invalid `signature` in `thinking` block"},
		"foreign redacted thinking":   {claude(`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"y"}]},{"role":"user","content":"x"}]`), "Invalid `data` in `redacted_thinking` block"},
		"thoughts lost in a tool use": {claude(`"messages":[{"role":"user","content":"x"},` + claudeCall + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}],"thinking":{"type":"enabled","budget_tokens":1024}` + tools), "must start with a thinking block"},
		"five markers":                {claude(`"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]`), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		"empty stop":                  {claude(claudeUser + `,"stop_sequences":[" "]`), "each stop sequence must contain non-whitespace"},
	}, version()...)
}

func TestAnthropicWantsItsVersion(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		if code, body, _ := b.send(t, call{"/v1/messages", claude(claudeUser)}); code != http.StatusBadRequest {
			t.Errorf("%d %s", code, body)
		}
	})
}

type claudeReply struct {
	Content []map[string]any
	Stop    string `json:"stop_reason"`
	Usage   struct {
		Input   int `json:"input_tokens"`
		Read    int `json:"cache_read_input_tokens"`
		Written int `json:"cache_creation_input_tokens"`
	}
}

// An agent's round: a thought and calls, their results, a text that quotes them. The thought comes back as it was.
func TestAnthropicRound(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		head := `{"model":"m","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024}` + claudeTools + `,"messages":[{"role":"user","content":"in parallel"}`
		first := ask2[claudeReply](t, b, "/v1/messages", head+"]}", version()...)
		if first.Stop != "tool_use" || len(first.Content) != 3 || first.Content[0]["type"] != "thinking" {
			t.Fatalf("%+v", first)
		}
		results := `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + first.Content[1]["id"].(string) +
			`","content":"21 degrees"},{"type":"tool_result","tool_use_id":"` + first.Content[2]["id"].(string) + `","content":[{"type":"text","text":"noon"}]}]}]}`
		back := head + `,{"role":"assistant","content":` + encoded(t, first.Content) + `}` + results
		second := ask2[claudeReply](t, b, "/v1/messages", back, version()...)
		if text := encoded(t, second.Content); second.Stop != "end_turn" || !strings.Contains(text, "21 degrees and noon") {
			t.Errorf("%+v", second)
		}
		first.Content[0]["thinking"] = "another thought"
		back = head + `,{"role":"assistant","content":` + encoded(t, first.Content) + `}` + results
		if code, body, _ := b.send(t, call{"/v1/messages", back}, version()...); code != 400 || !strings.Contains(string(body), "Invalid `signature`") {
			t.Errorf("a thought that was changed: %d %s", code, body)
		}
	})
}

// What a marker covers is written to the cache once, and read from then on.
func TestAnthropicCache(t *testing.T) {
	run(t, script(), func(t *testing.T, b *bench) {
		body := func(question string) string {
			return claude(`"system":[{"type":"text","text":"` + strings.Repeat("rules ", 20) + `","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"` + question + `"}]`)
		}
		first := ask2[claudeReply](t, b, "/v1/messages", body("one"), version()...)
		second := ask2[claudeReply](t, b, "/v1/messages", body("two"), version()...)
		if first.Usage.Written == 0 || first.Usage.Read != 0 || second.Usage.Read != first.Usage.Written || second.Usage.Written != 0 || second.Usage.Input != first.Usage.Input {
			t.Errorf("%+v then %+v", first.Usage, second.Usage)
		}
	})
}
