package converse

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

func TestEncodeEmbed(t *testing.T) {
	t.Parallel()
	one := llm.EmbedRequest{Inputs: []string{"a \"b\""}}
	for _, c := range []struct {
		name    string
		d       wire.Embedder
		q       llm.EmbedRequest
		want    string // empty: it cannot be asked
		dropped []string
	}{
		{name: "titan", d: TitanEmbed{}, q: one, want: `{"inputText":"a \"b\""}`},
		{
			name: "titan, all", d: TitanEmbed{}, q: llm.EmbedRequest{Inputs: []string{"a"}, Dimensions: 256, Task: "query", User: "u", Title: "t"},
			want: `{"inputText":"a","dimensions":256}`, dropped: []string{"task", "title", "user"},
		},
		{name: "titan takes one", d: TitanEmbed{}, q: llm.EmbedRequest{Inputs: []string{"a", "b"}}},
		{name: "nova", d: NovaEmbed{}, q: one, want: `{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{"embeddingPurpose":"GENERIC_INDEX","text":{"truncationMode":"NONE","value":"a \"b\""}}}`},
		{
			name: "nova, all", d: NovaEmbed{}, q: llm.EmbedRequest{Inputs: []string{"a"}, Dimensions: 384, Task: "query"},
			want: `{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{"embeddingPurpose":"GENERIC_RETRIEVAL","embeddingDimension":384,"text":{"truncationMode":"NONE","value":"a"}}}`,
		},
		{name: "nova takes one", d: NovaEmbed{}, q: llm.EmbedRequest{Inputs: []string{"a", "b"}}},
		{
			name: "cohere", d: CohereEmbed{}, q: llm.EmbedRequest{Inputs: []string{"a", "b"}, Task: "query", Dimensions: 512},
			want: `{"texts":["a","b"],"input_type":"search_query","embedding_types":["float"],"output_dimension":512}`,
		},
		{name: "cohere, unsaid", d: CohereEmbed{}, q: one, want: `{"texts":["a \"b\""],"input_type":"search_document","embedding_types":["float"]}`},
		{name: "cohere takes 96", d: CohereEmbed{}, q: llm.EmbedRequest{Inputs: make([]string, 97)}},
		{name: "tokens", d: CohereEmbed{}, q: llm.EmbedRequest{Tokens: [][]int64{{1}}}},
		{name: "nothing", d: TitanEmbed{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.q.Dropped = &llm.Dropped{}
			out, err := c.d.EncodeEmbed([]byte("x"), &c.q, &wire.Target{})
			if e := (*wire.RequestError)(nil); c.want == "" && (!errors.As(err, &e) || e.Param != "input") {
				t.Fatal(err)
			}
			if string(out) != "x"+c.want {
				t.Errorf("%s", out)
			}
			got := slices.Sorted(slices.Values(c.q.Dropped.Names()))
			if d := cmp.Diff(c.dropped, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeEmbedReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    wire.Embedder
		body string
		want *llm.EmbedReply // nil: it is no answer
	}{
		{name: "titan", d: TitanEmbed{}, body: `{"embedding":[0.5,-1e-3],"inputTextTokenCount":7,"embeddingsByType":{"float":[1]}}`, want: &llm.EmbedReply{Vectors: [][]float32{{0.5, -0.001}}, Usage: llm.Usage{Known: true, Input: 7}}},
		{name: "titan, empty", d: TitanEmbed{}, body: `{"embedding":[]}`},
		{name: "titan, words", d: TitanEmbed{}, body: `{"embedding":["a"]}`},
		{name: "nova", d: NovaEmbed{}, body: `{"embeddings":[{"embeddingType":"TEXT","embedding":[1,2]}]}`, want: &llm.EmbedReply{Vectors: [][]float32{{1, 2}}}},
		{name: "nova, none", d: NovaEmbed{}, body: `{"embeddings":[{"embeddingType":"TEXT"}]}`},
		{name: "cohere by type", d: CohereEmbed{}, body: `{"id":"1","embeddings":{"int8":[[1]],"float":[[1],[2]]},"response_type":"embeddings_by_type"}`, want: &llm.EmbedReply{Vectors: [][]float32{{1}, {2}}}},
		{name: "cohere, bare", d: CohereEmbed{}, body: `{"embeddings":[[1],[2]]}`, want: &llm.EmbedReply{Vectors: [][]float32{{1}, {2}}}},
		{name: "cohere, one is empty", d: CohereEmbed{}, body: `{"embeddings":[[1],[]]}`},
		{name: "half", d: CohereEmbed{}, body: `{"embeddings":[[1],[2]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.d.DecodeEmbedReply([]byte(c.body))
			if d := cmp.Diff(c.want, got); d != "" || (err == nil) != (c.want != nil) {
				t.Error(d, err)
			}
			reply, f := c.d.Judge([]byte(c.body))
			if (f == nil) != (c.want != nil) || f != nil && f.Class != fault.Invalid || c.want != nil && reply.Usage != c.want.Usage {
				t.Errorf("%+v %+v", reply, f)
			}
		})
	}
	if _, f := (TitanEmbed{}).Judge([]byte(`{"__type":"ThrottlingException","message":"slow"}`)); f == nil || f.Class != fault.RateLimited {
		t.Errorf("%+v", f)
	}
}

func TestRecordedVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		d     wire.Embedder
		size  int
		first float32
	}{
		{"nova-2-multimodal.json", NovaEmbed{}, 256, -0.033675402},
		{"cohere-floats.json", CohereEmbed{}, 384, -0.04058838},
	} {
		a, err := c.d.DecodeEmbedReply(read(t, "vectors", c.name))
		if err != nil || len(a.Vectors) != 1 || len(a.Vectors[0]) != c.size || a.Vectors[0][0] != c.first {
			t.Errorf("%s: %v %v", c.name, a, err)
		}
	}
}

func TestVectorsAreAskedOnly(t *testing.T) {
	t.Parallel()
	for _, d := range []wire.Embedder{TitanEmbed{}, NovaEmbed{}, CohereEmbed{}} {
		if _, err := d.DecodeEmbed(&wire.Request{}); err == nil || d.Path() != "" {
			t.Errorf("%s is served", d.Name())
		}
		r, err := d.ReadRequest([]byte(`{"inputText":"a","normalize":true}`))
		if err != nil {
			t.Fatal(err)
		}
		out := d.AppendRequest(nil, &r, wire.Rewrite{Params: []wire.Param{{Name: "normalize", Value: []byte("false")}}})
		if string(out) != `{"inputText":"a","normalize":false}` {
			t.Errorf("%s", out)
		}
	}
}
