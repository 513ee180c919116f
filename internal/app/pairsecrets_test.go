package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// witness sees requests as they come, credentials and all, and has a simulated provider answer them.
type witness struct {
	provider http.Handler
	mu       sync.Mutex
	seen     []*http.Request
	bodies   []string
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.seen, w.bodies = append(w.seen, r.Clone(r.Context())), append(w.bodies, string(body))
	w.mu.Unlock()
	w.provider.ServeHTTP(rw, r)
}

// posts are what was asked of models.
func (w *witness) posts() (requests []*http.Request, bodies []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.seen {
		if r.Method == http.MethodPost {
			requests, bodies = append(requests, r), append(bodies, w.bodies[i])
		}
	}
	return requests, bodies
}

// witnessed is a stack whose provider a is a witness.
func witnessed(t *testing.T, config string, handler http.Handler) (*stack, *witness) {
	w := &witness{provider: handler}
	cfg := parse(t, strings.ReplaceAll(config, "//a", "//witness"))
	s := newStackWith(t, cfg, nil, slog.New(slog.DiscardHandler), func(s *stack) { s.net.Serve(t, "witness:80", w) })
	return s, w
}

// CONTRACT §3 and §5: of what a client's SDK sends for its own vendor nothing reaches another, and no credential of the
// client reaches anyone; each provider gets its own credential and no other's.
func TestNothingOfOneVendorReachesAnother(t *testing.T) {
	const secret = "client-secret-0123456789"
	headers := []string{
		"Authorization", "Bearer " + secret, "X-Api-Key", secret, "Api-Key", secret, "X-Goog-Api-Key", secret, "Cookie", "session=" + secret,
		"Proxy-Authorization", "Basic " + secret, "X-Amz-Security-Token", secret, "X-Goog-User-Project", secret, "Openai-Organization", secret,
		"Openai-Project", secret, "X-Evergate-Key-Another", secret, "Ocp-Apim-Subscription-Key", secret, "X-Auth-Token", secret, "Helicone-Auth", secret,
		"X-Goog-Iam-Authorization-Token", secret, "X-Amz-Content-Sha256", secret, "X-Amz-Date", secret, "Amz-Sdk-Request", secret, "X-Goog-Api-Client", secret,
		"X-Forwarded-For", secret, "Chatgpt-Account-Id", secret,
	}
	vendorHeaders := map[string][]string{ // whose they are
		"Anthropic-Version": {"anthropic"}, "Anthropic-Beta": {"anthropic"}, "Anthropic-Dangerous-Direct-Browser-Access": {"anthropic"},
		"Openai-Beta": {"responses", "azure"}, "X-Stainless-Lang": nil, "X-Stainless-Retry-Count": nil,
	}
	for name := range vendorHeaders {
		headers = append(headers, name, "2023-06-01")
	}
	own := map[string][2]string{
		"chat": {"Authorization", "Bearer sk-key-chat"}, "responses": {"Authorization", "Bearer sk-key-responses"}, "anthropic": {"X-Api-Key", "sk-key-anthropic"},
		"gemini": {"X-Goog-Api-Key", "sk-key-gemini"}, "vertex": {"X-Goog-Api-Key", "sk-key-vertex"}, "azure": {"Api-Key", "sk-key-azure"},
		"bedrock": {"Authorization", "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/"}, "cohere": {"Authorization", "Bearer sk-key-cohere"},
	}
	native := map[string]string{"chat": "chat azure", "messages": "anthropic", "responses": "responses azure", "gemini": "gemini vertex"}
	for _, sp := range speakers() {
		for _, vendor := range vendors {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, w := witnessed(t, everyVendor, mock.New(mock.Script{Name: "a"}))
					for _, stream := range []bool{false, true} {
						asked := sp
						asked.path = func(model string, stream bool) string {
							path := sp.path(model, stream)
							return path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "key=" + secret + "&api_key=" + secret
						}
						h := s.talk(&asked, vendor+"/m", stream, sp.body(vendor+"/m", stream, "hello", false), headers...)
						if h.status != 200 || strings.Contains(fmt.Sprint(h.header), secret) {
							t.Errorf("%d %v %s", h.status, h.header, h.raw)
						}
					}
					requests, bodies := w.posts()
					if len(requests) != 2 {
						t.Fatalf("%d requests", len(requests))
					}
					for i, r := range requests {
						if all := fmt.Sprint(r.RequestURI, r.Host, r.Header, r.Trailer, bodies[i]); strings.Contains(all, secret) {
							t.Errorf("the client's secret: %s", all)
						}
						if got := r.Header.Get(own[vendor][0]); !strings.HasPrefix(got, own[vendor][1]) {
							t.Errorf("%s: %q", own[vendor][0], got)
						}
						for other, o := range own {
							if all := fmt.Sprint(r.RequestURI, r.Header, bodies[i]); other != vendor && o[1] != own[vendor][1] && strings.Contains(all, strings.TrimPrefix(o[1], "Bearer ")) {
								t.Errorf("%s's credential: %s", other, all)
							}
						}
						for name, whose := range vendorHeaders {
							translated := !strings.Contains(native[sp.name], vendor)
							allowed := strings.Contains(fmt.Sprint(whose), vendor) || strings.HasPrefix(name, "X-Stainless-") && !translated
							if v := r.Header.Get(name); v != "" && !allowed {
								t.Errorf("%s: %s", name, v)
							}
						}
					}
				})
			})
		}
	}
}

