package wiretest_test

import "strings"

func responsesProbes() []probe {
	const c = "responses"
	w := func(m string) string { return with(c, m) }
	tools := func(more string) string { return w(`"tools":[` + responsesTool() + `],` + more) }
	schema := `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","properties":{"marker7":{"type":"string"}},"required":["marker7"],"additionalProperties":false}`
	return []probe{
		{c, "system prompt", "instructions", w(`"instructions":"marker7"`), "marker7", false},
		{c, "images as data", "input_image", part(c, `{"type":"input_image","image_url":"data:image/png;base64,`+pixel+`"}`), pixel, false},
		{c, "images by URL", "input_image", part(c, `{"type":"input_image","image_url":"https://example.org/marker7.png"}`), "marker7", false},
		{c, "how closely to look", "input_image.detail", part(c, `{"type":"input_image","image_url":"data:image/png;base64,`+pixel+`","detail":"low"}`), `"low"`, false},
		{c, "documents as data", "input_file.file_data", part(c, `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,`+paper+`"}`), paper, false},
		{c, "documents by URL", "input_file.file_url", part(c, `{"type":"input_file","file_url":"https://example.org/marker7.pdf"}`), "marker7", false},
		{c, "uploaded files", "input_file.file_id", part(c, `{"type":"input_file","file_id":"file-marker7"}`), "marker7", false},
		{c, "functions", "tools", tools(`"tool_choice":"auto"`), `"look"`, false},
		{c, "some tool must be called", "tool_choice: required", tools(`"tool_choice":"required"`), "", false},
		{c, "one tool must be called", "tool_choice: function", tools(`"tool_choice":{"type":"function","name":"look"}`), "", false},
		{c, "some of the tools only", "tool_choice: allowed_tools", w(`"tools":[` + responsesTool() + `,` + strings.Replace(responsesTool(), "look", "other", 1) + `],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"look"}]}`), "", false},
		{c, "one call at a time", "parallel_tool_calls: false", tools(`"parallel_tool_calls":false`), "", false},
		{c, "strict functions", "strict", w(`"tools":[` + strings.Replace(responsesTool(), `"d"`, `"d","strict":true`, 1) + `]`), "", false},
		{c, "tools that take text", "tools: custom", w(`"tools":[{"type":"custom","name":"patch","description":"d"}]`), "patch", false},
		{c, "text by a grammar", "tools: custom, grammar", w(`"tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"marker7"}}]`), "marker7", false},
		{c, "images in results", "function_call_output", `{"model":"m","tools":[` + responsesTool() + `],"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]}]}`, pixel, false},
		{c, "web search", "tools: web_search", w(`"tools":[{"type":"web_search"}]`), "", false},
		{c, "any JSON", "text.format: json_object", w(`"text":{"format":{"type":"json_object"}}`), "", false},
		{c, "JSON by a schema", "text.format: json_schema", w(schema + `}}`), "marker7", false},
		{c, "limit of the output", "max_output_tokens", w(`"max_output_tokens":4711`), "4711", false},
		{c, "limit of tool calls", "max_tool_calls", w(`"max_tool_calls":47`), "47", false},
		{c, "temperature", "temperature", w(`"temperature":0.375`), "0.375", false},
		{c, "nucleus", "top_p", w(`"top_p":0.375`), "0.375", false},
		{c, "probabilities of tokens", "top_logprobs", w(`"top_logprobs":7,"include":["message.output_text.logprobs"]`), `":7`, false},
		{c, "effort of thinking", "reasoning.effort", w(`"reasoning":{"effort":"low"}`), "", true},
		{c, "no thinking", "reasoning.effort: none", w(`"reasoning":{"effort":"none"}`), "", true},
		{c, "OpenAI's encrypted thoughts", "reasoning", after(c, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAmarker7"}`), "gAAAmarker7", true},
		{c, "Claude's signed thoughts", "reasoning", after(c, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"`+wrapped("anthropic", "s", sealed("marker7"))+`"}`), sealed("marker7"), true},
		{c, "thoughts in the history", "reasoning", after(c, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"marker7"}]}`), "marker7", true},
		{c, "length of words", "text.verbosity", w(`"text":{"verbosity":"low"}`), `"low"`, true},
		{c, "cut long conversations", "truncation: auto", w(`"truncation":"auto"`), "", false},
		{c, "service tier", "service_tier: flex", w(`"service_tier":"flex"`), `"flex"`, false},
		{c, "end user", "safety_identifier", w(`"safety_identifier":"marker7"`), "marker7", false},
		{c, "labels", "metadata", w(`"metadata":{"team":"marker7"}`), "marker7", false},
		{c, "key of the prompt cache", "prompt_cache_key", w(`"prompt_cache_key":"marker7"`), "marker7", false},
		{c, "stored prompts", "prompt", w(`"prompt":{"id":"pmpt_1"}`), "", false},
	}
}

func geminiProbes() []probe {
	const c = "gemini"
	w := func(m string) string { return with(c, m) }
	config := func(m string) string { return w(`"generationConfig":{` + m + `}`) }
	tools := func(more string) string { return w(`"tools":[` + geminiTool() + `],` + more) }
	choose := func(m string) string { return tools(`"toolConfig":{"functionCallingConfig":{` + m + `}}`) }
	return []probe{
		{c, "system prompt", "systemInstruction", w(`"systemInstruction":{"parts":[{"text":"marker7"}]}`), "marker7", false},
		{c, "images as data", "inlineData", part(c, `{"inlineData":{"mimeType":"image/png","data":"`+pixel+`"}}`), pixel, false},
		{c, "images by URL", "fileData", part(c, `{"fileData":{"mimeType":"image/png","fileUri":"https://example.org/marker7.png"}}`), "marker7", false},
		{c, "documents as data", "inlineData", part(c, `{"inlineData":{"mimeType":"application/pdf","data":"`+paper+`"}}`), paper, false},
		{c, "uploaded files", "fileData", part(c, `{"fileData":{"mimeType":"application/pdf","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/marker7"}}`), "marker7", false},
		{c, "spoken input", "inlineData", part(c, `{"inlineData":{"mimeType":"audio/wav","data":"`+sound+`"}}`), sound, false},
		{c, "video", "inlineData", part(c, `{"inlineData":{"mimeType":"video/mp4","data":"`+sound+`"}}`), sound, false},
		{c, "functions", "tools", choose(`"mode":"AUTO"`), `"look"`, false},
		{c, "some tool must be called", "mode: ANY", choose(`"mode":"ANY"`), "", false},
		{c, "one tool must be called", "allowedFunctionNames", choose(`"mode":"ANY","allowedFunctionNames":["look"]`), "", false},
		{c, "images in results", "functionResponse.parts", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"look","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"a":1},"parts":[{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]}}]}],"tools":[` + geminiTool() + `]}`, pixel, false},
		{c, "results that are errors", "functionResponse.response", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"look","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"error":"marker7"}}}]}],"tools":[` + geminiTool() + `]}`, "marker7", false},
		{c, "web search", "googleSearch", w(`"tools":[{"googleSearch":{}}]`), "", false},
		{c, "code execution", "codeExecution", w(`"tools":[{"codeExecution":{}}]`), "", false},
		{c, "any JSON", "responseMimeType", config(`"responseMimeType":"application/json"`), "", false},
		{c, "JSON by a schema", "responseSchema", config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"marker7":{"type":"STRING"}},"required":["marker7"]}`), "marker7", false},
		{c, "limit of the output", "maxOutputTokens", config(`"maxOutputTokens":4711`), "4711", false},
		{c, "temperature", "temperature", config(`"temperature":0.375`), "0.375", false},
		{c, "nucleus", "topP", config(`"topP":0.375`), "0.375", false},
		{c, "top k", "topK", config(`"topK":47`), "47", false},
		{c, "seed", "seed", config(`"seed":4711`), "4711", false},
		{c, "frequency penalty", "frequencyPenalty", config(`"frequencyPenalty":0.375`), "0.375", false},
		{c, "presence penalty", "presencePenalty", config(`"presencePenalty":0.375`), "0.375", false},
		{c, "stop sequences", "stopSequences", config(`"stopSequences":["marker7"]`), "marker7", false},
		{c, "several answers", "candidateCount", config(`"candidateCount":7`), `":7`, false},
		{c, "probabilities of tokens", "responseLogprobs", config(`"responseLogprobs":true,"logprobs":7`), `":7`, false},
		{c, "budget of thinking", "thinkingBudget", config(`"thinkingConfig":{"thinkingBudget":2048}`), "", true},
		{c, "effort of thinking", "thinkingLevel", config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), "", true},
		{c, "no thinking", "thinkingBudget: 0", config(`"thinkingConfig":{"thinkingBudget":0}`), "", true},
		{c, "thoughts in the history", "thought", after(c, `{"text":"marker7","thought":true},{"text":"Well."}`), "marker7", true},
		{c, "Gemini's signatures", "thoughtSignature", after(c, `{"text":"Well.","thoughtSignature":"`+sealed("marker7")+`"}`), sealed("marker7"), true},
		{c, "Claude's signed thoughts", "thoughtSignature", after(c, `{"text":"Hm.","thought":true,"thoughtSignature":"`+wrapped("anthropic", "s", sealed("marker7"))+`"},{"text":"Well."}`), sealed("marker7"), true},
		{c, "spoken output", "responseModalities", config(`"responseModalities":["AUDIO"]`), "", false},
		{c, "how closely to look", "mediaResolution", config(`"mediaResolution":"MEDIA_RESOLUTION_LOW"`), "", false},
		{c, "what is blocked", "safetySettings", w(`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`), "", false},
		{c, "prompts kept by Google", "cachedContent", w(`"cachedContent":"cachedContents/1"`), "", false},
		{c, "service tier", "serviceTier: flex", w(`"serviceTier":"flex"`), `"flex"`, false},
		{c, "labels", "labels", w(`"labels":{"team":"marker7"}`), "marker7", false},
	}
}
