package openaichat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// What each request means, in golden files.
func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text": `{"model":"m","messages":[{"role":"user","content":"Hi \u00e9 \ud83d\ude00"}]}`,
		"every setting": `{"model":"m","stream":true,"stream_options":{"include_usage":true,"include_obfuscation":true},"n":3,
			"max_completion_tokens":100,"max_tokens":50,"temperature":0.2,"top_p":0.9,"top_k":40,"min_p":0.05,"frequency_penalty":-1,"presence_penalty":1.5,
			"seed":-7,"stop":["a","b"],"logprobs":true,"top_logprobs":5,"logit_bias":{"50256":-100},"metadata":{"k":"v"},"user":"u","safety_identifier":"s",
			"store":false,"service_tier":"flex","prompt_cache_key":"k","prompt_cache_retention":"24h","verbosity":"low","reasoning_effort":"high",
			"modalities":["text","audio"],"audio":{"voice":"alloy","format":"pcm16"},"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":true,"schema":{"type":"object", "x":1.0}}},
			"parallel_tool_calls":false,"messages":[{"role":"user","content":"x"}]}`,
		"what is lost": `{"model":"m","messages":[{"role":"user","content":"x","mood":"glad"}],"prediction":{"type":"content","content":"x"},"web_search_options":{},
			"moderation":{"model":"x"},"repetition_penalty":1.1,"top_a":0,"transforms":["middle-out"],"plugins":[],"route":null,"n":1,"extra_body":{"a":1},
			"provider":{"order":["a"]},"models":["b"],"audio":{"voice":{"id":"v"},"format":"wav"},"prompt_cache_options":{"mode":"explicit"},"logprobs":false,"store":true}`,
		"system prompts": `{"model":"m","messages":[{"role":"system","content":"A"},{"role":"developer","name":"dev","content":[{"type":"text","text":"B"},{"type":"text","text":"C","cache_control":{"type":"ephemeral","ttl":"1h"}}]},
			{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"system","content":"LATE"},{"role":"user","name":"bob","content":"q2"}]}`,
		"media": `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"look"},
			{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/"}},{"type":"image_url","image_url":"data:image/gif;charset=x;base64,R0lG"},
			{"type":"input_audio","input_audio":{"data":"UklG","format":"mp3"}},
			{"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"}},{"type":"file","file":{"file_data":"JVBE"}},
			{"type":"file","file":{"file_data":"https://x/a.pdf"}},{"type":"video_url","video_url":{"url":"https://x/v.mp4"}}]}]}`,
		"tools": `{"model":"m","tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,"parameters":{"type":"object", "properties":{"b":{},"a":{}}}},"cache_control":{"type":"ephemeral"}},
			{"type":"function","function":{"name":"g"}},{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}}},
			{"type":"custom","custom":{"name":"t","description":"free","format":{"type":"text"}}},{"type":"openrouter:web_search","parameters":{"max_uses":1}}],"tool_choice":"required",
			"messages":[{"role":"user","content":"x"}]}`,
		"tool history": `{"model":"m","messages":[{"role":"user","content":"both"},
			{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"w","arguments":"{\"c\":\"P\"}"}},{"id":"b","type":"function","function":{"name":"t","arguments":""}},{"id":"c","type":"custom","custom":{"name":"p","input":"raw text"}}]},
			{"role":"tool","tool_call_id":"a","content":"sunny"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"12"},{"type":"image_url","image_url":{"url":"https://x"}}],"cache_control":{"type":"ephemeral"}},{"role":"tool","tool_call_id":"c","content":"","name":"pp"},
			{"role":"user","content":"and?"}]}`,
		"old functions": `{"model":"m","functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":{"name":"f"},"messages":[{"role":"user","content":"x"},
			{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"},
			{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}},{"role":"function","name":"f","content":"2"}]}`,
		"reasoning plain": `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"hm","content":"a"},{"role":"assistant","reasoning":"hm2","content":"b"},{"role":"user","content":"y"}]}`,
		"reasoning details": `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning":"one two","reasoning_details":[
			{"type":"reasoning.text","text":"one ","format":"anthropic-claude-v1","index":0},{"type":"reasoning.text","text":"two","index":0},{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0},
			{"type":"reasoning.encrypted","data":"cmVk","format":"anthropic-claude-v1","index":1},
			{"type":"reasoning.summary","summary":"sum","format":"openai-responses-v1","index":2,"id":"rs_1"},{"type":"reasoning.encrypted","data":"ZW5j","format":"openai-responses-v1","index":3,"id":"rs_1"},
			{"type":"reasoning.encrypted","data":"Z2dn","format":"google-gemini-v1","index":4,"id":"tool_1"}]}]}`,
		"reasoning seal beside plain text": `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning_content":"thought","reasoning_details":[{"type":"reasoning.encrypted","data":"cmVk","format":"anthropic-claude-v1"},{"type":"reasoning.text","signature":"c2ln"}]}]}`,
		"thinking blocks":                  `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning_content":"t1","thinking_blocks":[{"type":"thinking","thinking":"t1","signature":"c2ln"},{"type":"redacted_thinking","data":"cmVk"}]}]}`,
		"google signatures":                `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"said","extra_content":{"google":{"thought_signature":"dHh0"}},"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"k": 1}},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}]}`,
		"wrapped seals": `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","format":"unknown","data":` +
			quote(llm.Wrap(&llm.Seal{Vendor: llm.Cohere, Kind: llm.Signed, Data: "d", ID: "i"})) + `}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":` +
			quote(llm.Wrap(&llm.Seal{Vendor: llm.Amazon, Kind: llm.Encrypted, Data: "e"})) + `}}}]}]}`,
		"refusals":                  `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"refusal","refusal":"r1"}]},{"role":"assistant","content":null,"refusal":"r2"},{"role":"assistant","content":null}]}`,
		"a reply sent back":         `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a","refusal":null,"annotations":[],"audio":null,"tool_calls":null,"function_call":null,"reasoning_content":null}]}`,
		"spoken before":             `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"y"}]}`,
		"choice by name":            `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"f"}},"messages":[{"role":"user","content":"x"}]}`,
		"choice of custom":          `{"model":"m","tools":[{"type":"custom","custom":{"name":"p"}}],"tool_choice":{"type":"custom","custom":{"name":"p"}},"messages":[{"role":"user","content":"x"}]}`,
		"choice of what is allowed": `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"p"}},{"type":"function","name":"g"}]}},"messages":[{"role":"user","content":"x"}]}`,
		"choice as an object":       `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"auto"},"messages":[{"role":"user","content":"x"}]}`,
		"effort by openrouter":      `{"model":"m","reasoning":{"max_tokens":2000,"exclude":true,"summary":"auto"},"usage":{"include":true},"messages":[{"role":"user","content":"x"}]}`,
		"effort off":                `{"model":"m","reasoning":{"enabled":false},"messages":[{"role":"user","content":"x"}]}`,
		"effort on":                 `{"model":"m","reasoning":{"enabled":true},"messages":[{"role":"user","content":"x"}]}`,
		"effort only hidden":        `{"model":"m","reasoning":{"exclude":true},"messages":[{"role":"user","content":"x"}]}`,
		"effort none":               `{"model":"m","reasoning_effort":"none","messages":[{"role":"user","content":"x"}]}`,
		"effort by thinking":        `{"model":"m","thinking":{"type":"enabled","budget_tokens":3000,"display":"omitted"},"messages":[{"role":"user","content":"x"}]}`,
		"effort adaptive with word": `{"model":"m","thinking":{"type":"adaptive"},"reasoning_effort":"low","messages":[{"role":"user","content":"x"}]}`,
		"effort thinking off":       `{"model":"m","thinking":{"type":"disabled"},"messages":[{"role":"user","content":"x"}]}`,
		"json object":               `{"model":"m","response_format":{"type":"json_object"},"stop":"x","messages":[{"role":"user","content":"x"}]}`,
		"mistral thoughts":          `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"th"}]},{"type":"text","text":"a"}]}]}`,
		"nulls":                     `{"model":"m","stream":null,"stop":null,"tools":null,"tool_choice":null,"temperature":null,"max_tokens":null,"response_format":null,"logit_bias":{},"metadata":null,"messages":[{"role":"user","content":"x","name":null}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.Golden(t, "golden/decode/"+strings.ReplaceAll(name, " ", "-")+".txt", show(read(t, body)))
		})
	}
}

func quote(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// Mistakes name the place.
func TestDecodeRequestRefuses(t *testing.T) {
	t.Parallel()
	user := `{"role":"user","content":"x"}`
	for _, c := range []struct{ name, body, param, says string }{
		{"no messages", `{"model":"m","messages":[]}`, "messages", "empty"},
		{"message no object", `{"model":"m","messages":[` + user + `,"hi"]}`, "messages[1]", "must be an object, not a string"},
		{"no role", `{"model":"m","messages":[{"content":"x"}]}`, "messages[0].role", "missing"},
		{"odd role", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, "messages[0].role", `not "robot"`},
		{"no content", `{"model":"m","messages":[` + user + `,{"role":"user"}]}`, "messages[1].content", "missing"},
		{"content number", `{"model":"m","messages":[{"role":"user","content":7}]}`, "messages[0].content", "a string or an array of parts, not a number"},
		{"part number", `{"model":"m","messages":[{"role":"user","content":[7]}]}`, "messages[0].content[0]", "must be an object"},
		{"part type", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"smell"}]}]}`, "messages[0].content[1].type", `not "smell"`},
		{"part without text", `{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}`, "messages[0].content[0].text", "missing"},
		{"image without url", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, "messages[0].content[0].image_url", "missing or holds nothing"},
		{"result without id", `{"model":"m","messages":[` + user + `,{"role":"tool","content":"x"}]}`, "messages[1].tool_call_id", "which call"},
		{"function of nothing", `{"model":"m","messages":[` + user + `,{"role":"function","name":"f","content":"x"}]}`, "messages[1].name", "no function"},
		{"call without name", `{"model":"m","messages":[` + user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function"}]}]}`, "messages[1].tool_calls[0]", "needs the name"},
		{"call without id", `{"model":"m","messages":[` + user + `,{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]}`, "messages[1].tool_calls[0].id", "missing"},
		{"temperature", `{"model":"m","messages":[` + user + `],"temperature":"hot"}`, "temperature", "a number, not a string"},
		{"max tokens", `{"model":"m","messages":[` + user + `],"max_tokens":1.5}`, "max_tokens", "whole number"},
		{"n", `{"model":"m","messages":[` + user + `],"n":-1}`, "n", "at least 1"},
		{"stop", `{"model":"m","messages":[` + user + `],"stop":[1]}`, "stop", "a string or an array of strings"},
		{"tools", `{"model":"m","messages":[` + user + `],"tools":{}}`, "tools", "an array, not an object"},
		{"tool without function", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function"}]}`, "tools[0]", "must be {"},
		{"tool without name", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{}}]}`, "tools[0]", "needs a name"},
		{"tool choice word", `{"model":"m","messages":[` + user + `],"tool_choice":"maybe"}`, "tool_choice", "must be none, auto, required"},
		{"tool choice object", `{"model":"m","messages":[` + user + `],"tool_choice":{"type":"function"}}`, "tool_choice", "must name a tool"},
		{"format", `{"model":"m","messages":[` + user + `],"response_format":{"type":"xml"}}`, "response_format.type", "json_schema"},
		{"format without schema", `{"model":"m","messages":[` + user + `],"response_format":{"type":"json_schema","json_schema":{"name":"n"}}}`, "response_format.json_schema", "schema"},
		{"logit bias", `{"model":"m","messages":[` + user + `],"logit_bias":[]}`, "logit_bias", "an object, not an array"},
		{"reasoning", `{"model":"m","messages":[` + user + `],"reasoning":"much"}`, "reasoning", "an object, not a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := tryRead(c.body)
			var e *wire.RequestError
			if !errors.As(err, &e) {
				t.Fatalf("error is %v", err)
			}
			if e.Param != c.param || !strings.Contains(e.Message, c.says) {
				t.Errorf("param %q, message %q", e.Param, e.Message)
			}
		})
	}
}

// Whatever was recorded as a request can be read, and read again once it is written: nothing that chat says is lost on
// the way but what is noted.
func TestRequestsOfRecordings(t *testing.T) {
	t.Parallel()
	all := files(t, "requests")
	for name, body := range files(t, "more") {
		if strings.HasSuffix(name, ".request.json") {
			all[name] = body
		}
	}
	for name, body := range all {
		if dialectOf(name) != (Chat{}) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := read(t, string(body))
			for _, lost := range q.Dropped.Names() {
				if !map[string]bool{"server_tools": true, "citations": true}[lost] {
					t.Errorf("lost: %s", lost)
				}
			}
			again(t, q, llm.OpenAI)
		})
	}
}
