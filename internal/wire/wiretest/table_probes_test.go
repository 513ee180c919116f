package wiretest_test

import (
	"encoding/base64"
	"strings"
)

// probe is a request with one feature.
type probe struct {
	client string
	// feature is the row, field what clients know it by.
	feature, field string
	body           string
	// marker is a text that stands in the request for an upstream to which the feature goes; empty: it is said in other words.
	marker string
	// thinks: it is asked of a model that thinks.
	thinks bool
}

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	paper = "JVBERi0xLjQKJSVFT0YK"
	sound = "UklGRiQAAABXQVZF"
	tool  = `{"name":"look","description":"d","SCHEMA":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}}`
)

// Functions as each client declares them.
func chatTool() string {
	return `{"type":"function","function":` + strings.Replace(tool, "SCHEMA", "parameters", 1) + `}`
}
func messagesTool() string { return strings.Replace(tool, "SCHEMA", "input_schema", 1) }
func responsesTool() string {
	return `{"type":"function",` + strings.Replace(tool[1:], "SCHEMA", "parameters", 1)
}

func geminiTool() string {
	return `{"functionDeclarations":[` + strings.Replace(tool, "SCHEMA", "parameters", 1) + `]}`
}

// with is a request of one client that has members more than the question, which is a text.
func with(client, members string) string {
	if members != "" {
		members = "," + members
	}
	switch client {
	case "chat":
		return `{"model":"m","messages":[{"role":"user","content":"Hi"}]` + members + `}`
	case "messages":
		return `{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":"Hi"}]` + members + `}`
	case "responses":
		return `{"model":"m","input":"Hi"` + members + `}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]` + members + `}`
}

// part is a request whose question has a part more than its text.
func part(client, p string) string {
	switch client {
	case "chat":
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},` + p + `]}]}`
	case "messages":
		return `{"model":"m","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},` + p + `]}]}`
	case "responses":
		return `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"},` + p + `]}]}`
	}
	return `{"contents":[{"role":"user","parts":[{"text":"Hi"},` + p + `]}]}`
}

// after is a request with a history: what the model said, and the next question.
func after(client, said string) string {
	switch client {
	case "chat":
		return `{"model":"m","reasoning_effort":"low","messages":[{"role":"user","content":"Hi"},{"role":"assistant",` + said + `},{"role":"user","content":"Go on"}]}`
	case "messages":
		return `{"model":"m","max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[` + said + `,{"type":"text","text":"Well."}]},{"role":"user","content":"Go on"}]}`
	case "responses":
		return `{"model":"m","reasoning":{"effort":"low"},"input":[{"role":"user","content":"Hi"},` + said + `,{"role":"assistant","content":"Well."},{"role":"user","content":"Go on"}]}`
	}
	return `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[` + said + `]},{"role":"user","parts":[{"text":"Go on"}]}]}`
}

// wrapped is a seal as Evergate gives it to a client of another vendor's dialect.
func wrapped(vendor, kind, data string) string {
	return base64.StdEncoding.EncodeToString([]byte("evergate1|" + vendor + "|" + kind + "||" + data))
}

