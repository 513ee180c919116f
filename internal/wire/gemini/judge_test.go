package gemini

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		class      fault.Class // Unknown: it is an answer
		word       string
	}{
		{"text", `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`, 0, ""},
		{"nothing but a finish", `{"candidates":[{"finishReason":"SAFETY","index":0}],"usageMetadata":{"promptTokenCount":1}}`, 0, ""},
		{"empty text", `{"candidates":[{"content":{"parts":[{"text":""}]}}]}`, 0, ""},
		{"an error beside an answer", `{"candidates":[{"content":{"parts":[{"text":"x"}]}}],"error":{"code":500,"message":"late"}}`, 0, ""},
		{"empty", ` `, fault.Invalid, "empty"},
		{"a page", `<html>`, fault.Invalid, "HTML"},
		{"broken", `{"candidates":[`, fault.Invalid, "broken"},
		{"text alone", `"hi"`, fault.Invalid, "not an object"},
		{"no candidates", `{"usageMetadata":{}}`, fault.Invalid, "candidates"},
		{"none at all", `{"candidates":[]}`, fault.Invalid, "empty"},
		{"of the wrong kind", `{"candidates":{}}`, fault.Invalid, "an object"},
		{"nothing in them", `{"candidates":[{"index":0}]}`, fault.Invalid, "no content"},
		{"an error", `{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}`, fault.Invalid, "slow down"},
		{"an error of the upstream's", `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`, fault.Upstream, "overloaded"},
		{"a list of one error", `[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]`, fault.Invalid, "no"},
		{"case 122: a blocked prompt", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`, fault.ContentFilter, "blocked"},
		{"only ratings", `{"promptFeedback":{"safetyRatings":[]},"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, 0, ""},
	} {
		_, f := Generate{}.Judge([]byte(c.body))
		switch {
		case f == nil:
			if c.class != fault.Unknown {
				t.Errorf("%s: an answer", c.name)
			}
		case f.Class != c.class || !strings.Contains(f.Message, c.word):
			t.Errorf("%s: %v", c.name, f)
		}
		if c.body[0] != '{' || strings.HasSuffix(c.name, "broken") {
			continue
		}
		var p wire.Progress // as an event it says the same, but that an odd one is none
		e := Generate{}.JudgeEvent([]byte(c.body), &p)
		if (e.Fault != nil) != (f != nil && (f.Class != fault.Invalid || strings.Contains(c.body, "error"))) {
			t.Errorf("%s: as an event %+v", c.name, e)
		}
	}
	_, f := Generate{}.Judge(read(t, "replies/vertex-model-armor-prompt-blocked.json"))
	if f == nil || f.Class != fault.ContentFilter || f.Status != 400 || f.Code != "MODEL_ARMOR" || !strings.Contains(f.Message, "Jailbreak") {
		t.Errorf("%v", f)
	}
}

func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	part := func(p string) string {
		return `{"candidates":[{"content":{"parts":[` + p + `],"role":"model"},"index":0}]}`
	}
	for _, c := range []struct {
		name, data string
		want       wire.Event
	}{
		{"text", part(`{"text":"x"}`), wire.Event{Content: true}},
		{"a thought", part(`{"text":"x","thought":true}`), wire.Event{Content: true}},
		{"a call", part(`{"functionCall":{"name":"f"}}`), wire.Event{Content: true}},
		{"a file", part(`{"inlineData":{"data":"aa"}}`), wire.Event{Content: true}},
		{"code", part(`{"executableCode":{}}`), wire.Event{Content: true}},
		{"empty text", part(`{"text":""}`), wire.Event{}},
		{"a signature alone", part(`{"text":"","thoughtSignature":"c2ln"}`), wire.Event{}},
		{"no parts", `{"candidates":[{"content":{"role":"model"},"index":0}]}`, wire.Event{}},
		{"a finish", `{"candidates":[{"finishReason":"STOP"}]}`, wire.Event{Content: true, Finish: true}},
		{"an unspecified finish", `{"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, wire.Event{}},
		{"usage alone", `{"usageMetadata":{"promptTokenCount":3}}`, wire.Event{UsageOnly: true}},
		{"usage that says nothing", `{"usageMetadata":{"trafficType":"ON_DEMAND"}}`, wire.Event{}},
		{"another's end marker", ` [DONE] `, wire.Event{End: true}},
		{"broken", `{"candidates":[{"content":`, wire.Event{Malformed: true}},
		{"no object", `7`, wire.Event{Malformed: true}},
		{"an odd list", `[1]`, wire.Event{Malformed: true}},
	} {
		var p wire.Progress
		if got := (Generate{}).JudgeEvent([]byte(c.data), &p); got.Fault != nil || got.Content != c.want.Content || got.Finish != c.want.Finish ||
			got.End != c.want.End || got.Malformed != c.want.Malformed || got.UsageOnly != c.want.UsageOnly {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.want.Malformed && (p.SawContent || p.Begun != 0) {
			t.Errorf("%s moved %+v", c.name, p)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	p := wire.Progress{Choices: 2}
	for i, c := range []struct {
		data             string
		finish, openTool bool
	}{
		{`{"candidates":[{"content":{"parts":[{"text":"a"}]},"index":0}],"modelVersion":"m1","responseId":"r1","usageMetadata":{"promptTokenCount":9}}`, false, false},
		{`{"candidates":[{"finishReason":"MAX_TOKENS","index":0}],"modelVersion":"m2","responseId":"r2"}`, false, false},
		{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]},"index":1}]}`, false, true},
		{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[],"willContinue":true}}]},"index":1}]}`, false, true},
		{`{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"index":1}]}`, false, false},
		{`{"candidates":[{"finishReason":"STOP","index":1}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,"thoughtsTokenCount":3}}`, true, false},
	} {
		Generate{}.JudgeEvent([]byte(c.data), &p)
		if p.SawFinish != c.finish || p.OpenTool != c.openTool {
			t.Errorf("after event %d: %+v", i, p)
		}
	}
	if p.Reply.Model != "m1" || p.ID != "r1" || p.Reply.Finish != "MAX_TOKENS" || !p.SawTool ||
		p.Reply.Usage != (wire.Usage{Known: true, Input: 9, Output: 7, Reasoning: 3}) {
		t.Errorf("%+v", p)
	}
	if got := (Generate{}).AppendEnd(nil, &p); got != nil {
		t.Errorf("%s", got)
	}
}

// R17: another vendor's end marker without a finish reason.
func TestAppendEnd(t *testing.T) {
	t.Parallel()
	var p wire.Progress
	if got := (Generate{}).AppendEnd(nil, &p); got != nil {
		t.Errorf("an end of nothing: %s", got)
	}
	Generate{}.JudgeEvent([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"m","responseId":"r"}`), &p)
	got := string(Generate{}.AppendEnd(nil, &p))
	if want := `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m","responseId":"r"}` + "\n\n"; got != want {
		t.Errorf("%s", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"errors/error-400-api-key.json":       {"API_KEY_INVALID", "API key not valid. Please pass a valid API key."},
		"errors/error-429-quota.json":         {"RESOURCE_EXHAUSTED", "You exceeded your current quota"},
		"errors/gemini-500-internal.json":     {"INTERNAL", "An internal error"},
		"errors/gemini-503-unavailable.json":  {"UNAVAILABLE", "The model is overloaded. Please try again later."},
		"replies/count-tokens-3.5-flash.json": {"", ""},
		"requests/text-2.5-flash.request.json": {
			"", "",
		},
	} {
		body := read(t, name)
		for _, b := range [][]byte{body, append(append([]byte("["), body...), ']')} {
			code, message := Generate{}.ReadError(b)
			if code != want[0] || !strings.HasPrefix(message, want[1]) || want[1] == "" && message != "" {
				t.Errorf("%s: %q %q", name, code, message)
			}
		}
	}
	d, _ := readDetail(read(t, "errors/error-429-quota.json"))
	if f := d.fault(); f.Wait != (fault.Wait{For: 48 * time.Second, Named: true}) || f.Status != 429 || f.Code != "RESOURCE_EXHAUSTED" {
		t.Errorf("%+v", f)
	}
	for _, body := range []string{``, `null`, `{}`, `<html>`, `{"error":`, `{"error":null}`, `[]`} {
		if code, message := (Generate{}).ReadError([]byte(body)); code != "" || message != "" {
			t.Errorf("%s: %q %q", body, code, message)
		}
	}
	if _, message := (Generate{}).ReadError([]byte(`{"error":"plain words"}`)); message != "plain words" {
		t.Error(message)
	}
}