// A model's name stands in some providers' paths, and clients choose it: it never leads out of the base URL, nor into
// another request.
func TestModelNamesStayInTheirPath(t *testing.T) {
	names := []string{
		"..", ".", "../..", "../admin", "a/../../b", "%2e%2e", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "..%2fadmin", `..\admin`, "a/b/c", "/", "//evil.example/x", "a?x=1", "a#x", "a%00b",
		"a\nb", "a\r\nX-Evil: 1", "a b", "a:streamGenerateContent", "models/..", "models/../x", "tunedModels/..", "tunedModels/../x", "endpoints/..", "endpoints/../x", "é", "\x7f",
		"arn:aws:bedrock:us-east-1:1:inference-profile/../x", ";a=b", "a;..", "@evil.example", "http://evil.example",
	}
	config := strings.ReplaceAll(everyVendor, `"http://a"`, `"http://a/base"`)
	chat := speakers()[0]
	for _, vendor := range []string{"gemini", "vertex", "azure", "azure-dated", "bedrock"} {
		t.Run(vendor, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := strings.Replace(config, "providers:\n", "providers:\n  azure-dated: {type: azure-openai, base_url: \"http://a/base\", api_version: 2024-10-21, api_key: sk-key-azure, models: [m]}\n", 1)
				s, w := witnessed(t, c, mock.New(mock.Script{Name: "a"}))
				for _, name := range names {
					before, _ := w.posts()
					quoted, _ := json.Marshal(vendor + "/" + name)
					body := strings.Replace(chat.body("MODEL", false, "hello", false), `"MODEL"`, string(quoted), 1)
					h := s.talk(&chat, "", false, body)
					after, bodies := w.posts()
					if h.status != 200 && h.status != 404 && h.status != 400 && h.status != 502 {
						t.Errorf("%q: %d %s", name, h.status, h.raw)
					}
					for i := len(before); i < len(after); i++ {
						r := after[i]
						path := r.RequestURI
						if !strings.HasPrefix(path, "/base/") || r.Host != "witness" || r.Header.Get("X-Evil") != "" {
							t.Errorf("%q: asked at %s of %s", name, path, r.Host)
						}
						for range 4 { // whoever decodes it how often
							path, _, _ = strings.Cut(path, "?")
							for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
								if segment == ".." || segment == "." {
									t.Errorf("%q: asked at %s", name, r.RequestURI)
								}
							}
							plain, err := url.PathUnescape(path)
							if err != nil {
								break
							}
							path = plain
						}
						if strings.Count(bodies[i], "hello") != 1 {
							t.Errorf("%q: body %s", name, bodies[i])
						}
					}
				}
			})
		})
	}
}

