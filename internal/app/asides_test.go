package app

import (
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A side's upstreams are played by handlers: they check what a real server would see.
type side struct {
	*stack
	asked map[string]int
}

const sideText = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai-compatible, base_url: "http://up-a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai-compatible, base_url: "http://up-b/v1", api_key: sk-key-of-b, models: [m2]}
  c: {type: cohere, base_url: "http://up-c/v2", api_key: sk-key-of-c, models: [m3]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2], hedge: {after: 100ms}}
  ranks: {strategy: ordered, targets: [a/m, c/m3]}
  omni-moderation-latest: {strategy: ordered, targets: [a/m]}
resilience: {retry: {max_retries: 0}}
`

func newSide(t *testing.T, upstreams map[string]http.HandlerFunc) *side {
	t.Helper()
	s := &side{asked: map[string]int{}}
	s.stack = newStackWith(t, parse(t, sideText), nil, slog.New(slog.DiscardHandler), func(st *stack) {
		for name, h := range upstreams {
			st.net.Serve(t, "up-"+name+":80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					s.asked[name]++
				}
				h(w, r)
			}))
		}
	})
	return s
}

// says answers with a status, a content type and a body.
func says(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// echo answers with what it was sent, inside of a good answer.
func echo(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Sent", r.URL.Path+" "+string(b))
		_, _ = io.WriteString(w, answer)
	}
}

// R9, R14, R16: JSON in, JSON out, by the same failover as any other request.
func TestAsides(t *testing.T) {
	const picture, verdict, ranks = `{"created":1,"data":[{"b64_json":"QUJD"}]}`, `{"id":"x","model":"m","results":[{"flagged":false}]}`,
		`{"results":[{"index":1,"relevance_score":0.9}]}`
	tests := []struct {
		name, path, body string
		a, b             http.HandlerFunc
		trail, sent      string
	}{
		{
			"pictures", "/v1/images/generations", `{"prompt":"a cat", "model":"demo","n":2}`, echo(picture), nil,
			"a/m=200", `/v1/images/generations {"prompt":"a cat", "model":"m","n":2}`,
		},
		{
			"without the version", "/images/generations", `{"prompt":"a cat","model":"demo"}`, echo(picture), nil,
			"a/m=200", `/v1/images/generations {"prompt":"a cat","model":"m"}`,
		},
		{
			"a failure", "/v1/images/generations", `{"model":"demo","prompt":"a cat"}`, says(500, "application/json", `{"error":{"message":"no"}}`), echo(picture),
			"a/m=500, b/m2=200", `/v1/images/generations {"model":"m2","prompt":"a cat"}`,
		},
		{
			"no route", "/v1/images/generations", `{"model":"demo","prompt":"a cat"}`, says(404, "application/json", `{"detail":"Not Found"}`), echo(picture),
			"a/m=404, b/m2=200", `/v1/images/generations {"model":"m2","prompt":"a cat"}`,
		},
		{
			"no picture", "/v1/images/generations", `{"model":"demo","prompt":"a cat"}`, says(200, "application/json", `{"created":1,"data":[]}`), echo(picture),
			"a/m=invalid_answer, b/m2=200", `/v1/images/generations {"model":"m2","prompt":"a cat"}`,
		},
		{
			"an error in a 200", "/v1/images/generations", `{"model":"demo","prompt":"a cat"}`, says(200, "application/json", `{"error":{"message":"overloaded"}}`), echo(picture),
			"a/m=invalid_answer, b/m2=200", `/v1/images/generations {"model":"m2","prompt":"a cat"}`,
		},
		{
			"a page", "/v1/images/edits", `{"model":"demo","prompt":"a cat"}`, says(200, "text/html", "<html>welcome</html>"), echo(picture),
			"a/m=invalid_answer, b/m2=200", `/v1/images/edits {"model":"m2","prompt":"a cat"}`,
		},
		{
			"a verdict", "/v1/moderations", `{"model":"demo","input":"hi"}`, echo(verdict), nil,
			"a/m=200", `/v1/moderations {"model":"m","input":"hi"}`,
		},
		{
			"a verdict of no model", "/v1/moderations", `{"input":"hi"}`, echo(verdict), nil,
			"a/m=200", `/v1/moderations {"model":"m","input":"hi"}`,
		},
		{
			"an order", "/v1/rerank", `{"model":"demo","query":"q","documents":["a","b"]}`, echo(ranks), nil,
			"a/m=200", `/v1/rerank {"model":"m","query":"q","documents":["a","b"]}`,
		},
		{
			"an order of Cohere's", "/v1/rerank", `{"model":"ranks","query":"q","documents":["a","b"]}`, says(503, "text/plain", "no"), echo(ranks),
			"a/m=503, c/m3=200", `/v2/rerank {"model":"m3","query":"q","documents":["a","b"]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSide(t, map[string]http.HandlerFunc{"a": tt.a, "b": tt.b, "c": tt.b})
				a := s.post(t.Context(), tt.path, tt.body)
				if a.status != 200 || a.header.Get("X-Evergate-Trail") != tt.trail || a.header.Get("X-Sent") != tt.sent {
					t.Errorf("%d [%s] sent %s: %s", a.status, a.header.Get("X-Evergate-Trail"), a.header.Get("X-Sent"), a.body)
				}
			})
		})
	}
}

