package wiretest_test

import (
	"errors"
	"strings"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// A tool or a call without a name is the client's mistake and told so, in every dialect: no upstream could be asked.
func TestNamelessTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		dialect wire.Client
		body    string // NAMED stands where a name would
	}{
		{"chat, a tool", openaichat.Chat{}, `{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{NAMED"parameters":{"type":"object"}}}]}`},
		{"chat, a call", openaichat.Chat{}, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{NAMED"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`},
		{"messages, a tool", anthropic.Messages{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}],"tools":[{NAMED"input_schema":{"type":"object"}}]}`},
		{"messages, a call", anthropic.Messages{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c",NAMED"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]}`},
		{"responses, a tool", responses.Responses{}, `{"model":"m","input":"q","tools":[{"type":"function",NAMED"parameters":{"type":"object"}}]}`},
		{"responses, a tool of no type", responses.Responses{}, `{"model":"m","input":"q","tools":[{NAMED"parameters":{"type":"object"}}]}`},
		{"responses, a tool in a namespace", responses.Responses{}, `{"model":"m","input":"q","tools":[{"type":"namespace","name":"n","tools":[{"type":"function",NAMED"parameters":{"type":"object"}}]}]}`},
		{"responses, a call", responses.Responses{}, `{"model":"m","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c",NAMED"arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}`},
		{"gemini, a tool", gemini.Generate{}, `{"contents":[{"parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{NAMED"description":"d"}]}]}`},
		{"gemini, a call", gemini.Generate{}, `{"contents":[{"parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{NAMED"args":{}}}]},{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{`"name":"f",`, `"name":"",`, `"name":null,`, ""} {
				r, err := tt.dialect.ReadRequest([]byte(strings.Replace(tt.body, "NAMED", name, 1)))
				if err == nil {
					_, err = tt.dialect.DecodeRequest(&r)
				}
				refused := (*wire.RequestError)(nil)
				switch named := name == `"name":"f",`; {
				case named && err != nil:
					t.Errorf("with %s: %v", name, err)
				case !named && (!errors.As(err, &refused) || refused.Param == ""):
					t.Errorf("with %s: %v", name, err)
				}
			}
		})
	}
}

// A form of the answer that is said to be of a schema has one, in every dialect.
func TestFormatWithoutSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		dialect wire.Client
		body    string
	}{
		{"chat", openaichat.Chat{}, `{"model":"m","messages":[{"role":"user","content":"q"}],"response_format":{"type":"json_schema","json_schema":{"name":"n"SCHEMA}}}`},
		{"messages", anthropic.Messages{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}],"output_config":{"format":{"type":"json_schema"SCHEMA}}}`},
		{"responses", responses.Responses{}, `{"model":"m","input":"q","text":{"format":{"type":"json_schema","name":"n"SCHEMA}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, schema := range []string{`,"schema":{"type":"object"}`, `,"schema":null`, ""} {
				r, err := tt.dialect.ReadRequest([]byte(strings.Replace(tt.body, "SCHEMA", schema, 1)))
				if err == nil {
					_, err = tt.dialect.DecodeRequest(&r)
				}
				refused := (*wire.RequestError)(nil)
				switch good := strings.Contains(schema, "{"); {
				case good && err != nil:
					t.Errorf("with %s: %v", schema, err)
				case !good && (!errors.As(err, &refused) || refused.Param == ""):
					t.Errorf("with %s: %v", schema, err)
				}
			}
		})
	}
}

// The parameters of a tool are an object, in every dialect.
func TestParametersThatAreNoSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		dialect wire.Client
		body    string
	}{
		{"chat", openaichat.Chat{}, `{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f","parameters":SCHEMA}}]}`},
		{"messages", anthropic.Messages{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f","input_schema":SCHEMA}]}`},
		{"responses", responses.Responses{}, `{"model":"m","input":"q","tools":[{"type":"function","name":"f","parameters":SCHEMA}]}`},
		{"gemini", gemini.Generate{}, `{"contents":[{"parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":SCHEMA}]}]}`},
		{"gemini, as JSON Schema", gemini.Generate{}, `{"contents":[{"parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":SCHEMA}]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, schema := range []string{`{"type":"object"}`, `"0"`, `[]`, `7`} {
				r, err := tt.dialect.ReadRequest([]byte(strings.Replace(tt.body, "SCHEMA", schema, 1)))
				if err == nil {
					_, err = tt.dialect.DecodeRequest(&r)
				}
				refused := (*wire.RequestError)(nil)
				switch good := schema[0] == '{'; {
				case good && err != nil:
					t.Errorf("with %s: %v", schema, err)
				case !good && (!errors.As(err, &refused) || refused.Param == ""):
					t.Errorf("with %s: %v", schema, err)
				}
			}
		})
	}
}
