package guardrail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const kept = "sk-key-of-the-gateway"

func star(text []byte) []byte { return bytes.ReplaceAll(text, []byte(kept), []byte("***")) }

func TestScrub(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"nothing", `{"a":"b"}`, `{"a":"b"}`},
		{"plain text", "x " + kept, "x ***"},
		{"JSON", `{"a":["x ` + kept + `",1]}`, `{"a":["x ***",1]}`},
		{"escapes", `{"a":"sk\u002dkey-of\u002Dthe-gateway!"}`, `{"a":"***!"}`},
		{"JSON in JSON", `{"arguments":"{\"k\":\"sk\\u002dkey-of-the-gateway\"}"}`, `{"arguments":"{\"k\":\"***\"}"}`},
		{"cut", `{"a":"sk\u002dkey-of-the-gateway","b":"` + kept, `{"a":"***","b":"***`},
		{"two events", "data: {\"d\":\"a sk-key\"}\n\ndata: {\"d\":\"-of-the-gateway b\"}\n\n", "data: {\"d\":\"a *** b\"}\n\ndata: {\"d\":\"\"}\n\n"},
		{
			"what is before and after stays", "data: {\"d\":\"one\"}\n\ndata: {\"d\":\" sk-key\"}\n\ndata: {\"d\":\"-of-the-gateway\"}\n\ndata: {\"d\":\" two\"}\n\ndata: [DONE]\n\n",
			"data: {\"d\":\"one\"}\n\ndata: {\"d\":\" ***\"}\n\ndata: {\"d\":\"\"}\n\ndata: {\"d\":\" two\"}\n\ndata: [DONE]\n\n",
		},
		{
			"two answers at once", "data: {\"choices\":[{\"index\":0,\"d\":\"sk-key\"}]}\n\ndata: {\"choices\":[{\"index\":1,\"d\":\"other\"}]}\n\ndata: {\"choices\":[{\"index\":0,\"d\":\"-of-the-gateway\"}]}\n\n",
			"data: {\"choices\":[{\"index\":0,\"d\":\"***\"}]}\n\ndata: {\"choices\":[{\"index\":1,\"d\":\"other\"}]}\n\ndata: {\"choices\":[{\"index\":0,\"d\":\"\"}]}\n\n",
		},
	} {
		if got := string(Scrub([]byte(c.body), star)); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
}

// The events of each dialect, with a text in pieces.
var events = map[string]func(piece string) string{
	"chat": func(p string) string { return `{"choices":[{"index":0,"delta":{"content":` + p + `}}]}` },
	"calls": func(p string) string {
		return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":` + p + `}}]}}]}`
	},
	"messages": func(p string) string {
		return `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":` + p + `}}`
	},
	"responses": func(p string) string {
		return `{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":` + p + `}`
	},
	"gemini": func(p string) string { return `{"candidates":[{"content":{"parts":[{"text":` + p + `}]},"index":0}]}` },
}

// Wherever a secret is split over the events of any dialect, and however its characters are written, nothing of it is left in the joined text.
func TestScrubEverySplit(t *testing.T) {
	t.Parallel()
	for name, event := range events {
		rapid.Check(t, func(t *rapid.T) {
			text := "before " + kept + " after"
			var b strings.Builder
			for i := 0; i < len(text); {
				n := rapid.IntRange(1, 9).Draw(t, "size")
				piece := text[i:min(i+n, len(text))]
				i += len(piece)
				quoted, _ := json.Marshal(piece)
				if rapid.Bool().Draw(t, "escaped") {
					quoted = []byte(`"`)
					for _, c := range piece {
						quoted = fmt.Appendf(quoted, `\u%04x`, c)
					}
					quoted = append(quoted, '"')
				}
				b.WriteString("event: e\ndata: " + event(string(quoted)) + "\n\n")
			}
			out := Scrub([]byte(b.String()), star)
			joined := ""
			for line := range strings.Lines(string(out)) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					d := read([]byte(data))
					for _, x := range d.texts {
						if x.Kind != Label {
							joined += string(x.Value)
						}
					}
				}
			}
			if joined != "before *** after" {
				t.Fatalf("%s: %q\n%s", name, joined, out)
			}
		})
	}
}

func FuzzScrub(f *testing.F) {
	f.Add([]byte("data: {\"d\":\"sk-key\"}\n\ndata: {\"d\":\"-of-the-gateway\"}\n\n"))
	f.Add([]byte(`{"a":"{\"k\":\"sk\\u002dkey-of-the-gateway\"}"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		was := bytes.Clone(body)
		out := Scrub(body, star)
		if !bytes.Equal(body, was) {
			t.Fatal("it changed what it was given")
		}
		if bytes.Contains(out, []byte(kept)) {
			t.Fatalf("%q", out)
		}
		if json.Valid(body) && !json.Valid(out) {
			t.Fatalf("%q is no JSON any more: %q", body, out)
		}
	})
}
