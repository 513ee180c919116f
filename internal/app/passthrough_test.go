package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// onePass is a gateway with one provider that a test plays by hand.
const onePass = `
server: {listen: "gateway:80"}
auth: {mode: keys, keys: [{name: ci, value: client-key-1}, {name: narrow, value: client-key-2, models: [m]}]}
admin: {token: admin-token}
providers:
  up: {type: openai, base_url: "http://up/v1", keys: [sk-up-key-1], models: [m]%s}
  off: {type: openai, base_url: "http://up/v1", api_key: sk-off, models: [n], disabled: true}
  shut: {type: openai, base_url: "http://up/v1", api_key: sk-off, models: [n], passthrough: off}
`

// passStack starts it with what the provider does.
func passStack(t testing.TB, more string, h http.HandlerFunc) *stack {
	t.Helper()
	return newStackWith(t, parse(t, fmt.Sprintf(onePass, more)), map[string]mock.Script{}, slog.New(slog.DiscardHandler), func(s *stack) {
		s.net.Serve(t, "up:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path == "/v1/models" { // the gateway's own question
				_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
				return
			}
			h(w, r)
		}))
	})
}

// do makes one request as the key ci.
func (s *stack) do(method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://gateway"+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer client-key-1")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		text = append(text, "<"+err.Error()+">"...)
	}
	return res, string(text)
}

func TestPassthroughSendsWhatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		var body []byte
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			got = r
			body, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/x-odd")
			w.Header().Set("Content-Range", "bytes 0-1/9")
			w.Header().Set("Etag", `"e"`)
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Openai-Organization", "ours")
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.WriteString(w, "ok")
		})
		res, text := s.do("PATCH", "/passthrough/up/v1/files/a%2Fb?limit=1&key=client-key-1&after=x%20y", strings.NewReader("hello"),
			"Content-Type", "text/odd", "Content-Encoding", "odd", "Range", "bytes=0-1", "X-Api-Key", "client-key-1", "Cookie", "c=d",
			"X-Forwarded-For", "10.0.0.1", "X-New-Header", "kept", "Openai-Organization", "theirs", "X-Evergate-Prefer", "strict",
			"Connection", "X-Hop", "X-Hop", "1", "Accept", "application/odd")
		if res.StatusCode != http.StatusPartialContent || text != "ok" {
			t.Fatalf("%d %q", res.StatusCode, text)
		}
		if got.Method != "PATCH" || got.RequestURI != "/v1/files/a%2Fb?limit=1&after=x%20y" || string(body) != "hello" || got.ContentLength != 5 {
			t.Errorf("%s %s %q (%d bytes)", got.Method, got.RequestURI, body, got.ContentLength)
		}
		for name, want := range map[string]string{
			"Authorization": "Bearer sk-up-key-1", "Content-Type": "text/odd", "Content-Encoding": "odd", "Range": "bytes=0-1", "Accept": "application/odd",
			"X-New-Header": "kept", "X-Api-Key": "", "Cookie": "", "X-Forwarded-For": "", "Openai-Organization": "", "X-Evergate-Prefer": "", "X-Hop": "", "Accept-Encoding": "",
		} {
			if v := got.Header.Get(name); v != want {
				t.Errorf("request header %s: %q, want %q", name, v, want)
			}
		}
		for name, want := range map[string]string{
			"Content-Type": "application/x-odd", "Content-Range": "bytes 0-1/9", "Etag": `"e"`, "Content-Length": "2", "X-Evergate-Provider": "up",
			"X-Evergate-Trail": "up=206", "X-Evergate-Attempts": "1", "Set-Cookie": "", "Openai-Organization": "", "X-Echo": "", "X-Evergate-Model": "",
		} {
			if v := res.Header.Get(name); v != want {
				t.Errorf("reply header %s: %q, want %q", name, v, want)
			}
		}
		synctest.Wait()
		if f := s.facts.last(); f.Dialect != "passthrough" || f.Route != "" || f.Provider != "up" || f.Asked != "PATCH /v1/files/a%2Fb" || f.Key != "ci" || f.Status != 206 {
			t.Errorf("fact: %+v", f)
		}
		if text := strings.Join(s.metrics("evergate_requests_total"), "\n"); !strings.Contains(text, `evergate_requests_total{code="206",model="",provider="up"} 1`) {
			t.Errorf("metrics:\n%s", text)
		}
	})
}

func TestPassthroughIsForThoseWhoMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		s := passStack(t, "", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		cases := []struct {
			name, method, path, key string
			status                  int
			says                    string
		}{
			{"no key", "GET", "/passthrough/up/files", "", 401, "invalid_api_key"},
			{"a key for some models", "GET", "/passthrough/up/files", "client-key-2", 403, "model_not_allowed"},
			{"no such provider", "GET", "/passthrough/upp/files", "client-key-1", 404, "did you mean up?"},
			{"a disabled provider", "GET", "/passthrough/off/files", "client-key-1", 404, "passthrough is off"},
			{"a provider that takes none", "GET", "/passthrough/shut/files", "client-key-1", 404, "passthrough is off"},
			{"dots", "GET", "/passthrough/up/%2e%2e/admin", "client-key-1", 400, "below the provider's base URL"},
			{"another host", "GET", "/passthrough/up//evil.example/x", "client-key-1", 400, "below the provider's base URL"},
			{"TRACE", "TRACE", "/passthrough/up/files", "client-key-1", 405, "does not pass"},
			{"a user in the provider", "GET", "/passthrough/up@evil.example/x", "client-key-1", 404, "not_found"},
			{"a port in the provider", "GET", "/passthrough/up:81/x", "client-key-1", 404, "not_found"},
		}
		for _, c := range cases {
			res, text := s.do(c.method, c.path, nil, "Authorization", "Bearer "+c.key)
			if res.StatusCode != c.status || !strings.Contains(text, c.says) {
				t.Errorf("%s: %d %s", c.name, res.StatusCode, text)
			}
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("the provider was asked %d times", n)
		}
	})
}

// R57, for each method with and without an Idempotency-Key: only what can be repeated safely is sent again.
func TestPassthroughRepeats(t *testing.T) {
	cases := []struct {
		name, method, body string
		headers            []string
		again              bool
	}{
		{"GET", "GET", "", nil, true},
		{"HEAD", "HEAD", "", nil, true},
		{"OPTIONS", "OPTIONS", "", nil, true},
		{"PUT", "PUT", "body", nil, true},
		{"POST", "POST", "body", nil, false},
		{"PATCH", "PATCH", "body", nil, false},
		{"DELETE", "DELETE", "", nil, false},
		{"POST with a key", "POST", "body", []string{"Idempotency-Key", "k1"}, true},
		{"DELETE with a key", "DELETE", "", []string{"Idempotency-Key", "k1"}, true},
		{"PUT of more than is kept", "PUT", strings.Repeat("x", 1<<20+1), nil, false},
	}
	faults := map[string]int{"503": http.StatusServiceUnavailable, "429": http.StatusTooManyRequests, "reset": 0}
	for _, c := range cases {
		for name, status := range faults {
			t.Run(c.name+" after "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var asked atomic.Int32
					var bodies []string
					var keys []string
					s := passStack(t, ", resilience: {retry: {same_target: 0}}", func(w http.ResponseWriter, r *http.Request) {
						b, _ := io.ReadAll(r.Body)
						bodies, keys = append(bodies, string(b)), append(keys, r.Header.Get("Idempotency-Key"))
						switch {
						case asked.Add(1) > 1:
							_, _ = io.WriteString(w, "fine")
						case status == 0:
							panic(http.ErrAbortHandler)
						default:
							w.Header().Set("Retry-After", "1")
							w.WriteHeader(status)
							_, _ = io.WriteString(w, `{"error":{"message":"not now"}}`)
						}
					})
					var body io.Reader
					if c.body != "" {
						body = strings.NewReader(c.body)
					}
					res, text := s.do(c.method, "/passthrough/up/things", body, c.headers...)
					want, n := http.StatusOK, 2
					if !c.again {
						want, n = status, 1
						if status == 0 {
							want = http.StatusBadGateway
						} else if text != `{"error":{"message":"not now"}}` {
							t.Errorf("body %q", text)
						}
					}
					if res.StatusCode != want || len(bodies) != n {
						t.Errorf("status %d after %d attempts, want %d after %d: %s", res.StatusCode, len(bodies), want, n, text)
					}
					if n == 2 && len(bodies) == 2 && (bodies[0] != c.body || bodies[1] != c.body || keys[0] != keys[1]) {
						t.Errorf("sent %q, keys %q", bodies, keys)
					}
				})
			})
		}
	}
}

