package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// planted are values that nobody but who needs them may ever see: each is in one place of what the gateway is given.
var planted = map[string]string{
	"provider key":        "sk-Pq7ZvX2mKd9RtYw4LbNc",
	"second provider key": "sk-Hs3JfUa8WoEi6TgBxMzQ",
	"provider header":     "hd-Vn5CyRk1PlDq0SjAeFwU",
	"OAuth client secret": "oa-Gx8MbTz2HvLi7QcKpNrY",
	"caller key":          "ck-Wd4FsJe9XoUa3RnBgThZ",
	"admin token":         "at-Ly6QmCi1KvPz8EwSxDfJ",
	"webhook secret":      "wh-Bt0NrGu5YhAk2MoVqLcX",
	"webhook path":        "wp-Ze7DjSw3FiPb9TxHnCyK",
	"collector header":    "ot-Uq2LgRv6JaMd4OsWkEhB",
	"brought key":         "bk-Xc9ThNf1ZpYo5GiQrVlD",
	"wrong key":           "wk-Ea3KwBs8UjRm0CtFzPvG",
	"wrong admin token":   "wt-Rj5VxHd2QnLg7YbOeAsM",
	"key in a query":      "qk-Mf1PyTc6WzIu4DkXhNoJ",
	"prompt":              "pr-Kb8GeQl3SvZr9AwUtJiC",
	"system prompt":       "sy-Nh2OxFm7RdTk5PyBqVsE",
	"broken body":         "bb-Ds6UaLw0JcGv3ZnXiKfH",
	"reply":               "re-Yg4QtMp9EbHo1NrCxSuL",
	"tool arguments":      "ta-Ok7JzWf2VlDs8IgRmBqA",
}

// words are those of a conversation. A provider's error may quote them to its caller, whose words they are.
var words = []string{"prompt", "system prompt", "broken body", "reply", "tool arguments"}

// guises are the ways in which a value can lie in a text: as it is, in halves, turned round, and in the usual encodings at every offset.
func guises(secret string) map[string]string {
	turned := []byte(secret)
	slices.Reverse(turned)
	escaped := ""
	for _, c := range secret {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	percent := ""
	for _, c := range []byte(secret) {
		percent += fmt.Sprintf("%%%02X", c)
	}
	half := len(secret) / 2
	out := map[string]string{
		"plain": secret, "first half": secret[:half+1], "second half": secret[half-1:], "reversed": string(turned),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))), "JSON": escaped, "percent": percent, "query": url.QueryEscape(secret),
	}
	for offset := range 3 {
		whole := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), secret...))
		out["base64 at "+strconv.Itoa(offset)] = whole[4 : len(whole)-3] // what stands before and behind it changes no more of it
	}
	return out
}

// seen keeps all that came out of the gateway, by where.
type seen struct {
	mu    sync.Mutex
	texts map[string]*strings.Builder
	taps  sync.WaitGroup // connections that are listened in on
}

func (s *seen) add(where, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]*strings.Builder{}
	}
	if s.texts[where] == nil {
		s.texts[where] = &strings.Builder{}
	}
	s.texts[where].WriteString(text + "\n")
}

// search reports every planted value in everything; but names where one belongs.
func (s *seen) search(t *testing.T, but func(where, name string) bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for where, b := range s.texts {
		text := b.String()
		for name, secret := range planted {
			if but(where, name) {
				continue
			}
			for form, value := range guises(secret) {
				if i := strings.Index(text, value); i >= 0 {
					t.Errorf("%s: the %s (%s): …%q…", where, name, form, text[max(0, i-120):min(len(text), i+60)])
					break
				}
			}
		}
	}
}

// gossip is a provider that repeats in its errors and headers whatever it was sent, and a collector, a receiver of alerts and a token endpoint.
func gossip(t *testing.T, s *seen) *httptest.Server {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		auth := r.Header.Get("Authorization")
		w.Header().Set("X-Debug-Authorization", auth)
		w.Header().Set("X-Debug-Header", r.Header.Get("X-House-Token"))
		said := fmt.Sprintf("you sent %s and %s with %s", auth, r.Header.Get("X-House-Token"), body)
		fail := func(status int, code string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"server_error","code":%q}}`, said, code)
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/collector"):
			s.add("traces", string(body))
		case strings.HasPrefix(r.URL.Path, "/hook"):
			s.add("alerts", fmt.Sprint(r.Header)+string(body))
		case strings.HasPrefix(r.URL.Path, "/token"):
			_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":`+strconv.Quote("what is "+string(body))+`}`)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case strings.HasPrefix(r.URL.Path, "/down"):
			fail(500, "oops")
		case strings.HasPrefix(r.URL.Path, "/refuses"):
			fail(401, "invalid_api_key")
		case strings.Contains(string(body), "be-limited"):
			w.Header().Set("Retry-After-Ms", "20")
			fail(429, "rate_limit_exceeded")
		case strings.Contains(string(body), "be-refused"):
			fail(400, "invalid_value")
		case strings.Contains(string(body), "be-garbage"):
			_, _ = io.WriteString(w, said)
		case strings.Contains(string(body), `"stream":true`):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", planted["reply"])
			if strings.Contains(string(body), "be-cut") {
				_, _ = fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", said)
				return
			}
			_, _ = io.WriteString(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":%q}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
				planted["reply"], `{"a":"`+planted["tool arguments"]+`"}`)
		}
	}))
	t.Cleanup(up.Close)
	return up
}

