package gemini

import (
	"strconv"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

var _ wire.Counter = CountTokens{}

// DecodeCounted reads what is to be counted: the contents alone, or a whole request in generateContentRequest.
func (CountTokens) DecodeCounted(r *wire.Request) (*llm.Request, error) {
	counted := *r
	for _, m := range members(r.Body) {
		if string(camel([]byte(m.key))) == "generateContentRequest" && len(m.raw) > 0 && m.raw[0] == '{' {
			counted.Body = m.raw
		}
	}
	return Generate{}.DecodeRequest(&counted)
}

// AppendCount appends the reply that says how many tokens there are.
func (CountTokens) AppendCount(dst []byte, tokens int64) []byte {
	dst = append(dst, `{"totalTokens":`...)
	dst = strconv.AppendInt(dst, tokens, 10)
	return append(dst, '}')
}
