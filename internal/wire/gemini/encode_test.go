package gemini

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Content: parts} }

func model(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Content: parts} }

func toolCall(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: args}}
}

func toolResult(id string, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: id, Content: parts}}
}

func sealed(p llm.Part, s *llm.Seal) llm.Part {
	if p.Kind == llm.Reasoning {
		p.Seal = s
	} else {
		p.Signature = s
	}
	return p
}

func signed(vendor llm.Vendor, data string) *llm.Seal {
	return &llm.Seal{Vendor: vendor, Kind: llm.Signed, Data: data}
}

func ptr[T any](v T) *T { return &v }

func TestEncodeContents(t *testing.T) {
	t.Parallel()
	image := llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "aGk="}}
	for _, c := range []struct {
		name     string
		to       wire.Target
		messages []llm.Message
		want     string
		dropped  []string
	}{
		{
			"turns of the same role are joined, empty text is left out",
			wire.Target{},
			[]llm.Message{user(text("a"), text("")), user(text("b")), model(text("")), {Role: llm.System, Content: []llm.Part{text("s")}}, model(text("c"))},
			`[{"role":"user","parts":[{"text":"a"},{"text":"b"},{"text":"s"}]},{"role":"model","parts":[{"text":"c"}]}]`, nil,
		},
		{
			"case 121: a signature goes back on its call",
			wire.Target{Model: "gemini-3-pro-preview"},
			[]llm.Message{user(text("weather")), model(sealed(toolCall("gemini_x_0", "get_weather", `{"city":"Paris"}`), signed(llm.Google, "c2lnLW9wYXF1ZQ=="))), user(toolResult("gemini_x_0", text("sunny")))},
			`[{"role":"user","parts":[{"text":"weather"}]},
			{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{"city":"Paris"}},"thoughtSignature":"c2lnLW9wYXF1ZQ=="}]},
			{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"result":"sunny"}}}]}]`, nil,
		},
		{
			"a newer model gets the placeholder on the first call of a turn",
			wire.Target{Model: "gemini-3-pro-preview"},
			[]llm.Message{user(text("go")), model(text("ok"), toolCall("c1", "f", ""), toolCall("c2", "g", `{ "b":1 , "a":2 }`)), user(toolResult("c2", text(`{"x":1}`)), toolResult("c1"), text("more"))},
			`[{"role":"user","parts":[{"text":"go"}]},
			{"role":"model","parts":[{"text":"ok"},{"functionCall":{"id":"c1","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"g","args":{ "b":1 , "a":2 }}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c2","name":"g","response":{"x":1}}},{"functionResponse":{"id":"c1","name":"f","response":{"result":""}}}]},
			{"role":"user","parts":[{"text":"more"}]}]`, nil,
		},
		{
			"an older model needs none, and a target may know no ids",
			wire.Target{Model: "models/gemini-2.5-flash", Quirks: wire.Quirks{Refuses: []string{"id"}}},
			[]llm.Message{user(text("go")), model(toolCall("c1", "f", `not json`)), user(llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: "c1", Error: true, Content: []llm.Part{text("bad")}}})},
			`[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"input":"not json"}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"error":"bad"}}}]}]`, nil,
		},
		{
			"thoughts: Google's own with their seal, no others",
			wire.Target{Model: "gemini-2.5-pro"},
			[]llm.Message{user(text("q")), model(
				sealed(llm.Part{Kind: llm.Reasoning, Text: "mine"}, signed(llm.Google, "c2ln")),
				sealed(llm.Part{Kind: llm.Reasoning, Text: "theirs"}, signed(llm.Anthropic, "x")),
				llm.Part{Kind: llm.Reasoning, Text: "nobody's"},
				sealed(text("said"), signed(llm.Google, "dGV4dA==")),
			)},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"mine","thought":true,"thoughtSignature":"c2ln"},{"text":"said","thoughtSignature":"dGV4dA=="}]}]`,
			[]string{llm.DropSignatures, llm.DropReasoning},
		},
		{
			"a seal of hidden thoughts belongs to what follows",
			wire.Target{Model: "gemini-3-flash-preview"},
			[]llm.Message{
				user(text("q")), model(sealed(llm.Part{Kind: llm.Reasoning}, signed(llm.Google, "YQ==")), toolCall("c", "f", "{}")), user(toolResult("c", text("r"))),
				model(text("t"), sealed(llm.Part{Kind: llm.Reasoning}, signed(llm.Google, "Yg=="))),
			},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"YQ=="}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"result":"r"}}}]},{"role":"model","parts":[{"text":"t"},{"text":"","thoughtSignature":"Yg=="}]}]`, nil,
		},
		{
			"R10: without any seal",
			wire.Target{Model: "gemini-3-pro", Unsealed: true},
			[]llm.Message{user(text("q")), model(sealed(llm.Part{Kind: llm.Reasoning, Text: "th"}, signed(llm.Google, "YQ==")), sealed(text("t"), signed(llm.Google, "Yg==")),
				sealed(toolCall("c", "f", "{}"), signed(llm.Google, "Yw==")),
				llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Google, Type: "executableCode", Raw: []byte(`{"executableCode":{"code":"1","language":"PYTHON"},"thoughtSignature":"ZA=="}`)}})},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"t"},{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"executableCode":{"code":"1","language":"PYTHON"}}]}]`,
			[]string{llm.DropSignatures, llm.DropReasoning},
		},
		{
			"a result with an image: in the result",
			wire.Target{Model: "gemini-3-flash-preview"},
			[]llm.Message{user(text("q")), model(sealed(toolCall("c", "f", "{}"), signed(llm.Google, "Yw=="))), user(toolResult("c", text("see"), image))},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"Yw=="}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"result":"see"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}]}]`, nil,
		},
		{
			"a result with an image: beside it",
			wire.Target{Model: "gemini-2.5-flash"},
			[]llm.Message{user(text("q")), model(toolCall("c", "f", "{}")), user(toolResult("c", text("see"), image)), user(text("and?"))},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"result":"see"}}}]},
			{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"text":"and?"}]}]`, nil,
		},
		{
			"files",
			wire.Target{Model: "gemini-2.5-flash"},
			[]llm.Message{user(image,
				llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "https://example.com/a.jpg?x", Detail: "high"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{URL: "gs://b/f.pdf", Type: "application/pdf"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Data: "JVBE", Name: "f.pdf"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{PlainText: "plain"}},
				llm.Part{Kind: llm.Audio, Media: &llm.Media{Data: "UklG", Type: "audio/wav"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{FileID: "file-1", Vendor: llm.OpenAI}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "ftp://x"}},
			)},
			`[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"fileData":{"mimeType":"image/jpeg","fileUri":"https://example.com/a.jpg?x"}},
			{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/f.pdf"}},{"inlineData":{"mimeType":"application/pdf","data":"JVBE"}},{"text":"plain"},{"inlineData":{"mimeType":"audio/wav","data":"UklG"}}]}]`,
			[]string{"detail", llm.DropFileIDs, llm.DropImages},
		},
		{
			"an older model fetches nothing",
			wire.Target{Model: "gemini-2.0-flash"},
			[]llm.Message{user(text("q"), llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "https://example.com/a.jpg"}})},
			`[{"role":"user","parts":[{"text":"q"}]}]`,
			[]string{llm.DropImages},
		},
		{
			"what is another's, what has no place",
			wire.Target{},
			[]llm.Message{
				{Role: llm.User, Name: "bob", Content: []llm.Part{{Kind: llm.Text, Text: "q", Cache: &llm.Cache{}}, {Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Raw: []byte(`{}`)}}}},
				model(llm.Part{Kind: llm.Text, Text: "c", Citations: []llm.Citation{{URL: "u"}}}, llm.Part{Kind: llm.Refusal, Text: "no"}),
			},
			`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"c"},{"text":"no"}]}]`,
			[]string{llm.DropNames, llm.DropCache, llm.DropServerTools, llm.DropCitations},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := &llm.Request{Messages: c.messages, Dropped: &llm.Dropped{}}
			same(t, "contents", `{"contents":`+c.want+`}`, encodeRequest(t, q, c.to))
			if got := q.Dropped.Names(); !slices.Equal(got, c.dropped) {
				t.Errorf("dropped %q, want %q", got, c.dropped)
			}
		})
	}
}