// secretsConfig has every kind of secret that a configuration knows.
const secretsConfig = `
auth: { mode: keys, keys: [{ name: ci, value: "${CALLER_KEY}" }, { name: made-up, value: another-key-of-no-interest }] }
log: { level: debug, format: json }
providers:
  good: { type: openai-compatible, base_url: "%[1]s/good/v1", keys: [{ name: one, value: "${PROVIDER_KEY}" }, { name: two, value: "${SECOND_KEY}" }], headers: { X-House-Token: "${HEADER}" }, models: [m], byok: allow }
  down: { type: openai-compatible, base_url: "%[1]s/down/v1", api_key: "${PROVIDER_KEY}", headers: { X-House-Token: "${HEADER}" }, models: [m] }
  refuses: { type: openai-compatible, base_url: "%[1]s/refuses/v1", api_key: "${PROVIDER_KEY}", models: [m], byok: allow }
  granted: { type: openai-compatible, base_url: "%[1]s/granted/v1", keys: [{ name: g, oauth: { token_url: "%[1]s/token", client_id: me, client_secret: "${OAUTH}" } }], models: [m] }
models:
  demo: { strategy: ordered, targets: [down/m, refuses/m, granted/m, good/m] }
  bad: { strategy: ordered, targets: [down/m, refuses/m] }
alerts:
  - { name: ops, url: "%[1]s/hook/${HOOK_PATH}", secret: "${HOOK_SECRET}" }
resilience: { retry: { max_retries: 0 }, circuit_breaker: { failure_threshold: 0 } }
`

// TestSecrets gives the gateway secrets in every place that has one, lets it meet all kinds of failure with providers that repeat them, and
// looks for them, in all forms, in everything that comes out: logs, answers, the admin API, the dashboard, metrics, traces, alerts, the command
// line, and what the stores keep.
func TestSecrets(t *testing.T) {
	sideBySide(t)
	t.Run("sqlite", func(t *testing.T) { secrets(t, "") })
	t.Run("redis", func(t *testing.T) { secrets(t, "redis") })
}

// TestNoCore crashes the gateway where the system would write a core: none is written, the traces that Go prints hold no secret, and
// EVERGATE_CORE=1 has one written (which shows that this test could find what it looks for).
func TestNoCore(t *testing.T) {
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(pattern), "|/") {
		t.Skip("cores are not written into the working directory here")
	}
	for _, asked := range []string{"0", "1"} {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		dir, url := t.TempDir(), fmt.Sprintf("http://127.0.0.1:%d", port)
		file := filepath.Join(dir, "c.yaml")
		config := fmt.Sprintf("server: { listen: 127.0.0.1:%d }\nadmin: { token: %s }\nproviders: { a: { type: openai, base_url: \"http://127.0.0.1:9/v1\", api_key: %s, models: [m] } }\n", port, planted["admin token"], planted["provider key"])
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, "evergate serve", []string{"EVERGATE_CORE=" + asked, "GOTRACEBACK=crash", "EVERGATE_STATE_URL=memory:"}, "sh", "-c", `ulimit -c unlimited; cd "$1"; exec "$2" serve -c c.yaml`, "sh", dir, evergate)
		if err := p.awaitHTTP(url+"/readyz", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(syscall.SIGABRT); err != nil {
			t.Fatal(err)
		}
		<-p.done
		cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
		found := false
		for _, name := range cores {
			b, err := os.ReadFile(name)
			found = found || err == nil && strings.Contains(string(b), planted["provider key"])
		}
		if found != (asked == "1") || asked == "0" && len(cores) > 0 {
			t.Errorf("EVERGATE_CORE=%s: cores %v, the key in one of them: %t", asked, cores, found)
		}
		if out := p.out.String(); !strings.Contains(out, "goroutine") || strings.Contains(out, planted["provider key"]) || strings.Contains(out, planted["admin token"]) {
			t.Errorf("the traces have a secret, or there are none: %.300s", out)
		}
	}
}