// R4-R7, R57: a request that can be repeated goes on with another key; the others' answer goes back, and the key rests all the
// same.
func TestPassthroughKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used []string
		s := passStack(t, ", key_strategy: fill_first", func(w http.ResponseWriter, r *http.Request) {
			used = append(used, r.Header.Get("Authorization"))
			if strings.HasSuffix(r.Header.Get("Authorization"), "bad") {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: sk-up-is-bad","code":"invalid_api_key"}}`)
			}
		})
		s.next = parse(t, strings.Replace(fmt.Sprintf(onePass, ", key_strategy: fill_first"), "sk-up-key-1", "sk-up-is-bad, sk-up-key-1", 1))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		res, text := s.do("POST", "/passthrough/up/things", strings.NewReader("x"))
		if res.StatusCode != http.StatusUnauthorized || strings.Contains(text, "is-bad") || !strings.Contains(text, "Incorrect API key provided") {
			t.Errorf("%d %s", res.StatusCode, text)
		}
		if res, _ = s.do("POST", "/passthrough/up/things", strings.NewReader("x")); res.StatusCode != http.StatusOK || len(used) != 2 {
			t.Errorf("%d, keys used: %q", res.StatusCode, used)
		}
		time.Sleep(2 * time.Minute) // the refused key may be tried again
		if res, _ = s.do("GET", "/passthrough/up/things", nil); res.StatusCode != http.StatusOK || len(used) != 4 || res.Header.Get("X-Evergate-Trail") != "up=401, up=200" {
			t.Errorf("%d %v, keys used: %q", res.StatusCode, res.Header, used)
		}
	})
}

