package mock_test

import (
	"net/http"
	"strings"
	"testing"
)

const (
	geminiTools = `,"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":{"type":"OBJECT","required":["city"],"properties":{"city":{"type":"STRING"}}}},` +
		`{"name":"get_time"}]}]`
	geminiCall   = `{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{}}}]}`
	geminiResult = `{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"out":"21 degrees"}}}]}`
)

func contents(text, rest string) string {
	return `{"contents":[{"role":"user","parts":[{"text":"` + text + `"}]}]` + rest + `}`
}

func TestGeminiAnswers(t *testing.T) {
	const plain, stream, list = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:streamGenerateContent"
	thinking := `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`
	goldens(t, "gemini", map[string]call{
		"text":            {plain, contents("hi", "")},
		"text-stream":     {stream, contents("hi", "")},
		"text-list":       {list, contents("hi", "")},
		"call":            {plain, contents("hi", geminiTools)},
		"call-stream":     {stream, contents("in parallel", geminiTools)},
		"forced":          {plain, contents("hi", geminiTools+`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["get_time"]}}`)},
		"snake":           {plain, contents("hi", `,"tools":[{"function_declarations":[{"name":"f"}]}],"tool_config":{"function_calling_config":{"mode":"NONE"}},"generation_config":{"max_output_tokens":3}`)},
		"thinking":        {plain, contents("hi", thinking)},
		"thinking-stream": {stream, contents("hi", thinking)},
		"gemini-3-call":   {"/v1beta/models/gemini-3-pro:generateContent", contents("in parallel", geminiTools)},
		"refusal":         {plain, contents("refuse", "")},
		"refusal-stream":  {stream, contents("refuse", "")},
		"schema":          {plain, contents("hi", `,"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","required":["n"],"properties":{"n":{"type":"INTEGER"}}}}`)},
		"limit":           {plain, contents("hi", `,"generationConfig":{"maxOutputTokens":2}`)},
		"stop-sequence":   {plain, contents("one END two", `,"generationConfig":{"stopSequences":["END"]}`)},
		"image":           {plain, `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"text":"what?"}]}]}`},
		"cached":          {plain, contents("hi", `,"cachedContent":"cachedContents/x"`)},
		"count":           {"/v1beta/models/m:countTokens", contents("how many?", "")},
		"embed":           {"/v1beta/models/m:embedContent", `{"content":{"parts":[{"text":"a"}]},"outputDimensionality":2}`},
		"embed-batch":     {"/v1beta/models/m:batchEmbedContents", `{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},"outputDimensionality":2},{"model":"models/m","content":{"parts":[{"text":"b"}]},"outputDimensionality":2}]}`},
		"models":          {"GET /v1beta/models", ""},
		"model":           {"GET /v1beta/models/mock-chat", ""},
		"no-model":        {"GET /v1beta/models/none", ""},
		"unreadable":      {plain, `{"contents":`},
		"vertex":          {"/v1/projects/p/locations/l/publishers/google/models/m:generateContent", contents("hi", `,"labels":{"a":"b"}`)},
		"unknown-field":   {plain, contents("hi", `,"generationConfig":{"logit_bias":{}}`)},
	})
}

