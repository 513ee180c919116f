package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// Routes whose answers nobody here understands: the texts of a form and of a JSON answer are looked at, files are not, and what cannot be judged is refused.
func TestGuardrailsOnSideRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://up/v1", api_key: sk-key-of-a, models: [m]}
guardrails: {pii: {find: [email]}}
guardrail_defaults: [pii]
`
		var asked []string
		s := newStackWith(t, parse(t, text), nil, slog.New(slog.DiscardHandler), func(s *stack) {
			s.net.Serve(t, "up:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method == http.MethodPost {
					asked = append(asked, string(body))
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"text":"from `+plantedMail+`"}`)
			}))
		})
		form := func(fields ...string) (*http.Response, string) {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			for i := 0; i+1 < len(fields); i += 2 {
				_ = w.WriteField(fields[i], fields[i+1])
			}
			f, _ := w.CreateFormFile("file", "a.wav")
			_, _ = f.Write([]byte("RIFF " + plantedMail + " \x00\xff"))
			_ = w.Close()
			r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://gateway/v1/audio/transcriptions", &b)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", w.FormDataContentType())
			res, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			said, _ := io.ReadAll(res.Body)
			return res, string(said)
		}
		res, said := form("model", "m", "prompt", "names: "+plantedMail)
		if res.StatusCode != 200 || said != `{"text":"from [EMAIL]"}` {
			t.Errorf("%d %s", res.StatusCode, said)
		}
		if len(asked) != 1 || !strings.Contains(asked[0], "names: [EMAIL]") || strings.Count(asked[0], plantedMail) != 1 || !strings.Contains(asked[0], "RIFF "+plantedMail+" \x00\xff") {
			t.Errorf("%q", asked)
		}
		for _, field := range [][2]string{{"stream", "true"}, {"response_format", "srt"}} {
			if res, said = form("model", "m", field[0], field[1]); res.StatusCode != 400 || !strings.Contains(said, "guardrail") {
				t.Errorf("%v: %d %s", field, res.StatusCode, said)
			}
		}
		if a := s.raw("/v1/moderations", `{"model":"m","input":"I am `+plantedMail+`"}`); len(asked) != 2 || strings.Contains(asked[1], plantedMail) || strings.Contains(a.body, plantedMail) {
			t.Errorf("%d %s, asked %q", a.status, a.body, asked)
		}
		if a := s.raw("/v1/embeddings", `{"model":"m","input":["I am `+plantedMail+`"]}`); len(asked) != 3 || strings.Contains(asked[2], plantedMail) {
			t.Errorf("%d %s, asked %q", a.status, a.body, asked)
		}
	})
}
