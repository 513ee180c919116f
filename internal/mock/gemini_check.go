package mock

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// shape is the members of a message and the shapes of those; a nil shape is anything.
type shape map[string]shape

// fields is a shape of members that may be anything.
func fields(names string) shape {
	s := shape{}
	for _, name := range strings.Fields(names) {
		s[name] = nil
	}
	return s
}

// with gives some of the members shapes of their own.
func (s shape) with(members shape) shape {
	for name, inner := range members {
		s[name] = inner
	}
	return s
}

// geminiSchema are the keywords of JSON Schema that Google's Schema has.
func geminiSchema(vertex bool) shape {
	s := fields("anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems minLength " +
		"minProperties minimum nullable pattern properties propertyOrdering required title type")
	if vertex {
		s = s.with(fields("additionalProperties ref defs"))
	}
	return s
}

func geminiContent() shape {
	blob := fields("data mimeType displayName")
	return fields("role").with(shape{"parts": fields("text thought thoughtSignature codeExecutionResult executableCode mediaProcessing " +
		"mediaResolution partMetadata toolCall toolResponse").with(shape{
		"inlineData": blob, "fileData": fields("fileUri mimeType displayName"), "functionCall": fields("args id name"),
		"functionResponse": fields("id name parts response scheduling willContinue"), "videoMetadata": fields("startOffset endOffset fps"),
	})})
}

func geminiRequest(vertex bool) shape {
	schema := geminiSchema(vertex)
	s := fields("cachedContent model safetySettings serviceTier store").with(shape{
		"contents": geminiContent(), "systemInstruction": geminiContent(),
		"tools": fields("codeExecution computerUse fileSearch googleMaps googleSearch googleSearchRetrieval mcpServers urlContext").with(shape{
			"functionDeclarations": fields("behavior description name parametersJsonSchema responseJsonSchema").with(shape{
				"parameters": schema, "response": schema,
			}),
		}),
		"toolConfig": fields("includeServerSideToolInvocations retrievalConfig").with(shape{
			"functionCallingConfig": fields("allowedFunctionNames mode streamFunctionCallArguments"),
		}),
		"generationConfig": fields("audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers frequencyPenalty " +
			"imageConfig logprobs maxOutputTokens mediaResolution presencePenalty responseFormat responseJsonSchema responseLogprobs " +
			"responseMimeType responseModalities seed speechConfig stopSequences temperature topK topP translationConfig").with(shape{
			"responseSchema": schema, "thinkingConfig": fields("includeThoughts thinkingBudget thinkingLevel"),
		}),
	})
	if vertex {
		s = s.with(fields("labels modelArmorConfig"))
	}
	return s
}

// geminiUnknown refuses the first member that a shape does not have, in Google's words and its spelling of paths.
func geminiUnknown(n node, s shape) *apiError {
	if s == nil {
		return nil
	}
	for _, e := range n.each() {
		if bad := geminiUnknown(e, s); bad != nil {
			return bad
		}
	}
	isSchema := s["anyOf"] == nil && hasKey(s, "anyOf") && hasKey(s, "nullable")
	for _, name := range n.names() {
		known := ""
		for k := range s {
			if name == k || name == snake(k) {
				known = k
			}
		}
		if known == "" {
			where := ""
			if n.path != "" {
				where = fmt.Sprintf(" at '%s'", snakePath(n))
			}
			e := badRequest("Invalid JSON payload received. Unknown name \"%s\"%s: Cannot find field.", name, where)
			e.Param = snakePath(n)
			return e
		}
		if isSchema {
			if e := geminiSubschema(n.at(name), known, s); e != nil {
				return e
			}
			continue
		}
		if e := geminiUnknown(n.at(name), s[known]); e != nil {
			return e
		}
	}
	return nil
}

func hasKey(s shape, name string) bool { _, ok := s[name]; return ok }

// geminiSubschema looks into the schemas inside a schema and at the forms of keywords that JSON Schema has other forms for.
func geminiSubschema(n node, name string, s shape) *apiError {
	switch name {
	case "items", "anyOf":
		return geminiUnknown(n, s)
	case "properties", "defs":
		for _, property := range n.names() {
			if e := geminiUnknown(n.at(property), s); e != nil {
				return e
			}
		}
	case "type":
		if n.kind() == isList {
			return badRequest("Invalid JSON payload received. Unknown name \"type\" at '%s': Proto field is not repeating, cannot start list.",
				strings.TrimSuffix(snakePath(n), ".type"))
		}
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, strings.ToLower(n.str())) {
			return badRequest("Invalid value at '%s' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"%s\"", snakePath(n), n.str())
		}
	case "enum":
		for _, v := range n.each() {
			if v.kind() != isString {
				return badRequest("Invalid value at '%s' (TYPE_STRING), %v", snakePath(v), v.v)
			}
		}
	}
	return nil
}

