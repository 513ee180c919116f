package mock_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/mock"
)

// recordings is a directory with a plain body, an event stream with CR LF, a binary one and a link out of it.
func recordings(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "recordings")
	files = map[string]string{
		"hello.json": "{\"id\": \"x\" ,\n\"n\":1.0}\n", "hello.sse": "data: {\"a\":1}\r\n\r\n: note\n\nevent: b\ndata: 2\n\ndata: [DONE]\n\n",
		"deep/er.json": `{}`, "bin.eventstream": "\x00\x00\x00\x10abcdefghijkl\x00\x00\x00\x10ABCDEFGHIJKL", "lines.ndjson": "{}\n{}\n",
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "secret.json"), []byte(`{"secret":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "secret.json"), filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	return dir, files
}

func TestReplay(t *testing.T) {
	dir, files := recordings(t)
	cases := map[string]struct {
		body, fault string
		want, form  string
	}{
		"by model":          {chat("hello", false), "", files["hello.json"], "application/json"},
		"by model, stream":  {chat("hello", true), "", files["hello.sse"], "text/event-stream; charset=utf-8"},
		"by model, frames":  {chat("bin", true), "", files["bin.eventstream"], "application/vnd.amazon.eventstream"},
		"by model, deep":    {chat("deep/er", false), "", files["deep/er.json"], "application/json"},
		"by name":           {chat("m", false), "replay=hello.json", files["hello.json"], "application/json"},
		"by name, stream":   {chat("m", false), "replay=hello.sse", files["hello.sse"], "text/event-stream; charset=utf-8"},
		"by name, lines":    {chat("m", true), "replay=lines.ndjson", files["lines.ndjson"], "application/x-ndjson"},
		"cut after 2":       {chat("m", true), "replay=hello.sse; eof=2", "data: {\"a\":1}\r\n\r\n: note\n\n", "text/event-stream; charset=utf-8"},
		"no refusal":        {`{"model":"hello","messages":[{"role":"odd"}]}`, "", files["hello.json"], "application/json"},
		"other model":       {`{"model":"m","messages":[{"role":"odd"}]}`, "", "400", ""},
		"not there":         {chat("m", false), "replay=none.json", "500", ""},
		"a link out of it":  {chat("m", false), "replay=link.json", "500", ""},
		"link by model":     {chat("link", false), "", "This is a simulated provider", ""},
		"a path out of it":  {chat("m", false), "replay=../secret.json", "400", ""},
		"an absolute path":  {chat("m", false), "replay=/etc/passwd", "400", ""},
		"a directory":       {chat("m", false), "replay=deep", "500", ""},
		"a model, upwards":  {chat("../secret", false), "", "This is a simulated provider", ""},
		"a model, absolute": {chat(dir+"/hello", false), "", "This is a simulated provider", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{Replay: dir}, func(t *testing.T, b *bench) {
				code, body, h := b.send(t, call{"/v1/chat/completions", c.body}, mock.FaultHeader, c.fault)
				switch {
				case len(c.want) == 3:
					if http.StatusText(code) == "" || c.want != string([]byte{byte('0' + code/100), byte('0' + code/10%10), byte('0' + code%10)}) {
						t.Errorf("got %d %s, want %s", code, body, c.want)
					}
				case c.form == "":
					if !strings.Contains(string(body), c.want) {
						t.Errorf("got %d %s", code, body)
					}
				case string(body) != c.want || h.Get("Content-Type") != c.form:
					t.Errorf("got %q as %s\nwant %q as %s", body, h.Get("Content-Type"), c.want, c.form)
				}
				if strings.Contains(string(body), "secret\":1") || strings.Contains(string(body), dir) && !strings.Contains(c.body, dir) {
					t.Errorf("what is outside is told: %s", body)
				}
			})
		})
	}
}

func TestReplayNeedsADirectory(t *testing.T) {
	run(t, mock.Script{}, func(t *testing.T, b *bench) {
		if code, body := b.ask(t, "/v1/chat/completions", chat("m", false), mock.FaultHeader, "replay=x.json"); code != 500 || !strings.Contains(message(t, body), "replay: ") {
			t.Errorf("%d %s", code, body)
		}
	})
}