// R9, R10: what no provider has is a clear 404, and a refusal goes back as it is.
func TestAsidesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := says(404, "application/json", `{"detail":"Not Found"}`)
		s := newSide(t, map[string]http.HandlerFunc{"a": none, "b": none})
		for range 8 { // no guard moves
			if a := s.post(t.Context(), "/v1/audio/speech", `{"model":"demo","input":"hi","voice":"alloy"}`); a.status != 404 || a.errCode != "not_found" ||
				!strings.Contains(a.body, "/audio/speech") {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		if a := s.post(t.Context(), "/v1/rerank", `{"query":"q"}`); a.status != 400 || !strings.Contains(a.body, "rerank-v3.5") {
			t.Errorf("no model: %d %s", a.status, a.body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		const why = `{"error":{"message":"your prompt was rejected","type":"user_error","code":"moderation_blocked"}}`
		s := newSide(t, map[string]http.HandlerFunc{"a": says(400, "application/json", why), "b": says(200, "application/json", "{}")})
		if a := s.post(t.Context(), "/v1/images/generations", `{"model":"demo","prompt":"x"}`); a.status != 400 || s.asked["b"] != 0 || !strings.Contains(a.body, "your prompt was rejected") {
			t.Errorf("%d %s, b was asked %d times", a.status, a.body, s.asked["b"])
		}
	})
}

// Sound goes through as it comes, and its first byte is the commit point.
func TestSpeech(t *testing.T) {
	const ask = `{"model":"demo","input":"hi","voice":"alloy"}`
	sound := strings.Repeat("\x00\x01{<ID3", 50_000)
	tests := []struct {
		name, body string
		a          http.HandlerFunc
		asked      int // of b
	}{
		{"sound", ask, says(200, "audio/mpeg", sound), 0},
		{"in pieces", ask, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "audio/mpeg")
			for i := 0; i < len(sound); i += 7_000 {
				_, _ = io.WriteString(w, sound[i:i+7_000])
				_ = http.NewResponseController(w).Flush()
			}
		}, 0},
		{"a page", ask, says(200, "text/html", "<html>welcome</html>"), 1},
		{"a page under a false name", ask, says(200, "audio/mpeg", "<!DOCTYPE html>"), 1},
		{"nothing", ask, says(200, "audio/mpeg", ""), 1},
		{"words", ask, says(200, "text/plain", "try later"), 1},
		{"an error in a 200", ask, says(200, "application/json", `{"error":{"message":"overloaded"}}`), 1},
		{"JSON", ask, says(200, "application/json", `{"audio":"QUJD"}`), 1},
		{"a limit", ask, says(429, "application/json", `{"error":{"message":"slow down"}}`), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSide(t, map[string]http.HandlerFunc{"a": tt.a, "b": says(200, "audio/mpeg", sound)})
				a := s.post(t.Context(), "/v1/audio/speech", tt.body)
				if a.status != 200 || a.body != sound || a.header.Get("Content-Type") != "audio/mpeg" || s.asked["b"] != tt.asked || a.broken != nil {
					t.Errorf("%d %s, %d bytes, %v; b was asked %d times", a.status, a.header.Get("Content-Type"), len(a.body), a.broken, s.asked["b"])
				}
			})
		})
	}
	t.Run("R15: it breaks off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSide(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "audio/mpeg")
				_, _ = io.WriteString(w, "ID3")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, "b": says(200, "audio/mpeg", sound)})
			if a := s.post(t.Context(), "/v1/audio/speech", ask); a.broken == nil || a.body != "ID3" || s.asked["b"] != 0 {
				t.Errorf("%d %q %v, b was asked %d times", a.status, a.body, a.broken, s.asked["b"])
			}
			if f := s.facts.last(); !f.Committed || f.Code != "provider_error" {
				t.Errorf("%+v", f)
			}
		})
	})
	t.Run("R15: it falls silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSide(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "audio/mpeg")
				for range 3 { // longer than an attempt may take until its first byte, but never silent for long
					_, _ = io.WriteString(w, "ID3")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-time.After(25 * time.Second):
					case <-r.Context().Done():
					}
				}
				<-r.Context().Done()
			}, "b": says(200, "audio/mpeg", sound)})
			a := s.post(t.Context(), "/v1/audio/speech", ask)
			if f := s.facts.last(); a.broken == nil || a.body != "ID3ID3ID3" || s.asked["b"] != 0 || f.Trail[0].Message != "the upstream fell silent" || a.took < 70*time.Second {
				t.Errorf("%q %v after %v, b was asked %d times: %+v", a.body, a.broken, a.took, s.asked["b"], f.Trail)
			}
		})
	})
	t.Run("R71: it is never asked twice at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSide(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(time.Second)
				says(200, "audio/mpeg", sound)(w, r)
			}, "b": says(200, "audio/mpeg", sound)})
			if a := s.post(t.Context(), "/v1/audio/speech", ask); a.status != 200 || s.asked["b"] != 0 {
				t.Errorf("%d, b was asked %d times", a.status, s.asked["b"])
			}
		})
	})
	t.Run("as events", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const events = "data: {\"type\":\"speech.audio.delta\",\"audio\":\"QUJD\"}\n\ndata: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}\n\n"
			s := newSide(t, map[string]http.HandlerFunc{"a": says(200, "text/event-stream", ""), "b": says(200, "text/event-stream", events)})
			if got := s.raw("/v1/audio/speech", "application/json", strings.Replace(ask, "{", `{"stream_format":"sse",`, 1)); got != events {
				t.Errorf("%q", got)
			}
			if f := s.facts.last(); f.Usage.Output != 5 || !f.Stream {
				t.Errorf("%+v", f)
			}
		})
	})
}

