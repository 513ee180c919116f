package evergate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/app"
	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/telemetry"
	"evergate/internal/telemetry/traces"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// gateway is the whole program in front of two simulated providers: one that fails for what is asked of it, and one
// that stands in.
type gateway struct {
	url string
	log lockedBuffer
}

// lockedBuffer may be written and read at once.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed by the next Write; nil: nobody waits for it
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.b.Write(p)
}

// await waits until text was written.
func (l *lockedBuffer) await(t *testing.T, text string) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		l.mu.Lock()
		if strings.Contains(l.b.String(), text) {
			l.mu.Unlock()
			return
		}
		if l.written == nil {
			l.written = make(chan struct{})
		}
		written := l.written
		l.mu.Unlock()
		select {
		case <-written:
		case <-limit:
			t.Fatalf("nobody wrote %s", text)
		}
	}
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func simulated(t *testing.T, script string) string {
	t.Helper()
	s, err := mock.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := mock.Listen(t.Context(), "127.0.0.1:0", mock.New(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server.URL()
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	return serve(t, fmt.Sprintf(`
server: { listen: 127.0.0.1:0 }
admin: { pprof: true }
alerts: [{ name: ops, url: "http://127.0.0.1:1", on: [budget_near] }]
providers:
  first: { type: openai-compatible, base_url: %q, models: [m], resilience: { retry: { initial_backoff: 1ms } } }
  second: { type: openai-compatible, base_url: %q, models: [m], probe: { kind: models, interval: 200ms } }
catalog:
  m: { input_price: 1, output_price: 2 }
models:
  fast: { targets: [first/m, second/m] }
  even: { strategy: weighted, targets: [first/m, second/m], mirror: { target: second/new, share: 1 }, cache: 1m, guardrails: [numbers] }
guardrails: { numbers: { find: [ssn], on: [request] } }
`, simulated(t, "rules: [{nth: 1-2, do: {status: 503}}]"), simulated(t, "")))
}

// serve starts the whole program with a config.
func serve(t *testing.T, text string) *gateway {
	t.Helper()
	cfg, err := config.Parse("docs", []byte(text), keysOnly)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{}
	logger, err := telemetry.NewLogger(&g.log, "json", slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(app.Options{Config: cfg, Logger: logger, Load: func() (*config.Config, error) { return cfg, nil }, LogDropped: func() uint64 { return 0 }, Traces: traced(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	g.url = "http://" + a.Addr().String()
	return g
}

// traced has spans sent to a collector that takes whatever comes.
func traced(t *testing.T) *traces.Settings {
	t.Helper()
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(collector.Close)
	settings, err := traces.FromEnvironment(func(name string) (string, bool) { return collector.URL, name == "OTEL_EXPORTER_OTLP_ENDPOINT" })
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

// ask sends one request and gives status and body.
func (g *gateway) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all)
}

// traffic has a request of every kind that logs and metrics tell of: a retry, a failover, streams, a malformed event,
// a missing model, a stream that is cut, an embedding, a translation that loses something, a copy for a mirror, a probe, a drill.
func (g *gateway) traffic(t *testing.T) {
	t.Helper()
	const chat, body = "/v1/chat/completions", `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`
	if status, reply := g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "fast", false)); status != http.StatusOK {
		t.Fatalf("%d %s", status, reply)
	}
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "fast", true))
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "even", false))
	g.log.await(t, `"msg":"mirror"`)
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "second/mock-malformed", true))
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "second/mock-404", false))
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "second/mock-cut", true))
	g.ask(t, http.MethodPost, "/v1/embeddings", `{"model":"second/m","input":"hi"}`)
	g.ask(t, http.MethodPost, "/v1/messages", `{"model":"fast","max_tokens":50,"top_k":5,"messages":[{"role":"user","content":"hi"}]}`)
	g.ask(t, http.MethodPost, "/admin/v1/providers/second/breaker", `{"action":"open","reason":"to be probed","for":"1s"}`)
	g.log.await(t, `"msg":"probe"`)
	g.ask(t, http.MethodPost, "/admin/v1/faults", `{"shape":{"latency":"1ms"},"for":"1m","budget":1,"reason":"a field of the log"}`)
	g.ask(t, http.MethodPost, chat, fmt.Sprintf(body, "first/m", false))
}

