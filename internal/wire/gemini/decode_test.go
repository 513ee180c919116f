package gemini

import (
	"encoding/base64"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// TestRequests reads every recorded request, tells it in words, and writes it again for a Gemini model, which must mean
// the same.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, "requests/*.json") {
		if strings.Contains(name, "count-tokens") {
			continue
		}
		t.Run(path.Base(name), func(t *testing.T) {
			t.Parallel()
			body := read(t, name)
			q := decodeRequest(t, string(body))
			said := sayRequest(q)
			q.Dropped = &llm.Dropped{}
			out := encodeRequest(t, q, wire.Target{Model: "gemini-2.5-flash"})
			testkit.Golden(t, "golden/"+path.Base(name)+".txt", []byte(said+"\n"+out+"\n"))
			second := decodeRequest(t, out)
			want := decodeRequest(t, string(body))
			second.Dropped, want.Dropped = nil, nil
			want.Choices = max(want.Choices, 1)
			second.Choices = max(second.Choices, 1)
			if want.Reasoning != nil && want.Reasoning.Budget > want.MaxTokens {
				second.Reasoning.Budget = want.Reasoning.Budget // room is left for the answer
			}
			if d := cmp.Diff(sayRequest(want), sayRequest(second)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	wrapped := llm.Wrap(&llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "sig>>??"})
	urlSafe := strings.NewReplacer("+", "-", "/", "_").Replace(wrapped)
	redacted := llm.Wrap(&llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "zzz"})
	for _, c := range []struct{ name, body string }{
		{"roles", `{"contents":[{"parts":[{"text":"no role"}]},{"role":"model","parts":[{"text":"m"}]},{"role":"function","parts":[{"text":"f"}]},{"role":"system","parts":[{"text":"s"}]},{"role":"user","parts":[]}],
			"systemInstruction":"as text"}`},
		{"snake_case", `{"contents":[{"role":"user","parts":[{"inline_data":{"mime_type":"image/png","data":"_-8"}},{"file_data":{"file_uri":"gs://b/f.pdf","mime_type":"application/pdf"}}]}],
			"system_instruction":{"parts":[{"text":"be brief"}]},
			"tools":[{"function_declarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true}}}}]},{"google_search":{}}],
			"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["f"]}},
			"generation_config":{"stop_sequences":["x"],"top_p":0.5,"top_k":40,"candidate_count":2,"max_output_tokens":"9","response_mime_type":"application/json",
			"response_schema":{"type":"ARRAY","items":{"type":"INTEGER"},"min_items":"2"},"response_logprobs":true,"logprobs":3,"presence_penalty":1,"frequency_penalty":-1,"seed":7,
			"thinking_config":{"thinking_budget":512,"include_thoughts":true}},"safety_settings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]}`},
		{"calls without ids", `{"contents":[
			{"role":"user","parts":[{"text":"go"}]},
			{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1}}},{"functionCall":{"name":"g"}},{"functionCall":{"name":"f","args":{"n":2}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"one"}}},{"functionResponse":{"name":"f","response":{"error":"two"}}},{"functionResponse":{"name":"g","response":{"a":1,"b":2}}}]}]}`},
		{"calls with ids", `{"contents":[
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}},{"functionCall":{"id":"c2","name":"f","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c2","name":"f","response":{"output":{"x":[1, 2]}}}},{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"h","response":null}}]}]}`},
		{"a result with files", `{"contents":[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"result":"see"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}],"willContinue":true}}]}]}`},
		{"streamed turn", `{"contents":[
			{"role":"model","parts":[{"text":"th","thought":true}]},{"role":"model","parts":[{"text":"ink","thought":true}]},
			{"role":"model","parts":[{"text":"","thought":true,"thoughtSignature":"` + urlSafe + `"}]},
			{"role":"model","parts":[{"text":"Hel"}]},{"role":"model","parts":[{"text":"lo"}]},
			{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"c2ln"}]},{"role":"model","parts":[{"text":""}]}]}`},
		{"a signature after text", `{"contents":[{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"}]},{"role":"model","parts":[{"text":"b"}]}]}`},
		{"a signature alone", `{"contents":[{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"}]},{"role":"model","parts":[{"text":"b"}]}]}`},
		{"redacted thoughts", `{"contents":[{"role":"model","parts":[{"text":"","thought":true,"thoughtSignature":"` + redacted + `"},{"text":"","thought":true,"thoughtSignature":"` + redacted + `"},{"text":"b"}]}]}`},
		{"google blocks", `{"contents":[{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"c2ln"},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"toolCall":{"toolType":"URL_CONTEXT"}}]}],
			"tools":[{"codeExecution":{},"googleSearch":{},"urlContext":null}]}`},
		{"files", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"audio/wav","data":"aa"}},{"fileData":{"fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x","mimeType":"video/mp4"},"videoMetadata":{"fps":1}},
			{"fileData":{"fileUri":"https://www.youtube.com/watch?v=1"}},{"fileData":{"fileUri":"https://example.com/a.PNG?x=.pdf"}},{"fileData":{"fileUri":"https://example.com/report"}}]}]}`},
		{"JSON Schema", `{"contents":[],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{ "b": 1, "a": 2 },"responseSchema":{"type":"OBJECT"}},
			"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","z":1,"a":2},"response":{"type":"OBJECT"},"behavior":"BLOCKING"}]}]}`},
		{"response format", `{"contents":[],"generationConfig":{"responseFormat":{"text":{"mimeType":"APPLICATION_JSON","schema":{"type":"object"}},"audio":{"mimeType":"x"}}}}`},
		{"an enum as the answer", `{"contents":[],"generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["a"]}}}`},
		{"no thinking", `{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
		{"as it likes", `{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":false}}}`},
		{"a level", `{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}`},
		{"what has no place", `{"contents":[],"safetySettings":null,"modelArmorConfig":{"x":1},"labels":{"team":"a"},"serviceTier":"STANDARD","store":true,"futureThing":1,"emptyThing":{},
			"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"},"retrievalConfig":{"languageCode":"de"}},
			"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_LOW","responseModalities":["TEXT","IMAGE"],"imageConfig":{"aspectRatio":"1:1"},
			"speechConfig":{"languageCode":"de-DE","voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testkit.Golden(t, "golden/decode/"+strings.ReplaceAll(c.name, " ", "-")+".txt", []byte(sayRequest(decodeRequest(t, c.body))))
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, param, word string }{
		{"empty", ``, "", "empty"},
		{"an array", `[]`, "", "an array"},
		{"broken", `{"contents":[}`, "", "line 1"},
		{"no contents", `{"generationConfig":{}}`, "contents", "missing"},
		{"contents of the wrong kind", `{"contents":"hi"}`, "contents", "a string"},
		{"an unknown role", `{"contents":[{"role":"wizard","parts":[{"text":"x"}]}]}`, "contents", "wizard"},
		{"a cache", `{"contents":[],"cachedContent":"cachedContents/1"}`, "cachedContent", "another provider"},
	} {
		r, err := Generate{}.ReadRequest([]byte(c.body))
		if err == nil {
			_, err = Generate{}.DecodeRequest(&r)
		}
		var e *wire.RequestError
		if !errors.As(err, &e) || e.Param != c.param || !strings.Contains(e.Message, c.word) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Schemas of Google's become JSON Schema.
func TestFromOpenAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{
			"types", `{"type":"OBJECT","properties":{"type":{"type":"NUMBER"}},"required":["type"],"propertyOrdering":["type"]}`,
			`{"type":"object","properties":{"type":{"type":"number"}},"required":["type"]}`,
		},
		{"nullable", `{"type":"STRING","nullable":true,"enum":["a"],"format":"enum"}`, `{"type":["string","null"],"enum":["a",null],"format":"enum"}`},
		{"nullable alternatives", `{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}],"nullable":true}`, `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`},
		{"counts as text", `{"type":"ARRAY","items":{"type":"STRING","max_length":"5"},"minItems":"1"}`, `{"type":"array","items":{"type":"string","maxLength":5},"minItems":1}`},
		{"unspecified", `{"type":"TYPE_UNSPECIFIED","description":"x","nullable":false}`, `{"description":"x"}`},
		{"already JSON Schema", `{"type":["string","null"],"$ref":"#/x","additionalProperties":{"type":"string"}}`, `{"type":["string","null"],"$ref":"#/x","additionalProperties":{"type":"string"}}`},
		{"no object", `true`, `true`},
	} {
		same(t, c.name, c.want, string(appendFromOpenAPI(nil, []byte(c.in))))
	}
	deep := strings.Repeat(`{"items":`, 900) + `{"type":"STRING"}` + strings.Repeat(`}`, 900)
	if got := string(appendFromOpenAPI(nil, []byte(deep))); !strings.Contains(got, `"STRING"`) || strings.Count(got, "{") != strings.Count(deep, "{") {
		t.Error("a deep schema is not kept")
	}
}

func TestStandardBase64(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(255 - i*7)
		}
		want := base64.StdEncoding.EncodeToString(raw)
		for _, in := range []string{want, base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)} {
			if got := standard(in); got != want {
				t.Errorf("%q became %q, want %q", in, got, want)
			}
		}
	}
}

func TestCamel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"candidateCount": "candidateCount", "candidate_count": "candidateCount", "a_b_c": "aBC", "_x": "_x", "x_": "x",
		"_responseJsonSchema": "_responseJsonSchema", "": "",
	} {
		if got := string(camel([]byte(in))); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// What the official Python SDK sends back of a streamed turn: each event a content, names in both spellings, bytes in
// URL-safe base64.
func TestSDKHistory(t *testing.T) {
	t.Parallel()
	q := decodeRequest(t, string(read(t, "sdk/python-chat-second-turn.json")))
	testkit.Golden(t, "golden/sdk-python-chat-second-turn.txt", []byte(sayRequest(q)))
}