func TestGeminiRefuses(t *testing.T) {
	parameters := func(schema string) string {
		return contents("x", `,"tools":[{"functionDeclarations":[{"name":"f","parameters":`+schema+`}]}]`)
	}
	with := func(rest string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"x"}]},` + rest + `]` + geminiTools + `}`
	}
	const mismatch = "number of function response parts is equal to the number of function call parts"
	refusals(t, "/v1beta/models/m:generateContent", map[string]struct{ body, want string }{
		"unknown field":            {contents("x", `,"stream":true`), `Unknown name "stream": Cannot find field.`},
		"unknown field, deep":      {contents("x", `,"generationConfig":{"thinkingConfig":{"effort":1}}`), `Unknown name "effort" at 'generation_config.thinking_config': Cannot find field.`},
		"unknown field of a part":  {`{"contents":[{"parts":[{"type":"text","text":"x"}]}]}`, `Unknown name "type" at 'contents[0].parts[0]'`},
		"additionalProperties":     {parameters(`{"type":"object","additionalProperties":false}`), `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters': Cannot find field.`},
		"$schema":                  {parameters(`{"type":"object","$schema":"x"}`), `Unknown name "$schema"`},
		"keyword, deep":            {parameters(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","const":"x"}}}}`), `Unknown name "const" at 'tools[0].function_declarations[0].parameters.properties.a.items'`},
		"exclusiveMinimum":         {parameters(`{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":0}}}`), `Unknown name "exclusiveMinimum"`},
		"two types":                {parameters(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`), "Proto field is not repeating, cannot start list."},
		"enum of numbers":          {parameters(`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`), "(TYPE_STRING), 1"},
		"enum of another type":     {parameters(`{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}`), "only allowed for STRING type"},
		"required is not there":    {parameters(`{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`), "parameters.required[0]: property is not defined"},
		"list of nothing":          {parameters(`{"type":"object","properties":{"a":{"type":"array"}}}`), "items: missing field."},
		"format":                   {parameters(`{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`), "only 'enum' and 'date-time' are supported"},
		"function name":            {contents("x", `,"tools":[{"functionDeclarations":[{"name":"a b"}]}]`), "Invalid function name."},
		"role":                     {`{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, "Please use a valid role: user, model."},
		"no contents":              {`{"contents":[]}`, "contents is not specified"},
		"no parts":                 {`{"contents":[{"role":"user","parts":[]}]}`, "contents.parts must not be empty."},
		"empty part":               {`{"contents":[{"role":"user","parts":[{}]}]}`, "required oneof field 'data' must have one initialized field"},
		"temperature":              {contents("x", `,"generationConfig":{"temperature":3}`), "temperature must be in the range"},
		"six stop sequences":       {contents("x", `,"generationConfig":{"stopSequences":["1","2","3","4","5","6"]}`), "at most 5"},
		"schema without mime type": {contents("x", `,"generationConfig":{"responseSchema":{"type":"OBJECT"}}`), "only allowed when response_mime_type is application/json"},
		"JSON and tools":           {contents("x", geminiTools+`,"generationConfig":{"responseMimeType":"application/json"}`), "Function calling with a response mime type"},
		"mode":                     {contents("x", geminiTools+`,"toolConfig":{"functionCallingConfig":{"mode":"auto"}}`), "Invalid value at 'tool_config.function_calling_config.mode'"},
		"allowed without ANY":      {contents("x", geminiTools+`,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["get_time"]}}`), "mode is ANY"},
		"call without result":      {with(geminiCall + `,{"role":"user","parts":[{"text":"x"}]}`), mismatch},
		"call at the end":          {with(geminiCall), mismatch},
		"result without call":      {with(geminiResult), "function response turn comes immediately after a function call turn"},
		"two results":              {with(geminiCall + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"f","response":{}}}]}`), mismatch},
		"result is no object":      {with(geminiCall + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":"x"}}]}`), "google.protobuf.Struct"},
		"result without name":      {with(geminiCall + `,{"role":"user","parts":[{"functionResponse":{"response":{}}}]}`), "Name cannot be empty."},
		"foreign signature":        {with(`{"role":"model","parts":[{"text":"y","thoughtSignature":"Zm9yZWlnbg=="}]},{"role":"user","parts":[{"text":"x"}]}`), "Corrupted thought signature."},
		"data that is not base64":  {`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"data:image/png;base64,AA"}}]}]}`, "Base64 decoding failed"},
	})
}

type geminiReply struct {
	Candidates []struct {
		Content      map[string]any
		FinishReason string
	}
}

// An agent's round with a model that wants its signature back.
func TestGeminiRound(t *testing.T) {
	const path = "/v1beta/models/gemini-3-pro:generateContent"
	run(t, script(), func(t *testing.T, b *bench) {
		user := `{"role":"user","parts":[{"text":"in parallel"}]}`
		first := ask2[geminiReply](t, b, path, `{"contents":[`+user+`]`+geminiTools+`}`)
		content := encoded(t, first.Candidates[0].Content)
		if strings.Count(content, "functionCall") != 2 || strings.Count(content, "thoughtSignature") != 1 {
			t.Fatalf("%s", content)
		}
		results := `{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"out":"21 degrees"}}},{"functionResponse":{"name":"get_time","response":{"out":"noon"}}}]}`
		back := `{"contents":[` + user + `,` + content + `,` + results + `]` + geminiTools + `}`
		second := ask2[geminiReply](t, b, path, back)
		if text := encoded(t, second); !strings.Contains(text, "21 degrees") || !strings.Contains(text, "noon") {
			t.Errorf("%s", text)
		}
		for _, p := range first.Candidates[0].Content["parts"].([]any) {
			delete(p.(map[string]any), "thoughtSignature")
		}
		back = `{"contents":[` + user + `,` + encoded(t, first.Candidates[0].Content) + `,` + results + `]` + geminiTools + `}`
		if code, body, _ := b.send(t, call{path, back}); code != http.StatusBadRequest || !strings.Contains(string(body), "missing a thought_signature") {
			t.Errorf("without its signature: %d %s", code, body)
		}
		later := `{"contents":[` + user + `,` + encoded(t, first.Candidates[0].Content) + `,` + results + `,{"role":"model","parts":[{"text":"ok"}]},{"role":"user","parts":[{"text":"go on"}]}]}`
		if code, body, _ := b.send(t, call{path, later}); code != http.StatusOK {
			t.Errorf("signatures of earlier turns are not needed: %d %s", code, body)
		}
	})
}
