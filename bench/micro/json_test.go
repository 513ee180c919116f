// Package micro prices the JSON work a gateway can do or leave undone on each
// request. Run: go test -bench . -benchmem ./micro
package micro

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/tidwall/gjson"

	"evergate/bench/internal/llmreq"
)

type fullMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type fullRequest struct {
	Model       string        `json:"model"`
	Stream      bool          `json:"stream,omitempty"`
	MaxTokens   int           `json:"max_tokens,omitempty"`
	Temperature *float64      `json:"temperature,omitempty"`
	Messages    []fullMessage `json:"messages"`
}

type lazyRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Messages json.RawMessage `json:"messages"`
}

var errScan = errors.New("not a JSON object")

// topLevel walks the members of a JSON object and calls f with each key and
// raw value, skipping over nested values without decoding them. It checks only
// the structure that it needs to find the ends of values.
func topLevel(b []byte, f func(key, val []byte) bool) error {
	i := ws(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errScan
	}
	i = ws(b, i+1)
	for i < len(b) && b[i] != '}' {
		if b[i] != '"' {
			return errScan
		}
		end := str(b, i)
		if end < 0 {
			return errScan
		}
		key := b[i+1 : end-1]
		i = ws(b, end)
		if i >= len(b) || b[i] != ':' {
			return errScan
		}
		i = ws(b, i+1)
		end = skip(b, i)
		if end < 0 {
			return errScan
		}
		if !f(key, b[i:end]) {
			return nil
		}
		i = ws(b, end)
		if i < len(b) && b[i] == ',' {
			i = ws(b, i+1)
		}
	}
	if i >= len(b) {
		return errScan
	}
	return nil
}

func ws(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// str returns the index after the string that starts at i. Its inner loop is
// bytes.IndexByte, which the runtime does with vector instructions.
func str(b []byte, i int) int {
	i++
	for {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		n := 0
		for k := i + q - 1; k >= i && b[k] == '\\'; k-- {
			n++
		}
		i += q + 1
		if n%2 == 0 {
			return i
		}
	}
}

func skip(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = str(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			if depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

func TestTopLevel(t *testing.T) {
	for _, size := range []int{300, 50_000} {
		b := body(t, size)
		var model string
		keys := 0
		if err := topLevel(b, func(k, v []byte) bool {
			keys++
			if string(k) == "model" {
				model = string(v)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if model != `"gpt-4o-mini"` || keys != 4 {
			t.Fatalf("model %s, %d keys", model, keys)
		}
	}
	for _, bad := range []string{``, `[]`, `{"a"`, `{"a":"`, `{"a":[1,`, `{a:1}`} {
		if topLevel([]byte(bad), func(_, _ []byte) bool { return true }) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func body(t testing.TB, size int) []byte {
	b, err := llmreq.Body("chat", "gpt-4o-mini", false, size, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{300, 50_000} {
		in := body(b, size)
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("%s/%dB", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("bytes.Index-model", func() error {
			if !bytes.Contains(in, []byte(`"model"`)) {
				return errScan
			}
			return nil
		})
		run("topLevel-scan", func() error {
			found := 0
			err := topLevel(in, func(k, _ []byte) bool {
				if string(k) == "model" || string(k) == "stream" {
					found++
				}
				return true
			})
			if found == 0 {
				return errScan
			}
			return err
		})
		run("gjson-model+stream", func() error {
			if r := gjson.GetManyBytes(in, "model", "stream"); r[0].Str == "" {
				return errScan
			}
			return nil
		})
		run("json.Valid", func() error {
			if !json.Valid(in) {
				return errScan
			}
			return nil
		})
		run("unmarshal-lazy", func() error { var r lazyRequest; return json.Unmarshal(in, &r) })
		run("unmarshal-full", func() error { var r fullRequest; return json.Unmarshal(in, &r) })
		run("unmarshal-map", func() error { var r map[string]any; return json.Unmarshal(in, &r) })
		run("roundtrip-full", func() error {
			var r fullRequest
			if err := json.Unmarshal(in, &r); err != nil {
				return err
			}
			_, err := json.Marshal(&r)
			return err
		})
		run("roundtrip-map", func() error {
			var r map[string]any
			if err := json.Unmarshal(in, &r); err != nil {
				return err
			}
			_, err := json.Marshal(r)
			return err
		})
		// What replacing the model name costs when the rest stays as bytes.
		run("splice-model", func() error {
			var at []byte
			if err := topLevel(in, func(k, v []byte) bool {
				if string(k) == "model" {
					at = v
				}
				return true
			}); err != nil || at == nil {
				return errScan
			}
			i := cap(in) - cap(at)
			out := make([]byte, 0, len(in)+16)
			out = append(out, in[:i]...)
			out = append(out, `"gpt-4.1-nano"`...)
			out = append(out, in[i+len(at):]...)
			_ = out
			return nil
		})
	}
}

const event = `{"id":"chatcmpl-mock0123456789abcdef","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-mini","service_tier":"default","system_fingerprint":"fp_mock","choices":[{"index":0,"delta":{"content":"provider's "},"logprobs":null,"finish_reason":null}],"usage":null}`

type chunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// One event of a stream: multiply by the events of a stream.
func BenchmarkStreamEvent(b *testing.B) {
	in := []byte(event)
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("search-usage", func() error {
		if bytes.Contains(in, []byte(`"usage":{`)) {
			return errScan
		}
		return nil
	})
	run("topLevel-scan", func() error { return topLevel(in, func(_, _ []byte) bool { return true }) })
	run("unmarshal-typed", func() error { var c chunk; return json.Unmarshal(in, &c) })
	run("unmarshal-map", func() error { var c map[string]any; return json.Unmarshal(in, &c) })
	run("roundtrip-map", func() error {
		var c map[string]any
		if err := json.Unmarshal(in, &c); err != nil {
			return err
		}
		_, err := json.Marshal(c)
		return err
	})
}
