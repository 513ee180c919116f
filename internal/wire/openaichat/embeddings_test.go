package openaichat

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func readInput(body string) (*llm.EmbedRequest, error) {
	r, err := Embeddings{}.ReadRequest([]byte(body))
	if err != nil {
		return nil, err
	}
	return Embeddings{}.DecodeEmbed(&r)
}

func TestDecodeEmbed(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.EmbedRequest{
		`{"model":"m","input":"a"}`: {Model: "m", Inputs: []string{"a"}},
		`{"model":"m","input":["a","b"],"dimensions":256,"encoding_format":"base64","user":"u"}`: {Model: "m", Inputs: []string{"a", "b"}, Dimensions: 256, Base64: true, User: "u"},
		`{"model":"m","input":[1,2]}`:                         {Model: "m", Tokens: [][]int64{{1, 2}}},
		`{"model":"m","input":[[1],[2,3]],"dimensions":null}`: {Model: "m", Tokens: [][]int64{{1}, {2, 3}}},
	} {
		q, err := readInput(body)
		if err != nil {
			t.Fatal(err)
		}
		if len(q.Dropped.Names()) > 0 {
			t.Errorf("dropped %q", q.Dropped.Names())
		}
		q.Dropped = nil
		if d := cmp.Diff(&want, q); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
	if q, err := readInput(`{"model":"m","input":"a","input_type":"query","truncate":false}`); err != nil || cmp.Diff([]string{"input_type"}, q.Dropped.Names()) != "" {
		t.Errorf("%v, %q", err, q.Dropped.Names())
	}
	for body, says := range map[string]string{
		`{"model":"m"}`:                                      "missing or empty",
		`{"model":"m","input":[]}`:                           "missing or empty",
		`{"model":"m","input":["a",1]}`:                      "not a mixture",
		`{"model":"m","input":{}}`:                           "must be a string",
		`{"model":"m","input":[1.5]}`:                        "whole number",
		`{"model":"m","input":"a","encoding_format":"int8"}`: "float or base64",
		`{"model":"m","input":"a","dimensions":"x"}`:         "whole number",
	} {
		_, err := readInput(body)
		var e *wire.RequestError
		if !errors.As(err, &e) || !strings.Contains(e.Message, says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestEncodeEmbed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q       llm.EmbedRequest
		quirks  wire.Quirks
		want    string
		dropped []string
	}{
		{llm.EmbedRequest{Inputs: []string{"a"}}, wire.Quirks{}, `{"model":"up","input":"a"}`, nil},
		{llm.EmbedRequest{Inputs: []string{"a", "b"}, Dimensions: 3, Base64: true, User: "u"}, wire.Quirks{}, `{"model":"up","input":["a","b"],"dimensions":3,"encoding_format":"base64","user":"u"}`, nil},
		{llm.EmbedRequest{Tokens: [][]int64{{1, 2}, {}}, Task: "query", Title: "t"}, wire.Quirks{}, `{"model":"up","input":[[1,2],[]]}`, []string{"task_type", "title"}},
		{llm.EmbedRequest{Inputs: []string{"a"}, Dimensions: 3, Base64: true, User: "u"}, wire.Quirks{Refuses: []string{"dimensions", "user", "encoding_format"}}, `{"model":"up","input":"a"}`, []string{"dimensions", "user"}},
	} {
		c.q.Dropped = &llm.Dropped{}
		out, err := Embeddings{}.EncodeEmbed(nil, &c.q, &wire.Target{Model: "up", Quirks: c.quirks})
		if err != nil || string(out) != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, out, c.want)
		}
		if d := cmp.Diff(c.dropped, c.q.Dropped.Names()); d != "" {
			t.Error(d)
		}
	}
}