// Every log field is documented, and no other.
func TestLogFields(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	g.traffic(t)
	g.ask(t, http.MethodPost, "/admin/v1/providers/first/breaker", `{"action":"close","reason":"a log line","for":"1h"}`)
	fields := map[string]map[string]bool{}
	gather := func() {
		for line := range strings.Lines(g.log.String()) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			msg := fmt.Sprint(record["msg"])
			if fields[msg] == nil {
				fields[msg] = map[string]bool{}
			}
			for name := range record {
				fields[msg][name] = true
			}
		}
	}
	for end := time.Now().Add(3 * time.Second); fields["discovery"] == nil && time.Now().Before(end); {
		gather()
	}
	for _, msg := range []string{"request", "guard", "operator", "probe", "mirror", "discovery", "attempt"} {
		there := slices.DeleteFunc(slices.Sorted(maps.Keys(fields[msg])), func(name string) bool {
			return name == "time" || name == "level" || name == "msg"
		})
		if msg == "request" {
			there = append(there, "client_certificate") // over TLS alone, which this gateway does not speak
		}
		same(t, "docs/operations.md: msg="+msg, column(table(t, "docs/operations.md", "log "+msg), 0), there)
	}
}

// Every metric is documented with its labels, and no other.
func TestMetrics(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	g.traffic(t)
	_, text := g.ask(t, http.MethodGet, "/metrics", "")
	text += "\n" + limitedMetrics(t)
	text += "\nevergate_certificate_end_timestamp_seconds{listener=\"server.listen\"} 1\n" // with TLS alone
	labels := map[string]map[string]bool{}
	sample := regexp.MustCompile(`(?m)^(evergate_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? [0-9.e+-]+$`)
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		if labels[m[1]] == nil {
			labels[m[1]] = map[string]bool{}
		}
		for _, name := range found(m[2], `(\w+)="`) {
			if name != "le" {
				labels[m[1]][name] = true
			}
		}
	}
	var documented, there []string
	for _, row := range table(t, "docs/operations.md", "metrics") {
		names := words(row[1])
		slices.Sort(names)
		documented = append(documented, words(row[0])[0]+" "+strings.Join(names, " "))
	}
	for name, set := range labels {
		there = append(there, name+" "+strings.Join(slices.Sorted(maps.Keys(set)), " "))
	}
	same(t, "docs/operations.md: metrics", documented, there)
}

// limitedMetrics are the metrics of a gateway whose caller has a budget and has used up its limit.
func limitedMetrics(t *testing.T) string {
	t.Helper()
	g := serve(t, fmt.Sprintf(`
server: { listen: 127.0.0.1:0 }
auth: { keys: [{ name: ci, value: sk-docs-0123456789, limits: { requests_per_minute: 1 }, budget: { usd: 5 } }] }
providers:
  first: { type: openai-compatible, base_url: %q, models: [m] }
`, simulated(t, "")))
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer sk-docs-0123456789")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	_, text := g.ask(t, http.MethodGet, "/metrics", "")
	return text
}

// Every route is documented, with its method, and no other.
func TestRoutes(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	documented := slices.Concat(column(table(t, "docs/api.md", "routes"), 0), column(table(t, "docs/operations.md", "routes"), 0))
	for _, route := range documented {
		method, path, _ := strings.Cut(route, " ")
		id := "fast"
		switch {
		case strings.Contains(path, "/responses/"):
			id = g.keptAnswer(t)
		case strings.Contains(path, "/explain/"):
			id = g.pastRequest(t)
		case strings.Contains(path, "/requests/"):
			id = g.pastRequest(t)
			g.waitFor(t, "/admin/v1/requests/"+id)
		case strings.Contains(path, "/faults/"):
			id = g.drill(t)
		case strings.Contains(path, "/keys/"):
			id = g.key(t)
		case strings.HasSuffix(path, "/events"):
			method = http.MethodHead // there is no end of what GET answers
		}
		other := http.MethodPatch
		if slices.Contains(documented, other+" "+path) {
			other = http.MethodPut
		}
		path = strings.NewReplacer("{id}", id, "{model}", "fast", "{provider}", "first").Replace(path)
		if status, body := g.ask(t, other, path, ""); status != http.StatusMethodNotAllowed && !strings.HasPrefix(path, "/debug/") {
			t.Errorf("%s %s answers %d: %s", other, path, status, body)
		}
		if status, body := g.ask(t, method, path, ""); status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
			t.Errorf("%s answers %d: %s", route, status, body)
		}
	}
	there := slices.Concat(adminRoutes(t),
		prefixed("POST /v1", found(sources(t, "internal/wire/*/*.go"), `Path\(\) string \{ return "([^"]+)"`)),
		prefixed("POST /v1beta/models/{model}:", found(source(t, "internal/app/build.go"), `"(\w+)": +\{Dialect: `)),
		prefixed("POST /v1", found(source(t, "internal/wire/openaichat/side.go"), `path: "(/[a-z/]+)"`)),
		answerRoutes(t), storedRoutes,
		[]string{
			"GET /v1/models", "GET /v1/models/{id}", "GET /v1beta/models", "GET /v1beta/models/{id}", "GET /debug/pprof/", "GET /ui/",
		})
	same(t, "routes", documented, there)
}

