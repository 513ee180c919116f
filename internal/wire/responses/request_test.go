package responses

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func TestReadRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       wire.Request // Body and Spans aside
	}{
		{"text", `{"model":"m","input":"hi"}`, wire.Request{Model: "m"}},
		{"items", `{"input":[],"stream":true,"model":"m"}`, wire.Request{Model: "m", Stream: true}},
		{"continued, without an input", `{"model":"m","previous_response_id":"resp_1"}`, wire.Request{Model: "m", Previous: "resp_1"}},
		{"a conversation", `{"model":"m","conversation":{"id":"conv_1"}}`, wire.Request{Model: "m"}},
		{"a prompt", `{"model":"m","prompt":{"id":"pmpt_1"}}`, wire.Request{Model: "m"}},
		{"in the background", `{"model":"m","input":"","background":true}`, wire.Request{Model: "m", Background: true}},
		{"stateless", `{"model":"m","input":"","store":false}`, wire.Request{Model: "m", Stateless: true}},
		{"stored", `{"model":"m","input":"","store":true,"stream":null,"background":null}`, wire.Request{Model: "m"}},
		{"said twice", `{"model":"a","input":"","model":"b"}`, wire.Request{Model: "b"}},
	} {
		got, err := Responses{}.ReadRequest([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got.Body, got.Spans = nil, wire.Spans{}
		c.want.AskedUsage = true
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestReadRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, param, words string }{
		{``, "", "empty"},
		{`[]`, "", "an array"},
		{`{"model":"m","input":"x"`, "", "not valid JSON"},
		{`{"input":"x"}`, "model", "missing"},
		{`{"model":"  ","input":"x"}`, "model", "empty"},
		{`{"model":7,"input":"x"}`, "model", "a number"},
		{`{"model":"m"}`, "input", "missing"},
		{`{"model":"m","input":null,"conversation":null}`, "input", "missing"},
		{`{"model":"m","input":{}}`, "input", "an object"},
		{`{"model":"m","input":"x","stream":"yes"}`, "stream", "a string"},
	} {
		_, err := Responses{}.ReadRequest([]byte(c.body))
		var refused *wire.RequestError
		if !errors.As(err, &refused) || refused.Param != c.param || !strings.Contains(refused.Message, c.words) {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

func TestAppendRequest(t *testing.T) {
	t.Parallel()
	param := func(name, value string) wire.Param { return wire.Param{Name: name, Value: []byte(value)} }
	for _, c := range []struct {
		name, body, want string
		rewrite          wire.Rewrite
	}{
		{"model", `{ "input":"x", "model" : "a", "odd":1e3 }`, `{ "input":"x", "model" : "b", "odd":1e3 }`, wire.Rewrite{Model: "b", AskUsage: true}},
		{"the same model", `{"model":"a","input":"x"}`, `{"model":"a","input":"x"}`, wire.Rewrite{Model: "a"}},
		{"model said twice", `{"model":"a","input":"x","model":"c"}`, `{"model":"b","input":"x","model":"b"}`, wire.Rewrite{Model: "b"}},
		{
			"parameters", `{"model":"a","input":"x","temperature":1,"stream":true}`, `{"model":"b","input":"x","temperature":0,"stream":true,"top_p":0.5}`,
			wire.Rewrite{Model: "b", Params: []wire.Param{param("model", `"c"`), param("stream", "false"), param("temperature", "0"), param("top_p", "0.5")}},
		},
		{"no model", `{"model":"a","input":"x"}`, `{"input":"x"}`, wire.Rewrite{OmitModel: true}},
	} {
		r, err := Responses{}.ReadRequest([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got := Responses{}.AppendRequest([]byte("kept"), &r, c.rewrite)
		if c.body == c.want {
			if &got[0] != &r.Body[0] {
				t.Errorf("%s: the body was copied", c.name)
			}
			continue
		}
		if string(got) != "kept"+c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// What the canonical request holds of each field, and what is dropped by name.
func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	q := request(t, `{"model":"m","stream":true,"instructions":"Be brief.","input":[
		{"role":"developer","content":"No lists."},
		{"role":"user","content":[{"type":"input_text","text":"see"},
			{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"low"},
			{"type":"input_image","image_url":"https://e.org/a.png"},
			{"type":"input_image","file_id":"file-1"},
			{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,BBBB"},
			{"type":"input_file","file_url":"https://e.org/a.pdf"},
			{"type":"input_audio","input_audio":{"data":"CCCC","format":"mp3"}}]},
		{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[
			{"type":"output_text","text":"A","annotations":[{"type":"url_citation","url":"https://e.org","title":"E","start_index":0,"end_index":1}]},
			{"type":"refusal","refusal":"no"}]},
		{"role":"system","content":"Later."}],
		"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","b":1,"a":2},"strict":true},
			{"type":"custom","name":"g","format":{"type":"grammar","syntax":"lark","definition":"x"}},
			{"type":"custom","name":"h","format":{"type":"text"}},{"type":"web_search"}],
		"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]},
		"parallel_tool_calls":false,"max_output_tokens":100,"temperature":0.5,"top_p":0.9,"top_logprobs":3,
		"text":{"format":{"type":"json_schema","name":"n","schema":{"z":1},"strict":true},"verbosity":"low"},
		"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content","message.output_text.logprobs","file_search_call.results"],
		"truncation":"auto","metadata":{"a":"b"},"safety_identifier":"u","prompt_cache_key":"k","prompt_cache_retention":"24h",
		"service_tier":"flex","store":false,"max_tool_calls":3,"background":false,"conversation":null,"previous_response_id":null}`)
	yes, no, half, most := true, false, 0.5, 0.9
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	media := func(k llm.PartKind, m llm.Media) llm.Part { return llm.Part{Kind: k, Media: &m} }
	want := &llm.Request{
		Model: "m", Stream: true, StreamUsage: true,
		System: []llm.Part{text("Be brief."), text("No lists.")},
		Messages: []llm.Message{
			{Role: llm.User, Content: []llm.Part{
				text("see"),
				media(llm.Image, llm.Media{Type: "image/png", Data: "AAAA", Detail: "low"}),
				media(llm.Image, llm.Media{URL: "https://e.org/a.png"}),
				media(llm.Image, llm.Media{FileID: "file-1", Vendor: llm.OpenAI}),
				media(llm.Document, llm.Media{Name: "a.pdf", Type: "application/pdf", Data: "BBBB"}),
				media(llm.Document, llm.Media{URL: "https://e.org/a.pdf"}),
				media(llm.Audio, llm.Media{Type: "audio/mpeg", Data: "CCCC"}),
			}},
			{Role: llm.Assistant, Content: []llm.Part{
				{Kind: llm.Text, Text: "A", Citations: []llm.Citation{{URL: "https://e.org", Title: "E", End: 1}}},
				{Kind: llm.Refusal, Text: "no"},
			}},
			{Role: llm.System, Content: []llm.Part{text("Later.")}},
		},
		Tools: []llm.Tool{
			{Name: "f", Description: "d", Schema: []byte(`{"type":"object","b":1,"a":2}`), Strict: &yes},
			{Name: "g", Custom: true, Grammar: []byte(`{"type":"grammar","syntax":"lark","definition":"x"}`)},
			{Name: "h", Custom: true},
			{Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "web_search", Raw: []byte(`{"type":"web_search"}`)}},
		},
		Choice:   llm.ToolChoice{How: llm.Required, Only: []string{"f"}},
		Parallel: &no, MaxTokens: 100, Temperature: &half, TopP: &most, LogProbs: true, TopLogProbs: 3,
		Format:    llm.Format{Kind: llm.JSONSchema, Name: "n", Schema: []byte(`{"z":1}`), Strict: &yes},
		Reasoning: &llm.Effort{Level: "high", Show: "auto", Sealed: true}, Verbosity: "low",
		ServiceTier: "flex", User: "u", Metadata: []byte(`{"a":"b"}`), CacheKey: "k", CacheRetention: "24h", Store: &no,
	}
	dropped := q.Dropped.Names()
	q.Dropped = nil
	if diff := cmp.Diff(want, q); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"include", "truncation", "max_tool_calls"}, dropped); diff != "" {
		t.Error(diff)
	}
}

// What would change the meaning of a request if it were left out is refused, by name. Case 158.
func TestDecodeRequestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, param string }{
		{`{"model":"m","input":"And now?","previous_response_id":"resp_123"}`, "previous_response_id"},
		{`{"model":"m","input":"x","conversation":"conv_1"}`, "conversation"},
		{`{"model":"m","input":"x","prompt":{"id":"pmpt_1"}}`, "prompt"},
		{`{"model":"m","input":"x","background":true}`, "background"},
		{`{"model":"m","input":[{"type":"item_reference","id":"msg_1"}]}`, "input[0]"},
		{`{"model":"m","input":[{"id":"msg_1"}]}`, "input[0]"},
		{`{"model":"m","input":[7]}`, "input[0]"},
		{`{"model":"m","input":["a",{"role":"tool","content":"x"}]}`, "input[1].role"},
		{`{"model":"m","input":[{"type":"function_call","call_id":"c","arguments":"{}"}]}`, "input[0].name"},
		{`{"model":"m","input":"x","tools":{}}`, "tools"},
		{`{"model":"m","input":"x","tools":[{"type":"function"}]}`, "tools[0].name"},
		{`{"model":"m","input":"x","tool_choice":"any"}`, "tool_choice"},
		{`{"model":"m","input":"x","temperature":"warm"}`, "temperature"},
		{`{"model":"m","input":"x","max_output_tokens":0}`, "max_output_tokens"},
	} {
		r, err := Responses{}.ReadRequest([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Responses{}.DecodeRequest(&r)
		var refused *wire.RequestError
		if !errors.As(err, &refused) || refused.Param != c.param || refused.Message == "" {
			t.Errorf("%s: %v", c.body, err)
		}
		if refused != nil && !strings.Contains(refused.Message, strings.TrimSuffix(c.param, ".role")) && !strings.Contains(c.param, ".name") {
			t.Errorf("%s: the message does not say where: %s", c.body, refused.Message)
		}
	}
}

func TestDecodeToolChoice(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]llm.ToolChoice{
		`null`:                              {},
		`"auto"`:                            {How: llm.Auto},
		`"none"`:                            {How: llm.None},
		`"required"`:                        {How: llm.Required},
		`{"type":"function","name":"f"}`:    {How: llm.Named, Name: "f"},
		`{"type":"custom","name":"f"}`:      {How: llm.Named, Name: "f"},
		`{"type":"web_search_preview"}`:     {},
		`{"type":"mcp","server_label":"s"}`: {},
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"},{"type":"mcp","server_label":"s"}]}`: {How: llm.Auto, Only: []string{"a"}},
		`{"type":"function","function":{"name":"f"}}`: {How: llm.Named, Name: "f"},
	} {
		q := request(t, `{"model":"m","input":"x","tool_choice":`+raw+`}`)
		if diff := cmp.Diff(want, q.Choice); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
		if lost := strings.Contains(raw, "mcp") || strings.Contains(raw, "web_search"); lost != (len(q.Dropped.Names()) > 0) {
			t.Errorf("%s: dropped %v", raw, q.Dropped.Names())
		}
	}
}

// Turns are made of items: thoughts, texts and calls in a row are one, results in a row are one. Case 157.
func TestDecodeConversation(t *testing.T) {
	t.Parallel()
	q := request(t, `{"model":"m","input":[
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"Rules."}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"ls"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gAAAA"},
		{"type":"reasoning","summary":[],"content":null},
		{"type":"function_call","call_id":"call_1","name":"ls","arguments":"{\"path\":\"/\"}"},
		{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** Begin"},
		{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"etc"},{"type":"input_image","image_url":"https://e.org/a.png"}]},
		{"type":"custom_tool_call_output","call_id":"call_2","output":"ok"},
		{"type":"web_search_call","id":"ws_1","status":"completed"},
		{"type":"message","role":"assistant","content":"done","phase":"final_answer"},
		{"type":"local_shell_call_output","id":"x","output":"{}"}]}`)
	want := []llm.Message{
		{Role: llm.User, Content: []llm.Part{{Kind: llm.Text, Text: "ls"}}},
		{Role: llm.Assistant, Content: []llm.Part{
			{Kind: llm.Reasoning, Text: "a\n\nb", Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAAA", ID: "rs_1"}},
			{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_1", Name: "ls", Arguments: `{"path":"/"}`}},
			{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_2", Name: "apply_patch", Arguments: "*** Begin", Custom: true}},
		}},
		{Role: llm.User, Content: []llm.Part{
			{Kind: llm.ToolResult, Result: &llm.Result{CallID: "call_1", Name: "ls", Content: []llm.Part{
				{Kind: llm.Text, Text: "etc"}, {Kind: llm.Image, Media: &llm.Media{URL: "https://e.org/a.png"}},
			}}},
			{Kind: llm.ToolResult, Result: &llm.Result{CallID: "call_2", Name: "apply_patch", Custom: true, Content: []llm.Part{{Kind: llm.Text, Text: "ok"}}}},
		}},
		{Role: llm.Assistant, Content: []llm.Part{
			{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "web_search_call", Raw: []byte(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)}},
			{Kind: llm.Text, Text: "done"},
		}},
		{Role: llm.User, Content: []llm.Part{
			{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "local_shell_call_output", Raw: []byte(`{"type":"local_shell_call_output","id":"x","output":"{}"}`)}},
		}},
	}
	if diff := cmp.Diff(want, q.Messages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]llm.Part{{Kind: llm.Text, Text: "Rules."}}, q.System); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"phase"}, q.Dropped.Names()); diff != "" {
		t.Error(diff)
	}
}

// What Codex sends: thoughts without ids, content null, no reasoning setting for models without, tools of every kind.
func TestCodexRequest(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","instructions":"You are Codex.","input":[
		{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions>"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]},
		{"type":"reasoning","summary":[{"type":"summary_text","text":"Look"}],"content":null,"encrypted_content":"gAAAA"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
		{"type":"local_shell_call","call_id":"call_0","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":null,"working_directory":null,"env":null,"user":null}},
		{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_1"},
		{"type":"function_call_output","call_id":"call_1","output":"a.go"},
		{"type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch"},
		{"type":"custom_tool_call_output","call_id":"call_2","output":"Done"},
		{"type":"ghost_snapshot","ghost_commit":{"id":"1"}}],
		"tools":[{"type":"function","name":"shell","description":"Runs","strict":false,"parameters":{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}}}}},
			{"type":"custom","name":"apply_patch","description":"Edits","format":{"type":"grammar","syntax":"lark","definition":"start: x"}},
			{"type":"local_shell"},{"type":"web_search","external_web_access":false},{"type":"image_generation","output_format":"png"}],
		"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,
		"include":["reasoning.encrypted_content"],"prompt_cache_key":"0197","text":{"verbosity":"low"}}`
	q := request(t, body)
	if names := q.Dropped.Names(); names != nil {
		t.Errorf("dropped %v", names)
	}
	out := encoded(t, q, openAI)
	for _, want := range []string{
		`"instructions":"You are Codex.\n\n<permissions>"`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"Look"}],"encrypted_content":"gAAAA"}`,
		`{"type":"local_shell_call","call_id":"call_0",`,
		`{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch"}`,
		`{"type":"custom_tool_call_output","call_id":"call_2","output":"Done"}`,
		`{"type":"web_search","external_web_access":false}`,
		`"include":["reasoning.encrypted_content"]`, `"store":false`, `"stream":true`, `"prompt_cache_key":"0197"`,
		`"reasoning":{"effort":"medium","summary":"auto"}`, `"text":{"format":{"type":"text"},"verbosity":"low"}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	// A model of another vendor gets no sealed thought.
	other := encoded(t, request(t, body), wire.Target{Model: "grok-4", Vendor: "xai"})
	if strings.Contains(other, "gAAAA") || strings.Contains(other, "Look") {
		t.Errorf("sealed for another: %s", other)
	}
}

func TestEncodeRequest(t *testing.T) {
	t.Parallel()
	five, n := 5.0, int64(7)
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	user := []llm.Message{{Role: llm.User, Content: []llm.Part{text("hi")}}}
	const hi = `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]`
	for _, c := range []struct {
		name    string
		q       llm.Request
		target  wire.Target
		want    string // after the model
		dropped []string
	}{
		{
			"what cannot be said",
			llm.Request{
				Messages: user, Stop: []string{"x"}, FrequencyPenalty: &five, PresencePenalty: &five, Seed: &n, LogitBias: []byte(`{"1":1}`),
				Choices: 2, TopK: &n, Cache: &llm.Cache{}, Modalities: []string{"text", "audio"}, MaxTokens: 3,
			},
			wire.Target{},
			hi + `,"max_output_tokens":16,"store":false`,
			[]string{"max_tokens", "stop", "frequency_penalty", "presence_penalty", "seed", "logit_bias", "n", "top_k", "cache_control", "modalities"},
		},
		{
			"system prompt alone",
			llm.Request{System: []llm.Part{text("a"), text("b")}},
			wire.Target{},
			`"input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"a\n\nb"}]}],"store":false`, nil,
		},
		{
			"a developer in the middle",
			llm.Request{Messages: []llm.Message{user[0], {Role: llm.System, Content: []llm.Part{text("s")}}}},
			wire.Target{Quirks: wire.Quirks{DeveloperRole: true}},
			`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]}],"store":false`,
			nil,
		},
		{
			"refused fields",
			llm.Request{Messages: user, Temperature: &five, TopLogProbs: 1, LogProbs: true, User: "u", Reasoning: &llm.Effort{Level: "low"}},
			wire.Target{Quirks: wire.Quirks{Refuses: []string{"temperature", "include", "store", "user", "top_logprobs", "reasoning"}}},
			hi,
			[]string{"temperature", "top_logprobs", "reasoning", "logprobs", "user"},
		},
		{
			"no thinking",
			llm.Request{Messages: user, Reasoning: &llm.Effort{Off: true}},
			wire.Target{Model: "gpt-5-mini"},
			hi + `,"reasoning":{"effort":"minimal"},"include":["reasoning.encrypted_content"],"store":false`, nil,
		},
		{
			"no thinking of a model that cannot",
			llm.Request{Messages: user, Reasoning: &llm.Effort{Off: true}},
			wire.Target{Model: "gpt-4o"},
			hi + `,"store":false`, nil,
		},
		{
			"a budget",
			llm.Request{Messages: user, Reasoning: &llm.Effort{Budget: 2000, Show: "summarized"}},
			wire.Target{Model: "gpt-5.1"},
			hi + `,"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"],"store":false`, nil,
		},
		{
			"results",
			llm.Request{Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{
				{Kind: llm.ToolResult, Result: &llm.Result{CallID: "1", Content: []llm.Part{text("a"), text("b")}, Error: true}},
				{Kind: llm.ToolResult, Result: &llm.Result{CallID: "2", Content: []llm.Part{text("a"), {Kind: llm.Image, Media: &llm.Media{Type: "image/jpeg", Data: "AA"}}}}},
				{Kind: llm.ToolResult, Result: &llm.Result{CallID: "3"}},
				text("go on"),
			}}}},
			wire.Target{},
			`"input":[{"type":"function_call_output","call_id":"1","output":"a\nb"},` +
				`{"type":"function_call_output","call_id":"2","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/jpeg;base64,AA","detail":"auto"}]},` +
				`{"type":"function_call_output","call_id":"3","output":""},` +
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}],"store":false`,
			[]string{"tool_result_error"},
		},
		{
			"media",
			llm.Request{Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{
				{Kind: llm.Document, Media: &llm.Media{Data: "AA", Type: "application/pdf"}},
				{Kind: llm.Document, Media: &llm.Media{URL: "https://e.org/a.pdf"}},
				{Kind: llm.Document, Media: &llm.Media{PlainText: "plain"}},
				{Kind: llm.Image, Media: &llm.Media{FileID: "f", Vendor: llm.Anthropic}},
				{Kind: llm.Audio, Media: &llm.Media{Data: "AA", Transcript: "said"}},
				{Kind: llm.Video, Media: &llm.Media{Data: "AA"}},
			}}}},
			wire.Target{},
			`"input":[{"type":"message","role":"user","content":[{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,AA"},` +
				`{"type":"input_file","file_url":"https://e.org/a.pdf"},{"type":"input_text","text":"plain"},{"type":"input_text","text":"said"}]}],"store":false`,
			[]string{"file_ids", "audio", "video"},
		},
		{
			"thoughts",
			llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Content: []llm.Part{
				{Kind: llm.Reasoning, Text: "own", Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gA", ID: "rs_1"}},
				{Kind: llm.Reasoning, Text: "another's", Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "x"}},
				{Kind: llm.Reasoning, Text: "open"},
				text("a"),
				{Kind: llm.Refusal, Text: "no"},
				{Kind: llm.ToolCall, Call: &llm.Call{ID: strings.Repeat("i", 40) + strings.Repeat("j", 40), Name: "f"}},
			}}}},
			wire.Target{Vendor: llm.OpenAI},
			`"input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"own"}],"encrypted_content":"gA"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"no"}]},` +
				`{"type":"function_call","call_id":"` + strings.Repeat("i", 32) + strings.Repeat("j", 32) + `","name":"f","arguments":"{}"}],"store":false`,
			[]string{"reasoning_signature", "reasoning"},
		},
		{
			"thoughts where they have a place",
			llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Content: []llm.Part{{Kind: llm.Reasoning, Text: "open"}, text("a")}}}},
			wire.Target{Quirks: wire.Quirks{ReasoningField: "reasoning"}},
			`"input":[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"open"}]},` +
				`{"type":"message","role":"assistant","content":"a"}],"store":false`, nil,
		},
		{
			"tools",
			llm.Request{Messages: user, Tools: []llm.Tool{
				{Name: "f"},
				{Name: "g", Custom: true, Description: "d"},
				{Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "bash"}},
			}, Choice: llm.ToolChoice{How: llm.Auto, Only: []string{"f", "g"}}},
			wire.Target{},
			hi + `,"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false},{"type":"custom","name":"g","description":"d"}],` +
				`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]},"store":false`,
			[]string{"server_tools"},
		},
	} {
		c.q.Dropped = &llm.Dropped{}
		got := encoded(t, &c.q, c.target)
		model, err := json.Marshal(c.target.Model)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"model":` + string(model) + `,` + c.want + `}`; got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
		if diff := cmp.Diff(c.dropped, c.q.Dropped.Names()); diff != "" {
			t.Errorf("%s: dropped\n%s", c.name, diff)
		}
	}
	if _, err := (Responses{}).EncodeRequest(nil, &llm.Request{}, &openAI); err == nil {
		t.Error("an empty conversation was encoded")
	}
}
