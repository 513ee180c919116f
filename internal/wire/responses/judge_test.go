package responses

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// R14: what a plain reply must be to be an answer.
func TestJudge(t *testing.T) {
	t.Parallel()
	const message = `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]`
	const usage = `"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":12}`
	counted := wire.Usage{Known: true, Input: 5, Output: 7, CachedInput: 2, CacheWrite: 1, Reasoning: 3}
	for _, c := range []struct {
		name, body string
		want       wire.Reply
		fault      *fault.Fault
	}{
		{"completed", `{"id":"r","object":"response","status":"completed","model":"m","error":null,"output":` + message + `,` + usage + `}`, wire.Reply{ID: "r", Model: "m", Usage: counted, Finish: "completed"}, nil},
		{"incomplete", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],` + usage + `}`, wire.Reply{Usage: counted, Finish: "max_output_tokens"}, nil},
		{"queued", `{"id":"r","status":"queued","output":[]}`, wire.Reply{ID: "r", Finish: "queued"}, nil},
		{"in progress", `{"status":"in_progress"}`, wire.Reply{Finish: "in_progress"}, nil},
		{"no status", `{"output":` + message + `}`, wire.Reply{}, nil},
		{"an error beside an answer", `{"status":"completed","error":{"message":"x"},"output":` + message + `}`, wire.Reply{Finish: "completed"}, nil},
		{"failed", `{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"output":` + message + `}`, wire.Reply{Finish: "failed"}, &fault.Fault{Class: fault.Invalid, Code: "rate_limit_exceeded", Message: "slow down"}},
		{"failed without a word", `{"status":"failed","error":null}`, wire.Reply{Finish: "failed"}, &fault.Fault{Class: fault.Invalid, Message: "the upstream says that the response failed, and not why"}},
		{"cancelled", `{"status":"cancelled","output":[]}`, wire.Reply{Finish: "cancelled"}, &fault.Fault{Class: fault.Invalid, Message: "the upstream says that the response was cancelled"}},
		{"error object", `{"error":{"message":"boom","type":"server_error","code":503}}`, wire.Reply{}, &fault.Fault{Class: fault.Upstream, Status: 503, Code: "server_error", Message: "boom"}},
		{"error text", `{"code":"invalid-argument","error":"bad key"}`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Code: "invalid-argument", Message: "bad key"}},
		{"list around an error", `[{"error":{"message":"boom"}}]`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: "boom"}},
		{"empty", ``, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: "the upstream answered with an empty body"}},
		{"page", `<html>`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: "the upstream answered with an HTML page"}},
		{"no output", `{"status":"completed"}`, wire.Reply{Finish: "completed"}, &fault.Fault{Class: fault.Invalid, Message: `the upstream's answer has no "output"`}},
		{"output is text", `{"output":"a"}`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: `"output" in the upstream's answer is a string, not an array`}},
		{"output is empty", `{"status":"completed","output":[]}`, wire.Reply{Finish: "completed"}, &fault.Fault{Class: fault.Invalid, Message: `"output" in the upstream's answer is empty`}},
		{"a chat completion", `{"choices":[{"message":{"content":"a"}}]}`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: `the upstream's answer has no "output"`}},
		{"broken", `{"output":[`, wire.Reply{}, &fault.Fault{Class: fault.Invalid, Message: "the upstream's answer is broken: invalid JSON at byte 11: it ends too early"}},
	} {
		got, f := Responses{}.Judge([]byte(c.body))
		if diff := cmp.Diff(c.fault, f); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// RESILIENCE §1: what a content event is, and what is not.
func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	failing := func(class fault.Class, status int, code, message string) wire.Event {
		return wire.Event{Fault: &fault.Fault{Class: class, Status: status, Code: code, Message: message}}
	}
	nothing, content := wire.Event{}, wire.Event{Content: true}
	finish := wire.Event{Content: true, Finish: true}
	ev := func(kind, rest string) string {
		return `{"type":"response.` + kind + `","sequence_number":4` + rest + `}`
	}
	for _, c := range []struct {
		name, data string
		want       wire.Event // Name aside
	}{
		{"created", ev("created", `,"response":{"id":"r","status":"in_progress","output":[]}`), nothing},
		{"queued", ev("queued", `,"response":{"status":"queued"}`), nothing},
		{"text", ev("output_text.delta", `,"delta":"a"`), content},
		{"white space", ev("output_text.delta", `,"delta":" "`), content},
		{"no text", ev("output_text.delta", `,"delta":""`), nothing},
		{"text at its end", ev("output_text.done", `,"text":"a"`), content},
		{"no text at its end", ev("output_text.done", `,"text":""`), nothing},
		{"refusal", ev("refusal.delta", `,"delta":"a"`), content},
		{"thought", ev("reasoning_text.delta", `,"delta":"a"`), content},
		{"summary", ev("reasoning_summary_text.delta", `,"delta":"a"`), content},
		{"arguments", ev("function_call_arguments.delta", `,"delta":"{"`), content},
		{"input", ev("custom_tool_call_input.delta", `,"delta":"{"`), content},
		{"code", ev("code_interpreter_call_code.delta", `,"delta":"1"`), content},
		{"picture", ev("image_generation_call.partial_image", `,"partial_image_b64":"AA"`), content},
		{"part begun", ev("content_part.added", `,"part":{"type":"output_text","text":""}`), nothing},
		{"part ended", ev("content_part.done", `,"part":{"type":"refusal","refusal":"a"}`), content},
		{"message begun", ev("output_item.added", `,"item":{"type":"message","content":[]}`), nothing},
		{"message ended", ev("output_item.done", `,"item":{"type":"message","content":[{"type":"output_text","text":"a"}]}`), content},
		{"thought begun", ev("output_item.added", `,"item":{"type":"reasoning","summary":[],"encrypted_content":"gAAAA"}`), nothing},
		{"thought ended", ev("output_item.done", `,"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}`), content},
		{"call begun", ev("output_item.added", `,"item":{"type":"function_call","name":"f","arguments":""}`), content},
		{"call without a name", ev("output_item.added", `,"item":{"type":"function_call","name":"","arguments":""}`), nothing},
		{"search begun", ev("output_item.added", `,"item":{"type":"web_search_call"}`), content},
		{"search goes on", ev("web_search_call.searching", `,"item_id":"ws"`), nothing},
		{"unknown", ev("something.new", `,"value":1`), nothing},
		{"completed", ev("completed", `,"response":{"status":"completed","output":[],"error":null}`), finish},
		{"incomplete", ev("incomplete", `,"response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}`), finish},
		{"failed", ev("failed", `,"response":{"status":"failed","error":{"code":"server_error","message":"x"}}`), failing(fault.Invalid, 0, "server_error", "x")},
		{"failed, as we say it", ev("failed", `,"response":{"status":"failed","error":{"code":"server_error","message":"x"}},"error":{"message":"y"}`), failing(fault.Invalid, 0, "server_error", "x")},
		{"completed but failed", ev("completed", `,"response":{"status":"failed","error":{"message":"x"}}`), failing(fault.Invalid, 0, "", "x")},
		{"cancelled", ev("cancelled", `,"response":{"status":"cancelled"}`), failing(fault.Invalid, 0, "", `the upstream broke the answer off with an event "response.cancelled"`)},
		{"error", `{"type":"error","code":"rate_limit_exceeded","message":"x","param":null,"sequence_number":3}`, failing(fault.Invalid, 0, "rate_limit_exceeded", "x")},
		{"error inside", `{"type":"error","error":{"type":"server_error","code":"e","message":"x"}}`, failing(fault.Invalid, 0, "e", "x")},
		{"error alone", `{"error":{"message":"x","code":529}}`, failing(fault.Upstream, 529, "529", "x")},
		{"list of errors", `[{"error":{"message":"x"}}]`, failing(fault.Invalid, 0, "", "x")},
		{"end marker", ` [DONE]`, wire.Event{End: true}},
		{"broken", `{"type":"response.output_text.delta","delta":"a`, wire.Event{Malformed: true}},
		{"text", `hello`, wire.Event{Malformed: true}},
	} {
		var p wire.Progress
		got := Responses{}.JudgeEvent([]byte(c.data), &p)
		if named := got.Name != nil; named != (strings.HasPrefix(c.data, `{"type"`) && !c.want.Malformed) {
			t.Errorf("%s: named %q", c.name, got.Name)
		}
		got.Name = nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if p.SawContent != c.want.Content || p.SawFinish != c.want.Finish {
			t.Errorf("%s: progress %+v", c.name, p)
		}
		if strings.Contains(c.data, `number":4`) && !c.want.Malformed && p.Sequence != 5 {
			t.Errorf("%s: the next number is %d", c.name, p.Sequence)
		}
	}
}