// key makes one, and gives its id.
func (g *gateway) key(t *testing.T) string {
	t.Helper()
	_, body := g.ask(t, http.MethodPost, "/admin/v1/keys", fmt.Sprintf(`{"name":"docs-%d"}`, time.Now().UnixNano()))
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.ID == "" {
		t.Fatalf("%v %s", err, body)
	}
	return made.ID
}

// drill starts one, and gives its id.
func (g *gateway) drill(t *testing.T) string {
	t.Helper()
	_, body := g.ask(t, http.MethodPost, "/admin/v1/faults", `{"key":"nobody","shape":{"reset":true},"for":"1m","reason":"to be looked at"}`)
	var drill struct{ ID string }
	if err := json.Unmarshal([]byte(body), &drill); err != nil || drill.ID == "" {
		t.Fatalf("%v: %s", err, body)
	}
	return drill.ID
}

// storedRoutes are what is passed on to the provider that keeps files and batches.
var storedRoutes = []string{
	"POST /v1/files", "GET /v1/files", "GET /v1/files/{id}", "DELETE /v1/files/{id}", "GET /v1/files/{id}/content",
	"POST /v1/uploads", "POST /v1/uploads/{id}/parts", "POST /v1/uploads/{id}/complete", "POST /v1/uploads/{id}/cancel",
	"POST /v1/batches", "GET /v1/batches", "GET /v1/batches/{id}", "POST /v1/batches/{id}/cancel",
}

// What the table says of which route reaches which type of provider is so; cells that name models are not looked at.
func TestReach(t *testing.T) {
	t.Parallel()
	types := []string{"openai", "anthropic", "gemini", "vertex", "bedrock", "cohere"}
	url := strings.TrimSuffix(simulated(t, ""), "/v1")
	text := "server: { listen: 127.0.0.1:0 }\nproviders:\n"
	for _, kind := range types {
		text += fmt.Sprintf("  %s: { type: %s, base_url: %q, api_key: k, models: [m] }\n", kind, kind, url)
	}
	g := serve(t, text)
	const messages, contents = `{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	asked := map[string][2]string{
		"chat/completions": {"/v1/chat/completions", messages}, "completions": {"/v1/completions", `{"model":%q,"prompt":"hi"}`},
		"responses": {"/v1/responses", `{"model":%q,"input":"hi"}`}, "embeddings": {"/v1/embeddings", `{"model":%q,"input":"hi"}`},
		"messages": {"/v1/messages", messages}, "count_tokens": {"/v1/messages/count_tokens", `{"model":%q,"messages":[{"role":"user","content":"hi"}]}`},
		"generateContent": {"/v1beta/models/%s:generateContent", contents}, "streamGenerateContent": {"/v1beta/models/%s:streamGenerateContent", contents},
		"countTokens": {"/v1beta/models/%s:countTokens", contents}, "embedContent": {"/v1beta/models/%s:embedContent", `{"content":{"parts":[{"text":"hi"}]}}`},
		"batchEmbedContents": {"/v1beta/models/%s:batchEmbedContents", `{"requests":[{"model":"models/m","content":{"parts":[{"text":"hi"}]}}]}`},
	}
	seen := 0
	for _, row := range table(t, "docs/api.md", "reach") {
		for _, name := range words(row[0]) {
			if asked[name][0] == "" || strings.Contains(row[0], " with ") {
				continue
			}
			for i, kind := range types {
				path, body := strings.Replace(asked[name][0], "%s", kind+"/m", 1), strings.Replace(asked[name][1], "%q", `"`+kind+`/m"`, 1)
				status, estimated := g.reaches(t, path, body)
				is := map[bool]string{false: "yes", true: "estimated"}[estimated]
				if status == http.StatusNotFound {
					is = ""
				} else if status != http.StatusOK {
					is = fmt.Sprint(status)
				}
				if said := row[i+1]; said == "" || said == "yes" || said == "estimated" {
					if seen++; said != is {
						t.Errorf("docs/api.md: %s at %s is %q, documented %q", name, kind, is, said)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d cells looked at", seen)
	}
}

func (g *gateway) reaches(t *testing.T, path, body string) (status int, estimated bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("X-Evergate-Estimated") == "true"
}

// keptAnswer asks for an answer that the gateway keeps, and gives its id.
func (g *gateway) keptAnswer(t *testing.T) string {
	t.Helper()
	status, body := g.ask(t, http.MethodPost, "/v1/responses", `{"model":"fast","input":"hi"}`)
	var answer struct{ ID string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.ID == "" {
		t.Fatalf("%d %s", status, body)
	}
	return answer.ID
}

// pastRequest makes a request and gives its id.
func (g *gateway) pastRequest(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/embeddings", strings.NewReader(`{"model":"nobody","input":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.Header.Get("X-Request-Id")
}

// waitFor asks until something is there: the ledger has a request within a second of its end.
func (g *gateway) waitFor(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if status, _ := g.ask(t, http.MethodGet, path, ""); status == http.StatusOK {
			return
		}
	}
	t.Errorf("%s does not come", path)
}

