package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evergate/internal/explain"
)

const explainConfig = `
providers:
  a: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: sk-a, models: [m] }
  b: { type: anthropic, base_url: "http://127.0.0.1:1", api_key: sk-b, models: [claude] }
models:
  smart: { strategy: ordered, targets: [a/m, b/claude] }
`

// R72: `evergate explain` by a config alone, in words and as JSON, and what it says where nothing can be explained.
func TestExplainByConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "evergate.yaml")
	request := filepath.Join(t.TempDir(), "request.json")
	for name, text := range map[string]string{file: explainConfig, request: `{"model":"smart","stream":true,"messages":[{"role":"user","content":"hi"}]}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		cmd  explainCmd
		want string // in what is printed, or in the error
		code int    // of an error that prints nothing more
	}{
		{"a model", explainCmd{Model: "smart", Config: file}, "goes to a/m. If a/m fails, b/claude is asked.", 0},
		{"a request", explainCmd{Request: request, Config: file}, "chat, stream; name: virtual model (ordered)", 0},
		{"from standard input", explainCmd{Request: "-", Config: file}, "messages, plain", 0},
		{"an unknown model", explainCmd{Model: "smrt", Config: file}, "did you mean smart?", 1},
		{"nothing", explainCmd{}, "name a model", 0},
		{"too much", explainCmd{ID: "req_1", Model: "smart"}, "leave the model", 0},
		{"an unknown dialect", explainCmd{Model: "smart", Config: file, Dialect: "chatt"}, `did you mean "chat"?`, 0},
		{"no such file", explainCmd{Model: "smart", Config: file + "x"}, "", 1},
		{"no gateway", explainCmd{Model: "smart", URL: "127.0.0.1:1"}, "-c FILE explains by a config alone", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			in := strings.NewReader(`{"model":"smart","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"hi"}]}`)
			err := tt.cmd.run(t.Context(), in, &out, false)
			text := strings.Join(strings.Fields(out.String()), " ")
			var exit *exitError
			switch {
			case errors.As(err, &exit):
				if exit.code != tt.code {
					t.Error(exit.code)
				}
			case err != nil:
				text = err.Error()
			case tt.code != 0:
				t.Error("no exit code")
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("%q", text)
			}
		})
	}
	var out bytes.Buffer
	var a explain.Answer
	if err := (&explainCmd{Model: "smart", Config: file, JSON: true}).run(t.Context(), nil, &out, false); err != nil || json.Unmarshal(out.Bytes(), &a) != nil || a.Candidates[1].Dialect != "messages" {
		t.Errorf("%v %s", err, &out)
	}
}

// R72: `evergate explain` asks the running gateway, about what would be and about what was.
func TestExplainAsksTheGateway(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c, url, ended := gateway(t, log)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(`{"model":"a/m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", "mine")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); { // the client has its answer before the request is told of
		if (&explainCmd{ID: "mine", URL: url}).run(t.Context(), nil, io.Discard, false) == nil {
			break
		}
	}
	for _, tt := range []struct {
		cmd  explainCmd
		want string
	}{
		{explainCmd{Model: "a/m"}, `A request for "a/m" goes to a/m.`},
		{explainCmd{ID: "mine"}, "It failed: connect after "},
		{explainCmd{ID: "mine", JSON: true}, `"candidates":[{"provider":"a"`},
		{explainCmd{ID: "yours"}, "no request of this id is kept"},
		{explainCmd{Model: "a/m", Dialect: "chatt"}, `did you mean "chat"?`},
	} {
		var out bytes.Buffer
		tt.cmd.URL = url
		if err := tt.cmd.run(t.Context(), nil, &out, false); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%+v: %s", tt.cmd, &out)
		}
	}
	if code := stop(t, c, ended); code != 0 {
		t.Error(code)
	}
}