// raw posts a body and gives the answer's, whatever it is.
func (s *side) raw(path, kind, body string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		s.t.Errorf("%d %v", res.StatusCode, err)
	}
	return string(b)
}

// recording is a form with a file, its fields before and after it.
func recording(t *testing.T, fields ...string) (kind, body string) {
	t.Helper()
	var b strings.Builder
	w := multipart.NewWriter(&b)
	file, err := w.CreateFormFile("file", `odd "name".wav`)
	if err == nil {
		_, err = io.WriteString(file, "RIFF\r\n--\x00\xff\r\nmodel=demo\n")
	}
	for i := 0; i+1 < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

// hears reads a form as a server does, and answers with what it heard.
func hears(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	file, head, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	b, _ := io.ReadAll(file)
	text := fmt.Sprintf("%s %s %s %q %q", r.URL.Path, r.FormValue("model"), r.FormValue("language"), head.Filename, b)
	switch {
	case r.FormValue("response_format") == "text":
		says(200, "text/plain; charset=utf-8", text)(w, r)
	case r.FormValue("stream") == "true":
		says(200, "text/event-stream", fmt.Sprintf("data: {\"type\":\"transcript.text.delta\",\"delta\":%q}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":%q}\n\n", text, text))(w, r)
	default:
		says(200, "application/json", fmt.Sprintf(`{"text":%q}`, text))(w, r)
	}
}

// Forms: the model's field is rewritten for each target, the file arrives as it was sent.
func TestTranscriptions(t *testing.T) {
	const file = `"odd \"name\".wav" "RIFF\r\n--\x00\xff\r\nmodel=demo\n"`
	down := says(503, "application/json", `{"error":{"message":"down"}}`)
	tests := []struct {
		name, path string
		fields     []string
		a          http.HandlerFunc
		want       string // of the answer
	}{
		{"JSON", "/v1/audio/transcriptions", []string{"model", "demo", "language", "de"}, hears, `{"text":` + quoted("/v1/audio/transcriptions m de "+file) + `}`},
		{"failover", "/v1/audio/transcriptions", []string{"model", "demo"}, down, `{"text":` + quoted("/v1/audio/transcriptions m2  "+file) + `}`},
		{"translation", "/v1/audio/translations", []string{"model", "demo"}, down, `{"text":` + quoted("/v1/audio/translations m2  "+file) + `}`},
		{"text", "/v1/audio/transcriptions", []string{"model", "demo", "response_format", "text"}, hears, "/v1/audio/transcriptions m  " + file},
		{
			"an error where text was asked for", "/v1/audio/transcriptions",
			[]string{"response_format", "text", "model", "demo"},
			says(200, "text/plain", `{"error":{"message":"overloaded"}}`), "/v1/audio/transcriptions m2  " + file,
		},
		{
			"JSON where text was asked for", "/v1/audio/transcriptions",
			[]string{"response_format", "text", "model", "demo"},
			says(200, "application/json", `{"text":"hello"}`), `{"text":"hello"}`,
		},
		{"a stream", "/v1/audio/transcriptions", []string{"model", "demo", "stream", "true"}, down, "data: {\"type\":\"transcript.text.delta\",\"delta\":" +
			quoted("/v1/audio/transcriptions m2  "+file) + "}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":" + quoted("/v1/audio/transcriptions m2  "+file) + "}\n\n"},
		{
			"R17: JSON where a stream was asked for", "/v1/audio/transcriptions",
			[]string{"model", "demo", "stream", "true"},
			says(200, "application/json", `{"text":"hello","usage":{"input_tokens":1,"output_tokens":2}}`),
			"data: {\"type\":\"transcript.text.delta\",\"delta\":\"hello\"}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":\"hello\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}\n\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSide(t, map[string]http.HandlerFunc{"a": tt.a, "b": hears})
				kind, body := recording(t, tt.fields...)
				if got := s.raw(tt.path, kind, body); got != tt.want {
					t.Errorf("\n%s\n%s", got, tt.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSide(t, map[string]http.HandlerFunc{"a": hears, "b": hears})
		kind, body := recording(t)
		if a := s.post(t.Context(), "/v1/audio/transcriptions", body, "Content-Type", kind); a.status != 400 || !strings.Contains(a.body, "model") {
			t.Errorf("no model: %d %s", a.status, a.body)
		}
		if a := s.post(t.Context(), "/v1/chat/completions", body, "Content-Type", kind); a.status != 415 {
			t.Errorf("a form for chat: %d %s", a.status, a.body)
		}
		if a := s.post(t.Context(), "/v1/audio/transcriptions", body, "Content-Type", "multipart/form-data"); a.status != 400 || !strings.Contains(a.body, "boundary") {
			t.Errorf("no boundary: %d %s", a.status, a.body)
		}
		if len(s.asked) != 0 {
			t.Errorf("%v", s.asked)
		}
	})
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// Pictures that come as a stream: with their names, and one after the other.
func TestPicturesAsStream(t *testing.T) {
	const events = "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"QQ==\"}\n\n" +
		"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"QUI=\",\"usage\":{\"input_tokens\":3,\"output_tokens\":5}}\n\n"
	for name, a := range map[string]struct {
		a    http.HandlerFunc
		want string
	}{
		"events":   {says(200, "text/event-stream", events), events},
		"an error": {says(200, "text/event-stream", "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n"), events},
		"R17: JSON": {
			says(200, "application/json", `{"created":1,"data":[{"b64_json":"QQ=="},{"b64_json":"QUI="}],"size":"1024x1024"}`),
			"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"created_at\":1,\"size\":\"1024x1024\",\"b64_json\":\"QQ==\"}\n\n" +
				"event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"created_at\":1,\"size\":\"1024x1024\",\"b64_json\":\"QUI=\"}\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSide(t, map[string]http.HandlerFunc{"a": a.a, "b": says(200, "text/event-stream", events)})
				n := 1
				if strings.HasPrefix(name, "R17") {
					n = 2
				}
				if got := s.raw("/v1/images/generations", "application/json", fmt.Sprintf(`{"model":"demo","prompt":"x","stream":true,"n":%d}`, n)); got != a.want {
					t.Errorf("\n%s\n%s", got, a.want)
				}
			})
		})
	}
}

// Files and batches go to the provider that keeps them, and nowhere else.
func TestStored(t *testing.T) {
	says := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"heard":%q}`, name+" "+r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Evergate-Provider")+string(b))
		}
	}
	ask := func(s *side, method, path, body string, headers ...string) (int, string) {
		req, err := http.NewRequestWithContext(s.t.Context(), method, "http://gateway"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSide(t, map[string]http.HandlerFunc{"a": says("a"), "b": says("b"), "c": says("c")})
		for _, tt := range []struct {
			method, path, body, header string
			status                     int
			want                       string
		}{
			{"POST", "/v1/files", "form", "b", 200, `{"heard":"b POST /v1/files Bearer sk-key-of-b form"}`},
			{"GET", "/v1/files?limit=2&provider=b&after=x", "", "", 200, `{"heard":"b GET /v1/files?limit=2&after=x Bearer sk-key-of-b "}`},
			{"GET", "/files/file-1/content", "", "a", 200, `{"heard":"a GET /v1/files/file-1/content Bearer sk-key-of-a "}`},
			{"DELETE", "/v1/files/file-1", "", "a", 200, `{"heard":"a DELETE /v1/files/file-1 Bearer sk-key-of-a "}`},
			{"POST", "/v1/batches", `{"input_file_id":"file-1"}`, "a", 200, `{"heard":"a POST /v1/batches Bearer sk-key-of-a {\"input_file_id\":\"file-1\"}"}`},
			{"POST", "/v1/batches/b_1/cancel", "", "a", 200, `{"heard":"a POST /v1/batches/b_1/cancel Bearer sk-key-of-a "}`},
			{"POST", "/v1/uploads", "{}", "a", 200, `{"heard":"a POST /v1/uploads Bearer sk-key-of-a {}"}`},
			{"GET", "/v1/files", "", "", 400, "a, b"},
			{"GET", "/v1/files", "", "c", 404, `no provider \"c\" here that has files`},
			{"GET", "/v1/files/%2e%2e/models", "", "a", 400, "base URL"},
			{"GET", "/v1/filesystem", "", "a", 404, ""},
		} {
			headers := []string{"X-Evergate-Provider", tt.header}
			if tt.header == "" {
				headers = nil
			}
			if status, got := ask(s, tt.method, tt.path, tt.body, headers...); status != tt.status || tt.status == 200 && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%s %s: %d %s", tt.method, tt.path, status, got)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) { // the only one need not be named
		one := strings.NewReplacer("  b: {", "  b: {disabled: true, ").Replace(sideText)
		s := &side{asked: map[string]int{}}
		s.stack = newStackWith(t, parse(t, one), nil, slog.New(slog.DiscardHandler), func(st *stack) { st.net.Serve(t, "up-a:80", says("a")) })
		if status, got := ask(s, "GET", "/v1/batches", ""); status != 200 || got != `{"heard":"a GET /v1/batches Bearer sk-key-of-a "}` {
			t.Errorf("%d %s", status, got)
		}
	})
}

