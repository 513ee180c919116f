package gemini

import (
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func embedRequest(t *testing.T, d wire.Embedder, body string) (*llm.EmbedRequest, error) {
	t.Helper()
	r, err := d.ReadRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d.DecodeEmbed(&r)
}

func TestDecodeEmbed(t *testing.T) {
	t.Parallel()
	q, err := embedRequest(t, BatchEmbed{}, string(read(t, "embeddings/batch-embedding-2.request.json")))
	if err != nil || !slices.Equal(q.Inputs, []string{"First text", "Second text"}) || q.Dimensions != 768 {
		t.Errorf("%+v %v", q, err)
	}
	q, err = embedRequest(t, Embed{}, `{"model":"models/x","content":{"parts":[{"text":"a"},{"text":"b\n"}]},"embed_content_config":{"task_type":"RETRIEVAL_DOCUMENT","title":"t","outputDimensionality":3,"autoTruncate":true}}`)
	if err != nil || q.Inputs[0] != "a\nb\n" || q.Task != "document" || q.Title != "t" || q.Dimensions != 3 || !slices.Equal(q.Dropped.Names(), []string{"autoTruncate"}) {
		t.Errorf("%+v %v", q, err)
	}
	q, _ = embedRequest(t, Embed{}, `{"content":{"parts":[{"text":"a"}]},"taskType":"SOMETHING_NEW"}`)
	if q.Task != "" || !slices.Equal(q.Dropped.Names(), []string{"taskType"}) {
		t.Errorf("%+v", q)
	}
	for _, c := range []struct {
		d    wire.Embedder
		body string
	}{
		{Embed{}, `{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"aa"}}]}}`},
		{Embed{}, `{"content":{"parts":[]}}`},
		{BatchEmbed{}, `{"requests":[]}`},
		{BatchEmbed{}, `{"requests":[{"content":{"parts":[{"text":"a"}]},"outputDimensionality":1},{"content":{"parts":[{"text":"a"}]}}]}`},
		{VertexEmbed{}, `{"instances":[{"content":"a"}]}`},
	} {
		if _, err := embedRequest(t, c.d, c.body); err == nil {
			t.Errorf("%s takes %s", c.d.Name(), c.body)
		}
	}
}

func TestEncodeEmbed(t *testing.T) {
	t.Parallel()
	q := &llm.EmbedRequest{Inputs: []string{"a", "b\""}, Dimensions: 8, Task: "document", Title: "t", User: "u", Dropped: &llm.Dropped{}}
	to := &wire.Target{Model: "gemini-embedding-001"}
	out, err := BatchEmbed{}.EncodeEmbed(nil, q, to)
	if err != nil {
		t.Fatal(err)
	}
	checkType(t, "BatchEmbedContentsRequest", out)
	same(t, "batch", `{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT","title":"t","outputDimensionality":8},
		{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"b\""}]},"taskType":"RETRIEVAL_DOCUMENT","title":"t","outputDimensionality":8}]}`, string(out))
	out, err = VertexEmbed{}.EncodeEmbed(nil, q, to)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "vertex", `{"instances":[{"content":"a","task_type":"RETRIEVAL_DOCUMENT","title":"t"},{"content":"b\"","task_type":"RETRIEVAL_DOCUMENT","title":"t"}],"parameters":{"outputDimensionality":8}}`, string(out))
	if !slices.Equal(q.Dropped.Names(), []string{"user"}) {
		t.Errorf("dropped %v", q.Dropped.Names())
	}
	if _, err := (Embed{}).EncodeEmbed(nil, q, to); err == nil {
		t.Error("two texts become one vector")
	}
	out, err = Embed{}.EncodeEmbed(nil, &llm.EmbedRequest{Inputs: []string{"a"}, Task: "odd", Title: "t", Dropped: q.Dropped}, to)
	if err != nil {
		t.Fatal(err)
	}
	checkType(t, "EmbedContentRequest", out)
	same(t, "one", `{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]}}`, string(out))
	if !slices.Equal(q.Dropped.Names(), []string{"user", "input_type", "title"}) {
		t.Errorf("dropped %v", q.Dropped.Names())
	}
	for _, q := range []*llm.EmbedRequest{{Tokens: [][]int64{{1}}}, {}} {
		for _, d := range []wire.Embedder{Embed{}, BatchEmbed{}, VertexEmbed{}} {
			if _, err := d.EncodeEmbed(nil, q, to); err == nil {
				t.Errorf("%s embeds %+v", d.Name(), q)
			}
		}
	}
}

func TestEmbedReplies(t *testing.T) {
	t.Parallel()
	body := read(t, "embeddings/batch-embedding-2.json")
	reply, f := BatchEmbed{}.Judge(body)
	if f != nil || reply.Usage.Input != 4 || !reply.Usage.Known {
		t.Fatalf("%+v %v", reply, f)
	}
	a, err := BatchEmbed{}.DecodeEmbedReply(body)
	if err != nil || len(a.Vectors) != 2 || len(a.Vectors[0]) != 768 || a.Vectors[0][0] != -0.011345503 {
		t.Fatalf("%v", err)
	}
	out := BatchEmbed{}.AppendEmbedReply(nil, a, nil)
	checkType(t, "BatchEmbedContentsResponse", out)
	b, err := BatchEmbed{}.DecodeEmbedReply(out)
	if err != nil || !slices.Equal(b.Vectors[1], a.Vectors[1]) || b.Usage != a.Usage {
		t.Errorf("%v", err)
	}
	one := Embed{}.AppendEmbedReply(nil, a, nil)
	checkType(t, "EmbedContentResponse", one)
	if c, err := (Embed{}).DecodeEmbedReply(one); err != nil || !slices.Equal(c.Vectors[0], a.Vectors[0]) {
		t.Errorf("%v", err)
	}
	v, err := VertexEmbed{}.DecodeEmbedReply([]byte(`{"predictions":[{"embeddings":{"values":[1,-2.5e-3],"statistics":{"token_count":3}}},{"embeddings":{"values":[2],"statistics":{"token_count":4}}}]}`))
	if err != nil || len(v.Vectors) != 2 || v.Vectors[0][1] != -2.5e-3 || v.Usage.Input != 7 {
		t.Errorf("%+v %v", v, err)
	}
	for _, c := range []struct {
		d    wire.Embedder
		body string
	}{
		{Embed{}, ``},
		{Embed{}, `{}`},
		{Embed{}, `{"embedding":{"values":[]}}`},
		{Embed{}, `{"embedding":{"values":["x"]}}`},
		{BatchEmbed{}, `{"embeddings":[]}`},
		{BatchEmbed{}, `{"embeddings":[{"values":[1]},{}]}`},
		{BatchEmbed{}, `{"error":{"code":400,"message":"m"}}`},
		{VertexEmbed{}, `{"predictions":[{}]}`},
	} {
		if _, err := c.d.DecodeEmbedReply([]byte(c.body)); err == nil {
			t.Errorf("%s reads %s", c.d.Name(), c.body)
		}
	}
}
