package gemini

import (
	"fmt"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Embed is embedContent: one text, one vector. It holds nothing and is safe for concurrent use.
type Embed struct{ single }

// BatchEmbed is batchEmbedContents. It holds nothing and is safe for concurrent use.
type BatchEmbed struct{ single }

// VertexEmbed is Vertex AI's predict as its embedding models speak it. Only providers speak it. It holds nothing and is
// safe for concurrent use.
type VertexEmbed struct{ single }

var (
	_ wire.Embedder = Embed{}
	_ wire.Embedder = BatchEmbed{}
	_ wire.Embedder = VertexEmbed{}
)

// Name is "gemini_embed".
func (Embed) Name() string { return "gemini_embed" }

// Name is "gemini_batch_embed".
func (BatchEmbed) Name() string { return "gemini_batch_embed" }

// Name is "vertex_embed".
func (VertexEmbed) Name() string { return "vertex_embed" }

// Side is true: many providers have no embeddings.
func (Embed) Side() bool { return true }

// Side is true: many providers have no embeddings.
func (BatchEmbed) Side() bool { return true }

// Side is true: many providers have no embeddings.
func (VertexEmbed) Side() bool { return true }

// ReadRequest checks that content is there.
func (Embed) ReadRequest(body []byte) (wire.Request, error) { return readTop(body, "content") }

// ReadRequest checks that requests are there.
func (BatchEmbed) ReadRequest(body []byte) (wire.Request, error) { return readOneOf(body, "requests") }

// ReadRequest checks that instances are there.
func (VertexEmbed) ReadRequest(body []byte) (wire.Request, error) { return readTop(body, "instances") }

// readTop is readOneOf for a request that names no model further in.
func readTop(body []byte, name string) (wire.Request, error) {
	q, err := readOneOf(body, name)
	q.Spans.Again = false
	return q, err
}

// AppendRequest changes the model where the body names one.
func (Embed) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendNested(dst, r, w)
}

// AppendRequest changes the model in each of the requests.
func (BatchEmbed) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendNested(dst, r, w)
}

// AppendRequest changes what w names.
func (VertexEmbed) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendNested(dst, r, w)
}

// Judge reads the reply.
func (Embed) Judge(body []byte) (wire.Reply, *fault.Fault) { return judgeVectors(body, "embedding") }

// Judge reads the reply.
func (BatchEmbed) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeVectors(body, "embeddings")
}

// Judge reads the reply.
func (VertexEmbed) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeVectors(body, "predictions")
}

// DecodeEmbed reads a request for one vector.
func (Embed) DecodeEmbed(r *wire.Request) (*llm.EmbedRequest, error) {
	q := &llm.EmbedRequest{Model: r.Model, Dropped: &llm.Dropped{}}
	input, err := decodeEmbed(r.Body, q)
	q.Inputs = []string{input}
	return q, err
}

// DecodeEmbed reads a request for several vectors, which must be wanted all alike.
func (BatchEmbed) DecodeEmbed(r *wire.Request) (*llm.EmbedRequest, error) {
	q := &llm.EmbedRequest{Model: r.Model, Dropped: &llm.Dropped{}}
	first := true
	for _, m := range members(r.Body) {
		if m.key != "requests" {
			continue
		}
		for _, e := range elements(m.raw) {
			one := llm.EmbedRequest{Dropped: q.Dropped}
			input, err := decodeEmbed(e, &one)
			if err != nil {
				return q, err
			}
			if !first && (one.Dimensions != q.Dimensions || one.Task != q.Task || one.Title != q.Title) {
				return q, &wire.RequestError{
					Param:   "requests",
					Message: "another provider can only be asked for vectors of one size and for one task at once: send a request for each",
				}
			}
			q.Dimensions, q.Task, q.Title, first = one.Dimensions, one.Task, one.Title, false
			q.Inputs = append(q.Inputs, input)
		}
	}
	if len(q.Inputs) == 0 {
		return q, &wire.RequestError{Param: "requests", Message: `"requests" is empty`}
	}
	return q, nil
}

// DecodeEmbed is an error: no client speaks it.
func (VertexEmbed) DecodeEmbed(*wire.Request) (*llm.EmbedRequest, error) {
	return nil, &wire.RequestError{Message: "Vertex AI's predict is not translated to another provider's API"}
}

// decodeEmbed reads one embedding's request and gives its text.
func decodeEmbed(raw []byte, q *llm.EmbedRequest) (input string, err error) {
	for _, m := range members(raw) {
		switch name := string(camel([]byte(m.key))); name {
		case "content":
			for _, e := range elements(partsOf(m.raw)) {
				p := readPartOf(e)
				if !p.isText {
					return "", &wire.RequestError{Param: "content", Message: "only text can be embedded by another provider"}
				}
				if input != "" {
					input += "\n"
				}
				input += jsonscan.TextOf(p.text)
			}
		case "embedContentConfig":
			for _, n := range members(m.raw) {
				embedOption(string(camel([]byte(n.key))), n.raw, q)
			}
		case "model":
		default:
			embedOption(name, m.raw, q)
		}
	}
	if input == "" {
		err = &wire.RequestError{Param: "content", Message: `"content" holds no text`}
	}
	return input, err
}

