package converse

import (
	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// TitanEmbed is Amazon Titan's request for one vector. It holds nothing and is safe for concurrent use.
type TitanEmbed struct{ invoke }

// NovaEmbed is Amazon Nova's request for one vector. It holds nothing and is safe for concurrent use.
type NovaEmbed struct{ invoke }

// CohereEmbed is the request for vectors of Cohere's models on Bedrock, whose model is in the path and whose numbers come
// in two forms. It holds nothing and is safe for concurrent use.
type CohereEmbed struct{ invoke }

var (
	_ wire.Embedder = TitanEmbed{}
	_ wire.Embedder = NovaEmbed{}
	_ wire.Embedder = CohereEmbed{}
)

// Name is "titan_embed".
func (TitanEmbed) Name() string { return "titan_embed" }

// Name is "nova_embed".
func (NovaEmbed) Name() string { return "nova_embed" }

// Name is "bedrock_cohere_embed".
func (CohereEmbed) Name() string { return "bedrock_cohere_embed" }

// Judge says whether the body has a vector.
func (d TitanEmbed) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeVectors(body, d.DecodeEmbedReply)
}

// Judge says whether the body has a vector.
func (d NovaEmbed) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeVectors(body, d.DecodeEmbedReply)
}

// Judge says whether the body has vectors.
func (d CohereEmbed) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeVectors(body, d.DecodeEmbedReply)
}

// EncodeEmbed appends {"inputText":…}. Titan takes one input; dimensions are known to its second version.
func (TitanEmbed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, _ *wire.Target) ([]byte, error) {
	inputs, err := texts(q, 1)
	if err != nil {
		return dst, err
	}
	dropVectorFields(q)
	if q.Task != "" {
		q.Dropped.Add("task")
	}
	dst = jsonscan.AppendStringMember(append(dst, '{'), "inputText", inputs[0])
	if q.Dimensions > 0 {
		dst = jsonscan.AppendIntMember(dst, "dimensions", q.Dimensions)
	}
	return append(dst, '}'), nil
}

// DecodeEmbedReply reads {"embedding":[…],"inputTextTokenCount":…}.
func (TitanEmbed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	a := &llm.EmbedReply{}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "embedding":
			if v := readVector(&r); len(v) > 0 {
				a.Vectors = [][]float32{v}
			}
		case "inputTextTokenCount":
			a.Usage.Input, a.Usage.Known = r.Int()
		default:
			r.Skip()
		}
	}
	if !r.End() || len(a.Vectors) == 0 {
		return nil, errNoVectors
	}
	return a, nil
}

// EncodeEmbed appends a SINGLE_EMBEDDING task. An input that is too long is refused, as elsewhere, and not cut.
func (NovaEmbed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, _ *wire.Target) ([]byte, error) {
	inputs, err := texts(q, 1)
	if err != nil {
		return dst, err
	}
	dropVectorFields(q)
	purpose := "GENERIC_INDEX"
	switch q.Task {
	case "query":
		purpose = "GENERIC_RETRIEVAL"
	case "classification":
		purpose = "CLASSIFICATION"
	case "clustering":
		purpose = "CLUSTERING"
	}
	dst = append(dst, `{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{`...)
	dst = jsonscan.AppendStringMember(dst, "embeddingPurpose", purpose)
	if q.Dimensions > 0 {
		dst = jsonscan.AppendIntMember(dst, "embeddingDimension", q.Dimensions)
	}
	dst = append(jsonscan.AppendKey(dst, "text"), `{"truncationMode":"NONE"`...)
	dst = jsonscan.AppendStringMember(dst, "value", inputs[0])
	return append(dst, "}}}"...), nil
}

// DecodeEmbedReply reads {"embeddings":[{"embedding":[…]}]}; the count of tokens is in a header alone.
func (NovaEmbed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	a := &llm.EmbedReply{}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "embeddings" {
			r.Skip()
			continue
		}
		if !r.Array() {
			continue
		}
		for r.Elem() {
			if v := readNova(&r); len(v) > 0 {
				a.Vectors = append(a.Vectors, v)
			}
		}
	}
	if !r.End() || len(a.Vectors) == 0 {
		return nil, errNoVectors
	}
	return a, nil
}

func readNova(r *jsonscan.Reader) (v []float32) {
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "embedding" {
			v = readVector(r)
		} else {
			r.Skip()
		}
	}
	return v
}

// maxTexts is how many inputs Cohere takes in a request.
const maxTexts = 96

// EncodeEmbed appends texts with what they are for, which Cohere must be told: texts to be found, unless it was said.
func (CohereEmbed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, _ *wire.Target) ([]byte, error) {
	inputs, err := texts(q, maxTexts)
	if err != nil {
		return dst, err
	}
	dropVectorFields(q)
	kind := "search_document"
	switch q.Task {
	case "query":
		kind = "search_query"
	case "classification":
		kind = "classification"
	case "clustering", "similarity":
		kind = "clustering"
	}
	dst = append(dst, `{"texts":[`...)
	for _, s := range inputs {
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

// DecodeEmbedReply reads "embeddings": by type, or bare where the model knows no types.
func (CohereEmbed) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	a := &llm.EmbedReply{}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "embeddings" {
			r.Skip()
			continue
		}
		if r.Kind() == jsonscan.Array {
			a.Vectors = readVectors(&r)
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "float" {
				a.Vectors = readVectors(&r)
			} else {
				r.Skip()
			}
		}
	}
	if !r.End() || len(a.Vectors) == 0 {
		return nil, errNoVectors
	}
	return a, nil
}
