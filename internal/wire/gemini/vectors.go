package gemini

import (
	"math"
	"strconv"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// modelName is a model's resource name, as requests within a batch have to say it.
func modelName(model string) string {
	if strings.Contains(model, "/") {
		return model
	}
	return "models/" + model
}

// judgeVectors reads a reply whose vectors are in the member of that name: each must have values.
func judgeVectors(body []byte, name string) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, arrayFault); f != nil {
		return reply, f
	}
	if err := jsonscan.Valid(body); err != nil {
		return reply, wire.BrokenAnswer(err)
	}
	found, lacking := 0, 0
	var errorRaw []byte
	for _, m := range members(body) {
		switch m.key {
		case name:
			for _, v := range vectorsOf(m.raw) {
				found++
				if len(elements(v.values)) == 0 {
					lacking++
				}
				reply.Usage.Input += v.tokens
				reply.Usage.Known = reply.Usage.Known || v.tokens > 0
			}
		case "usageMetadata":
			r := jsonscan.New(m.raw)
			if u, _ := readUsage(&r); u.Known {
				reply.Usage = u
			}
		case "error":
			r := jsonscan.New(m.raw)
			errorRaw = errorValue(&r)
		}
	}
	switch {
	case found > 0 && lacking == 0:
		return reply, nil
	case errorRaw != nil:
		d, _ := readDetail(errorRaw)
		return reply, d.fault()
	case found == 0:
		return reply, wire.Invalid(`the upstream's answer has no "` + name + `"`)
	}
	return reply, wire.Invalid(`"` + name + `" in the upstream's answer lacks an embedding`)
}

// vector is one embedding as it came.
type vector struct {
	values []byte
	tokens int64
}

// vectorsOf reads an embedding, or an array of embeddings or predictions.
func vectorsOf(raw []byte) []vector {
	if len(raw) == 0 || raw[0] != '[' {
		return []vector{vectorOf(raw)}
	}
	var out []vector
	for _, e := range elements(raw) {
		out = append(out, vectorOf(e))
	}
	return out
}

func vectorOf(raw []byte) (v vector) {
	for _, m := range members(raw) {
		switch m.key {
		case "values":
			v.values = m.raw
		case "embeddings": // of a prediction
			v = vectorOf(m.raw)
		case "statistics":
			for _, n := range members(m.raw) {
				if string(camel([]byte(n.key))) == "tokenCount" {
					v.tokens, _ = whole(n.raw)
				}
			}
		}
	}
	return v
}

func decodeVectors(body []byte, name string) (*llm.EmbedReply, error) {
	reply, f := judgeVectors(body, name)
	if f != nil {
		return nil, f
	}
	a := &llm.EmbedReply{Usage: reply.Usage}
	for _, m := range members(body) {
		if m.key != name {
			continue
		}
		for _, v := range vectorsOf(m.raw) {
			var out []float32
			for _, n := range elements(v.values) {
				x, err := strconv.ParseFloat(string(n), 32)
				if err != nil {
					return nil, wire.Invalid("an embedding in the upstream's answer is no list of numbers")
				}
				out = append(out, float32(x))
			}
			a.Vectors = append(a.Vectors, out)
		}
	}
	return a, nil
}

// DecodeEmbedReply reads a reply that Judge found good.
func (Embed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	return decodeVectors(body, "embedding")
}

// DecodeEmbedReply reads a reply that Judge found good.
func (BatchEmbed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	return decodeVectors(body, "embeddings")
}

// DecodeEmbedReply reads a reply that Judge found good.
func (VertexEmbed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	return decodeVectors(body, "predictions")
}

// AppendEmbedReply appends the first of the vectors.
func (Embed) AppendEmbedReply(dst []byte, a *llm.EmbedReply, _ *llm.EmbedRequest) []byte {
	out := list{dst: append(dst, '{')}
	out.key("embedding")
	var first []float32
	if len(a.Vectors) > 0 {
		first = a.Vectors[0]
	}
	out.dst = appendVector(out.dst, first)
	appendEmbedUsage(&out, a.Usage)
	return append(out.dst, '}')
}

// AppendEmbedReply appends all vectors.
func (BatchEmbed) AppendEmbedReply(dst []byte, a *llm.EmbedReply, _ *llm.EmbedRequest) []byte {
	out := list{dst: append(dst, '{')}
	out.open("embeddings", '[')
	for _, v := range a.Vectors {
		out.next()
		out.dst = appendVector(out.dst, v)
	}
	out.close(']')
	appendEmbedUsage(&out, a.Usage)
	return append(out.dst, '}')
}

// AppendEmbedReply appends nothing: no client speaks it.
func (VertexEmbed) AppendEmbedReply(dst []byte, _ *llm.EmbedReply, _ *llm.EmbedRequest) []byte {
	return dst
}

func appendEmbedUsage(out *list, u llm.Usage) {
	if u.Known {
		out.open("usageMetadata", '{')
		out.number("promptTokenCount", u.Input)
		out.close('}')
	}
}

func appendVector(dst []byte, v []float32) []byte {
	out := list{dst: append(dst, `{"values":[`...)}
	for _, x := range v {
		out.next()
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0 // JSON has no word for it
		}
		out.dst = strconv.AppendFloat(out.dst, f, 'g', -1, 32)
	}
	return append(out.dst, "]}"...)
}