// A key's models hold for forms, too: none can name one model to the gateway and another one upstream.
func TestFormsOfLimitedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(sideText, "{allow_anonymous: true}", "{mode: keys, keys: [{name: ci, value: key-of-ci-0123456789, models: [demo]}]}", 1)
		s := &side{asked: map[string]int{}}
		s.stack = newStackWith(t, parse(t, text), nil, slog.New(slog.DiscardHandler), func(st *stack) { st.net.Serve(t, "up-a:80", http.HandlerFunc(hears)) })
		for _, tt := range []struct {
			fields []string
			status int
		}{
			{[]string{"model", "demo"}, 200},
			{[]string{"model", "b/m2"}, 403},
			{[]string{"model", "demo", "model", "b/m2"}, 403},
			{[]string{"model", "b/m2", "model", "demo"}, 200}, // both are rewritten
			{[]string{"model", "a/--x\r\nContent-Disposition: form-data; name=model\r\n\r\nm2"}, 400},
		} {
			kind, body := recording(t, tt.fields...)
			a := s.post(t.Context(), "/v1/audio/transcriptions", body, "Content-Type", kind, "Authorization", "Bearer key-of-ci-0123456789")
			if a.status != tt.status || tt.status == 200 && !strings.Contains(a.body, "/v1/audio/transcriptions m ") {
				t.Errorf("%q: %d %s", tt.fields, a.status, a.body)
			}
		}
		if a := s.post(t.Context(), "/v1/batches", "{}", "Authorization", "Bearer key-of-ci-0123456789", "X-Evergate-Provider", "a"); a.status != 403 {
			t.Errorf("a batch: %d %s", a.status, a.body)
		}
	})
}