// R9: a missing thing or route moves no guard, and no model is locked; R10: a refusal goes back as it is.
func TestPassthroughRefusalsMoveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 0
		s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"The model gpt-x does not exist","code":"model_not_found"}}`)
		})
		for _, status = range []int{404, 405, 501, 400, 409, 413, 422} {
			for range 12 {
				res, text := s.do("GET", "/passthrough/up/things", nil)
				if res.StatusCode != status || !strings.Contains(text, "gpt-x does not exist") || res.Header.Get("Content-Type") != "application/problem+json" {
					t.Fatalf("%d: %d %v %s", status, res.StatusCode, res.Header, text)
				}
			}
		}
		s.facts.mu.Lock()
		defer s.facts.mu.Unlock()
		if len(s.facts.guards) != 0 {
			t.Errorf("guards moved: %+v", s.facts.guards)
		}
	})
}

// R20: passthrough feeds the provider's breaker, and keeps to it.
func TestPassthroughBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		s := passStack(t, ", resilience: {when_all_blocked: fail_fast}", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		})
		for range 5 {
			if res, _ := s.do("POST", "/passthrough/up/x", strings.NewReader("b")); res.StatusCode != http.StatusInternalServerError {
				t.Fatalf("%d", res.StatusCode)
			}
		}
		res, text := s.do("POST", "/passthrough/up/x", strings.NewReader("b"))
		if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "circuit breaker is open - provider temporarily unavailable") ||
			res.Header.Get("Retry-After") == "" || res.Header.Get("X-Evergate-Trail") != "up=circuit_open" || asked.Load() != 5 {
			t.Errorf("%d %v %s", res.StatusCode, res.Header, text)
		}
	})
}

// Redirects are never followed; an address of the provider's leads through the gateway, any other is left out.
func TestPassthroughRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := ""
		var asked atomic.Int32
		s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		for location, want := range map[string]string{
			"http://up/v1/files/f1?x=1":      "/passthrough/up/files/f1?x=1",
			"other":                          "/passthrough/up/files/other",
			"http://storage/f1?sig=secret":   "",
			"http://169.254.169.254/latest/": "",
			"//evil.example/":                "",
		} {
			to = location
			res, _ := s.do("GET", "/passthrough/up/files/f0", nil)
			if res.StatusCode != http.StatusFound || res.Header.Get("Location") != want {
				t.Errorf("%s: %d, location %q, want %q", location, res.StatusCode, res.Header.Get("Location"), want)
			}
		}
		if asked.Load() != 5 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// A stream's events go out as they come, and what breaks off does not look whole.
func TestPassthroughStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(20 * time.Second):
				case <-r.Context().Done():
				}
			}
			if r.URL.Path == "/v1/cut" {
				panic(http.ErrAbortHandler)
			}
			if r.URL.Path == "/v1/silent" {
				<-r.Context().Done()
			}
		})
		open := func(path string) (*http.Response, *bufio.Reader) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/passthrough/up/"+path, strings.NewReader("{}"))
			req.Header.Set("Authorization", "Bearer client-key-1")
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			return res, bufio.NewReader(res.Body)
		}
		start := time.Now()
		res, in := open("events")
		for i := range 3 {
			line, err := in.ReadString('\n')
			if want := fmt.Sprintf("data: %d\n", i); line != want || err != nil || time.Since(start) != time.Duration(i)*20*time.Second {
				t.Errorf("after %v: %q, %v", time.Since(start), line, err)
			}
			_, _ = in.ReadString('\n')
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%q %v %v", rest, err, res.Header)
		}
		_ = res.Body.Close()
		for path, outcome := range map[string]string{"cut": "cut", "silent": "cut"} { // R15
			res, in = open(path)
			if _, err := io.ReadAll(in); err == nil {
				t.Errorf("%s: the answer looks whole", path)
			}
			_ = res.Body.Close()
			synctest.Wait()
			if f := s.facts.last(); f.Code != "provider_error" || f.Trail[0].Reason != outcome {
				t.Errorf("%s: %+v", path, f)
			}
		}
		// R13: the client leaves, and the call upstream ends at once.
		res, in = open("events")
		_, _ = in.ReadString('\n')
		_ = res.Body.Close()
		synctest.Wait()
		if f := s.facts.last(); f.Status != 200 || f.Code != "client_gone" {
			t.Errorf("%+v", f)
		}
	})
}

// drip is a body that comes piece by piece, and says how much of it was asked for.
type drip struct {
	pieces, size int
	pause        time.Duration
	hash         io.Writer
	given        atomic.Int64
}

func (d *drip) Read(p []byte) (int, error) {
	if d.pieces == 0 {
		return 0, io.EOF
	}
	d.pieces--
	time.Sleep(d.pause)
	n := copy(p, bytes.Repeat([]byte{byte(d.pieces)}, min(d.size, len(p))))
	_, _ = d.hash.Write(p[:n])
	d.given.Add(int64(n))
	return n, nil
}

// An upload is sent while it comes, for as long as it takes; nothing of it is held. Were it held, the provider would see its first
// byte only when the last was sent.
func TestPassthroughUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum := sha256.New()
		up := &drip{pieces: 200, size: 16 << 10, pause: 10 * time.Second, hash: sum}
		ahead := int64(0)
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			got, n := sha256.New(), int64(0)
			buf := make([]byte, 32<<10)
			for {
				k, err := r.Body.Read(buf)
				_, _ = got.Write(buf[:k])
				n += int64(k)
				ahead = max(ahead, up.given.Load()-n)
				if err != nil {
					break
				}
			}
			_, _ = fmt.Fprintf(w, "%d %s", n, hex.EncodeToString(got.Sum(nil)))
		})
		start := time.Now()
		res, text := s.do("POST", "/passthrough/up/files", up)
		if want := fmt.Sprintf("%d %s", up.given.Load(), hex.EncodeToString(sum.Sum(nil))); res.StatusCode != 200 || text != want {
			t.Errorf("%d %q, want %q", res.StatusCode, text, want)
		}
		if took := time.Since(start); took < 30*time.Minute {
			t.Errorf("it took %v", took)
		}
		if ahead > 256<<10 {
			t.Errorf("%d bytes were held on the way", ahead)
		}
	})
}

// R2: an upstream that takes the upload and then says nothing is a timeout; R13: a client that stops sending is not.
func TestPassthroughSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := passStack(t, "", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		start := time.Now()
		res, text := s.do("POST", "/passthrough/up/files", &drip{pieces: 10, size: 8 << 10, pause: 30 * time.Second, hash: io.Discard})
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(text, `"reason":"timeout"`) || time.Since(start) != 6*time.Minute {
			t.Errorf("%d after %v: %s", res.StatusCode, time.Since(start), text)
		}
		res, text = s.do("POST", "/passthrough/up/files", &drip{pieces: 2, size: 1 << 10, pause: 2 * time.Minute, hash: io.Discard})
		synctest.Wait()
		if f := s.facts.last(); res.StatusCode != http.StatusRequestTimeout || f.Trail[0].Reason != "client_gone" {
			t.Errorf("%d %s: %+v", res.StatusCode, text, f)
		}
		time.Sleep(time.Hour) // until the client's body has ended, too
	})
}

func TestPassthroughMultipart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			file, head, err := r.FormFile("file")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			b, _ := io.ReadAll(file)
			_, _ = fmt.Fprintf(w, "%s %s %d", r.FormValue("purpose"), head.Filename, len(b))
		})
		for _, size := range []int{10, 3 << 20} { // held, and sent while it comes
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			_ = form.WriteField("purpose", "batch")
			part, _ := form.CreateFormFile("file", "f.jsonl")
			_, _ = part.Write(bytes.Repeat([]byte{0xff}, size))
			_ = form.Close()
			res, text := s.do("POST", "/passthrough/up/files", &body, "Content-Type", form.FormDataContentType())
			if want := fmt.Sprintf("batch f.jsonl %d", size); res.StatusCode != 200 || text != want {
				t.Errorf("%d %q, want %q", res.StatusCode, text, want)
			}
		}
	})
}

// A request that is signed over its body is held for it, within server.max_request_body; its client need not say how long it is.
func TestPassthroughSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		var body []byte
		cfg := parse(t, `
