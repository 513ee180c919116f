package vertex

import (
	"evergate/internal/jsonscan"
)

// anthropicVersion is the one version of Claude's API on Vertex.
const anthropicVersion = `"anthropic_version":"vertex-2023-10-16"`

// body changes a request where Vertex has it otherwise than the maker of its dialect: Claude's names its version, and a
// token count has its request unwrapped. It returns body itself where nothing changes.
func body(body []byte, dialect, _ string) []byte {
	switch dialect {
	case messages, claudeTokens:
		return withVersion(body)
	case countTokens:
		return unwrapped(body)
	}
	return body
}

// withVersion has the version after the opening brace, unless one is there already.
func withVersion(body []byte) []byte {
	r := jsonscan.New(body)
	if !r.Object() {
		return body
	}
	inside, first := r.Offset(), true
	for {
		key, ok := r.Key()
		if !ok {
			break
		}
		if string(key) == "anthropic_version" {
			return body
		}
		first = false
		r.Skip()
	}
	if !r.OK() {
		return body
	}
	out := make([]byte, 0, len(body)+len(anthropicVersion)+1)
	out = append(append(out, body[:inside]...), anthropicVersion...)
	if !first {
		out = append(out, ',')
	}
	return append(out, body[inside:]...)
}

// unwrapped is what stands in generateContentRequest, which only the Gemini API knows; its members are those of a count.
func unwrapped(body []byte) []byte {
	r := jsonscan.New(body)
	if !r.Object() {
		return body
	}
	for {
		key, ok := r.Key()
		if !ok {
			return body
		}
		if string(key) == "generateContentRequest" && r.Kind() == jsonscan.Object {
			if from, to := r.Skip(); r.OK() {
				return body[from:to]
			}
			return body
		}
		r.Skip()
	}
}
