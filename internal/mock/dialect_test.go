package mock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

// script answers for the models of these tests.
func script() mock.Script { return mock.Script{Name: "blue"} }

// call is one request of a dialect's test: a path and a body, or a method and a path.
type call struct{ path, body string }

// goldens compares what goes over the wire with golden files that a person can read.
func goldens(t *testing.T, dir string, cases map[string]call, header ...string) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, script(), func(t *testing.T, b *bench) {
				code, body, h := b.send(t, c, header...)
				head := fmt.Sprintf("%d %s\n\n", code, h.Get("Content-Type"))
				testkit.Golden(t, filepath.Join(dir, name+".txt"), append([]byte(head), append(readable(t, h, body), '\n')...))
			})
		})
	}
}

// send posts, or does what a method before the path says.
func (b *bench) send(t *testing.T, c call, header ...string) (int, []byte, http.Header) {
	t.Helper()
	method, path, ok := strings.Cut(c.path, " ")
	if !ok {
		method, path = http.MethodPost, c.path
	}
	req := post(t.Context(), t, path, c.body, header...)
	req.Method = method
	return b.whole(t, req)
}

// readable is a body as it is, or the frames of a binary one, a line each.
func readable(t *testing.T, h http.Header, body []byte) []byte {
	t.Helper()
	if h.Get("Content-Type") != "application/vnd.amazon.eventstream" {
		return body
	}
	var out bytes.Buffer
	for _, f := range frames(t, body) {
		fmt.Fprintf(&out, "%s %s %s\n", f.kind, f.name, f.data)
	}
	return out.Bytes()
}

type frame struct{ kind, name, data string }

// frames decodes an AWS event stream, checksums included.
func frames(t *testing.T, body []byte) []frame {
	t.Helper()
	var out []frame
	r := bytes.NewReader(body)
	for r.Len() > 0 {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			t.Fatalf("frame %d: %v", len(out), err)
		}
		kind := m.Headers.Get(":message-type").String()
		out = append(out, frame{kind, m.Headers.Get(":" + kind + "-type").String(), string(m.Payload)})
	}
	return out
}

// refusals sends requests that a real API refuses: each must get this status and message, and, where the script is
// lenient, no refusal but of what cannot be read.
func refusals(t *testing.T, path string, cases map[string]struct{ body, want string }, header ...string) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, script(), func(t *testing.T, b *bench) {
				code, body, _ := b.send(t, call{path, c.body}, header...)
				if got := words(t, body); code < 400 || code > 422 || !strings.Contains(got, c.want) {
					t.Errorf("got %d %s\nwant %s", code, body, c.want)
				}
				lenient := script()
				lenient.Lenient = true
				b.SetScript(lenient)
				if code, body, _ := b.send(t, call{path, c.body}, header...); code != http.StatusOK && !strings.HasPrefix(name, "unreadable") {
					t.Errorf("lenient: %d %s", code, body)
				}
			})
		})
	}
}

// words is the message of an error in any dialect.
func words(t *testing.T, body []byte) string {
	t.Helper()
	var e struct {
		Message string
		Error   struct{ Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e.Message + e.Error.Message
}

// ask2 posts and must get a 200, whose body it decodes.
func ask2[T any](t *testing.T, b *bench, path, body string, header ...string) (v T) {
	t.Helper()
	code, got, _ := b.send(t, call{path, body}, header...)
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, got)
	}
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	return v
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// api is how one form of a dialect is met.
type api struct {
	plain, stream string // paths
	body          string // %s takes "stream":true where the body says it
	header        []string
	kind          string // whose words it speaks
	end           string // of a stream: what is told after the content
	noFinish      string
	noDone        string
}

// apis are all of them.
func apis() map[string]api {
	chat := `{"model":"m","messages":[{"role":"user","content":"hi"}]%s}`
	claude := `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]%s}`
	vertexClaude := `{"anthropic_version":"vertex-2023-10-16","max_tokens":99,"messages":[{"role":"user","content":"hi"}]%s}`
	google := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	version := []string{"Anthropic-Version", "2023-06-01"}
	vertex := "/v1/projects/p/locations/l/publishers/"
	return map[string]api{
		"chat":              {"/v1/chat/completions", "", chat, nil, "chat", "finish done", "done", "finish"},
		"azure":             {"/openai/deployments/m/chat/completions?api-version=2024-10-21", "", chat, nil, "chat", "finish done", "done", "finish"},
		"azure v1":          {"/openai/v1/chat/completions", "", chat, []string{"Api-Key", "k"}, "chat", "finish done", "done", "finish"},
		"responses":         {"/v1/responses", "", `{"model":"m","input":"hi"%s}`, nil, "responses", "finish", "", ""},
		"anthropic":         {"/v1/messages", "", claude, version, "anthropic", "finish done", "done", "finish"},
		"vertex anthropic":  {vertex + "anthropic/models/m:rawPredict", vertex + "anthropic/models/m:streamRawPredict", vertexClaude, nil, "anthropic", "finish done", "done", "finish"},
		"gemini":            {"/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse", google, nil, "gemini", "finish", "nothing-said", "finish"},
		"gemini, JSON list": {"/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent", google, nil, "gemini", "finish done", "nothing-said done", "finish"},
		"vertex gemini":     {vertex + "google/models/m:generateContent", vertex + "google/models/m:streamGenerateContent?alt=sse", google, nil, "gemini", "finish", "nothing-said", "finish"},
		"bedrock":           {"/model/m/converse", "/model/m/converse-stream", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, nil, "bedrock", "finish done", "done", "finish"},
		"cohere":            {"/v2/chat", "", chat, nil, "cohere", "finish done", "done", "finish"},
	}
}

func (a api) request(stream bool) call {
	switch {
	case a.stream != "" && stream:
		return call{a.stream, strings.ReplaceAll(a.body, "%s", map[bool]string{true: `,"stream":true`}[a.kind == "anthropic"])}
	case stream:
		return call{a.plain, strings.ReplaceAll(a.body, "%s", `,"stream":true`)}
	}
	return call{a.plain, strings.ReplaceAll(a.body, "%s", "")}
}

// tell is what a client of a dialect sees in a stream, of these words: c for content, finish, done, nothing-said for an
// end without a reason, error and its type, broken. What is none of these is left out.
func tell(kind string, resp *http.Response) (words []string, err error) {
	body, err := io.ReadAll(resp.Body)
	form, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch {
	case form == "application/vnd.amazon.eventstream":
		return tellFrames(body), err
	case form == "application/json" && bytes.HasPrefix(body, []byte("[")):
		return tellList(kind, body), err
	case form != "text/event-stream":
		return []string{"not a stream: " + form}, err
	}
	for block := range strings.SplitSeq(string(body), "\n\n") {
		for line := range strings.Lines(block) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if w := tellEvent(kind, strings.TrimSpace(data)); w != "" {
					words = append(words, w)
				}
			}
		}
	}
	return words, err
}