// snakePath is a path in the spelling of Google's errors: tools[0].function_declarations[0].parameters.
func snakePath(n node) string { return snake(n.brackets()) }

func (gemini) check(q *request) *apiError {
	switch q.op {
	case opEmbed:
		item := fields("embedContentConfig model outputDimensionality taskType title").with(shape{"content": geminiContent()})
		if q.resource == "embedContent" {
			return geminiUnknown(q.root, item)
		}
		return geminiUnknown(q.root, shape{"requests": item})
	case opCount:
		inner := geminiRequest(q.vertex)
		if q.vertex {
			return geminiUnknown(q.root, inner)
		}
		return geminiUnknown(q.root, shape{"contents": geminiContent(), "generateContentRequest": inner})
	case opModels, opStored, opCancel, opComplete, opNone:
		return nil
	case opGenerate:
	}
	for _, check := range []func() *apiError{
		func() *apiError { return geminiUnknown(q.root, geminiRequest(q.vertex)) },
		q.checkGeminiConfig, q.checkGeminiTools, q.checkGeminiContents, q.checkGeminiSeals,
	} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func (q *request) checkGeminiConfig() *apiError {
	c := q.root.camel("generationConfig")
	for _, r := range []struct {
		name      string
		low, high float64
	}{{"temperature", 0, 2}, {"topP", 0, 1}} {
		if f, ok := c.camel(r.name).num(); ok && (f < r.low || f > r.high) {
			return badRequest("* GenerateContentRequest.generation_config.%s: %s must be in the range [%.1f, %.1f].\n", snake(r.name), snake(r.name), r.low, r.high)
		}
	}
	if n := len(c.camel("stopSequences").each()); n > 5 {
		return badRequest("* GenerateContentRequest.generation_config.stop_sequences: at most 5 stop sequences are allowed, got %d.\n", n)
	}
	schema, mime := c.camel("responseSchema"), c.camel("responseMimeType").str()
	if (schema.there || c.camel("responseJsonSchema").there) && mime != "application/json" && mime != "text/x.enum" {
		return badRequest("* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json or text/x.enum.\n")
	}
	if schema.there && c.camel("responseJsonSchema").there {
		return badRequest("Only one of response_schema and response_json_schema can be set.")
	}
	if mime == "application/json" && len(q.tools) > 0 && !isGemini3(q.Model) {
		return badRequest("Function calling with a response mime type: 'application/json' is unsupported")
	}
	return checkGeminiSchema(schema, "GenerateContentRequest.generation_config.response_schema")
}

// checkGeminiSchema looks at what a schema says: lists say of what, what is required is there, words are chosen of strings.
func checkGeminiSchema(n node, where string) *apiError {
	if !n.there {
		return nil
	}
	kind := strings.ToLower(n.at("type").str())
	properties := n.at("properties")
	for i, name := range n.at("required").texts() {
		if !properties.at(name).there {
			return badRequest("* %s.required[%d]: property is not defined\n", where, i)
		}
	}
	if n.at("enum").there && kind != isString && kind != "" {
		return badRequest("* %s.enum: only allowed for STRING type\n", where)
	}
	if kind == "array" && !n.at("items").there {
		return badRequest("* %s.items: missing field.\n", where)
	}
	if format := n.at("format").str(); kind == isString && format != "" && format != "enum" && format != "date-time" {
		return badRequest("* %s.format: only 'enum' and 'date-time' are supported for STRING type\n", where)
	}
	for _, name := range properties.names() {
		if e := checkGeminiSchema(properties.at(name), where+".properties["+name+"]"); e != nil {
			return e
		}
	}
	return checkGeminiSchema(n.at("items"), where+".items")
}

func (q *request) checkGeminiTools() *apiError {
	for i, t := range q.root.at("tools").each() {
		for k, f := range t.camel("functionDeclarations").each() {
			where := fmt.Sprintf("GenerateContentRequest.tools[%d].function_declarations[%d]", i, k)
			if !matches(f.at("name").str(), `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`) {
				return badRequest("* %s.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "+
					"underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n", where)
			}
			if f.at("parameters").there && f.camel("parametersJsonSchema").there {
				return badRequest("* %s: only one of parameters and parameters_json_schema can be set.\n", where)
			}
			if e := checkGeminiSchema(f.at("parameters"), where+".parameters"); e != nil {
				return e
			}
		}
	}
	calling := q.root.camel("toolConfig", "functionCallingConfig")
	mode := calling.at("mode").str()
	if mode != "" && !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"}, mode) {
		return badRequest("Invalid value at 'tool_config.function_calling_config.mode' "+
			"(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), \"%s\"", mode)
	}
	allowed := calling.camel("allowedFunctionNames").texts()
	if len(allowed) > 0 && mode != "ANY" && mode != "VALIDATED" {
		return badRequest("Allowed function names should only be set when the mode is ANY or VALIDATED.")
	}
	for _, name := range allowed {
		if !slices.ContainsFunc(q.tools, func(t tool) bool { return t.name == name }) {
			return badRequest("* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: '%s' is not a declared function.\n", name)
		}
	}
	return nil
}

