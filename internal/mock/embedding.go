package mock

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
)

// dimensions of an embedding unless the request says how many.
const dimensions = 16

// vectors are one unit vector for each input, the same for the same text and model.
func (j *job) vectors() [][]float32 {
	size := dimensions
	if j.size > 0 {
		size = min(j.size, 4096)
	}
	out := make([][]float32, len(j.inputs))
	for i, text := range j.inputs {
		out[i] = vector(j.Model, text, size)
	}
	return out
}

// embeddings is OpenAI's form of them.
func (j *job) embeddings() answer {
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	type used struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
	n := j.promptTokens()
	out := struct {
		Object string `json:"object"`
		Data   []item `json:"data"`
		Model  string `json:"model"`
		Usage  used   `json:"usage"`
	}{Object: "list", Model: j.Model, Usage: used{n, n}}
	for i, v := range j.vectors() {
		var shown any = v
		if j.root.at("encoding_format").str() == "base64" {
			shown = packed(v)
		}
		out.Data = append(out.Data, item{"embedding", i, shown})
	}
	return answered(out)
}

// packed is a vector as base64 of its float32 values, little-endian.
func packed(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(raw)
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