// CONTRACT §5: an upstream that echoes all it was sent, its own credential and the account's secrets included, tells them to
// nobody: not in the error's words, in whatever dialect, not in a header, not in the log, not in the admin API.
func TestUpstreamThatEchoesCredentials(t *testing.T) {
	config := strings.Replace(everyVendor, "secret_access_key: secret-of-bedrock", "secret_access_key: secret-of-bedrock, session_token: session-of-bedrock-0123", 1)
	config = strings.Replace(config, "api_key: sk-key-cohere", "api_key: sk-key-cohere, headers: {X-Gateway-Token: token-of-the-gateway}", 1)
	secrets := []string{"secret-of-bedrock", "session-of-bedrock-0123", "token-of-the-gateway"}
	for _, vendor := range vendors {
		if vendor != "bedrock" {
			secrets = append(secrets, "sk-key-"+vendor)
		}
	}
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := fmt.Sprintf("%v %s", r.Header, r.RequestURI)
		if strings.Contains(all, "AKIAEXAMPLE") { // what it was signed with is not in it
			all += " secret-of-bedrock session-of-bedrock-0123"
		}
		if r.Method != http.MethodPost {
			all = "no models"
		}
		for name, v := range r.Header {
			w.Header()["X-Echo-"+name] = v
		}
		w.Header().Set("Set-Cookie", "session-of-bedrock-0123")
		said, _ := json.Marshal(map[string]any{
			"message": all, "code": all, "type": "error", "error": map[string]any{"message": all, "code": all, "type": all, "status": all}, "request_id": all,
		})
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "status400"):
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(string(body), "status401"):
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(string(body), "status500"):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", said)
			return
		}
		_, _ = w.Write(said)
	})
	for _, vendor := range vendors {
		t.Run(vendor, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				var mu sync.Mutex
				log := slog.New(slog.NewTextHandler(locked{&mu, &logged}, &slog.HandlerOptions{Level: slog.LevelDebug}))
				w := &witness{provider: echo}
				s := newStackWith(t, parse(t, strings.ReplaceAll(config, "//a", "//witness")), nil, log, func(s *stack) { s.net.Serve(t, "witness:80", w) })
				told := ""
				for _, sp := range speakers() {
					for _, what := range []string{"status400", "status401", "status500", "status200"} {
						h := s.talk(&sp, vendor+"/m", what == "status200", sp.body(vendor+"/m", what == "status200", what, false))
						if h.status < 400 || !json.Valid([]byte(h.raw)) {
							t.Errorf("%s, %s: %d %s", sp.name, what, h.status, h.raw)
						}
						told += fmt.Sprint(h.header, h.raw)
					}
				}
				synctest.Wait()
				told += s.health() + fmt.Sprintf("%+v", s.facts.requests) + fmt.Sprintf("%+v", s.facts.guards)
				mu.Lock()
				defer mu.Unlock()
				for _, secret := range secrets {
					for where, text := range map[string]string{"a client or the journal": told, "the log": logged.String()} {
						if i := strings.Index(text, secret); i >= 0 {
							t.Errorf("%s hears %s: …%s…", where, secret, text[max(0, i-200):min(len(text), i+100)])
						}
					}
				}
				if logged.Len() == 0 || !strings.Contains(told, "***") {
					t.Error("the test did not do what it is for")
				}
			})
		})
	}
}

// health is the admin API's page of that name.
func (s *stack) health() string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://gateway/admin/v1/health", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatal(res.StatusCode, err)
	}
	return string(b)
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Clients choose the names of their requests' members, and those that a translation loses are named in a header: nobody
// writes headers of his own that way, or headers that no client can read.
func TestNamesOfWhatWasDropped(t *testing.T) {
	nasty := []string{`a\r\nX-Evil: 1`, `b\u0000`, "c, d", `"e"`, "é", strings.Repeat("f", 100_000)}
	var members strings.Builder
	for i, name := range nasty {
		name = strings.ReplaceAll(name, `"e"`, `\"e\"`)
		fmt.Fprintf(&members, `"%s":1,`, name)
		for j := range 20 {
			fmt.Fprintf(&members, `"%s%d_%d":1,`, name, i, j)
		}
	}
	for _, sp := range speakers() {
		for _, vendor := range []string{"chat", "anthropic", "bedrock"} {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {Lenient: true}})
					body := strings.Replace(sp.body(vendor+"/m", false, "hello", false), "{", "{"+members.String(), 1)
					h := s.talk(&sp, vendor+"/m", false, body)
					dropped := h.header.Get("X-Evergate-Dropped")
					if h.status != 200 || h.header.Get("X-Evil") != "" || len(h.header) > 20 || len(dropped) > 4<<10 {
						t.Errorf("%d, %d bytes of names, headers %.300v", h.status, len(dropped), h.header)
					}
					for name := range strings.SplitSeq(dropped, ", ") {
						if strings.ContainsAny(name, " ,:\r\n\x00") && !strings.Contains(name, "X-Evil:") || len(name) > 64 {
							t.Errorf("name %.100q", name)
						}
					}
					h = s.talk(&sp, vendor+"/m", false, body, "X-Evergate-Prefer", "strict")
					if dropped != "" && (h.status != 400 || len(h.raw) > 8<<10) {
						t.Errorf("strict: %d, %d bytes: %.300s", h.status, len(h.raw), h.raw)
					}
				})
			})
		}
	}
}
