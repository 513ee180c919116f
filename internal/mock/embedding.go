package mock

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"net/http"
)

// dimensions of an embedding unless the request says how many.
const dimensions = 16

// embeddings answers with one unit vector for each input, the same for the same text and model.
func embeddings(q *request) answer {
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	type used struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
	size := dimensions
	if q.Dimensions > 0 {
		size = min(q.Dimensions, 4096)
	}
	out := struct {
		Object string `json:"object"`
		Data   []item `json:"data"`
		Model  string `json:"model"`
		Usage  used   `json:"usage"`
	}{Object: "list", Model: q.Model, Usage: used{q.promptTokens(), q.promptTokens()}}
	for i, text := range q.Input {
		v := vector(q.Model, text, size)
		var shown any = v
		if q.EncodingFormat == "base64" {
			raw := make([]byte, 0, 4*len(v))
			for _, f := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
			}
			shown = base64.StdEncoding.EncodeToString(raw)
		}
		out.Data = append(out.Data, item{"embedding", i, shown})
	}
	return answer{status: http.StatusOK, plain: encode(out)}
}

func vector(model, text string, size int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(model + "\x00" + text))
	seed := h.Sum64()
	v := make([]float64, size)
	var norm float64
	for i := range v {
		v[i] = 2*draw(seed, 0, uint64(i)+1) - 1
		norm += v[i] * v[i]
	}
	out := make([]float32, size)
	for i := range v {
		out[i] = float32(v[i] / math.Sqrt(norm))
	}
	return out
}
