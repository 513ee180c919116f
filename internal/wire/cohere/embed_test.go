package cohere

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func TestEncodeEmbed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string // empty: it cannot be asked
		q          llm.EmbedRequest
		dropped    []string
	}{
		{
			name: "texts", q: llm.EmbedRequest{Inputs: []string{"a", "b"}},
			want: `{"model":"embed-v4.0","texts":["a","b"],"input_type":"search_document","embedding_types":["float"]}`,
		},
		{
			name: "all", q: llm.EmbedRequest{Inputs: []string{"a"}, Task: "query", Dimensions: 256, User: "u", Title: "t", Base64: true},
			want: `{"model":"embed-v4.0","texts":["a"],"input_type":"search_query","embedding_types":["float"],"output_dimension":256}`, dropped: []string{"title", "user"},
		},
		{name: "tokens", q: llm.EmbedRequest{Tokens: [][]int64{{1}}}},
		{name: "nothing"},
		{name: "too many", q: llm.EmbedRequest{Inputs: make([]string, 97)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.q.Dropped = &llm.Dropped{}
			out, err := Embed{}.EncodeEmbed([]byte("x"), &c.q, &wire.Target{Model: "embed-v4.0"})
			if string(out) != "x"+c.want || (c.want == "") != errors.As(err, new(*wire.RequestError)) {
				t.Errorf("%s %v", out, err)
			}
			if d := cmp.Diff(c.dropped, c.q.Dropped.Names()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeEmbedReply(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]*llm.EmbedReply{
		`{"id":"x","embeddings":{"int8":[[9]],"float":[[0.5],[-1e-3]]},"meta":{"billed_units":{"input_tokens":4}}}`: {Vectors: [][]float32{{0.5}, {-0.001}}, Usage: llm.Usage{Known: true, Input: 4}},
		`{"embeddings":{"float":[]}}`: nil, `{"embeddings":{"int8":[[1]]}}`: nil, `{"embeddings":[["x"]]}`: nil, `{"embeddings":[[]]}`: nil, `{"embeddings":[[1]]`: nil, `[]`: nil,
	} {
		got, err := Embed{}.DecodeEmbedReply([]byte(body))
		if d := cmp.Diff(want, got); d != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %s %v", body, d, err)
		}
		if _, f := (Embed{}).Judge([]byte(body)); (f == nil) != (want != nil) {
			t.Errorf("%s: %v", body, f)
		}
	}
	a, err := Embed{}.DecodeEmbedReply(read(t, "vectors", "english-light-v3.json"))
	if err != nil || len(a.Vectors) != 1 || len(a.Vectors[0]) != 384 || a.Vectors[0][0] != -0.04058838 || a.Usage.Input != 9 {
		t.Errorf("%v %v", a, err)
	}
	if _, err := (Embed{}).DecodeEmbed(nil); err == nil {
		t.Error("it is served")
	}
}
