package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// bedrock is Amazon Bedrock's Converse.
type bedrock struct{}

var _ dialect = bedrock{}

func (bedrock) read(q *request) *apiError {
	if e := q.parse("Unexpected token: the request body is not a JSON object."); e != nil {
		return e
	}
	root := q.root
	if q.op == opCount {
		root = root.at("input", "converse")
	}
	for _, s := range root.at("system").each() {
		q.add(turn{role: roleSystem, text: s.at("text").str()})
		if s.has("cachePoint") {
			q.mark()
		}
	}
	for _, m := range root.at("messages").each() {
		q.add(bedrockTurn(m))
		for _, b := range m.at("content").each() {
			if b.has("cachePoint") {
				q.mark()
			}
		}
	}
	config := root.at("inferenceConfig")
	q.limit = config.at("maxTokens").whole()
	q.stops = config.at("stopSequences").texts()
	for _, t := range root.at("toolConfig", "tools").each() {
		if spec := t.at("toolSpec"); spec.there {
			q.tools = append(q.tools, tool{spec.at("name").str(), spec.at("inputSchema", "json").raw()})
		}
	}
	q.forced = root.at("toolConfig", "toolChoice", "tool", "name").str()
	switch more := root.at("additionalModelRequestFields"); {
	case more.at("thinking", "type").str() == "enabled", more.at("thinking", "type").str() == "adaptive",
		more.at("reasoningConfig", "type").str() == "enabled", more.at("reasoning_config", "type").str() == "enabled":
		q.think = true
	}
	if format := root.at("outputConfig", "textFormat"); format.at("type").str() == "json_schema" {
		q.schema = []byte(format.at("structure", "jsonSchema", "schema").str())
	}
	return nil
}

func bedrockTurn(m node) turn {
	t := turn{}
	if m.at("role").str() == "assistant" {
		t.role = roleModel
	}
	for _, b := range m.at("content").each() {
		t.text += b.at("text").str()
		switch {
		case b.has("image"):
			t.images++
		case b.has("document"), b.has("video"):
			t.files++
		case b.has("toolResult"):
			text := ""
			for _, c := range b.at("toolResult", "content").each() {
				text += c.at("text").str() + string(c.at("json").raw())
			}
			t.results = append(t.results, text)
		}
	}
	return t
}