// adminRoutes are those of the admin API.
func adminRoutes(t *testing.T) (there []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`method: "([A-Z]+)", pattern: "([^"]+)"`).FindAllStringSubmatch(source(t, "internal/admin/routes.go"), -1) {
		there = append(there, m[1]+" "+m[2])
	}
	return there
}

// answerRoutes are those of an answer that was given earlier.
func answerRoutes(t *testing.T) (there []string) {
	t.Helper()
	_, text, _ := strings.Cut(source(t, "internal/ingress/threads.go"), "allow := map[string]string{")
	text, _, _ = strings.Cut(text, "}")
	for _, m := range regexp.MustCompile(`"(\w*)": "([A-Z, ]+)"`).FindAllStringSubmatch(text, -1) {
		path := strings.TrimSuffix("/v1/responses/{id}/"+m[1], "/")
		for method := range strings.SplitSeq(m[2], ", ") {
			if method != http.MethodHead {
				there = append(there, method+" "+path)
			}
		}
	}
	return there
}

// Each API's word for a status is the documented one.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, "docs/api.md", "error types") {
		for _, word := range words(row[0]) {
			status, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []struct {
				wire.Dialect
				column int
			}{
				{openaichat.Chat{}, 1},
				{openaichat.Completions{}, 1},
				{openaichat.Embeddings{}, 1},
				{responses.Responses{}, 1},
				{anthropic.Messages{}, 2},
				{anthropic.CountTokens{}, 2},
				{gemini.Generate{}, 3},
				{gemini.Embed{}, 3},
			} {
				body := string(d.AppendError(nil, wire.Failure{Status: status, Message: "m"}))
				want := words(row[d.column])[0]
				if !strings.Contains(body, `"type":"`+want+`"`) && !strings.Contains(body, `"status":"`+want+`"`) {
					t.Errorf("docs/api.md: %s says %d as %s", d.Name(), status, body)
				}
			}
		}
	}
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// Every example of x-mock-fault is one that the simulated provider understands.
func TestFaultHeaders(t *testing.T) {
	t.Parallel()
	url := simulated(t, "")
	seen := 0
	for doc, text := range pages(t) {
		for _, b := range blocks(doc, text) {
			if b.marker != "faults" {
				continue
			}
			for line := range strings.Lines(b.text) {
				seen++
				_, fault, _ := strings.Cut(strings.TrimSpace(line), ": ")
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/models", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("X-Mock-Fault", fault)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					continue // a fault that breaks the connection was understood
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusBadRequest {
					t.Errorf("%s: %s: %s", b.place, fault, body)
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d examples found", seen)
	}
}
