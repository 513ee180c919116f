package wiretest_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
)

// recordedVectors are the recordings of embeddings that went well.
func recordedVectors() []recording {
	var out []recording
	for _, r := range recordings() {
		if _, ok := r.dialect.(wire.Embedder); ok && faults()[r.file] == nil {
			out = append(out, r)
		}
	}
	return out
}

// embedClients are the dialects of vectors that clients speak, each with a request for two, or one, and whether it asks
// for base64.
func embedClients() []embedClient {
	return []embedClient{
		{"numbers", openaichat.Embeddings{}, `{"model":"m","input":["a","b"]}`},
		{"base64", openaichat.Embeddings{}, `{"model":"m","input":["a","b"],"encoding_format":"base64"}`},
		{"gemini", gemini.Embed{}, `{"content":{"parts":[{"text":"a"}]}}`},
		{"gemini batch", gemini.BatchEmbed{}, `{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`},
	}
}

type embedClient struct {
	name    string
	dialect wire.Embedder
	request string
}

// embedUpstreams are the dialects of vectors that providers speak.
func embedUpstreams() []wire.Embedder {
	return []wire.Embedder{
		openaichat.Embeddings{}, gemini.Embed{}, gemini.BatchEmbed{}, gemini.VertexEmbed{}, converse.TitanEmbed{}, converse.NovaEmbed{}, converse.CohereEmbed{}, cohere.Embed{},
	}
}

// Recorded vectors are the same to every client, and so are the tokens that were counted.
func TestRecordedVectors(t *testing.T) {
	t.Parallel()
	for _, r := range recordedVectors() {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := r.body(t)
			if _, f := r.dialect.Judge(body); f != nil {
				t.Fatal(f)
			}
			want, tokens := vectorsIn(t, body)
			if len(want) == 0 || len(want[0]) == 0 {
				t.Fatal("the reader saw no vector")
			}
			for _, c := range embedClients() {
				q := embedRequest(t, c.dialect, []byte(c.request))
				said, err := wire.NewTranslation(c.dialect, r.dialect, q, wire.Target{Model: "m"}).AppendReply(nil, body)
				if err != nil {
					t.Fatal(err)
				}
				got, counted := vectorsIn(t, said)
				expected := want
				if c.name == "gemini" {
					expected = want[:1]
				}
				if diff := cmp.Diff(expected, got); diff != "" {
					t.Errorf("%s: sent - heard +\n%.1000s", c.name, diff)
				}
				if counted != tokens && (tokens >= 0 || counted > 0) {
					t.Errorf("%s: %d tokens, want %d", c.name, counted, tokens)
				}
				if isText := strings.Contains(string(said), `"embedding":"`); isText != (c.name == "base64") {
					t.Errorf("%s: %.200s", c.name, said)
				}
			}
		})
	}
}

func embedRequest(t testing.TB, d wire.Embedder, body []byte) *wire.Canonical {
	t.Helper()
	r, err := d.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	if r.Model == "" {
		r.Model = "m"
	}
	q, err := wire.Decode(d, &r)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return q
}

// vectorsIn reads the vectors of any dialect, and how many tokens they took; -1 if it says none.
func vectorsIn(t testing.TB, body []byte) (out [][]float32, tokens int64) {
	t.Helper()
	v, err := parse(body)
	if err != nil {
		t.Fatal(err)
	}
	list := items(v, "data")
	list = append(list, items(v, "embeddings")...)
	if one := at(v, "embedding"); one != nil {
		list = append(list, one)
	}
	for _, e := range list {
		for _, name := range []string{"embedding", "values"} {
			if inner := at(e, name); inner != nil {
				e = inner
			}
		}
		out = append(out, vector(t, e))
	}
	tokens = -1
	for _, path := range [][]any{
		{"usage", "prompt_tokens"}, {"usage", "total_tokens"}, {"usageMetadata", "promptTokenCount"}, {"meta", "billed_units", "input_tokens"}, {"inputTextTokenCount"},
	} {
		if n := number(v, path...); n >= 0 {
			return out, n
		}
	}
	return out, tokens
}

