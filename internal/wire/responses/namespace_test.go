package responses

import (
	"strings"
	"testing"

	"evergate/internal/llm"
)

// Tools in a namespace are tools of their own to other vendors, and are called by namespace and name by the client.
func TestNamespace(t *testing.T) {
	t.Parallel()
	r, err := Responses{}.ReadRequest([]byte(`{"model":"m","tools":[` +
		`{"type":"namespace","name":"crm","description":"The customers.","tools":[` +
		`{"type":"function","name":"find","description":"Finds one.","strict":false,"parameters":{"type":"object","properties":{}}},` +
		`{"type":"custom","name":"note","description":"Notes."}]},` +
		`{"type":"function","name":"find","parameters":{"type":"object"}}],` +
		`"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c1","namespace":"crm","name":"find","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"function_call","call_id":"c2","name":"find","arguments":"{}"},` +
		`{"type":"function_call","call_id":"c3","namespace":"erp","name":"find","arguments":"{}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q, err := Responses{}.DecodeRequest(&r)
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range q.Tools {
		tools = append(tools, tool.Name+": "+tool.Description)
	}
	if got, want := strings.Join(tools, "; "), "find: ; crm__find: The customers.\n\nFinds one.; note: The customers.\n\nNotes."; got != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	var calls []string
	for _, m := range q.Messages {
		for _, p := range m.Content {
			switch p.Kind {
			case llm.ToolCall:
				calls = append(calls, p.Call.ID+" "+p.Call.Name)
			case llm.ToolResult:
				calls = append(calls, "result of "+p.Result.Name)
			default:
			}
		}
	}
	if got, want := strings.Join(calls, ", "), "c1 crm__find, result of crm__find, c2 find, c3 find"; got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
	if got := strings.Join(q.Dropped.Names(), " "); got != "namespace" {
		t.Errorf("dropped %q; erp is declared nowhere", got)
	}
	a := &llm.Reply{ID: "1", Choices: []llm.Choice{{Stop: llm.ToolUse, Content: []llm.Part{
		{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "crm__find", Arguments: `{"n":1}`}},
		{Kind: llm.ToolCall, Call: &llm.Call{ID: "b", Name: "note", Arguments: `{"input":"hello"}`}},
		{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "find", Arguments: `{}`}},
	}}}}
	reply := string(appendReply(nil, a, q))
	for _, want := range []string{
		`"call_id":"a","namespace":"crm","name":"find","arguments":"{\"n\":1}"`,
		`"call_id":"b","namespace":"crm","name":"note","input":"hello"`,
		`"call_id":"c","name":"find","arguments":"{}"`,
	} {
		if !strings.Contains(reply, want) {
			t.Errorf("the reply lacks %s: %s", want, reply)
		}
	}
}