func TestEncodeConfig(t *testing.T) {
	t.Parallel()
	object := []byte(`{"type":"object","properties":{}}`)
	fn := llm.Tool{Name: "f", Description: "d", Schema: object}
	for _, c := range []struct {
		name    string
		to      wire.Target
		q       llm.Request
		want    string // all but the contents
		dropped []string
	}{
		{"nothing", wire.Target{}, llm.Request{}, ``, nil},
		{"sampling", wire.Target{}, llm.Request{
			MaxTokens: 9, Temperature: ptr(0.0), TopP: ptr(0.5), TopK: ptr(int64(3)), Seed: ptr(int64(-1)), PresencePenalty: ptr(1.0), FrequencyPenalty: ptr(0.25),
			Choices: 2, Stop: []string{"1", "", "2", "3", "4", "5", "6"}, LogProbs: true, TopLogProbs: 3,
		}, `"generationConfig":{"maxOutputTokens":9,"temperature":0,"topP":0.5,"topK":3,"seed":-1,"presencePenalty":1,"frequencyPenalty":0.25,"stopSequences":["1","2","3","4","5"],
			"candidateCount":2,"responseLogprobs":true,"logprobs":3}`, []string{"stop"}},
		{"what has no place", wire.Target{}, llm.Request{
			User: "u", Metadata: []byte(`{"a":"b"}`), Store: ptr(true), MinP: ptr(0.1), LogitBias: []byte(`{"1":2}`), Verbosity: "low", CacheKey: "k", CacheRetention: "24h",
			Cache: &llm.Cache{}, ServiceTier: "scale", Parallel: ptr(false),
		}, ``, []string{"metadata", "service_tier", "user", "store", "min_p", "logit_bias", "verbosity", "prompt_cache_key", "prompt_cache_retention", llm.DropCache}},
		{"harmless absences", wire.Target{}, llm.Request{Store: ptr(false), ServiceTier: "default", Parallel: ptr(true), Metadata: []byte(`{}`)}, ``, nil},
		{
			"tier and labels",
			wire.Target{Quirks: wire.Quirks{Labels: true}},
			llm.Request{ServiceTier: "priority", Metadata: []byte(`{"team":"a-1","Not":"x","z":1}`)},
			`"labels":{"team":"a-1"},"serviceTier":"priority"`,
			[]string{"metadata"},
		},
		{
			"refused fields",
			wire.Target{Quirks: wire.Quirks{Refuses: []string{"seed", "presencePenalty", "serviceTier", "topK", "candidateCount", "responseLogprobs"}}},
			llm.Request{Seed: ptr(int64(1)), PresencePenalty: ptr(1.0), ServiceTier: "flex", TopK: ptr(int64(1)), Choices: 2, LogProbs: true},
			``,
			[]string{"top_k", "seed", "presence_penalty", "n", "logprobs", "service_tier"},
		},
		{"penalties of a model that has none", wire.Target{Model: "gemini-3.5-flash-lite"}, llm.Request{PresencePenalty: ptr(0.0), FrequencyPenalty: ptr(1.0)}, ``, []string{"frequency_penalty"}},
		{
			"tools",
			wire.Target{},
			llm.Request{Tools: []llm.Tool{
				fn,
				{Name: "g", Strict: ptr(true), Schema: []byte(`{}`), Cache: &llm.Cache{}},
				{Name: "h", Custom: true},
				{Opaque: &llm.Block{Vendor: llm.Google, Type: "googleSearch", Raw: []byte(`{"googleSearch":{}}`)}},
				{Opaque: &llm.Block{Vendor: llm.OpenAI, Raw: []byte(`{}`)}},
			}},
			`"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","properties":{}}},{"name":"g"},
			{"name":"h","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}]},{"googleSearch":{}}]`,
			[]string{llm.DropCache, llm.DropServerTools, llm.DropStrict, llm.DropCustomTools},
		},
		{
			"no choice",
			wire.Target{},
			llm.Request{Tools: []llm.Tool{fn}, Choice: llm.ToolChoice{How: llm.None}, Parallel: ptr(false)},
			`"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`,
			[]string{"parallel_tool_calls"},
		},
		{
			"any",
			wire.Target{},
			llm.Request{Tools: []llm.Tool{{Name: "f"}}, Choice: llm.ToolChoice{How: llm.Required, Only: []string{"f", "g"}}},
			`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f","g"]}}`, nil,
		},
		{
			"one",
			wire.Target{},
			llm.Request{Tools: []llm.Tool{{Name: "f"}}, Choice: llm.ToolChoice{How: llm.Named, Name: "f"}},
			`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}`, nil,
		},
		{
			"some, if at all",
			wire.Target{},
			llm.Request{Tools: []llm.Tool{{Name: "f"}, {Name: "g"}}, Choice: llm.ToolChoice{How: llm.Auto, Only: []string{"g"}}},
			`"tools":[{"functionDeclarations":[{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`, nil,
		},
		{"choice without tools", wire.Target{}, llm.Request{Choice: llm.ToolChoice{How: llm.Required}}, ``, nil},
		{"JSON", wire.Target{}, llm.Request{Format: llm.Format{Kind: llm.JSONObject}}, `"generationConfig":{"responseMimeType":"application/json"}`, nil},
		{
			"a schema keeps its bytes",
			wire.Target{},
			llm.Request{Format: llm.Format{Kind: llm.JSONSchema, Name: "n", Strict: ptr(true), Schema: []byte(`{"type":"object","z":1.0,"a":[ 1e2 ]}`)}},
			`"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","z":1.0,"a":[ 1e2 ]}}`, nil,
		},
		{
			"no schemas there",
			wire.Target{Quirks: wire.Quirks{PlainSchema: true}},
			llm.Request{Format: llm.Format{Kind: llm.JSONSchema, Schema: object}},
			`"generationConfig":{"responseMimeType":"application/json"}`,
			[]string{"response_format"},
		},
		{
			"schemas of OpenAPI",
			wire.Target{Model: "gemini-1.5-pro"},
			llm.Request{Format: llm.Format{Kind: llm.JSONSchema, Schema: object}},
			`"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{}}}`, nil,
		},
		{
			"an older model has tools or JSON",
			wire.Target{Model: "gemini-2.5-flash"},
			llm.Request{Tools: []llm.Tool{{Name: "f"}}, Format: llm.Format{Kind: llm.JSONObject}},
			`"tools":[{"functionDeclarations":[{"name":"f"}]}]`,
			[]string{"response_format"},
		},
		{
			"a newer one both",
			wire.Target{Model: "gemini-3-flash"},
			llm.Request{Tools: []llm.Tool{{Name: "f"}}, Format: llm.Format{Kind: llm.JSONObject}},
			`"tools":[{"functionDeclarations":[{"name":"f"}]}],"generationConfig":{"responseMimeType":"application/json"}`, nil,
		},
		{
			"speech",
			wire.Target{},
			llm.Request{Modalities: []string{"audio"}, AudioVoice: "Kore", AudioFormat: "mp3"},
			`"generationConfig":{"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}}}`,
			[]string{"audio.format"},
		},
		{"text only", wire.Target{}, llm.Request{Modalities: []string{"text"}}, ``, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.q.Messages = []llm.Message{user(text("q"))}
			c.q.Dropped = &llm.Dropped{}
			want := `{"contents":[{"role":"user","parts":[{"text":"q"}]}]`
			if c.want != "" {
				want += "," + c.want
			}
			same(t, "request", want+"}", encodeRequest(t, &c.q, c.to))
			if got := c.q.Dropped.Names(); !slices.Equal(got, c.dropped) {
				t.Errorf("dropped %q, want %q", got, c.dropped)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model   string
		e       llm.Effort
		max     int64
		want    string
		dropped string
	}{
		{"gemini-2.5-flash", llm.Effort{Off: true}, 0, `"thinkingBudget":0`, ""},
		{"gemini-2.5-flash", llm.Effort{Level: "none"}, 0, `"thinkingBudget":0`, ""},
		{"gemini-2.5-flash", llm.Effort{Level: "low"}, 0, `"thinkingBudget":2048,"includeThoughts":true`, ""},
		{"gemini-2.5-flash", llm.Effort{Level: "high"}, 1000, `"thinkingBudget":800,"includeThoughts":true`, ""},
		{"gemini-2.5-flash", llm.Effort{Budget: 100000, Show: "none"}, 0, `"thinkingBudget":24576`, ""},
		{"gemini-2.5-flash", llm.Effort{Budget: -1}, 0, `"thinkingBudget":-1,"includeThoughts":true`, ""},
		{"gemini-2.5-flash", llm.Effort{Show: "auto"}, 0, `"includeThoughts":true`, ""},
		{"gemini-2.5-flash-lite", llm.Effort{Budget: 100}, 0, `"thinkingBudget":512,"includeThoughts":true`, ""},
		{"publishers/google/models/gemini-2.5-pro", llm.Effort{Off: true}, 0, `"thinkingBudget":128`, "reasoning_effort"},
		{"gemini-3-pro-preview", llm.Effort{Level: "medium"}, 0, `"thinkingLevel":"LOW","includeThoughts":true`, ""},
		{"gemini-3-pro-preview", llm.Effort{Off: true}, 0, `"thinkingLevel":"LOW"`, "reasoning_effort"},
		{"gemini-3.1-pro-preview", llm.Effort{Level: "medium"}, 0, `"thinkingLevel":"MEDIUM","includeThoughts":true`, ""},
		{"gemini-3-flash-preview", llm.Effort{Level: "none"}, 0, `"thinkingLevel":"MINIMAL"`, ""},
		{"gemini-3.8-flash", llm.Effort{Level: "minimal"}, 0, `"thinkingLevel":"LOW","includeThoughts":true`, ""},
		{"gemini-3.8-flash", llm.Effort{Level: "max"}, 0, `"thinkingLevel":"HIGH","includeThoughts":true`, ""},
		{"gemini-3.8-flash", llm.Effort{Budget: 1000}, 0, `"thinkingLevel":"LOW","includeThoughts":true`, ""},
		{"gemini-3.8-flash", llm.Effort{Budget: -1, Show: "none"}, 0, ``, ""},
		{"gemini-3-pro-image-preview", llm.Effort{Level: "high"}, 0, `"includeThoughts":true`, "reasoning_effort"},
		{"gemini-2.0-flash", llm.Effort{Level: "high"}, 0, ``, "reasoning_effort"},
		{"gemini-2.0-flash", llm.Effort{Off: true}, 0, ``, ""},
		{"tunedModels/mine", llm.Effort{Level: "low"}, 0, `"thinkingBudget":2048,"includeThoughts":true`, ""},
		{"tunedModels/mine", llm.Effort{Off: true}, 0, ``, "reasoning_effort"},
	} {
		q := &llm.Request{Messages: []llm.Message{user(text("q"))}, Reasoning: &c.e, Dropped: &llm.Dropped{}, MaxTokens: c.max}
		got := encodeRequest(t, q, wire.Target{Model: c.model})
		_, thinking, _ := strings.Cut(got, `"thinkingConfig":{`)
		thinking, _, _ = strings.Cut(thinking, "}")
		if thinking != c.want || strings.Join(q.Dropped.Names(), " ") != c.dropped {
			t.Errorf("%s %+v: %s dropped %v, want %s %s", c.model, c.e, thinking, q.Dropped.Names(), c.want, c.dropped)
		}
	}
}

func TestNothingLeft(t *testing.T) {
	t.Parallel()
	q := &llm.Request{System: []llm.Part{text("s")}, Messages: []llm.Message{user(text(""))}, Dropped: &llm.Dropped{}}
	out, err := Generate{}.EncodeRequest([]byte("kept"), q, &wire.Target{Vendor: llm.Google})
	var e *wire.RequestError
	if !errors.As(err, &e) || string(out) != "kept" {
		t.Errorf("%s %v", out, err)
	}
}
