package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// decoded reads a request of which the members are given.
func decoded(t *testing.T, members string) *llm.Request {
	t.Helper()
	q, err := decodeMembers(members)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func decodeMembers(members string) (*llm.Request, error) {
	body := `{"model":"m","max_tokens":9,` + members + `}`
	if !strings.Contains(members, `"messages"`) {
		body = `{"messages":[{"role":"user","content":"q"}],` + body[1:]
	}
	r, err := Messages{}.ReadRequest([]byte(body))
	if err != nil {
		return nil, err
	}
	return Messages{}.DecodeRequest(&r)
}

func TestDecodeContent(t *testing.T) {
	t.Parallel()
	wrapped := llm.Wrap(&llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "sig"})
	hidden := llm.Wrap(&llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAA", ID: "rs_1"})
	for name, c := range map[string]struct {
		content string
		role    string
		want    []llm.Part
		dropped []string
	}{
		"a string":           {content: `"hi"`, want: []llm.Part{text("hi")}},
		"text with a marker": {content: `[{"text":"a","cache_control":{"type":"ephemeral","ttl":"1h"},"type":"text"}]`, want: []llm.Part{{Kind: llm.Text, Text: "a", Cache: &llm.Cache{TTL: "1h"}}}},
		"text with citations": {
			content: `[{"type":"text","text":"a","citations":[{"type":"web_search_result_location","url":"u","title":null,"cited_text":"q","encrypted_index":"x"},` +
				`{"type":"page_location","document_title":"d","cited_text":"r","document_index":0,"start_page_number":1,"end_page_number":2},` +
				`{"type":"search_result_location","source":"https://s","title":"t","cited_text":"v"}]}]`,
			want: []llm.Part{{Kind: llm.Text, Text: "a", Citations: []llm.Citation{{URL: "u", Quote: "q"}, {Title: "d", Quote: "r"}, {URL: "https://s", Title: "t", Quote: "v"}}}},
		},
		"images": {
			content: `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"image","source":{"type":"url","url":"u"}},{"type":"image","source":{"type":"file","file_id":"f"}}]`,
			want: []llm.Part{
				{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "AA=="}},
				{Kind: llm.Image, Media: &llm.Media{URL: "u"}},
				{Kind: llm.Image, Media: &llm.Media{FileID: "f", Vendor: llm.Anthropic}},
			},
		},
		"documents": {
			content: `[{"type":"document","title":"t","context":"c","citations":{"enabled":true},"source":{"type":"base64","media_type":"application/pdf","data":"JVBERi"}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"}},{"type":"document","source":{"type":"url","url":"u"}},` +
				`{"type":"document","source":{"type":"content","content":"inline"}},{"type":"document","citations":{"enabled":false},"source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}},` +
				`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"u"}}]}},{"type":"document","source":{"type":"file","file_id":"f"}}]`,
			want: []llm.Part{
				{Kind: llm.Document, Media: &llm.Media{Type: "application/pdf", Data: "JVBERi", Name: "t"}},
				{Kind: llm.Document, Media: &llm.Media{Type: "text/plain", PlainText: "plain"}},
				{Kind: llm.Document, Media: &llm.Media{URL: "u"}},
				{Kind: llm.Document, Media: &llm.Media{Type: "text/plain", PlainText: "inline"}},
				{Kind: llm.Document, Media: &llm.Media{Type: "text/plain", PlainText: "a\n\nb"}},
				text("a"),
				{Kind: llm.Image, Media: &llm.Media{URL: "u"}},
				{Kind: llm.Document, Media: &llm.Media{FileID: "f", Vendor: llm.Anthropic}},
			},
			dropped: []string{"context", llm.DropCitations},
		},
		"a search result": {
			content: `[{"type":"search_result","source":"https://s","title":"T","content":[{"type":"text","text":"found"}],"citations":{"enabled":true}}]`,
			want:    []llm.Part{{Kind: llm.Document, Media: &llm.Media{Type: "text/plain", Name: "T", PlainText: "Source: https://s\n\nfound"}}},
			dropped: []string{llm.DropCitations},
		},
		"results": {
			content: `[{"type":"tool_result","tool_use_id":"a","content":"ok"},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no"},` +
				`{"type":"image","source":{"type":"url","url":"u"}},{"type":"tool_reference","tool_name":"x"}]},{"type":"tool_result","tool_use_id":"c"},{"type":"tool_result","tool_use_id":"d","content":null}]`,
			want: []llm.Part{
				result("a", text("ok")),
				{Kind: llm.ToolResult, Result: &llm.Result{CallID: "b", Error: true, Content: []llm.Part{
					text("no"),
					{Kind: llm.Image, Media: &llm.Media{URL: "u"}},
					{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "tool_reference", Raw: []byte(`{"type":"tool_reference","tool_name":"x"}`)}},
				}}},
				result("c"), result("d"),
			},
		},
		"calls": {
			role:    "assistant",
			content: `[{"type":"tool_use","id":"a","name":"f","input":{"b":1.0, "a":"\u00e9"},"caller":{"type":"direct"}},{"type":"tool_use","id":"b","name":"g","input":{}}]`,
			want:    []llm.Part{call("a", "f", `{"b":1.0, "a":"\u00e9"}`), call("b", "g", "{}")},
		},
		"thoughts, the vendor's own": {
			role:    "assistant",
			content: `[{"type":"thinking","thinking":"t","signature":"s+/="},{"type":"thinking","thinking":"","signature":""},{"type":"redacted_thinking","data":"d"}]`,
			want:    []llm.Part{thought(llm.Anthropic, llm.Signed, "t", "s+/="), {Kind: llm.Reasoning}, thought(llm.Anthropic, llm.Redacted, "", "d")},
		},
		"thoughts of others that were wrapped": {
			role: "assistant",
			content: `[{"type":"thinking","thinking":"t","signature":"` + wrapped + `"},{"type":"redacted_thinking","data":"` + hidden + `"},` +
				`{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"redacted_thinking","data":"` + wrapped + `"},` +
				`{"type":"redacted_thinking","data":"` + hidden + `"}]`,
			want: []llm.Part{
				thought(llm.Google, llm.Signed, "t", "sig"),
				{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAA", ID: "rs_1"}},
				{
					Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "f", Arguments: "{}"},
					Signature: &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "sig"},
				},
				{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAA", ID: "rs_1"}},
			},
		},
		"what only the vendor understands": {
			role:    "assistant",
			content: `[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"hologram","x":[1]}]`,
			want: []llm.Part{
				{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte(`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}`)}},
				{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "hologram", Raw: []byte(`{"type":"hologram","x":[1]}`)}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := c.role
			if role == "" {
				role = "user"
			}
			q := decoded(t, `"messages":[{"role":"`+role+`","content":`+c.content+`}]`)
			if diff := cmp.Diff(c.want, q.Messages[0].Content) + cmp.Diff(c.dropped, q.Dropped.Names()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeFields(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object", "b":1, "a":2}`)
	for name, c := range map[string]struct {
		members string
		want    func(*llm.Request)
		dropped []string
	}{
		"system as text":   {members: `"system":"S"`, want: func(q *llm.Request) { q.System = []llm.Part{text("S")} }},
		"system as blocks": {members: `"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}]`, want: func(q *llm.Request) { q.System = []llm.Part{{Kind: llm.Text, Text: "S", Cache: &llm.Cache{}}} }},
		"system turns": {
			members: `"messages":[{"role":"system","content":"A"},{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"system","content":[{"type":"text","text":"B"}]},{"role":"user","content":"r"}],"system":"S"`,
			want: func(q *llm.Request) {
				q.System = []llm.Part{text("S"), text("A")}
				q.Messages = []llm.Message{user(text("q")), assistant(text("a")), late("B"), user(text("r"))}
			},
		},
		"numbers": {members: `"temperature":0.5,"top_p":1,"top_k":3,"stop_sequences":["a","b"]`, want: func(q *llm.Request) {
			q.Temperature, q.TopP, q.TopK, q.Stop = pointer(0.5), pointer(1.0), pointer(int64(3)), []string{"a", "b"}
		}},
		"nulls":              {members: `"temperature":null,"system":null,"tools":null,"tool_choice":null,"thinking":null,"metadata":null,"stop_sequences":null,"container":null`},
		"user, tier, cache":  {members: `"metadata":{"user_id":"u","team":"t","x":null},"service_tier":"standard_only","cache_control":{"type":"ephemeral"}`, want: func(q *llm.Request) { q.User, q.ServiceTier, q.Cache = "u", "standard_only", &llm.Cache{} }, dropped: []string{"metadata.team"}},
		"thinking by budget": {members: `"thinking":{"type":"enabled","budget_tokens":2000,"display":"omitted"}`, want: func(q *llm.Request) { q.Reasoning = &llm.Effort{Budget: 2000, Show: "none", Sealed: true} }},
		"thinking adaptive": {members: `"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`, want: func(q *llm.Request) {
			q.Reasoning = &llm.Effort{Budget: -1, Level: "high", Show: "summarized", Sealed: true}
		}},
		"thinking off":          {members: `"thinking":{"type":"disabled"}`, want: func(q *llm.Request) { q.Reasoning = &llm.Effort{Off: true} }},
		"effort alone":          {members: `"output_config":{"effort":"low","task_budget":{"type":"tokens","total":5000}}`, want: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "low", Sealed: true} }, dropped: []string{"output_config.task_budget"}},
		"a format":              {members: `"output_config":{"format":{"type":"json_schema","schema":` + string(schema) + `}}`, want: func(q *llm.Request) { q.Format = llm.Format{Kind: llm.JSONSchema, Schema: schema} }},
		"a format, the old way": {members: `"output_format":{"type":"json_schema","schema":` + string(schema) + `}`, want: func(q *llm.Request) { q.Format = llm.Format{Kind: llm.JSONSchema, Schema: schema} }},
		"what there is no word for": {
			members: `"container":"c","mcp_servers":[{"name":"x"}],"context_management":{"edits":[]},"betas":["b"],"speed":"fast","inference_geo":"eu","anthropic_version":"2023-06-01","future":1,"nothing":{}`,
			dropped: []string{"container", "mcp_servers", "context_management", "betas", "speed", "inference_geo", "future"},
		},
		"tools": {
			members: `"tools":[{"name":"f","description":"d","input_schema":` + string(schema) + `,"strict":true,"cache_control":{"type":"ephemeral"},"eager_input_streaming":true,"allowed_callers":["direct"]},` +
				`{"type":"custom","name":"g","input_schema":{}},{"type":"web_search_20250305","name":"web_search","max_uses":3},{"type":"mcp_toolset","mcp_server_name":"s"}]`,
			want: func(q *llm.Request) {
				q.Tools = []llm.Tool{
					{Name: "f", Description: "d", Schema: schema, Strict: pointer(true), Cache: &llm.Cache{}},
					{Name: "g", Schema: []byte(`{}`)},
					{Name: "web_search", Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "web_search_20250305", Raw: []byte(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`)}},
					{Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "mcp_toolset", Raw: []byte(`{"type":"mcp_toolset","mcp_server_name":"s"}`)}},
				}
			},
			dropped: []string{"eager_input_streaming"},
		},
		"choice auto": {members: `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, want: func(q *llm.Request) { q.Choice.How, q.Parallel = llm.Auto, pointer(false) }},
		"choice any":  {members: `"tool_choice":{"type":"any","disable_parallel_tool_use":false}`, want: func(q *llm.Request) { q.Choice.How, q.Parallel = llm.Required, pointer(true) }},
		"choice tool": {members: `"tool_choice":{"type":"tool","name":"f"}`, want: func(q *llm.Request) { q.Choice = llm.ToolChoice{How: llm.Named, Name: "f"} }},
		"choice none": {members: `"tool_choice":{"type":"none"}`, want: func(q *llm.Request) { q.Choice.How = llm.None }},
		"a reply sent back": {members: `"messages":[{"role":"user","content":"q"},{"id":"msg_1","type":"message","model":"m","usage":{"x":1},"role":"assistant","content":"a","stop_reason":"end_turn","stop_sequence":null}]`, want: func(q *llm.Request) {
			q.Messages = []llm.Message{user(text("q")), assistant(text("a"))}
		}},
		"results know the tool's name": {
			members: `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}]`,
			want: func(q *llm.Request) {
				r := result("a", text("r"))
				r.Result.Name = "f"
				q.Messages = []llm.Message{assistant(call("a", "f", "{}")), user(r)}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := &llm.Request{Model: "m", StreamUsage: true, MaxTokens: 9, Messages: []llm.Message{user(text("q"))}}
			if c.want != nil {
				c.want(want)
			}
			got := decoded(t, c.members)
			dropped := got.Dropped.Names()
			got.Dropped = nil
			if diff := cmp.Diff(want, got) + cmp.Diff(c.dropped, dropped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeMistakes(t *testing.T) {
	t.Parallel()
	for members, param := range map[string]string{
		`"max_tokens":"x"`: "max_tokens", `"max_tokens":0`: "max_tokens", `"max_tokens":1.5`: "max_tokens",
		`"temperature":"hot"`: "temperature", `"top_k":-1`: "top_k", `"stop_sequences":"x"`: "stop_sequences", `"stop_sequences":[1]`: "stop_sequences",
		`"metadata":1`: "metadata", `"metadata":{"user_id":1}`: "metadata.user_id", `"service_tier":1`: "service_tier",
		`"system":1`: "system", `"system":[{"type":"image","source":{}}]`: "system.0.type",
		`"messages":[]`: "messages", `"messages":[1]`: "messages.0", `"messages":[{"content":"q"}]`: "messages.0.role", `"messages":[{"role":"tool","content":"q"}]`: "messages.0.role",
		`"messages":[{"role":"user"}]`: "messages.0.content", `"messages":[{"role":"user","content":null}]`: "messages.0.content", `"messages":[{"role":"user","content":1}]`: "messages.0.content",
		`"messages":[{"role":"user","content":["x"]}]`: "messages.0.content.0", `"messages":[{"role":"user","content":[{"text":"x"}]}]`: "messages.0.content.0.type",
		`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"ftp"}}]}]`:                              "messages.0.content.0.source",
		`"messages":[{"role":"user","content":[{"type":"document"}]}]`:                                                   "messages.0.content.0.source",
		`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]}]`: "messages.0.content.0.content.0.source",
		`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","input":{}}]}]`:                          "messages.0.content.0.name",
		`"tools":{}`: "tools", `"tools":[1]`: "tools.0", `"tools":[{"input_schema":{}}]`: "tools.0.name", `"tools":[{"name":"f","input_schema":"x"}]`: "tools.0.input_schema",
		`"tool_choice":"auto"`: "tool_choice", `"tool_choice":{"type":"required"}`: "tool_choice.type", `"tool_choice":{"type":"tool"}`: "tool_choice.name",
		`"thinking":true`: "thinking", `"thinking":{"type":"on"}`: "thinking.type", `"thinking":{"type":"enabled"}`: "thinking.budget_tokens", `"thinking":{"type":"enabled","budget_tokens":"x"}`: "thinking.budget_tokens",
		`"output_config":1`: "output_config", `"output_config":{"effort":1}`: "output_config.effort", `"output_config":{"format":1}`: "output_config.format",
		`"output_config":{"format":{"type":"text","schema":{}}}`: "output_config.format.type", `"output_config":{"format":{"type":"json_schema"}}`: "output_config.format.schema",
		`"output_format":{"type":"json_schema","schema":[]}`: "output_format.schema",
	} {
		_, err := decodeMembers(members)
		var bad *wire.RequestError
		if !errors.As(err, &bad) || bad.Param != param || !strings.Contains(bad.Message, `"`) {
			t.Errorf("%s: %v, want a mistake in %s", members, err, param)
		}
	}
	r, err := Messages{}.ReadRequest([]byte(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	var bad *wire.RequestError
	if _, err = (Messages{}).DecodeRequest(&r); !errors.As(err, &bad) || bad.Param != "messages" {
		t.Error(err)
	}
	r, _ = Messages{}.ReadRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"q"}]}`))
	if _, err = (Messages{}).DecodeRequest(&r); !errors.As(err, &bad) || bad.Param != "max_tokens" {
		t.Errorf("without max_tokens: %v", err)
	}
	if q, err := (CountTokens{}).DecodeCounted(&r); err != nil || llm.Estimate(q) < 5 {
		t.Errorf("a count without max_tokens: %v", err)
	}
}
