package mock_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

const weather = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","required":["city","unit","days"],
"properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]},"days":{"type":["integer","null"]},"note":{"type":"string"}}}}}`

// The bodies as they go over the wire, in golden files that a person can read.
func TestAnswers(t *testing.T) {
	user := `"messages":[{"role":"user","content":"Say <hi>, please"}]`
	tools := `,"tools":[` + weather + `]`
	result := `"messages":[{"role":"user","content":"?"},{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"21 degrees"}]`
	usage := `,"stream":true,"stream_options":{"include_usage":true}`
	cases := map[string]struct{ path, body string }{
		"chat":                 {"/v1/chat/completions", `{"model":"m",` + user + `}`},
		"chat-stream":          {"/v1/chat/completions", `{"model":"m",` + user + `,"stream":true}`},
		"chat-stream-usage":    {"/v1/chat/completions", `{"model":"m",` + user + usage + `}`},
		"chat-length":          {"/v1/chat/completions", `{"model":"m",` + user + `,"max_tokens":2}`},
		"chat-parts":           {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"text","text":"b"}]}]}`},
		"tool-call":            {"/v1/chat/completions", `{"model":"m",` + user + tools + `}`},
		"tool-call-stream":     {"/v1/chat/completions", `{"model":"m",` + user + tools + usage + `}`},
		"tool-result":          {"/v1/chat/completions", `{"model":"m",` + result + tools + `}`},
		"tool-result-reminded": {"/v1/chat/completions", `{"model":"m",` + strings.TrimSuffix(result, "]") + `,{"role":"user","content":"a reminder"}]` + tools + `}`},
		"tool-none":            {"/v1/chat/completions", `{"model":"m",` + user + tools + `,"tool_choice":"none"}`},
		"tool-named":           {"/v1/chat/completions", `{"model":"m",` + user + `,"tools":[{"type":"function","function":{"name":"other"}},` + weather + `],"tool_choice":{"type":"function","function":{"name":"get_weather"}}}`},
		"tool-first":           {"/v1/chat/completions", `{"model":"m",` + user + `,"tools":[{"type":"function","function":{"name":"other"}},` + weather + `],"tool_choice":"required"}`},
		"completions":          {"/v1/completions", `{"model":"m","prompt":"Once"}`},
		"completions-stream":   {"/v1/completions", `{"model":"m","prompt":["Once"]` + usage + `}`},
		"embeddings":           {"/v1/embeddings", `{"model":"e","input":["a","b","a"],"dimensions":2}`},
		"unknown-model":        {"/v1/chat/completions", `{"model":"nope",` + user + `}`},
		"no-json":              {"/v1/chat/completions", `{"model":`},
		"wrong-type":           {"/v1/chat/completions", `{"model":"m","stream":"yes",` + user + `}`},
		"no-model":             {"/v1/chat/completions", `{` + user + `}`},
		"no-messages":          {"/v1/chat/completions", `{"model":"m"}`},
		"no-input":             {"/v1/embeddings", `{"model":"m"}`},
		"no-route":             {"/v1/nothing", `{}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{Name: "blue", Models: []string{"m", "e"}}, func(t *testing.T, b *bench) {
				code, body, h := b.whole(t, post(t.Context(), t, c.path, c.body))
				head := fmt.Sprintf("%d %s\n\n", code, h.Get("Content-Type"))
				testkit.Golden(t, name+".txt", append([]byte(head), append(body, '\n')...))
				b.SetScript(mock.Script{Name: "blue", Models: []string{"m", "e"}})
				_, again := b.ask(t, c.path, c.body)
				if !bytes.Equal(bytes.ReplaceAll(again, []byte("mock000002"), []byte("mock000001")), body) {
					t.Errorf("the same request got another answer:\n%s", again)
				}
			})
		})
	}
}

