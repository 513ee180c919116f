package cohere

import (
	"errors"
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

var (
	errAskedOnly = errors.New("no client speaks this dialect")
	errNoVectors = errors.New("the upstream's answer has no embedding")
)

// maxTexts is how many inputs Cohere takes in a request.
const maxTexts = 96

// DecodeEmbed is an error: no client speaks this.
func (Embed) DecodeEmbed(*wire.Request) (*llm.EmbedRequest, error) { return nil, errAskedOnly }

// AppendEmbedReply appends nothing: no client speaks this.
func (Embed) AppendEmbedReply(dst []byte, _ *llm.EmbedReply, _ *llm.EmbedRequest) []byte { return dst }

// EncodeEmbed appends texts with what they are for, which Cohere must be told: texts to be found, unless it was said.
func (Embed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, t *wire.Target) ([]byte, error) {
	switch {
	case len(q.Tokens) > 0:
		return dst, &wire.RequestError{Param: "input", Message: "this model takes text, not token ids"}
	case len(q.Inputs) == 0:
		return dst, &wire.RequestError{Param: "input", Message: "there is no input"}
	case len(q.Inputs) > maxTexts:
		return dst, &wire.RequestError{Param: "input", Message: "this model takes at most " + strconv.Itoa(maxTexts) + " inputs in a request"}
	}
	if q.Title != "" {
		q.Dropped.Add("title")
	}
	if q.User != "" {
		q.Dropped.Add("user")
	}
	kind := "search_document"
	switch q.Task {
	case "query":
		kind = "search_query"
	case "classification":
		kind = "classification"
	case "clustering", "similarity":
		kind = "clustering"
	}
	dst = jsonscan.AppendStringMember(append(dst, '{'), "model", t.Model)
	dst = append(jsonscan.AppendKey(dst, "texts"), '[')
	for _, s := range q.Inputs {
		dst = jsonscan.AppendString(jsonscan.AppendComma(dst), s)
	}
	dst = append(dst, ']')
	dst = jsonscan.AppendStringMember(dst, "input_type", kind)
	dst = append(jsonscan.AppendKey(dst, "embedding_types"), `["float"]`...)
	if q.Dimensions > 0 { // known to the fourth version
		dst = jsonscan.AppendIntMember(dst, "output_dimension", q.Dimensions)
	}
	return append(dst, '}'), nil
}

// DecodeEmbedReply reads "embeddings": by type, or bare as the first version of the API has them.
func (Embed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	a := &llm.EmbedReply{}
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return nil, errNoVectors
	}
	enter(&r, func(key string) {
		switch key {
		case "embeddings":
			if r.Kind() == jsonscan.Array {
				a.Vectors = readVectors(&r)
				return
			}
			enter(&r, func(key string) {
				if key == "float" {
					a.Vectors = readVectors(&r)
				} else {
					r.Skip()
				}
			})
		case "meta": // it holds what a chat's usage does
			a.Usage = readUsage(&r)
		default:
			r.Skip()
		}
	})
	if !r.End() || len(a.Vectors) == 0 {
		return nil, errNoVectors
	}
	return a, nil
}

// Judge says whether the body has vectors.
func (d Embed) Judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	a, err := d.DecodeEmbedReply(body)
	if err != nil {
		return reply, noAnswer(body, err.Error())
	}
	reply.Usage = a.Usage
	return reply, nil
}

// readVectors reads an array of vectors; nil if one of them is none.
func readVectors(r *jsonscan.Reader) (out [][]float32) {
	if !r.Array() {
		return nil
	}
	for r.Elem() {
		if !r.Array() {
			return nil
		}
		v := make([]float32, 0, 1024)
		for r.Elem() {
			n, err := strconv.ParseFloat(string(r.Raw()), 32)
			if err != nil {
				return nil
			}
			v = append(v, float32(n))
		}
		if len(v) == 0 {
			return nil
		}
		out = append(out, v)
	}
	return out
}
