package anthropic

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

const (
	startEvent  = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":300,"output_tokens":1,"cache_creation_input_tokens":4000,"cache_read_input_tokens":2000}}}`
	openEvent   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	closeEvent  = `{"type":"content_block_stop","index":0}`
	finishEvent = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":25}}`
	endEvent    = `{"type":"message_stop"}`
)

func saysText(s string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`
}

func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	content, finish := wire.Event{Content: true}, wire.Event{Content: true, Finish: true}
	broken := wire.Event{Malformed: true}
	fails := func(code, message string) wire.Event {
		return wire.Event{Fault: &fault.Fault{Class: fault.Invalid, Code: code, Message: message}}
	}
	delta := func(d string) string {
		return `{"type":"content_block_delta","index":0,"delta":{` + d + `}}`
	}
	block := func(b string) string {
		return `{"type":"content_block_start","index":0,"content_block":{` + b + `}}`
	}
	for name, c := range map[string]struct {
		data string
		want wire.Event
	}{
		"message_start":                {startEvent, wire.Event{}},
		"ping":                         {`{"type": "ping"}`, wire.Event{}},
		"an empty text block":          {openEvent, wire.Event{}},
		"an empty thinking block":      {block(`"type":"thinking","thinking":"","signature":""`), wire.Event{}},
		"a text block with text":       {block(`"type":"text","text":"x"`), content},
		"redacted thinking":            {block(`"type":"redacted_thinking","data":"x"`), content},
		"a tool call":                  {block(`"type":"tool_use","id":"t","name":"f","input":{}`), content},
		"a tool call without a name":   {block(`"type":"tool_use","id":"t","name":"","input":{}`), wire.Event{}},
		"a server's tool call":         {block(`"type":"server_tool_use","id":"t","name":"web_search","input":{}`), content},
		"a server's tool result":       {block(`"type":"web_search_tool_result","content":[]`), content},
		"a block nobody knows":         {block(`"type":"hologram","data":"zz"`), wire.Event{}},
		"text":                         {saysText("hi"), content},
		"text, members in other order": {`{"delta":{"text":"x","type":"text_delta"},"index":0,"type":"content_block_delta"}`, content},
		"text, spaced":                 {" {\"type\" : \"content_block_delta\", \"index\":0, \"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}   } ", content},
		"empty text":                   {saysText(""), wire.Event{}},
		"thinking":                     {delta(`"type":"thinking_delta","thinking":"x"`), content},
		"a signature":                  {delta(`"type":"signature_delta","signature":"x"`), wire.Event{}},
		"arguments":                    {delta(`"type":"input_json_delta","partial_json":"{"`), content},
		"no arguments":                 {delta(`"type":"input_json_delta","partial_json":""`), wire.Event{}},
		"a citation":                   {delta(`"type":"citations_delta","citation":{"cited_text":"x"}`), wire.Event{}},
		"a compaction":                 {delta(`"type":"compaction_delta","content":"x"`), content},
		"a delta nobody knows":         {delta(`"type":"hologram_delta","data":"x"`), wire.Event{}},
		"a block's stop":               {closeEvent, wire.Event{}},
		"a finish":                     {finishEvent, finish},
		"no finish yet":                {`{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}`, wire.Event{}},
		"a reason nobody knows":        {`{"type":"message_delta","delta":{"stop_reason":"tea_break"},"usage":{}}`, finish},
		"the end":                      {endEvent, wire.Event{End: true}},
		"another dialect's end":        {`[DONE]`, wire.Event{End: true}},
		"an event nobody knows":        {`{"type":"galaxy_event","x":1}`, wire.Event{}},
		"another dialect's event":      {`{"id":"c","choices":[{"delta":{"content":"x"}}]}`, wire.Event{}},
		"an error":                     {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, fails("overloaded_error", "Overloaded")},
		"an error, details":            {`{"type":"error","error":{"details":null,"type":"rate_limit_error","message":"slow down"},"request_id":"r"}`, fails("rate_limit_error", "slow down")},
		"an error without a type":      {`{"error":{"message":"m","code":"c"}}`, fails("c", "m")},
		"an error as text":             {`{"error":"boom"}`, fails("", "boom")},
		"a bare message":               {`{"message":"Too many requests"}`, fails("", "Too many requests")},
		"an error that says nothing":   {`{"type":"error"}`, fails("", "the upstream answered with an error that says nothing")},
		"no error":                     {`{"type":"ping","error":null}`, wire.Event{}},
		"half an event":                {`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"bro`, broken},
		"no JSON":                      {`hello`, broken},
		"no object":                    {`[1]`, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Messages{}.JudgeEvent([]byte(c.data), &wire.Progress{})
			if kind, _, _ := strings.Cut(strings.TrimPrefix(c.data, `{"type":"`), `"`); strings.HasPrefix(c.data, `{"type":"`) && !got.Malformed && string(got.Name) != kind {
				t.Errorf("named %q", got.Name)
			}
			got.Name = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if e := (Messages{}).JudgeEvent([]byte(`{"type":"a\nb"}`), &wire.Progress{}); e.Name != nil {
		t.Errorf("a type with a line end became the name %q", e.Name)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var p wire.Progress
	for i, step := range []struct {
		data string
		ok   func() bool
	}{
		{startEvent, func() bool {
			return p.ID == "msg_1" && p.Reply.Model == "claude-x" && p.Reply.Usage.Input == 6300 && p.Reply.Usage.CachedInput == 2000 && p.Reply.Usage.CacheWrite == 4000 && p.Begun == 1
		}},
		{strings.ReplaceAll(startEvent, "msg_1", "msg_2"), func() bool { return p.ID == "msg_1" && p.Reply.Usage.Input == 6300 }},
		{openEvent, func() bool { return !p.SawContent && p.Sequence == 1 }},
		{saysText("a"), func() bool { return p.SawContent && !p.OpenTool }},
		{closeEvent, func() bool { return p.Sequence == 0 }},
		{`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","name":"web_search"}}`, func() bool { return p.OpenTool && !p.SawTool && p.Sequence == 2 }},
		{`{"type":"content_block_stop","index":1}`, func() bool { return !p.OpenTool }},
		{`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, func() bool { return p.OpenTool && p.SawTool }},
		{`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{"`, func() bool { return p.OpenTool }},
		{`{"type":"content_block_stop","index":2}`, func() bool { return !p.OpenTool && !p.SawFinish }},
		{`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":25,"input_tokens":310,"output_tokens_details":{"thinking_tokens":7}}}`, func() bool {
			return p.SawFinish && p.Reply.Finish == "tool_use" && p.Ended == 1 &&
				p.Reply.Usage == llm.Usage{Known: true, Input: 6310, Output: 25, CachedInput: 2000, CacheWrite: 4000, Reasoning: 7}
		}},
	} {
		Messages{}.JudgeEvent([]byte(step.data), &p)
		if !step.ok() {
			t.Fatalf("after event %d, %s: %+v", i, step.data, p)
		}
	}
}

// A finish ends a call that was not stopped, and a number below nothing says nothing.
func TestProgressOdd(t *testing.T) {
	t.Parallel()
	var p wire.Progress
	for _, data := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":-5,"input_tokens":7}}`,
	} {
		Messages{}.JudgeEvent([]byte(data), &p)
	}
	if p.OpenTool || !p.SawFinish || p.Reply.Usage != (llm.Usage{Known: true, Input: 7}) {
		t.Errorf("%+v", p)
	}
}

// The pattern is a short cut and nothing else: the same facts come out with it and without.
func TestPattern(t *testing.T) {
	t.Parallel()
	var sets [][]string
	for _, stream := range files(t, "streams") {
		var events []string
		for _, f := range frames(t, stream) {
			events = append(events, string(f.Data))
		}
		sets = append(sets, events)
	}
	sets = append(sets, []string{
		startEvent, openEvent, saysText("Hello"), saysText(" there"), saysText(`\u00fc \" \\`), saysText(""), saysText(`"`), saysText(`\`), saysText("x\n"),
		saysText("x") + "}", saysText("x") + "   ", strings.TrimSuffix(saysText("x"), "}") + "  \t}", strings.TrimSuffix(saysText("x"), "}") + "     }",
		strings.TrimSuffix(saysText("x"), "}") + `,"x":1}`, strings.TrimSuffix(saysText("x"), "}}") + `,"x":1}}`, saysText("x")[:40], saysText("x") + saysText("y"),
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1"}}`, closeEvent, finishEvent, endEvent,
	})
	for _, events := range sets {
		var aided, plain wire.Progress
		for i, data := range events {
			got := Messages{}.JudgeEvent([]byte(data), &aided)
			plain.Pattern = wire.Pattern{}
			want := Messages{}.JudgeEvent([]byte(data), &plain)
			state, other := aided, plain
			state.Pattern, other.Pattern = wire.Pattern{}, wire.Pattern{}
			if diff := cmp.Diff(want, got) + cmp.Diff(other, state); diff != "" {
				t.Fatalf("event %d, %.200s: %s", i, data, diff)
			}
		}
	}
	var p wire.Progress
	Messages{}.JudgeEvent([]byte(saysText("Hello")), &p)
	if len(p.Pattern.Before) == 0 {
		t.Error("no pattern was taken from an event that is nothing but text")
	}
}

func TestAppendEnd(t *testing.T) {
	t.Parallel()
	const stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"after a finish":                  {[]string{startEvent, openEvent, saysText("a"), closeEvent, finishEvent}, stop},
		"after a finish in an open block": {[]string{startEvent, openEvent, saysText("a"), finishEvent}, stop},
		"without one": {
			[]string{startEvent, openEvent, saysText("a"), closeEvent},
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"stop_details\":null,\"container\":null}," +
				"\"usage\":{\"input_tokens\":300,\"cache_creation_input_tokens\":4000,\"cache_read_input_tokens\":2000,\"output_tokens\":1,\"server_tool_use\":null}}\n\n" + stop,
		},
		"in an open block, after a call": {
			[]string{`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`},
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"stop_details\":null,\"container\":null}," +
				"\"usage\":{\"input_tokens\":0,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":0,\"server_tool_use\":null}}\n\n" + stop,
		},
	} {
		var p wire.Progress
		var stream []byte
		for _, data := range c.events {
			Messages{}.JudgeEvent([]byte(data), &p)
			stream = append(stream, say(data)...)
		}
		end := Messages{}.AppendEnd(nil, &p)
		if diff := cmp.Diff(c.want, string(end)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.events[0] == startEvent && !strings.Contains(name, "open block") {
			if err := grammar(append(stream, end...)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string // the fault's message, empty if it is good
		code string
	}{
		"a message":               {body: `{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`},
		"nothing said, a finish":  {body: `{"content":[],"stop_reason":"refusal"}`},
		"content beside an error": {body: `{"content":[{"type":"text","text":"x"}],"error":{"message":"m"}}`},
		"an empty body":           {body: " \n", want: "the upstream answered with an empty body"},
		"a page":                  {body: "<html>", want: "the upstream answered with an HTML page"},
		"no JSON":                 {body: "oops", want: "the upstream's answer is broken: invalid JSON at byte 0: expected a value"},
		"half of it":              {body: `{"content":[`, want: "the upstream's answer is broken: invalid JSON at byte 12: it ends too early"},
		"no object":               {body: `[]`, want: "the upstream answered with JSON that is not an object"},
		"an error":                {body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, want: "Overloaded", code: "overloaded_error"},
		"an error of another":     {body: `{"error":{"message":"no such model","code":"model_not_found"}}`, want: "no such model", code: "model_not_found"},
		"FastAPI's":               {body: `{"detail":"Not Found"}`, want: "Not Found"},
		"AWS's":                   {body: `{"__type":"ThrottlingException","Message":"slow"}`, want: "slow", code: "ThrottlingException"},
		"no content":              {body: `{"id":"x"}`, want: `the upstream's answer has no "content"`},
		"content as text":         {body: `{"content":"x"}`, want: `"content" in the upstream's answer is a string, not an array`},
		"nothing said":            {body: `{"content":[],"stop_reason":null}`, want: `"content" in the upstream's answer is empty`},
	} {
		_, f := Messages{}.Judge([]byte(c.body))
		if f == nil {
			f = &fault.Fault{Class: fault.Invalid}
		}
		if f.Message != c.want || f.Code != c.code || f.Class != fault.Invalid {
			t.Errorf("%s: %v, code %q", name, f, f.Code)
		}
	}
	for body, want := range map[string]string{
		`{"input_tokens":12}`: "", `{}`: `the upstream's answer has no "input_tokens"`, `{"type":"error","error":{"message":"m"}}`: "m", `{"input_tokens"`: "the upstream's answer is broken: invalid JSON at byte 15: it ends too early",
	} {
		_, f := CountTokens{}.Judge([]byte(body))
		if got := f; got == nil && want != "" || got != nil && got.Message != want {
			t.Errorf("%s: %v", body, f)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	f := wire.Failure{
		Status: 502, Code: "all_providers_failed", Message: "no \"luck\"", Param: "p", RequestID: "req_1",
		Attempts: []wire.Attempt{{Target: "a/m", Status: 500, Reason: "upstream_error", Millis: 12}, {Target: "b/m", Reason: "circuit_open", Skipped: true}},
	}
	const want = `{"type":"error","error":{"type":"api_error","message":"no \"luck\"","code":"all_providers_failed","param":"p","attempts":[` +
		`{"target":"a/m","status":500,"reason":"upstream_error","ms":12},{"target":"b/m","status":null,"reason":"circuit_open","ms":0,"skipped":true}]},"request_id":"req_1"}`
	if got := string(Messages{}.AppendError(nil, f)); got != want {
		t.Error(got)
	}
	if got := string(Messages{}.AppendStreamError([]byte("x"), f)); got != "xevent: error\ndata: "+want+"\n\n" {
		t.Error(got)
	}
	if got := string(CountTokens{}.AppendError(nil, wire.Failure{Status: 404, Message: "m"})); got != `{"type":"error","error":{"type":"not_found_error","message":"m"}}` {
		t.Error(got)
	}
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "invalid_request_error", 403: "permission_error", 404: "not_found_error", 409: "invalid_request_error",
		413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "api_error", 529: "overloaded_error", 0: "api_error",
	} {
		if got := errorType(status); got != kind {
			t.Errorf("%d: %s, want %s", status, got, kind)
		}
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	r, err := Messages{}.ReadRequest([]byte(`{"messages":[],"stream":true,"model":"x\u0041"}`))
	if err != nil || r.Model != "xA" || !r.Stream || !r.AskedUsage {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = (CountTokens{}).ReadRequest([]byte(`{"model":"m","messages":[],"stream":"x"}`)); err != nil || r.Stream {
		t.Errorf("%+v, %v", r, err)
	}
	for body, want := range map[string]string{
		"": "", "[]": "", `{"a":`: "", `{"messages":[]}`: "model", `{"model":1,"messages":[]}`: "model", `{"model":" ","messages":[]}`: "model",
		`{"model":"m"}`: "messages", `{"model":"m","messages":{}}`: "messages", `{"model":"m","messages":[],"stream":1}`: "stream",
	} {
		_, err := Messages{}.ReadRequest([]byte(body))
		bad, ok := err.(*wire.RequestError) //nolint:errorlint // the interface says that it is one
		if !ok || bad.Param != want || bad.Message == "" {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAppendRequest(t *testing.T) {
	t.Parallel()
	const rest = `"max_tokens": 1.0e1 ,"messages":[{"role":"user","content":"\u00e9<"}],"stream":false`
	params := []wire.Param{{Name: "anthropic_version", Value: []byte(`"vertex-2023-10-16"`)}, {Name: "max_tokens", Value: []byte("7")}, {Name: "model", Value: []byte(`"no"`)}}
	for name, c := range map[string]struct {
		body string
		w    wire.Rewrite
		want string
	}{
		"nothing":          {`{"model":"m",` + rest + `}`, wire.Rewrite{Model: "m", AskUsage: true}, `{"model":"m",` + rest + `}`},
		"a model":          {`{ "model" : "m" ,` + rest + ` }`, wire.Rewrite{Model: `n"`}, `{ "model" : "n\"" ,` + rest + ` }`},
		"a model, last":    {`{` + rest + `,"model":"m"}`, wire.Rewrite{Model: "n"}, `{` + rest + `,"model":"n"}`},
		"models":           {`{"model":"a",` + rest + `,"model":"m"}`, wire.Rewrite{Model: "n"}, `{"model":"n",` + rest + `,"model":"n"}`},
		"without, first":   {`{ "model":"m" , ` + rest + `}`, wire.Rewrite{Model: "m", OmitModel: true}, `{` + rest + `}`},
		"without, last":    {`{` + rest + `, "model":"m" }`, wire.Rewrite{Model: "m", OmitModel: true}, `{` + rest + ` }`},
		"without, between": {`{"x":1 , "model":"m",` + rest + `}`, wire.Rewrite{OmitModel: true}, `{"x":1,` + rest + `}`},
		"without, twice":   {`{"model":"a","model":"m",` + rest + `}`, wire.Rewrite{OmitModel: true}, `{` + rest + `}`},
		"parameters": {
			`{"model":"m",` + rest + `}`,
			wire.Rewrite{Model: "n", Params: params},
			`{"model":"n","max_tokens": 7 ,"messages":[{"role":"user","content":"\u00e9<"}],"stream":false,"anthropic_version":"vertex-2023-10-16"}`,
		},
		"parameters, without": {
			`{"model":"m",` + rest + `}`,
			wire.Rewrite{Model: "n", OmitModel: true, Params: params},
			`{"max_tokens": 7 ,"messages":[{"role":"user","content":"\u00e9<"}],"stream":false,"anthropic_version":"vertex-2023-10-16"}`,
		},
	} {
		r, err := Messages{}.ReadRequest([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got := Messages{}.AppendRequest([]byte("x"), &r, c.w)
		if name == "nothing" {
			if &got[0] != &r.Body[0] {
				t.Error("nothing changes, and yet it was copied")
			}
			continue
		}
		if diff := cmp.Diff("x"+c.want, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		parse(t, got[1:])
	}
}

func TestAppendUnsealed(t *testing.T) {
	t.Parallel()
	const thinking, hidden = `{"type":"thinking","thinking":"t","signature":"s"}`, `{"type":"redacted_thinking","data":"d"}`
	const q, a, use = `{"role":"user","content":"\u00e9"}`, `{"type":"text", "text":"a"}`, `{"type":"tool_use","id":"t","name":"f","input":{}}`
	for name, c := range map[string]struct {
		body, want string
		dropped    []string
	}{
		"nothing to leave out": {`{"model":"m","messages":[` + q + `]}`, "", nil},
		"blocks": {
			`{"thinking":{"type":"enabled"}, "messages":[` + q + `,{"role":"assistant", "content":[` + thinking + `,` + hidden + `, ` + a + `]},` + q + `],"x":1}`,
			`{"thinking":{"type":"enabled"}, "messages":[` + q + `,{"role":"assistant","content":[` + a + `]},` + q + `],"x":1}`,
			[]string{llm.DropSignatures},
		},
		"a whole turn": {
			`{"messages":[` + q + `,{"role":"assistant","content":[` + thinking + `]},` + q + `]}`, `{"messages":[` + q + `,` + q + `]}`, []string{llm.DropSignatures},
		},
		"a call that waits": {
			`{"thinking":{"type":"enabled","budget_tokens":2000},"messages":[` + q + `,{"role":"assistant","content":[` + thinking + `,` + use + `]}]}`,
			`{"messages":[` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			[]string{llm.DropSignatures, "thinking"},
		},
		"a call that waits, adaptive": {
			`{"thinking":{"type":"adaptive"},"messages":[` + q + `,{"role":"assistant","content":[` + thinking + `,` + use + `]}]}`,
			`{"thinking":{"type":"adaptive"},"messages":[` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			[]string{llm.DropSignatures},
		},
		"a call that never had a thought": {
			`{"thinking":{"type":"enabled"},"messages":[` + q + `,{"role":"assistant","content":[` + thinking + `,` + a + `]},` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			`{"messages":[` + q + `,{"role":"assistant","content":[` + a + `]},` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			[]string{llm.DropSignatures, "thinking"},
		},
		"another vendor's turn": {
			`{"thinking":{"type":"enabled"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"messages":[` + q + `,{"role":"assistant","content":[` + a + `,` + use + `]},` + q + `],"x":1}`,
			`{"messages":[` + q + `,{"role":"assistant","content":[` + a + `,` + use + `]},` + q + `],"x":1}`,
			[]string{"thinking", "context_management"},
		},
		"another vendor's turn, managed in other ways": {
			`{"thinking":{"type":"enabled"},"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"messages":[` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			`{"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"messages":[` + q + `,{"role":"assistant","content":[` + use + `]}]}`,
			[]string{"thinking"},
		},
		"another vendor's turn, adaptive": {
			`{"thinking":{"type":"adaptive"},"messages":[` + q + `,{"role":"assistant","content":[` + use + `]}]}`, "", nil,
		},
		"no request": {`{"messages":[`, "", nil},
	} {
		got, dropped := Messages{}.AppendUnsealed([]byte("x"), []byte(c.body))
		if diff := cmp.Diff("x"+c.want, string(got)) + cmp.Diff(c.dropped, dropped); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What a client of count_tokens gets where nobody counts.
func TestAppendCount(t *testing.T) {
	t.Parallel()
	body := CountTokens{}.AppendCount(nil, 42)
	if _, f := (CountTokens{}).Judge(body); f != nil || !bytes.Contains(body, []byte("42")) {
		t.Errorf("%s: %v", body, f)
	}
}
