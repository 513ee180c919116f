package mock

import (
	"encoding/json"
	"net/http"
)

func modality(n int) []any { return []any{map[string]any{"modality": "TEXT", "tokenCount": n}} }

// cachedContent is how many tokens a request's cachedContent stands for.
const cachedContent = 64

func (j *job) geminiUsage(c counts, spoken bool) map[string]any {
	if j.root.camel("cachedContent").there {
		c.read = cachedContent
		c.prompt += cachedContent
	}
	u := map[string]any{
		"promptTokenCount": c.prompt, "totalTokenCount": c.prompt + c.spoken, "promptTokensDetails": modality(c.prompt),
	}
	if c.read > 0 {
		u["cachedContentTokenCount"] = c.read
	}
	if !spoken {
		u["totalTokenCount"] = c.prompt
		return u
	}
	u["candidatesTokenCount"] = c.spoken - c.thought
	if c.thought > 0 {
		u["thoughtsTokenCount"] = c.thought
	}
	return u
}

func geminiStop(s stop) string {
	switch s {
	case stopLimit:
		return "MAX_TOKENS"
	case stopRefusal:
		return "SAFETY"
	case stopEnd, stopCalls, stopSequence:
	}
	return "STOP"
}

// geminiParts are the parts of what is said, each with the pieces in which it is streamed. A call comes in one piece.
func (j *job) geminiParts(s saying) (parts []map[string]any, pieces [][]map[string]any) {
	shown := j.root.camel("generationConfig", "thinkingConfig", "includeThoughts").yes()
	signed := false
	for _, p := range s.parts {
		var streamed []map[string]any
		part := map[string]any{"text": p.whole()}
		switch p.kind {
		case partThought:
			if !shown {
				continue
			}
			part["thought"] = true
			for _, piece := range p.pieces {
				streamed = append(streamed, map[string]any{"text": piece, "thought": true})
			}
		case partCall:
			call := map[string]any{"name": p.name, "args": json.RawMessage(p.whole())}
			if isGemini3(j.Model) {
				call["id"] = p.id
			}
			part = map[string]any{"functionCall": call}
			if s.thought > 0 && !signed { // of calls in parallel only the first is signed
				part["thoughtSignature"], signed = sealOf(makerGoogle, p.id), true
			}
			streamed = append(streamed, part)
		case partText:
			for _, piece := range p.pieces {
				streamed = append(streamed, map[string]any{"text": piece})
			}
			if s.thought > 0 && !signed {
				seal := sealOf(makerGoogle, j.id("text_"))
				part["thoughtSignature"], signed = seal, true
				streamed = append(streamed, map[string]any{"text": "", "thoughtSignature": seal})
			}
		case partRedacted, partRefusal:
			continue
		}
		parts, pieces = append(parts, part), append(pieces, streamed)
	}
	return parts, pieces
}

// content answers with content. A refusal is a candidate that was stopped for safety, without content.
func (j *job) content() answer {
	s := j.say()
	parts, pieces := j.geminiParts(s)
	frame := func(candidate, usage map[string]any) map[string]any {
		return map[string]any{
			"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": j.Model, "responseId": j.id("resp-"),
		}
	}
	candidate := func(parts []map[string]any, finish string) map[string]any {
		c := map[string]any{"index": 0}
		if parts != nil {
			c["content"] = map[string]any{"role": "model", "parts": parts}
		}
		if finish != "" && !j.b.NoFinish {
			c["finishReason"] = finish
		}
		if finish == "SAFETY" {
			c["safetyRatings"] = []any{map[string]any{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}}
		}
		return c
	}
	finish := geminiStop(s.stop)
	plain := frame(candidate(parts, finish), j.geminiUsage(s.counts, true))

	var events []event
	for _, p := range pieces {
		for _, piece := range p {
			e := event{kind: kindContent, data: encode(frame(candidate([]map[string]any{piece}, ""), j.geminiUsage(s.counts, false)))}
			if piece["text"] == "" {
				e.kind = kindOpening // it only carries a signature
			}
			events = append(events, e)
		}
	}
	var closing []map[string]any
	if s.stop != stopRefusal {
		closing = []map[string]any{{"text": ""}}
	}
	last := event{kind: kindFinish, data: encode(frame(candidate(closing, finish), j.geminiUsage(s.counts, true)))}
	if j.b.NoFinish {
		last.kind = kindUsage // it is sent, with nothing to say why it ends
	}
	a := answer{status: http.StatusOK, plain: encode(plain), events: append(events, last), framing: sse()}
	if j.query.Get("alt") != "sse" {
		a.framing = jsonArray()
		a.events = append(a.events, event{kind: kindDone, data: []byte("\n]")})
	}
	if !j.Stream {
		a.framing = sse()
	}
	return a
}