func TestAppendError(t *testing.T) {
	t.Parallel()
	f := wire.Failure{
		Status: 502, Code: "all_providers_failed", Message: `all "failed"`, Param: "model", RequestID: "req_1",
		Attempts: []wire.Attempt{{Target: "a/b", Status: 503, Reason: "503", Millis: 12}, {Target: "c/d", Reason: "open", Skipped: true}},
	}
	same(t, "error", `{"error":{"code":502,"message":"all \"failed\"","status":"UNAVAILABLE","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",
		"reason":"ALL_PROVIDERS_FAILED","domain":"evergate","metadata":{"param":"model","request_id":"req_1"},
		"attempts":[{"target":"a/b","status":503,"reason":"503","ms":12},{"target":"c/d","status":null,"reason":"open","ms":0,"skipped":true}]}]}}`,
		string(Generate{}.AppendError(nil, f)))
	got := string(Generate{}.AppendStreamError([]byte("x"), wire.Failure{Message: "m"}))
	if want := `xdata: {"error":{"code":500,"message":"m","status":"INTERNAL"}}` + "\n\n"; got != want {
		t.Errorf("%s", got)
	}
	if code, message := (Generate{}).ReadError(Generate{}.AppendError(nil, f)); code != "ALL_PROVIDERS_FAILED" || message != f.Message {
		t.Errorf("%q %q", code, message)
	}
	for status, want := range map[int]string{
		400: "INVALID_ARGUMENT", 413: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "PERMISSION_DENIED", 403: "PERMISSION_DENIED",
		404: "NOT_FOUND", 409: "ABORTED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	} {
		if got := statusWord(status); got != want {
			t.Errorf("%d is %s", status, got)
		}
	}
}