server: {listen: "gateway:80", max_request_body: 1MiB}
auth: {mode: keys, keys: [{name: ci, value: client-key-1}]}
admin: {token: admin-token}
providers:
  up: {type: bedrock, base_url: "http://up", region: eu-central-1, aws: {access_key_id: AKIAEXAMPLE, secret_access_key: secret-of-the-account}, models: [m]}
`)
		s := newStackWith(t, cfg, map[string]mock.Script{}, slog.New(slog.DiscardHandler), func(s *stack) {
			s.net.Serve(t, "up:80", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
			}))
		})
		res, text := s.do("POST", "/passthrough/up/model/m/invoke", io.MultiReader(strings.NewReader("{"), strings.NewReader("}")), "X-Amz-Date", "20200101T000000Z")
		if res.StatusCode != http.StatusOK || string(body) != "{}" || got.ContentLength != 2 {
			t.Fatalf("%d %s: %q", res.StatusCode, text, body)
		}
		if sign := got.Header.Get("Authorization"); !strings.HasPrefix(sign, "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20000101/eu-central-1/bedrock/") {
			t.Errorf("signed: %q", sign)
		}
		got = nil
		for _, body := range []io.Reader{bytes.NewReader(make([]byte, 1<<20+1)), io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), strings.NewReader("x"))} {
			res, text = s.do("POST", "/passthrough/up/model/m/invoke", body)
			if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "server.max_request_body") || got != nil {
				t.Errorf("%d %s", res.StatusCode, text)
			}
		}
	})
}

// An answer that comes before the upload is whole reaches the client, and ends the upload.
func TestPassthroughEarlyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 10))
			w.Header().Set("Connection", "close")
			if r.URL.Path == "/v1/refused" {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
			_, _ = io.WriteString(w, "enough")
		})
		for path, status := range map[string]int{"refused": 413, "taken": 200} {
			up := &drip{pieces: 100, size: 16 << 10, pause: time.Second, hash: io.Discard}
			res, text := s.do("POST", "/passthrough/up/"+path, up)
			if res.StatusCode != status || text != "enough" {
				t.Errorf("%s: %d %q", path, res.StatusCode, text)
			}
			time.Sleep(10 * time.Minute)
			if n := s.app.ingress.InFlight(); n != 0 {
				t.Errorf("%s: %d in flight", path, n)
			}
		}
	})
}