func secrets(t *testing.T, kind string) {
	s := &seen{}
	up := gossip(t, s)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	state := "sqlite:" + filepath.Join(dir, "evergate.db")
	if kind == "redis" {
		r := servers.StartRedis(t)
		state = "redis://" + tapped(t, r.Addr(), s) + "/0"
	}
	g := &gateway{url: fmt.Sprintf("http://127.0.0.1:%d", port), file: filepath.Join(dir, "evergate.yaml")}
	g.head = fmt.Sprintf("server: { listen: 127.0.0.1:%d }\nadmin: { token: \"${ADMIN_TOKEN}\" }\n", port)
	g.write(t, fmt.Sprintf(secretsConfig, up.URL))
	env := []string{"EVERGATE_STATE_URL=" + state, "OTEL_EXPORTER_OTLP_ENDPOINT=" + up.URL + "/collector", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_HEADERS=authorization=" + planted["collector header"]}
	for name, of := range map[string]string{
		"PROVIDER_KEY": "provider key", "SECOND_KEY": "second provider key", "HEADER": "provider header", "OAUTH": "OAuth client secret", "CALLER_KEY": "caller key",
		"ADMIN_TOKEN": "admin token", "HOOK_PATH": "webhook path", "HOOK_SECRET": "webhook secret",
	} {
		env = append(env, name+"="+planted[of])
	}
	g.process = start(t, "evergate serve", env, evergate, "serve", "-c", g.file)
	if err := g.awaitHTTP(g.url+"/readyz", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	ask := func(where, method, path, body string, headers ...string) (int, string) {
		req, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		s.add(where+" headers", fmt.Sprint(res.Header))
		s.add(where, string(text))
		return res.StatusCode, string(text)
	}
	admin := func(method, path, body string) (int, string) {
		return ask("admin "+method+" "+path, method, path, body, "Authorization", "Bearer "+planted["admin token"])
	}

	// A key that is made at run time is a secret, too, but for the reply that tells it.
	status, told := ask("made", http.MethodPost, "/admin/v1/keys", `{"name":"runtime","owner":"me"}`, "Authorization", "Bearer "+planted["admin token"])
	made := regexp.MustCompile(`eg_[A-Za-z0-9]+_[A-Za-z0-9]{20,}`).FindString(told)
	if status != http.StatusCreated || made == "" {
		t.Fatalf("no key was made: %d %s", status, told)
	}
	planted["made key"] = strings.SplitN(made, "_", 3)[2] // what comes before is its id
	defer delete(planted, "made key")
	caller := []string{planted["caller key"], made}
	chat := func(model, more string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"system","content":%q},{"role":"user","content":"%s %s"}]}`, model, stream, planted["system prompt"], planted["prompt"], more)
	}
	for i, key := range caller {
		for _, model := range []string{"demo", "bad", "good/m", "granted/m"}[:4-3*i] { // the made key's first alone
			for _, more := range []string{"hello", "be-limited", "be-refused", "be-garbage", "be-cut"} {
				for _, stream := range []bool{false, true} {
					ask("answers", http.MethodPost, "/v1/chat/completions", chat(model, more, stream), "Authorization", "Bearer "+key)
				}
			}
		}
	}
	for _, model := range []string{"good/m", "refuses/m"} {
		ask("answers", http.MethodPost, "/v1/chat/completions", chat(model, "hello", false), "Authorization", "Bearer "+caller[0],
			"X-Evergate-Key-Good", planted["brought key"], "X-Evergate-Key-Refuses", planted["brought key"])
		ask("answers", http.MethodPost, "/v1/messages", `{"model":"`+model+`","max_tokens":5,"messages":[{"role":"user","content":"`+planted["prompt"]+`"}]}`, "X-Api-Key", caller[0])
		ask("answers", http.MethodPost, "/v1beta/models/"+model+":generateContent?key="+caller[0], `{"contents":[{"parts":[{"text":"`+planted["prompt"]+`"}]}]}`)
		ask("answers", http.MethodPost, "/v1/responses", `{"model":"`+model+`","input":"`+planted["prompt"]+`"}`, "Authorization", "Bearer "+caller[0])
		ask("answers", http.MethodGet, "/passthrough/"+strings.TrimSuffix(model, "/m")+"/x?a=b", "", "Authorization", "Bearer "+caller[0])
	}
	ask("answers", http.MethodPost, "/v1/chat/completions", chat("demo", "hello", false), "Authorization", "Bearer "+planted["wrong key"])
	ask("answers", http.MethodPost, "/v1beta/models/demo:generateContent?key="+planted["key in a query"], `{"contents":[]}`)
	ask("answers", http.MethodPost, "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"`+planted["broken body"]+`"`, "Authorization", "Bearer "+caller[0])
	ask("admin", http.MethodGet, "/admin/v1/health", "", "Authorization", "Bearer "+planted["wrong admin token"])

	admin(http.MethodPost, "/admin/v1/faults", `{"provider":"good","shape":{"status":503},"for":"1s","reason":"to see"}`)
	ask("answers", http.MethodPost, "/v1/chat/completions", chat("good/m", "hello", false), "Authorization", "Bearer "+caller[0])
	admin(http.MethodPost, "/admin/v1/alerts/test", `{"receiver":"ops"}`)
	admin(http.MethodPost, "/admin/v1/explain", `{"model":"demo","key":"ci"}`)
	g.write(t, "providers: [\n")
	admin(http.MethodPost, "/admin/v1/reload", "")
	g.write(t, strings.Replace(fmt.Sprintf(secretsConfig, up.URL), "log: {", "log: { unknown: \"${PROVIDER_KEY}\",", 1))
	admin(http.MethodPost, "/admin/v1/reload", "")
	g.write(t, strings.Replace(fmt.Sprintf(secretsConfig, up.URL), "strategy: ordered", "strategy: \"${PROVIDER_KEY}\"", 1))
	admin(http.MethodPost, "/admin/v1/reload", "")
	g.write(t, fmt.Sprintf(secretsConfig, up.URL))
	admin(http.MethodPost, "/admin/v1/reload", "")

	time.Sleep(1500 * time.Millisecond) // what is written behind is written
	_, list := admin(http.MethodGet, "/admin/v1/requests", "")
	doc, err := os.ReadFile(filepath.Join(repo, "api/admin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range regexp.MustCompile(`(?m)^  (/[^{}\n]+):$`).FindAllStringSubmatch(string(doc), -1) {
		if path[1] != "/admin/v1/events" { // which never ends
			admin(http.MethodGet, path[1], "")
		}
	}
	for _, id := range slices.Compact(regexp.MustCompile(`req_[0-9a-f]{16}`).FindAllString(list, 12)) {
		admin(http.MethodGet, "/admin/v1/requests/"+id, "")
		admin(http.MethodGet, "/admin/v1/explain/"+id, "")
	}
	for _, path := range []string{"/", "/dashboard", "/dashboard/", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/debug/pprof/cmdline"} {
		if status, _ := ask("pages", http.MethodGet, path, ""); strings.HasPrefix(path, "/debug") && status == http.StatusOK {
			t.Errorf("%s is open", path)
		}
	}
	for _, argv := range [][]string{{"status"}, {"status", "--json"}, {"requests"}, {"explain", "--model", "demo"}, {"keys", "list"}, {"drill", "list"}} {
		p := start(t, argv[0], []string{"EVERGATE_URL=" + g.url, "EVERGATE_ADMIN_TOKEN=" + planted["admin token"]}, append([]string{evergate}, argv...)...)
		<-p.done
		s.add("command "+argv[0], p.out.String())
	}
	for _, argv := range [][]string{{"check", "-c", g.file}, {"explain", "-c", g.file, "demo"}, {"check", "-c", g.file, "--json"}} {
		p := start(t, argv[0], env, append([]string{evergate}, argv...)...)
		<-p.done
		s.add("command "+argv[0], p.out.String())
	}
	g.terminate(t)
	g.exitCode(t, 20*time.Second)
	s.add("log", g.out.String())
	if kind == "" {
		files, _ := filepath.Glob(filepath.Join(dir, "evergate.db*"))
		for _, name := range files {
			b, _ := os.ReadFile(name)
			s.add("store "+filepath.Base(name), string(b))
		}
	}
	store := "store evergate.db"
	if kind == "redis" {
		store = "redis"
	}
	s.taps.Wait() // what went to Redis is known when its connections have ended
	s.mu.Lock()
	for _, where := range []string{"answers", "log", "traces", "alerts", store, "admin GET /metrics", "command status", "command check"} {
		if b := s.texts[where]; b == nil || b.Len() < 100 {
			t.Errorf("nothing was seen of %s", where)
		}
	}
	s.mu.Unlock()
	s.search(t, func(where, name string) bool {
		return where == "made" && name == "made key" || strings.HasPrefix(where, "answers") && slices.Contains(words, name) ||
			where == "store evergate.db" && slices.Contains(words, name) || where == "redis" && slices.Contains(words, name)
	})
}

// tapped is an address that leads to another one; what goes there is seen.
func tapped(t *testing.T, to string, s *seen) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
			s.taps.Go(func() {
				var whole strings.Builder
				_, _ = io.Copy(io.MultiWriter(out, &whole), in)
				s.add("redis", whole.String())
				_ = out.Close()
			})
		}
	}()
	return l.Addr().String()
}
