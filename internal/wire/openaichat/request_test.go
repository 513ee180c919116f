package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
)

var dialects = map[string]wire.Dialect{"chat": Chat{}, "completions": Completions{}, "embeddings": Embeddings{}}

// files reads a folder of testdata.
func files(tb testing.TB, folder string) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(names) == 0 {
		tb.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(name)] = text
	}
	return out
}

// dialectOf tells by a recording's name which operation it is of.
func dialectOf(name string) wire.Dialect {
	switch {
	case strings.Contains(name, "-completions-"):
		return Completions{}
	case strings.Contains(name, "-embeddings-"):
		return Embeddings{}
	}
	return Chat{}
}

// chatBody is a chat request of about size bytes.
func chatBody(tb testing.TB, size int) []byte {
	tb.Helper()
	const prose = "At 02:00 the primary answered 503 to every call; the log says \"no pattern\".\n" +
		"The breaker opened after five of them and latency fell back — café, naïve, 東京. "
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", "You are a terse assistant."}}
	for n := 0; n < size-300; n += 960 {
		messages = append(messages, message{"user", strings.Repeat(prose, 6)[:min(930, size-n)]})
	}
	body, err := json.Marshal(map[string]any{
		"model": "gpt-4o-mini", "messages": messages, "temperature": 0.7, "max_tokens": 256, "stream": true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func TestNamesAndPaths(t *testing.T) {
	t.Parallel()
	for name, d := range dialects {
		path := map[string]string{"chat": "/chat/completions", "completions": "/completions", "embeddings": "/embeddings"}[name]
		if d.Name() != name || d.Path() != path {
			t.Errorf("%s: %s, %s", name, d.Name(), d.Path())
		}
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		name, body            string
		model                 string
		stream, asked, again  bool
		spanModel, spanOption string
		spanInclude           string
	}{
		{name: "plain", body: `{"model":"m",` + messages + `}`, model: "m", spanModel: `"m"`},
		{
			name: "stream with usage", body: ` { "stream" : true , "stream_options" : { "x" : 1 , "include_usage" : true } , ` + messages + ` , "model" : "a/b:c" } `,
			model: "a/b:c", stream: true, asked: true, spanModel: `"a/b:c"`, spanOption: `{ "x" : 1 , "include_usage" : true }`, spanInclude: "true",
		},
		{
			name: "usage turned down", body: `{"model":"m","stream":true,"stream_options":{"include_usage":false},` + messages + `}`,
			model: "m", stream: true, spanModel: `"m"`, spanOption: `{"include_usage":false}`, spanInclude: "false",
		},
		{
			name: "usage null", body: `{"model":"m","stream":true,"stream_options":{"include_usage":null},` + messages + `}`,
			model: "m", stream: true, spanModel: `"m"`, spanOption: `{"include_usage":null}`, spanInclude: "null",
		},
		{
			name: "usage of another kind is the upstream's to refuse", body: `{"model":"m","stream":true,"stream_options":{"include_usage":"yes"},` + messages + `}`,
			model: "m", stream: true, asked: true, spanModel: `"m"`, spanOption: `{"include_usage":"yes"}`, spanInclude: `"yes"`,
		},
		{
			name: "nulls count as absent", body: `{"model":"m","stream":null,"stream_options":null,` + messages + `}`,
			model: "m", spanModel: `"m"`, spanOption: "null",
		},
		{name: "escapes in key and value", body: `{"mod\u0065l":"\u006d\"",` + messages + `}`, model: `m"`, spanModel: `"\u006d\""`},
		{
			name: "the last of several counts", body: `{"model":1,"stream":"x","model":"m","stream":true,"stream":false,"messages":1,` + messages + `}`,
			model: "m", again: true, spanModel: `"m"`,
		},
		{
			name: "not the model of something within", body: `{"metadata":{"model":"x","stream":1},"model":"m","provider":{"model":"y"},` + messages + `}`,
			model: "m", spanModel: `"m"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q, err := Chat{}.ReadRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			at := func(s wire.Span) string { return c.body[s.From:s.To] }
			got := []any{
				string(q.Body), q.Model, q.Stream, q.AskedUsage, q.Spans.Again, q.Spans.Empty,
				at(q.Spans.Model), at(q.Spans.StreamOptions), at(q.Spans.IncludeUsage), q.Spans.Insert,
			}
			want := []any{
				c.body, c.model, c.stream, c.asked, c.again, false, c.spanModel, c.spanOption, c.spanInclude,
				strings.IndexByte(c.body, '{') + 1,
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadRequestRefuses(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[]`
	for _, c := range []struct {
		name, body, param, message string
	}{
		{"nothing", "", "", "the body is empty: send a JSON object"},
		{"white space", " \n", "", "the body is empty: send a JSON object"},
		{"text", "hello", "", "the body is not valid JSON: line 1, column 1 (byte 0): expected a value"},
		{"broken further down", "{\n  \"model\": \"m\"\n  \"stream\": true}", "", "the body is not valid JSON: line 3, column 3 (byte 19): expected ',' or '}' after the member"},
		{"broken after a mistake", `{"model":1,}`, "", "the body is not valid JSON: line 1, column 12 (byte 11): expected a key in double quotes"},
		{"cut", `{"model":"m","messages":[{"role":`, "", "the body is not valid JSON: line 1, column 34 (byte 33): it ends too early"},
		{"two objects", `{} {}`, "", "the body is not valid JSON: line 1, column 4 (byte 3): something follows the value"},
		{"an array", `[{"model":"m"}]`, "", "the body must be a JSON object, not an array"},
		{"a string", `"model"`, "", "the body must be a JSON object, not a string"},
		{"an empty object", `{}`, "model", `"model" is missing, and so is "models": name the model to use, such as {"model": "gpt-4o-mini"}`},
		{"model null", `{"model":null,` + messages + `}`, "model", `"model" is missing, and so is "models": name the model to use, such as {"model": "gpt-4o-mini"}`},
		{"model empty", `{"model":" ",` + messages + `}`, "model", `"model" is empty: name the model to use`},
		{"model a list", `{"model":["m"],` + messages + `}`, "model", `"model" must be a string, not an array`},
		{"the last model is no string", `{"model":"m","model":7,` + messages + `}`, "model", `"model" must be a string, not a number`},
		{"stream a string", `{"model":"m","stream":"true",` + messages + `}`, "stream", `"stream" must be true or false, not a string`},
		{"stream a number", `{"model":"m","stream":1,` + messages + `}`, "stream", `"stream" must be true or false, not a number`},
		{"options a boolean", `{"model":"m","stream_options":true,` + messages + `}`, "stream_options", `"stream_options" must be an object, not a boolean`},
		{"no messages", `{"model":"m"}`, "messages", `"messages" is missing: send the conversation as an array of messages, such as [{"role": "user", "content": "Hello"}]`},
		{"messages a string", `{"model":"m","messages":"hi"}`, "messages", `"messages" must be an array of messages, not a string`},
		{"too deep", `{"model":"m","messages":` + strings.Repeat("[", 1001), "", "the body is not valid JSON: line 1, column 1024 (byte 1023): nested deeper than 1000 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Chat{}.ReadRequest([]byte(c.body))
			var refused *wire.RequestError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(wire.RequestError{Param: c.param, Message: c.message}, *refused); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOtherOperationsAskForLess(t *testing.T) {
	t.Parallel()
	q, err := Completions{}.ReadRequest([]byte(`{"model":"m","prompt":"hi","stream":true}`))
	if err != nil || !q.Stream {
		t.Error(q.Stream, err)
	}
	if _, err = (Completions{}).ReadRequest([]byte(`{"model":"m","stream":1}`)); err == nil {
		t.Error("completions took stream: 1")
	}
	for _, stream := range []string{"true", "1", `"x"`} {
		q, err = Embeddings{}.ReadRequest(fmt.Appendf(nil, `{"model":"m","input":"hi","stream":%s,"stream_options":3}`, stream))
		if err != nil || q.Stream || q.AskedUsage {
			t.Errorf("embeddings with stream %s: %+v, %v", stream, q, err)
		}
	}
}

func FuzzReadRequest(f *testing.F) {
	for _, body := range files(f, "requests") {
		f.Add(body)
	}
	f.Add([]byte(`{"model":"a","model":"b","stream":true,"stream_options":{"include_usage":null},"messages":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := Chat{}.ReadRequest(body)
		var refused *wire.RequestError
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		var want map[string]any
		if bad := json.Unmarshal(body, &want); bad != nil {
			if err == nil {
				t.Fatalf("%q was taken, but encoding/json says %v", body, bad)
			}
			return
		}
		model, _ := want["model"].(string)
		if err == nil && (q.Model != model || q.Stream != (want["stream"] == true)) {
			t.Fatalf("%q: got %q, %v", body, q.Model, q.Stream)
		}
		if err != nil {
			return
		}
		out := Chat{}.AppendRequest(nil, &q, wire.Rewrite{Model: "other", AskUsage: true})
		var got map[string]any
		if bad := json.Unmarshal(out, &got); bad != nil {
			t.Fatalf("%q became %q: %v", body, out, bad)
		}
		want["model"] = "other"
		if q.Stream && !q.AskedUsage {
			options, _ := want["stream_options"].(map[string]any)
			if options == nil {
				options = map[string]any{}
			}
			options["include_usage"] = true
			want["stream_options"] = options
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q became %q: %s", body, out, d)
		}
	})
}