// Vectors survive as numbers and in base64, exactly.
func TestEmbedReplies(t *testing.T) {
	t.Parallel()
	a := &llm.EmbedReply{Model: "m", Vectors: [][]float32{{1, -0.1, 1e-20, math.MaxFloat32}, {0.30000001192092896}}, Usage: llm.Usage{Known: true, Input: 7}}
	for _, base64 := range []bool{false, true} {
		body := Embeddings{}.AppendEmbedReply(nil, a, &llm.EmbedRequest{Base64: base64})
		if _, f := (Embeddings{}).Judge(body); f != nil || strings.Contains(string(body), `"embedding":"`) != base64 {
			t.Errorf("%v\n%s", f, body)
		}
		got, err := Embeddings{}.DecodeEmbedReply(body)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, got); d != "" {
			t.Errorf("%s\n%s", d, body)
		}
	}
	odd := &llm.EmbedReply{Vectors: [][]float32{{float32(math.NaN()), float32(math.Inf(1))}}}
	if body := (Embeddings{}).AppendEmbedReply(nil, odd, &llm.EmbedRequest{}); !json.Valid(body) {
		t.Errorf("%s", body)
	}
	// Order is said by the index.
	got, err := Embeddings{}.DecodeEmbedReply([]byte(`{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}`))
	if err != nil || cmp.Diff([][]float32{{1}, {2}}, got.Vectors) != "" {
		t.Errorf("%v %v", err, got)
	}
	for _, body := range []string{
		`{"data":[]}`, `{"data":[{"index":0}]}`, `{"data":[{"index":1,"embedding":[1]}]}`, `{"data":[{"embedding":["a"]}]}`, `{"data":[{"embedding":"%%"}]}`,
		`{"data":[{"embedding":"AAA="}]}`, `{"data":[{"index":99999999,"embedding":[1]}]}`, `{"data":[{"embedding":[1]}]`, `{"data":[7]}`,
	} {
		if a, err := (Embeddings{}).DecodeEmbedReply([]byte(body)); err == nil {
			t.Errorf("%s: %+v", body, a)
		}
	}
}

func TestEmbeddingsOfRecordings(t *testing.T) {
	t.Parallel()
	all := files(t, "replies")
	for name, body := range files(t, "more") {
		all[name] = body
	}
	for name, body := range all {
		if !strings.Contains(name, "-embeddings-") || strings.HasSuffix(name, ".request.json") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := Embeddings{}.DecodeEmbedReply(body)
			if err != nil {
				t.Fatal(err)
			}
			var plain struct {
				Model string
				Data  []struct{ Embedding any }
				Usage struct {
					Prompt int64 `json:"prompt_tokens"`
					Total  int64 `json:"total_tokens"`
				}
			}
			must(t, json.Unmarshal(body, &plain))
			if len(a.Vectors) != len(plain.Data) || a.Model != plain.Model || a.Usage.Input != max(plain.Usage.Prompt, plain.Usage.Total) {
				t.Errorf("%d vectors of %q, %+v", len(a.Vectors), a.Model, a.Usage)
			}
			for i, d := range plain.Data {
				if numbers, ok := d.Embedding.([]any); ok && (len(numbers) != len(a.Vectors[i]) || float32(numbers[0].(float64)) != a.Vectors[i][0]) {
					t.Errorf("vector %d has %d numbers, %v…", i, len(a.Vectors[i]), a.Vectors[i][0])
				}
			}
			again, err := Embeddings{}.DecodeEmbedReply(Embeddings{}.AppendEmbedReply(nil, a, &llm.EmbedRequest{}))
			if err != nil || cmp.Diff(a.Vectors, again.Vectors) != "" {
				t.Errorf("%v: not the same again", err)
			}
		})
	}
}

func FuzzDecodeEmbedReply(f *testing.F) {
	for name, body := range files(f, "replies") {
		if dialectOf(name) == (Embeddings{}) {
			f.Add(body)
		}
	}
	f.Add([]byte(`{"data":[{"index":1,"embedding":"AACAPw=="},{"index":0,"embedding":[1e38,-0]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := Embeddings{}.DecodeEmbedReply(body)
		if err != nil {
			return
		}
		for _, base64 := range []bool{false, true} {
			out := Embeddings{}.AppendEmbedReply(nil, a, &llm.EmbedRequest{Base64: base64})
			if _, f := (Embeddings{}).Judge(out); f != nil {
				t.Fatalf("%v\n%s", f, out)
			}
		}
	})
}