func tellFrames(body []byte) (words []string) {
	r := bytes.NewReader(body)
	for r.Len() > 0 {
		m, err := eventstream.NewDecoder().Decode(r, nil)
		if err != nil {
			return append(words, "broken-frame")
		}
		if m.Headers.Get(":message-type").String() == "exception" {
			words = append(words, "error:"+m.Headers.Get(":exception-type").String())
			continue
		}
		if w := tellEvent(m.Headers.Get(":event-type").String(), string(m.Payload)); w != "" {
			words = append(words, w)
		}
	}
	return words
}

func tellList(kind string, body []byte) (words []string) {
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(string(body), "["), "\n]"), "\n,\r\n") {
		if w := tellEvent(kind, part); w != "" {
			words = append(words, w)
		}
	}
	if bytes.HasSuffix(body, []byte("\n]")) {
		words = append(words, "done")
	}
	return words
}

func tellEvent(kind, data string) string {
	if data == "[DONE]" {
		return "done"
	}
	var e struct {
		Type    string
		Error   json.RawMessage
		Choices []struct {
			Delta        struct{ Content string }
			FinishReason *string `json:"finish_reason"`
		}
		Delta      json.RawMessage
		Candidates []struct {
			Content      struct{ Parts []struct{ Text string } }
			FinishReason string
		}
		Response struct{ Error *struct{ Code string } }
	}
	if json.Unmarshal([]byte(data), &e) != nil {
		return "broken"
	}
	var problem struct{ Type, Status string }
	_ = json.Unmarshal(e.Error, &problem)
	var delta struct {
		Finish string `json:"finish_reason"`
	}
	_ = json.Unmarshal(e.Delta, &delta)
	switch {
	case len(e.Error) > 0:
		return "error:" + problem.Type + problem.Status
	case e.Type == "response.failed":
		return "error:" + e.Response.Error.Code
	case delta.Finish == "ERROR":
		return "error:" + delta.Finish
	case e.Type == "error":
		return "error:event"
	}
	switch kind {
	case "chat":
		switch {
		case len(e.Choices) > 0 && e.Choices[0].FinishReason != nil:
			return "finish"
		case len(e.Choices) > 0 && e.Choices[0].Delta.Content != "":
			return "c"
		}
	case "gemini":
		switch {
		case len(e.Candidates) == 0:
			return "no candidate"
		case e.Candidates[0].FinishReason != "":
			return "finish"
		case len(e.Candidates[0].Content.Parts) > 0 && e.Candidates[0].Content.Parts[0].Text == "":
			return "nothing-said"
		}
		return "c"
	default:
		return map[string]string{
			"content_block_delta": "c", "message_delta": "finish", "message_stop": "done",
			"response.output_text.delta": "c", "response.completed": "finish", "content-delta": "c", "message-end": "finish",
			"contentBlockDelta": "c", "messageStop": "finish", "metadata": "done",
		}[map[bool]string{true: e.Type, false: kind}[e.Type != ""]]
	}
	return ""
}

// No request brings the provider down: it is answered, or refused in JSON.
func FuzzRequests(f *testing.F) {
	for _, a := range apis() {
		for _, stream := range []bool{true, false} {
			c := a.request(stream)
			f.Add(c.path, c.body)
		}
	}
	f.Add("/v1/messages", claude(`"messages":[{"role":"user","content":"x"},`+claudeCall+`]`+claudeTools))
	f.Add("/v1/responses", respond(`"input":[{"type":"reasoning"}]`+responsesTools))
	f.Add("/v1beta/models/gemini-3:generateContent", contents("x", geminiTools))
	f.Add("/model/m/converse", converse("x", converseTools))
	f.Add("/v2/chat", cohereChat("x", cohereTools))
	p := mock.New(mock.Script{})
	f.Fuzz(func(t *testing.T, path, body string) {
		req := httptest.NewRequest(http.MethodPost, "http://mock/", strings.NewReader(body))
		u, err := url.Parse("http://mock" + path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.Contains(path+body, "mock-") { // a name that asks for a fault
			t.Skip()
		}
		req.URL = u
		req.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, req)
		if w.Code >= 400 && !json.Valid(w.Body.Bytes()) || w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