// R17: within a call that is not complete, a malformed event is a cut.
func TestOpenTool(t *testing.T) {
	t.Parallel()
	var p wire.Progress
	for i, c := range []struct {
		data       string
		open, tool bool
	}{
		{`{"type":"response.output_item.added","item":{"type":"message"}}`, false, false},
		{`{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}`, true, true},
		{`{"type":"response.function_call_arguments.delta","delta":"{"}`, true, true},
		{`{"type":"response.output_item.done","item":{"type":"function_call","name":"f"}}`, false, true},
		{`{"type":"response.output_item.added","item":{"type":"custom_tool_call","name":"g"}}`, true, true},
		{`{"type":"response.completed","response":{}}`, false, true},
	} {
		Responses{}.JudgeEvent([]byte(c.data), &p)
		if p.OpenTool != c.open || p.SawTool != c.tool {
			t.Errorf("event %d: open %v, tool %v", i, p.OpenTool, p.SawTool)
		}
	}
	if p.Reply.Finish != "completed" {
		t.Errorf("finish %q", p.Reply.Finish)
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"openai-error-400-previous-response-not-found": {"previous_response_not_found", ""},
		"openai-error-401-bad-key":                     {"invalid_api_key", ""},
		"openai-error-429-insufficient-quota-body":     {"insufficient_quota", ""},
		"xai-error-400-bad-key":                        {"invalid-argument", "Incorrect API key provided. You can obtain an API key from https://console.x.ai."},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		code, message := Responses{}.ReadError(body)
		if code != want[0] || message == "" || want[1] != "" && message != want[1] {
			t.Errorf("%s: %q %q", name, code, message)
		}
	}
	for body, want := range map[string][2]string{
		`{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`: {"BadRequestError", "m"},
		`{"detail":[{"loc":["body","input",0],"msg":"field required","type":"missing"}]}`:   {"missing", "body.input.0: field required"},
		`{"detail":"Not Found"}`: {"", "Not Found"},
		`{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"slow","provider_name":"x"}}}`: {"429", "Provider returned error: slow"},
		`{"output":[]}`: {"", ""},
		`nonsense`:      {"", ""},
	} {
		code, message := Responses{}.ReadError([]byte(body))
		if code != want[0] || message != want[1] {
			t.Errorf("%s: %q %q", body, code, message)
		}
	}
}