func embedOption(name string, raw []byte, q *llm.EmbedRequest) {
	switch name {
	case "outputDimensionality":
		q.Dimensions, _ = whole(raw)
	case "taskType":
		word := textOf(raw)
		if q.Task = taskOf(word); q.Task == "" && word != "" && word != "TASK_TYPE_UNSPECIFIED" {
			q.Dropped.Add(name)
		}
	case "title":
		q.Title = textOf(raw)
	default:
		if !empty(raw) {
			q.Dropped.Add(name)
		}
	}
}

// taskOf is the common word for Google's task type; empty: unsaid, or there is none.
func taskOf(word string) string {
	switch word {
	case "RETRIEVAL_QUERY", "QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY":
		return "query"
	case "RETRIEVAL_DOCUMENT":
		return "document"
	case "SEMANTIC_SIMILARITY":
		return "similarity"
	case "CLASSIFICATION":
		return "classification"
	case "CLUSTERING":
		return "clustering"
	}
	return ""
}

// taskWord is Google's word for a task; empty: none.
func taskWord(task string) string {
	switch task {
	case "query":
		return "RETRIEVAL_QUERY"
	case "document":
		return "RETRIEVAL_DOCUMENT"
	case "similarity":
		return "SEMANTIC_SIMILARITY"
	case "classification":
		return "CLASSIFICATION"
	case "clustering":
		return "CLUSTERING"
	}
	return ""
}

// EncodeEmbed appends a request for one vector.
func (Embed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, t *wire.Target) ([]byte, error) {
	if err := embeddable(q); err != nil {
		return dst, err
	}
	if len(q.Inputs) != 1 {
		return dst, &wire.RequestError{Param: "input", Message: fmt.Sprintf("this API embeds one text at once, not %d", len(q.Inputs))}
	}
	return appendEmbed(dst, q, q.Inputs[0], t.Model), nil
}

// EncodeEmbed appends a request for a vector of each input.
func (BatchEmbed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, t *wire.Target) ([]byte, error) {
	if err := embeddable(q); err != nil {
		return dst, err
	}
	out := list{dst: append(dst, '{')}
	out.open("requests", '[')
	for _, input := range q.Inputs {
		out.next()
		out.dst = appendEmbed(out.dst, q, input, t.Model)
	}
	out.close(']')
	return append(out.dst, '}'), nil
}

// EncodeEmbed appends a prediction's request with an instance for each input.
func (VertexEmbed) EncodeEmbed(dst []byte, q *llm.EmbedRequest, _ *wire.Target) ([]byte, error) {
	if err := embeddable(q); err != nil {
		return dst, err
	}
	out := list{dst: append(dst, '{')}
	out.open("instances", '[')
	for _, input := range q.Inputs {
		out.next()
		one := list{dst: append(out.dst, '{')}
		one.text("content", input)
		if task := taskWord(q.Task); task != "" {
			one.text("task_type", task)
		}
		if q.Title != "" && q.Task == "document" {
			one.text("title", q.Title)
		}
		out.dst = append(one.dst, '}')
	}
	out.close(']')
	if q.Dimensions > 0 {
		out.open("parameters", '{')
		out.number("outputDimensionality", q.Dimensions)
		out.close('}')
	}
	return append(out.dst, '}'), nil
}

// embeddable checks that there are texts to embed, and notes what is lost.
func embeddable(q *llm.EmbedRequest) error {
	if len(q.Tokens) > 0 {
		return &wire.RequestError{Param: "input", Message: "Google embeds text, not token ids: send the text"}
	}
	if len(q.Inputs) == 0 {
		return &wire.RequestError{Param: "input", Message: "there is nothing to embed"}
	}
	if q.User != "" {
		q.Dropped.Add("user")
	}
	if q.Task != "" && taskWord(q.Task) == "" {
		q.Dropped.Add("input_type")
	}
	if q.Title != "" && q.Task != "document" {
		q.Dropped.Add("title")
	}
	return nil
}

func appendEmbed(dst []byte, q *llm.EmbedRequest, input, model string) []byte {
	out := list{dst: append(dst, '{')}
	out.text("model", modelName(model))
	out.open("content", '{')
	out.open("parts", '[')
	out.next()
	part := list{dst: append(out.dst, '{')}
	part.text("text", input)
	out.dst = append(part.dst, '}')
	out.close(']')
	out.close('}')
	if task := taskWord(q.Task); task != "" {
		out.text("taskType", task)
	}
	if q.Title != "" && q.Task == "document" {
		out.text("title", q.Title)
	}
	if q.Dimensions > 0 {
		out.number("outputDimensionality", q.Dimensions)
	}
	return append(out.dst, '}')
}