func vector(t testing.TB, v any) (out []float32) {
	t.Helper()
	if text, ok := v.(string); ok {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw)%4 != 0 {
			t.Fatalf("%v: %d bytes", err, len(raw))
		}
		for ; len(raw) > 0; raw = raw[4:] {
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
		return out
	}
	for _, n := range v.(array) {
		out = append(out, float32(n.(float64)))
	}
	return out
}

// Recorded requests for vectors can be put to every upstream that takes as many texts: the texts are in what is sent.
func TestRecordedVectorRequests(t *testing.T) {
	t.Parallel()
	for _, r := range recordedVectors() {
		d := r.dialect.(wire.Embedder)
		name := filepath.Join("testdata", "recorded", strings.TrimSuffix(r.file, ".json")+".request.json")
		if _, err := os.Stat(name); err != nil || d.Path() == "" && d.Name() != (gemini.BatchEmbed{}).Name() {
			continue // no client speaks it
		}
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := read(t, name)
			v, err := parse(body)
			if err != nil {
				t.Fatal(err)
			}
			q := embedRequest(t, d, body)
			want := inputsIn(v)
			if len(want) == 0 {
				t.Fatal("the reader saw no text")
			}
			for _, u := range embedUpstreams() {
				translation := wire.NewTranslation(d, u, q, wire.Target{Model: "m"})
				sent, err := translation.AppendRequest(nil, wire.Rewrite{Model: "m"})
				if refused := (*wire.RequestError)(nil); len(want) > 1 && errors.As(err, &refused) {
					continue // one at a time
				}
				if err != nil {
					t.Fatalf("%s: %v", u.Name(), err)
				}
				var w any
				if err := json.Unmarshal(sent, &w); err != nil {
					t.Fatalf("%s: %v: %s", u.Name(), err, sent)
				}
				var all leaves
				all.collect(w)
				for _, text := range want {
					if !all.say(text) {
						t.Errorf("%s: %q is lost: %s", u.Name(), text, sent)
					}
				}
			}
		})
	}
}

// inputsIn are the texts of a request for vectors.
func inputsIn(v object) (out []string) {
	add := func(v any) {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	add(v["input"])
	for _, e := range items(v, "input") {
		add(e)
	}
	for _, r := range items(v, "requests") {
		for _, p := range items(r, "content", "parts") {
			add(at(p, "text"))
		}
	}
	return out
}

// What is passed through only: older completions are judged, made streams and made whole again; counts are counts.
func TestRecordedOthers(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, r := range recordings() {
		switch r.dialect.Name() {
		case "completions":
			seen++
			stream, body := r.body(t), r.body(t)
			var err error
			if r.streamed() {
				body, err = r.dialect.ReplyFromStream(stream)
			} else {
				stream, err = r.dialect.StreamFromReply(body, true)
			}
			if err != nil {
				t.Fatalf("%s: %v", r.file, err)
			}
			if _, f := r.dialect.Judge(body); f != nil {
				t.Errorf("%s: %v", r.file, f)
			}
			whole, err := parse(body)
			if err != nil {
				t.Fatal(err)
			}
			texts := make([]string, len(items(whole, "choices")))
			p := wire.Progress{Choices: len(texts)}
			for _, data := range cutEvents(t, stream) {
				if ev := r.dialect.JudgeEvent(data, &p); ev.Fault != nil || ev.Malformed {
					t.Fatalf("%s: %+v", r.file, ev)
				}
				e, _ := parse(data)
				for _, c := range items(e, "choices") {
					texts[max(0, number(c, "index"))] += str(c, "text")
				}
			}
			for i, want := range texts {
				if got := str(whole, "choices", i, "text"); got != want || got == "" {
					t.Errorf("%s: %q, want %q", r.file, got, want)
				}
			}
			if !p.SawFinish {
				t.Errorf("%s: no finish", r.file)
			}
		case "count_tokens", "gemini_count_tokens":
			seen++
			if _, f := r.dialect.Judge(r.body(t)); f != nil {
				t.Errorf("%s: %v", r.file, f)
			}
		}
	}
	if seen != 4 {
		t.Errorf("%d recordings, want 4", seen)
	}
}