func (bedrock) answer(j *job) answer {
	var a answer
	switch j.op {
	case opGenerate:
		a = j.converse()
	case opCount:
		a = answered(map[string]int{"inputTokens": j.promptTokens()})
	case opModels:
		a = j.foundationModels()
	case opNone, opComplete, opEmbed, opStored, opCancel:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.header = http.Header{"X-Amzn-Requestid": {j.id("req-")}}
	a.framing = eventStream()
	a.late = func(e *apiError, _ int) event {
		kind, message := bedrockWords(e)
		kind = strings.ToLower(kind[:1]) + kind[1:]
		return event{name: kind, exception: true, data: encode(map[string]string{"message": message})}
	}
	return a
}

// failure is an error as AWS says it: its name is in a header.
func (bedrock) failure(_ *request, e *apiError) failure {
	kind, message := bedrockWords(e)
	return failure{
		body: encode(map[string]string{"message": message}),
		header: http.Header{
			"X-Amzn-Errortype": {kind + ":http://internal.amazon.com/coral/com.amazon.bedrock/"}, "X-Amzn-Requestid": {"req-mock"},
		},
	}
}

// bedrockWords are the name and message of an exception.
func bedrockWords(e *apiError) (kind, message string) {
	switch e.Status {
	case http.StatusUnauthorized:
		kind, message = "UnrecognizedClientException", "The security token included in the request is invalid."
	case http.StatusForbidden:
		kind, message = "AccessDeniedException", "You don't have access to the model with the specified model ID."
	case http.StatusNotFound:
		kind, message = "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier."
	case http.StatusRequestTimeout:
		kind, message = "ModelTimeoutException", "Model has timed out in processing the request. Try your request again."
	case http.StatusFailedDependency:
		kind, message = "ModelErrorException", "The system encountered an unexpected error during processing. Try your request again."
	case http.StatusTooManyRequests:
		kind, message = "ThrottlingException", "Too many requests, please wait before trying again."
	case http.StatusServiceUnavailable, 529:
		kind, message = "ServiceUnavailableException", "Bedrock is unable to process your request."
	default:
		kind, message = "InternalServerException", "The system encountered an unexpected error during processing. Try your request again."
		if e.Status < 500 {
			kind, message = "ValidationException", http.StatusText(e.Status)
		}
	}
	if e.Type != "" {
		kind = e.Type
	} else if e.Code != "" {
		kind = e.Code
	}
	if e.Message != "" {
		message = e.Message
	}
	return strings.ToUpper(kind[:1]) + kind[1:], message
}

func (c counts) bedrock() map[string]int {
	u := map[string]int{"inputTokens": c.prompt - c.read - c.written, "outputTokens": c.spoken, "totalTokens": c.prompt + c.spoken}
	if c.read+c.written > 0 {
		u["cacheReadInputTokens"], u["cacheWriteInputTokens"] = c.read, c.written
	}
	return u
}

func bedrockStop(s stop) string {
	switch s {
	case stopCalls:
		return "tool_use"
	case stopLimit:
		return "max_tokens"
	case stopSequence:
		return "stop_sequence"
	case stopRefusal:
		return "content_filtered"
	case stopEnd:
	}
	return "end_turn"
}

// padded is an event with padding in it, as AWS sends it so that sizes tell nothing.
func padded(k kind, name string, members map[string]any) event {
	members["p"] = "abcdefghijkl"
	return event{kind: k, name: name, data: encode(members)}
}

// converse answers with a message.
func (j *job) converse() answer {
	s := j.say()
	blocks := []any{}
	events := []event{padded(kindOpening, "messageStart", map[string]any{"role": "assistant"})}
	for _, p := range s.parts {
		index := len(blocks)
		delta := func(k kind, v any) {
			events = append(events, padded(k, "contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": v}))
		}
		switch p.kind {
		case partThought:
			seal := sealOf(makerAnthropic, p.whole())
			blocks = append(blocks, map[string]any{"reasoningContent": map[string]any{
				"reasoningText": map[string]string{"text": p.whole(), "signature": seal},
			}})
			for _, piece := range p.pieces {
				delta(kindContent, map[string]any{"reasoningContent": map[string]string{"text": piece}})
			}
			delta(kindOpening, map[string]any{"reasoningContent": map[string]string{"signature": seal}})
		case partRedacted:
			sealed := map[string]any{"reasoningContent": map[string]string{"redactedContent": sealOf(makerAnthropic, p.whole())}}
			blocks = append(blocks, sealed)
			delta(kindOpening, sealed)
		case partCall:
			id := "tooluse_" + p.id
			blocks = append(blocks, map[string]any{"toolUse": map[string]any{"toolUseId": id, "name": p.name, "input": json.RawMessage(p.whole())}})
			events = append(events, padded(kindOpening, "contentBlockStart", map[string]any{
				"contentBlockIndex": index, "start": map[string]any{"toolUse": map[string]string{"toolUseId": id, "name": p.name}},
			}))
			for _, piece := range p.pieces {
				delta(kindContent, map[string]any{"toolUse": map[string]string{"input": piece}})
			}
		case partText:
			blocks = append(blocks, map[string]string{"text": p.whole()})
			for _, piece := range p.pieces {
				delta(kindContent, map[string]string{"text": piece})
			}
		case partRefusal:
			continue // it is the stop reason
		}
		events = append(events, padded(kindOpening, "contentBlockStop", map[string]any{"contentBlockIndex": index}))
	}
	metrics := map[string]int{"latencyMs": 1}
	whole := map[string]any{
		"output": map[string]any{"message": map[string]any{"role": "assistant", "content": blocks}},
		"usage":  s.bedrock(), "metrics": metrics,
	}
	stopped := map[string]any{"stopReason": bedrockStop(s.stop)}
	if s.sequence != "" {
		stopped["additionalModelResponseFields"] = map[string]string{"stop_sequence": s.sequence}
	}
	if !j.b.NoFinish {
		whole["stopReason"] = bedrockStop(s.stop)
	}
	events = append(events,
		padded(kindFinish, "messageStop", stopped),
		padded(kindDone, "metadata", map[string]any{"usage": s.bedrock(), "metrics": metrics}))
	return answer{status: http.StatusOK, plain: encode(whole), events: events}
}

func (j *job) foundationModels() answer {
	var list []any
	for _, name := range j.s.modelNames() {
		list = append(list, map[string]any{
			"modelId": name, "modelArn": fmt.Sprintf("arn:aws:bedrock:us-east-1::foundation-model/%s", name), "modelName": name,
			"providerName": "Evergate", "inputModalities": []string{"TEXT", "IMAGE"}, "outputModalities": []string{"TEXT"},
			"responseStreamingSupported": true, "modelLifecycle": map[string]string{"status": "ACTIVE"},
			"inferenceTypesSupported": []string{"ON_DEMAND"},
		})
	}
	return answered(map[string]any{"modelSummaries": list})
}