func sealed(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// probes are all that there are, in the order of the tables.
func probes() []probe {
	return append(append(append(chatProbes(), messagesProbes()...), responsesProbes()...), geminiProbes()...)
}

func chatProbes() []probe {
	const c = "chat"
	w := func(m string) string { return with(c, m) }
	tools := func(more string) string { return w(`"tools":[` + chatTool() + `],` + more) }
	schema := `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"marker7":{"type":"string"}},"required":["marker7"],"additionalProperties":false}`
	return []probe{
		{c, "system prompt", "messages", `{"model":"m","messages":[{"role":"system","content":"marker7"},{"role":"user","content":"Hi"}]}`, "marker7", false},
		{c, "names of participants", "messages.name", `{"model":"m","messages":[{"role":"user","name":"marker7","content":"Hi"}]}`, "marker7", false},
		{c, "images as data", "image_url", part(c, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`+pixel+`"}}`), pixel, false},
		{c, "images by URL", "image_url", part(c, `{"type":"image_url","image_url":{"url":"https://example.org/marker7.png"}}`), "marker7", false},
		{c, "how closely to look", "image_url.detail", part(c, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`+pixel+`","detail":"low"}}`), `"low"`, false},
		{c, "documents as data", "file.file_data", part(c, `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,`+paper+`"}}`), paper, false},
		{c, "uploaded files", "file.file_id", part(c, `{"type":"file","file":{"file_id":"file-marker7"}}`), "marker7", false},
		{c, "spoken input", "input_audio", part(c, `{"type":"input_audio","input_audio":{"data":"`+sound+`","format":"wav"}}`), sound, false},
		{c, "functions", "tools", tools(`"tool_choice":"auto"`), `"look"`, false},
		{c, "some tool must be called", "tool_choice: required", tools(`"tool_choice":"required"`), "", false},
		{c, "one tool must be called", "tool_choice: function", tools(`"tool_choice":{"type":"function","function":{"name":"look"}}`), "", false},
		{c, "some of the tools only", "tool_choice: allowed_tools", w(`"tools":[` + chatTool() + `,` + strings.Replace(chatTool(), "look", "other", 1) + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"look"}}]}}`), "", false},
		{c, "one call at a time", "parallel_tool_calls: false", tools(`"parallel_tool_calls":false`), "", false},
		{c, "strict functions", "strict", w(`"tools":[` + strings.Replace(chatTool(), `"d"`, `"d","strict":true`, 1) + `]`), "", false},
		{c, "tools that take text", "tools: custom", w(`"tools":[{"type":"custom","custom":{"name":"patch","description":"d"}}]`), "patch", false},
		{c, "web search", "web_search_options", w(`"web_search_options":{}`), "", false},
		{c, "any JSON", "response_format: json_object", w(`"response_format":{"type":"json_object"}`), "", false},
		{c, "JSON by a schema", "response_format: json_schema", w(schema + `}}`), "marker7", false},
		{c, "strictly by a schema", "response_format: strict", w(schema + `,"strict":true}}`), "marker7", false},
		{c, "limit of the output", "max_completion_tokens", w(`"max_completion_tokens":4711`), "4711", false},
		{c, "temperature", "temperature", w(`"temperature":0.375`), "0.375", false},
		{c, "nucleus", "top_p", w(`"top_p":0.375`), "0.375", false},
		{c, "top k", "top_k", w(`"top_k":47`), "47", false},
		{c, "least probability", "min_p", w(`"min_p":0.375`), "0.375", false},
		{c, "seed", "seed", w(`"seed":4711`), "4711", false},
		{c, "frequency penalty", "frequency_penalty", w(`"frequency_penalty":0.375`), "0.375", false},
		{c, "presence penalty", "presence_penalty", w(`"presence_penalty":0.375`), "0.375", false},
		{c, "stop sequences", "stop", w(`"stop":["marker7"]`), "marker7", false},
		{c, "several answers", "n", w(`"n":7`), `":7`, false},
		{c, "probabilities of tokens", "logprobs", w(`"logprobs":true`), "", false},
		{c, "probabilities of other tokens", "top_logprobs", w(`"logprobs":true,"top_logprobs":7`), `":7`, false},
		{c, "bias of tokens", "logit_bias", w(`"logit_bias":{"4711":-5}`), "4711", false},
		{c, "effort of thinking", "reasoning_effort", w(`"reasoning_effort":"low"`), "", true},
		{c, "no thinking", "reasoning_effort: none", w(`"reasoning_effort":"none"`), "", true},
		{c, "thoughts in the history", "reasoning_content", after(c, `"content":"Well.","reasoning_content":"marker7"`), "marker7", true},
		{c, "Claude's signed thoughts", "reasoning_details", after(c, `"content":"Well.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"`+sealed("marker7")+`","format":"anthropic-claude-v1","index":0}]`), sealed("marker7"), true},
		{c, "OpenAI's encrypted thoughts", "reasoning_details", after(c, `"content":"Well.","reasoning_details":[{"type":"reasoning.encrypted","data":"gAAAmarker7","id":"rs_1","format":"openai-responses-v1","index":0}]`), "gAAAmarker7", true},
		{c, "Gemini's signatures", "extra_content", after(c, `"content":"Well.","extra_content":{"google":{"thought_signature":"`+sealed("marker7")+`"}}`), sealed("marker7"), true},
		{c, "length of words", "verbosity", w(`"verbosity":"low"`), `"low"`, true},
		{c, "spoken output", "modalities, audio", w(`"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}`), "AUDIO", false},
		{c, "predicted output", "prediction", w(`"prediction":{"type":"content","content":"marker7"}`), "marker7", false},
		{c, "service tier", "service_tier: flex", w(`"service_tier":"flex"`), `"flex"`, false},
		{c, "end user", "user", w(`"user":"marker7"`), "marker7", false},
		{c, "labels", "metadata", w(`"metadata":{"team":"marker7"}`), "marker7", false},
		{c, "keep the answer", "store", w(`"store":true`), "", false},
		{c, "key of the prompt cache", "prompt_cache_key", w(`"prompt_cache_key":"marker7"`), "marker7", false},
		{c, "marks for the prompt cache", "cache_control", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]}`, "", false},
	}
}

func messagesProbes() []probe {
	const c = "messages"
	w := func(m string) string { return with(c, m) }
	tools := func(more string) string { return w(`"tools":[` + messagesTool() + `],` + more) }
	result := func(r string) string {
		return `{"model":"m","max_tokens":8192,"tools":[` + messagesTool() + `],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",` + r + `}]}]}`
	}
	return []probe{
		{c, "system prompt", "system", w(`"system":[{"type":"text","text":"marker7"}]`), "marker7", false},
		{c, "images as data", "image: base64", part(c, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+pixel+`"}}`), pixel, false},
		{c, "images by URL", "image: url", part(c, `{"type":"image","source":{"type":"url","url":"https://example.org/marker7.png"}}`), "marker7", false},
		{c, "uploaded images", "image: file", part(c, `{"type":"image","source":{"type":"file","file_id":"file_marker7"}}`), "marker7", false},
		{c, "documents as data", "document: base64", part(c, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`+paper+`"}}`), paper, false},
		{c, "documents by URL", "document: url", part(c, `{"type":"document","source":{"type":"url","url":"https://example.org/marker7.pdf"}}`), "marker7", false},
		{c, "documents as text", "document: text", part(c, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"marker7"}}`), "", false},
		{c, "citations of documents", "citations", part(c, `{"type":"document","citations":{"enabled":true},"source":{"type":"base64","media_type":"application/pdf","data":"`+paper+`"}}`), "", false},
		{c, "search results", "search_result", part(c, `{"type":"search_result","source":"https://example.org","title":"t","content":[{"type":"text","text":"marker7"}]}`), "marker7", false},
		{c, "functions", "tools", tools(`"tool_choice":{"type":"auto"}`), `"look"`, false},
		{c, "some tool must be called", "tool_choice: any", tools(`"tool_choice":{"type":"any"}`), "", false},
		{c, "one tool must be called", "tool_choice: tool", tools(`"tool_choice":{"type":"tool","name":"look"}`), "", false},
		{c, "one call at a time", "disable_parallel_tool_use", tools(`"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`), "", false},
		{c, "strict functions", "strict", w(`"tools":[` + strings.Replace(messagesTool(), `"d"`, `"d","strict":true`, 1) + `]`), "", false},
		{c, "images in results", "tool_result", result(`"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]`), pixel, false},
		{c, "results that are errors", "is_error", result(`"is_error":true,"content":"marker7"`), "marker7", false},
		{c, "web search", "tools: web_search", w(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "", false},
		{c, "what server tools did", "server_tool_use", after(c, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"marker7"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), "", true},
		{c, "MCP servers", "mcp_servers", w(`"mcp_servers":[{"type":"url","url":"https://example.org/sse","name":"x"}]`), "", false},
		{c, "containers", "container", w(`"container":"container_1"`), "", false},
		{c, "context management", "context_management", w(`"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`), "", false},
		{c, "JSON by a schema", "output_config.format", w(`"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"marker7":{"type":"string"}},"required":["marker7"],"additionalProperties":false}}}`), "marker7", false},
		{c, "limit of the output", "max_tokens", `{"model":"m","max_tokens":4711,"messages":[{"role":"user","content":"Hi"}]}`, "4711", false},
		{c, "temperature", "temperature", w(`"temperature":0.375`), "0.375", false},
		{c, "nucleus", "top_p", w(`"top_p":0.375`), "0.375", false},
		{c, "top k", "top_k", w(`"top_k":47`), "47", false},
		{c, "stop sequences", "stop_sequences", w(`"stop_sequences":["marker7"]`), "marker7", false},
		{c, "budget of thinking", "thinking: enabled", w(`"thinking":{"type":"enabled","budget_tokens":2048}`), "", true},
		{c, "effort of thinking", "output_config.effort", w(`"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`), "", true},
		{c, "no thinking", "thinking: disabled", w(`"thinking":{"type":"disabled"}`), "", true},
		{c, "Claude's signed thoughts", "thinking", after(c, `{"type":"thinking","thinking":"Hm.","signature":"`+sealed("marker7")+`"}`), sealed("marker7"), true},
		{c, "Claude's redacted thoughts", "redacted_thinking", after(c, `{"type":"redacted_thinking","data":"`+sealed("marker7")+`"}`), "", true},
		{c, "OpenAI's encrypted thoughts", "thinking", after(c, `{"type":"thinking","thinking":"Hm.","signature":"`+wrapped("openai", "e", "gAAAmarker7")+`"}`), "gAAAmarker7", true},
		{c, "service tier", "service_tier", w(`"service_tier":"standard_only"`), "", false},
		{c, "end user", "metadata.user_id", w(`"metadata":{"user_id":"marker7"}`), "marker7", false},
		{c, "marks for the prompt cache", "cache_control", part(c, `{"type":"text","text":"there","cache_control":{"type":"ephemeral"}}`), "", false},
		{c, "how long to cache", "cache_control.ttl", part(c, `{"type":"text","text":"there","cache_control":{"type":"ephemeral","ttl":"1h"}}`), `"1h"`, false},
		{c, "where to compute", "inference_geo", w(`"inference_geo":"us"`), "", false},
	}
}