func (q *request) checkGeminiContents() *apiError {
	contents := q.root.at("contents").each()
	if len(contents) == 0 {
		return badRequest("* GenerateContentRequest.contents: contents is not specified\n")
	}
	calls, before := 0, ""
	for i, c := range contents {
		role := c.at("role").str()
		if !slices.Contains([]string{"", "user", "model", "function"}, role) {
			return badRequest("Please use a valid role: user, model.")
		}
		parts := c.at("parts").each()
		if len(parts) == 0 {
			return badRequest("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		made, returned := 0, 0
		for k, p := range parts {
			where := fmt.Sprintf("GenerateContentRequest.contents[%d].parts[%d]", i, k)
			if !slices.ContainsFunc([]string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"},
				func(name string) bool { return p.camel(name).there }) {
				return badRequest("* %s.data: required oneof field 'data' must have one initialized field\n", where)
			}
			if r := p.camel("functionResponse"); r.there {
				returned++
				if r.at("name").str() == "" {
					return badRequest("* %s.function_response.name: Name cannot be empty.\n", where)
				}
				if r.at("response").kind() != isObject {
					return badRequest("Invalid value at 'contents[%d].parts[%d].function_response.response' (type.googleapis.com/google.protobuf.Struct), %s", i, k, r.at("response").raw())
				}
			}
			if p.camel("functionCall").there {
				made++
			}
			if d := p.camel("inlineData"); d.there {
				if _, err := base64.StdEncoding.DecodeString(d.at("data").str()); err != nil {
					return badRequest("Invalid value at 'contents[%d].parts[%d].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"%s\"", i, k, shortSeal(d.at("data").str()))
				}
			}
		}
		if role == "model" && before == role { // neighbours of one role are one turn: a stream's last chunk, which is empty, comes back so
			calls += made
			continue
		}
		before = role
		switch {
		case made > 0 && i == 0:
			return badRequest("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		case returned > 0 && calls == 0:
			return badRequest("Please ensure that function response turn comes immediately after a function call turn.")
		case calls > 0 && returned != calls:
			return badRequest("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		calls = made
	}
	if calls > 0 {
		return badRequest("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
	return nil
}

// checkGeminiSeals: a signature is ours; and from Gemini 3 on, each step's first call of the current turn has one.
func (q *request) checkGeminiSeals() *apiError {
	contents := q.root.at("contents").each()
	current := 0 // where the current turn begins: the user's last word that is no result
	for i, c := range contents {
		if t := geminiTurn(c); t.role == roleUser && len(t.results) == 0 {
			current = i
		}
	}
	for i, c := range contents {
		first := true
		for _, p := range c.at("parts").each() {
			seal := p.camel("thoughtSignature")
			if seal.there && !isKnownSeal(seal.str()) {
				return badRequest("Corrupted thought signature.")
			}
			call := p.camel("functionCall")
			if call.there && first {
				first = false
				if !seal.there && isGemini3(q.Model) && i >= current {
					return badRequest("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "+
						"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. "+
						"Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", call.at("name").str(), i+1)
				}
			}
		}
	}
	return nil
}

// isKnownSeal: one of ours, or one of the two words that Google documents for histories of other models.
func isKnownSeal(s string) bool {
	_, ours := openSeal(makerGoogle, s)
	return ours || s == "skip_thought_signature_validator" || s == "context_engineering_is_the_way_to_go"
}
