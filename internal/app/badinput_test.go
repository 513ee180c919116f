package app

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// Bad input gets a clear error in the client's dialect: status, code, the field at fault, and words that name the fix.
func TestBadInput(t *testing.T) {
	const chat = "/v1/chat/completions"
	tests := []struct {
		name, method, path, contentType, body string
		status                                int
		code, param, words                    string
	}{
		{"malformed JSON", "POST", chat, "application/json", `{"model": "demo", "messages": [}`, 400, "invalid_request", "", "column 32"},
		{"not an object", "POST", chat, "application/json", `[1]`, 400, "invalid_request", "", "object"},
		{"empty body", "POST", chat, "application/json", ``, 400, "invalid_request", "", "empty"},
		{"no model", "POST", chat, "application/json", `{"messages": []}`, 400, "invalid_request", "model", "model"},
		{"model of the wrong type", "POST", chat, "application/json", `{"model": 1, "messages": []}`, 400, "invalid_request", "model", "string"},
		{"no messages", "POST", chat, "application/json", `{"model": "demo"}`, 400, "invalid_request", "messages", "messages"},
		{"stream of the wrong type", "POST", chat, "application/json", `{"model": "demo", "messages": [], "stream": "yes"}`, 400, "invalid_request", "stream", "stream"},
		{"unknown model, with the nearest", "POST", chat, "application/json", `{"model": "dem", "messages": []}`, 404, "model_not_found", "model", "demo"},
		{"unknown model, far from all", "POST", chat, "application/json", `{"model": "zzzzzzzzzzzz", "messages": []}`, 404, "model_not_found", "model", "/v1/models"},
		{"body over the limit", "POST", chat, "application/json", `{"model": "demo", "messages": [], "x": "` + strings.Repeat("x", 3000) + `"}`, 413, "request_too_large", "", "2048"},
		{"wrong method", "GET", chat, "", ``, 405, "invalid_request", "", "POST"},
		{"wrong content type", "POST", chat, "application/x-www-form-urlencoded", `model=demo`, 415, "invalid_request", "", "application/json"},
		{"no such route", "POST", "/v1/nothing", "application/json", `{}`, 404, "not_found", "", "/v1/nothing"},
		{"no such model in the list", "GET", "/v1/models/nope", "", ``, 404, "model_not_found", "model", "nope"},
		{"wrong method on models", "POST", "/v1/models", "application/json", `{}`, 405, "invalid_request", "", "GET"},
		{"embeddings without input", "POST", "/v1/embeddings", "application/json", `{"model": "nope"}`, 0, "", "", ""},
		{"deep nesting", "POST", chat, "application/json", `{"model":"demo","messages":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`, 0, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, strings.Replace(twoProviders, `"gateway:80"`, `"gateway:80", max_request_body: 2048B`, 1), map[string]mock.Script{"a": {}, "b": {}})
				req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://gateway"+tt.path, strings.NewReader(tt.body))
				if tt.contentType != "" {
					req.Header.Set("Content-Type", tt.contentType)
				}
				res, err := s.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if tt.status == 0 { // whatever the answer, it is a 4xx with an error object
					if res.StatusCode < 400 || res.StatusCode > 499 || !bytes.Contains(body, []byte(`"error"`)) {
						t.Fatalf("%d %s", res.StatusCode, body)
					}
					return
				}
				a := answer{}
				a.readChunk(body, time.Now())
				if res.StatusCode != tt.status || a.errCode != tt.code {
					t.Fatalf("%d %s, want %d %s", res.StatusCode, body, tt.status, tt.code)
				}
				if tt.param != "" && !strings.Contains(string(body), `"param":"`+tt.param+`"`) {
					t.Errorf("param is not %s: %s", tt.param, body)
				}
				if !strings.Contains(string(body), tt.words) {
					t.Errorf("%q is missing in %s", tt.words, body)
				}
				if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("X-Request-Id") == "" {
					t.Errorf("headers %v", res.Header)
				}
			})
		})
	}
}

// No key of the gateway or of a caller is in a log line, an error or a header, whatever goes wrong. The upstream here repeats the
// key it was sent.
func TestNoSecretInAnyOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const upstreamKey, callerKey, token = "sk-upstream-5ae2d8", "sk-caller-91bb40", "admin-token-77aa"
		var log bytes.Buffer
		echo := mock.Behaviour{Status: 401, Message: "Incorrect API key provided: " + upstreamKey + ". You sent Bearer " + upstreamKey}
		text := strings.NewReplacer("sk-key-of-a", upstreamKey, "admin-token", token, "{allow_anonymous: true}",
			"{mode: keys, keys: [{name: ci, value: "+callerKey+"}]}").Replace(twoProviders)
		s := newStackWith(t, parse(t, text), map[string]mock.Script{"a": {Rules: []mock.Rule{{Do: echo}}}, "b": {Rules: []mock.Rule{{Do: echo}}}},
			slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		var out strings.Builder
		for _, auth := range []string{"Bearer " + callerKey, "Bearer wrong-" + callerKey} {
			a := s.post(t.Context(), "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`, "Authorization", auth)
			out.WriteString(a.body)
			for name, values := range a.header {
				out.WriteString(name + strings.Join(values, " "))
			}
		}
		for _, path := range []string{"/admin/v1/health", "/readyz", "/metrics", "/v1/models"} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway"+path, http.NoBody)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			out.Write(b)
		}
		for _, secret := range []string{upstreamKey, callerKey, token, "5ae2d8", "91bb40", "77aa"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%q is in a reply: %s", secret, out.String())
			}
			if strings.Contains(log.String(), secret) {
				t.Errorf("%q is in the log: %s", secret, log.String())
			}
		}
		if !strings.Contains(out.String(), "Incorrect API key") || !strings.Contains(log.String(), "auth_failed") {
			t.Errorf("the test saw nothing of the failure: %s %s", out.String(), log.String())
		}
	})
}

// A stranger on the wire: what is no HTTP, or half of it, does no harm.
func TestGarbageOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
		for _, text := range []string{"\x16\x03\x01\x02", "GET\r\n\r\n", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", strings.Repeat("A", 100_000)} {
			c, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
		synctest.Wait()
		if a := s.ask("demo", false); a.status != http.StatusOK {
			t.Errorf("afterwards: %s", a.story())
		}
	})
}