func TestMethods(t *testing.T) {
	cases := map[string]int{
		"GET /v1/models": 200, "GET /models": 200, "GET /openai/v1/models": 200, "GET /v1/models/m": 200, "GET /v1/models/org/x:free": 200,
		"GET /v1/models/none": 404, "POST /v1/models": 405, "GET /v1/chat/completions": 405, "GET /": 404,
	}
	for line, want := range cases {
		run(t, mock.Script{Models: []string{"m", "org/x:free"}}, func(t *testing.T, b *bench) {
			method, path, _ := strings.Cut(line, " ")
			req, _ := http.NewRequestWithContext(t.Context(), method, "http://mock"+path, nil)
			got, body, _ := b.whole(t, req)
			if got != want {
				t.Errorf("%s: %d %s, want %d", line, got, body, want)
			}
			if path == "/models" {
				testkit.Golden(t, "models.txt", append(body, '\n'))
			}
		})
	}
}

func TestEmbeddingForms(t *testing.T) {
	vector := func(t *testing.T, b *bench, body string) (v []float64) {
		_, got := b.ask(t, "/v1/embeddings", body)
		var r struct {
			Data []struct{ Embedding json.RawMessage }
		}
		if err := json.Unmarshal(got, &r); err != nil || len(r.Data) == 0 {
			t.Fatalf("%v in %s", err, got)
		}
		if json.Unmarshal(r.Data[0].Embedding, &v) == nil {
			return v
		}
		var text string
		_ = json.Unmarshal(r.Data[0].Embedding, &text)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(raw); i += 4 {
			v = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))))
		}
		return v
	}
	run(t, mock.Script{}, func(t *testing.T, b *bench) {
		floats := vector(t, b, `{"model":"m","input":"x"}`)
		packed := vector(t, b, `{"model":"m","input":"x","encoding_format":"base64"}`)
		if len(floats) != 16 || len(packed) != 16 {
			t.Fatalf("%d and %d dimensions", len(floats), len(packed))
		}
		norm := 0.0
		for i := range floats {
			if float32(floats[i]) != float32(packed[i]) {
				t.Errorf("dimension %d: %v and %v", i, floats[i], packed[i])
			}
			norm += floats[i] * floats[i]
		}
		if math.Abs(norm-1) > 1e-5 {
			t.Errorf("norm %v", norm)
		}
		if other := vector(t, b, `{"model":"m","input":"y"}`); slices.Equal(floats, other) {
			t.Error("another text has the same vector")
		}
		for _, input := range []string{`[1,2]`, `[[1,2],[3]]`} {
			if v := vector(t, b, `{"model":"m","input":`+input+`,"dimensions":3}`); len(v) != 3 {
				t.Errorf("%s: %v", input, v)
			}
		}
	})
}

func TestChunks(t *testing.T) {
	cases := map[string]struct {
		fault string
		want  []string
	}{
		"words":          {"text=a bc d", []string{"a ", "bc ", "d"}},
		"fewer":          {"text=a bc d; chunks=2", []string{"a ", "bc "}},
		"more":           {"text=a b; chunks=5", []string{"a ", "b ", "a ", "b ", "a "}},
		"size":           {"text=abcdé; chunk_size=2", []string{"ab", "cd", "é"}},
		"size and count": {"text=ab; chunk_size=2; chunks=4", []string{"ab", " a", "b ", "ab"}},
		"one word":       {"text=a; chunks=3", []string{"a ", "a ", "a "}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{}, func(t *testing.T, b *bench) {
				_, body := b.ask(t, "/v1/chat/completions", chat("m", true), mock.FaultHeader, c.fault)
				var got []string
				for line := range strings.Lines(string(body)) {
					var e struct {
						Choices []struct{ Delta struct{ Content string } }
					}
					data, ok := strings.CutPrefix(line, "data: {")
					if ok && json.Unmarshal([]byte("{"+data), &e) == nil && len(e.Choices) > 0 && e.Choices[0].Delta.Content != "" {
						got = append(got, e.Choices[0].Delta.Content)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}
