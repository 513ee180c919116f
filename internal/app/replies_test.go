package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// cachedModel is a model that keeps its answers for an hour; more goes into it.
const cachedModel = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: %s, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2], cache: 1h}
`

// raw is an answer with all its bytes.
type raw struct {
	status int
	header http.Header
	body   string
}

func (s *stack) raw(path, body string, headers ...string) raw {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw{res.StatusCode, res.Header, string(text)}
}

// word is what x-evergate-cache says.
func (r *raw) word() string { return r.header.Get("X-Evergate-Cache") }

// A client gets the kept answer byte for byte, plain and as a stream, in its own dialect and in translation, with ids of its own request and a mark;
// nobody is asked, nothing is spent.
func TestCacheInEveryDialect(t *testing.T) {
	cold := map[string]string{
		"chat": `,"temperature":0`, "messages": `,"temperature":0.0`, "responses": `,"temperature":0,"store":false`, "embeddings": "", "gemini": `,"generationConfig":{"temperature":0}`,
	}
	for _, vendor := range []string{"openai", "anthropic"} {
		for dialect, zero := range cold {
			for _, stream := range []bool{false, true} {
				if dialect == "embeddings" && (stream || vendor == "anthropic") {
					continue
				}
				t.Run(fmt.Sprint(dialect, " at ", vendor, " ", stream), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newStack(t, fmt.Sprintf(cachedModel, vendor), map[string]mock.Script{"a": answers(), "b": answers()})
						path, body := inDialect(dialect, "demo", zero, stream)
						first := s.raw(path, body, "x-request-id", "first")
						time.Sleep(90 * time.Second)
						again := s.raw(path, body, "x-request-id", "again")
						if first.status != 200 || first.word() != "miss" || again.status != 200 || again.word() != "hit" {
							t.Fatalf("first %d %q, then %d %q: %s", first.status, first.word(), again.status, again.word(), first.body)
						}
						if again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
							t.Errorf("the first answer was\n%s\nand the kept one\n%s", first.body, again.body)
						}
						for name, want := range map[string]string{
							"X-Request-Id": "again", "Age": "90", "X-Evergate-Provider": "a", "X-Evergate-Model": "a/m", "X-Evergate-Attempts": "0", "X-Evergate-Trail": "",
							"Openai-Processing-Ms": "",
						} {
							if got := again.header.Get(name); got != want {
								t.Errorf("%s is %q, not %q", name, got, want)
							}
						}
						if n := len(s.chats("a")) + len(s.chats("b")); n != 1 && dialect != "embeddings" {
							t.Errorf("providers were asked %d times", n)
						}
						synctest.Wait()
						fact := s.facts.last()
						if fact.Cache != "hit" || fact.Status != 200 || len(fact.Trail) != 0 || fact.Provider != "" || fact.Usage.Known || fact.Cost.Nano != 0 || fact.Saved.Input <= 0 || fact.Stream != stream && dialect != "gemini" {
							t.Errorf("the fact of the hit is %+v", fact)
						}
					})
				})
			}
		}
	}
}

// inDialect is a request in a dialect.
func inDialect(dialect, model, more string, stream bool) (path, body string) {
	if stream && dialect != "gemini" {
		more += `,"stream":true`
	}
	d := oneOfEach[dialect]
	if dialect != "gemini" {
		return d.path, fmt.Sprintf(d.body, model, more)
	}
	path = fmt.Sprintf(d.path, model)
	if stream {
		path = strings.Replace(path, ":generateContent", ":streamGenerateContent", 1) + "?alt=sse"
	}
	return path, strings.ReplaceAll(d.body, "%[2]s", more)
}

// cold is a chat request at temperature 0, in two forms.
const (
	cold    = `{"model":"demo","temperature":0,"messages":[{"role":"user","content":"hi"}]%s}`
	chatURL = "/v1/chat/completions"
)

func coldWith(more string) string { return fmt.Sprintf(cold, more) }

// The first request is kept; what the second gets of it hangs on all that the answer may hang on.
func TestWhatTheCacheTellsApart(t *testing.T) {
	config := fmt.Sprintf(cachedModel, "openai") + `
auth:
  keys:
    - {name: ann, value: key-of-ann, team: red}
    - {name: bob, value: key-of-bob, team: red}
    - {name: cid, value: key-of-cid, team: blue}
    - {name: dan, value: key-of-dan}
    - {name: eve, value: key-of-eve}
    - {name: fay, value: key-of-fay, team: red, providers: [b]}
    - {name: gus, value: key-of-gus, team: red, policy: only-b}
policies: {only-b: {providers: {allow: [b]}}}
`
	config = strings.Replace(config, "auth: {allow_anonymous: true}\n", "", 1)
	type call struct{ key, path, body, headers string }
	base := call{"ann", chatURL, coldWith(""), ""}
	for _, tt := range []struct {
		name        string
		first, next call
		want        string // of the second
	}{
		{"the same", base, base, "hit"},
		{"another key of the team", base, call{"bob", chatURL, coldWith(""), ""}, "hit"},
		{"another team", base, call{"cid", chatURL, coldWith(""), ""}, "miss"},
		{"a key without a team", base, call{"dan", chatURL, coldWith(""), ""}, "miss"},
		{"two keys without a team", call{"dan", chatURL, coldWith(""), ""}, call{"eve", chatURL, coldWith(""), ""}, "miss"},
		{"a key that may not go where the answer is from", base, call{"fay", chatURL, coldWith(""), ""}, "miss"},
		{"a key whose policy forbids it", base, call{"gus", chatURL, coldWith(""), ""}, "miss"},
		{"another word", base, call{"ann", chatURL, strings.Replace(coldWith(""), "hi", "ho", 1), ""}, "miss"},
		{"another limit", base, call{"ann", chatURL, coldWith(`,"max_tokens":5`), ""}, "miss"},
		{"as a stream", base, call{"ann", chatURL, coldWith(`,"stream":true`), ""}, "miss"},
		{"the path without /v1", base, call{"ann", "/chat/completions", coldWith(""), ""}, "hit"},
		{"the name of the trace", base, call{"ann", chatURL, coldWith(""), "traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,user-agent=x/2,x-stainless-retry-count=1,x-request-id=r2"}, "hit"},
		{
			"the traces of balancers",
			call{"ann", chatURL, coldWith(""), "x-amzn-trace-id=Root=1-1,x-cloud-trace-context=1/1,x-datadog-trace-id=1,x-envoy-attempt-count=1"},
			call{"ann", chatURL, coldWith(""), "x-amzn-trace-id=Root=1-2,x-cloud-trace-context=2/2,x-datadog-trace-id=2,x-envoy-attempt-count=2,sentry-trace=2"},
			"hit",
		},
		{"a vendor's flag", base, call{"ann", chatURL, coldWith(""), "openai-beta=assistants=v2"}, "miss"},
		{"a header that nobody knows", base, call{"ann", chatURL, coldWith(""), "x-amzn-bedrock-guardrailidentifier=g"}, "miss"},
		{"a wish in the header", base, call{"ann", chatURL, coldWith(""), "x-evergate-prefer=order=b"}, "miss"},
		{"another wish", call{"ann", chatURL, coldWith(""), "x-evergate-prefer=order=a"}, call{"ann", chatURL, coldWith(""), "x-evergate-prefer=order=b"}, "miss"},
		{"a wish in the body", base, call{"ann", chatURL, coldWith(`,"provider":{"only":["a"]}`), ""}, "miss"},
		{"the same wish twice", call{"ann", chatURL, coldWith(`,"provider":{"only":["a"]}`), ""}, call{"ann", chatURL, coldWith(`,"provider":{"only":["a"]}`), ""}, "hit"},
		{"a wish for time alone", call{"ann", chatURL, coldWith(""), "x-evergate-prefer=timeout=5s"}, call{"ann", chatURL, coldWith(""), "x-evergate-prefer=timeout=9s"}, "hit"},
		{"no-store", base, call{"ann", chatURL, coldWith(""), "cache-control=no-store"}, "bypass"},
		{"no-cache", base, call{"ann", chatURL, coldWith(""), "cache-control=no-cache"}, "miss"},
		{"young enough", base, call{"ann", chatURL, coldWith(""), "cache-control=max-age=60"}, "hit"},
		{"too old for who asks", base, call{"ann", chatURL, coldWith(""), "cache-control=max-age=29"}, "miss"},
		{"max-age=0", base, call{"ann", chatURL, coldWith(""), "cache-control=max-age=0"}, "miss"},
		{"no-store at first", call{"ann", chatURL, coldWith(""), "cache-control=no-store"}, base, "miss"},
		{"no-cache at first", call{"ann", chatURL, coldWith(""), "cache-control=no-cache"}, base, "hit"},
		{"a key of the caller's own", base, call{"ann", chatURL, coldWith(""), "x-evergate-key-a=sk-mine"}, "bypass"},
		{"a key for another provider", base, call{"ann", chatURL, coldWith(""), "x-evergate-key-z=sk-mine"}, "bypass"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, config, map[string]mock.Script{"a": answers(), "b": answers()})
				ask := func(c call) raw {
					headers := []string{"authorization", "Bearer key-of-" + c.key}
					for h := range strings.SplitSeq(c.headers, ",") {
						if name, value, ok := strings.Cut(h, "="); ok {
							headers = append(headers, name, value)
						}
					}
					return s.raw(c.path, c.body, headers...)
				}
				first := ask(tt.first)
				time.Sleep(30 * time.Second)
				asked := len(s.chats("a")) + len(s.chats("b"))
				next := ask(tt.next)
				if first.status != 200 || next.status != 200 || next.word() != tt.want {
					t.Errorf("first %d %q, then %d %q: %s", first.status, first.word(), next.status, next.word(), next.body)
				}
				if new := len(s.chats("a")) + len(s.chats("b")) - asked; (new == 0) != (tt.want == "hit") {
					t.Errorf("the second had %d requests made", new)
				}
			})
		})
	}
}

// What must not be given twice is neither looked for nor kept.
func TestWhatIsNotCached(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, more string
		want                string
	}{
		{"warm", "chat", `,"temperature":0.7`, "bypass"},
		{"no temperature", "chat", "", "bypass"},
		{"null", "chat", `,"temperature":null`, "bypass"},
		{"several answers", "chat", `,"temperature":0,"n":2`, "bypass"},
		{"kept by the provider", "chat", `,"temperature":0,"store":true`, "bypass"},
		{"speech", "chat", `,"temperature":0,"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}`, "bypass"},
		{"a search on the web", "chat", `,"temperature":0,"web_search_options":{}`, "bypass"},
		{"tools of the client's", "chat", `,"temperature":0,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, "miss"},
		{"Responses keep unless told not to", "responses", `,"temperature":0`, "bypass"},
		{"a vendor's tool", "responses", `,"temperature":0,"store":false,"tools":[{"type":"web_search"}]`, "bypass"},
		{"in the background", "responses", `,"temperature":0,"store":false,"background":true`, "bypass"},
		{"Responses that are not kept", "responses", `,"temperature":0,"store":false`, "miss"},
		{"a vendor's tool of Anthropic", "messages", `,"temperature":0,"tools":[{"type":"code_execution_20250522","name":"code_execution"}]`, "bypass"},
		{"servers of tools", "messages", `,"temperature":0,"mcp_servers":[{"type":"url","url":"https://x","name":"x"}]`, "bypass"},
		{"a vendor's tool of Google", "gemini", `,"generationConfig":{"temperature":0},"tools":[{"googleSearch":{}}]`, "bypass"},
		{"warm for Google", "gemini", `,"generationConfig":{"temperature":1}`, "bypass"},
		{"old completions", "completions", `,"temperature":0`, "miss"},
		{"vectors", "embeddings", "", "miss"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, fmt.Sprintf(cachedModel, "openai"), map[string]mock.Script{"a": answers(), "b": answers()})
				path, body := inDialect(tt.dialect, "demo", tt.more, false)
				first, again := s.raw(path, body), s.raw(path, body)
				want := tt.want
				if want == "miss" {
					want = "hit"
				}
				if first.word() != tt.want || again.word() != want && first.status == 200 {
					t.Errorf("first %d %q, then %d %q: %s", first.status, first.word(), again.status, again.word(), first.body)
				}
			})
		})
	}
}

// An answer is kept if it is whole and ended by itself. What is not is made anew.
func TestWhichAnswersAreKept(t *testing.T) {
	finish := func(word string) mock.Behaviour {
		return mock.Behaviour{Body: `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"` + word + `"}]}`}
	}
	for _, tt := range []struct {
		name   string
		does   mock.Behaviour
		stream bool
		kept   bool
	}{
		{"whole", steady(), false, true},
		{"a whole stream", steady(), true, true},
		{"tool calls", finish("tool_calls"), false, true},
		{"cut by the limit", finish("length"), false, false},
		{"cut by a filter", finish("content_filter"), false, false},
		{"a stream without its end", mock.Behaviour{Chunks: 4, Cut: mock.After(2)}, true, false},
		{"a stream with a broken event", mock.Behaviour{Chunks: 4, Malformed: 2}, true, false},
		{"an error", mock.Behaviour{Status: 400}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, fmt.Sprintf(cachedModel, "openai")+oneTry, map[string]mock.Script{"a": do(tt.does), "b": do(tt.does)})
				body := coldWith(fmt.Sprintf(`,"stream":%t`, tt.stream))
				s.raw(chatURL, body)
				if again := s.raw(chatURL, body); (again.word() == "hit") != tt.kept {
					t.Errorf("the second is %d, a %s: %s", again.status, again.word(), again.body)
				}
				if c := s.app.ingress.Replies().Stats(); (c.Entries == 1) != tt.kept {
					t.Errorf("%+v", c)
				}
			})
		})
	}
}

// A client that leaves in the middle keeps nobody's answer; one that leaves while a kept one is written is told of as gone.
func TestCacheAndAClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, fmt.Sprintf(cachedModel, "openai"), map[string]mock.Script{"a": answers(), "b": answers()})
		ctx, cancel := context.WithTimeout(t.Context(), 170*time.Millisecond) // after the first content
		s.post(ctx, chatURL, coldWith(`,"stream":true`))
		cancel()
		time.Sleep(time.Second)
		if c := s.app.ingress.Replies().Stats(); c.Entries != 0 {
			t.Errorf("%+v", c)
		}
		if fact := s.facts.last(); fact.Status != 499 || fact.Cache != "miss" {
			t.Errorf("%d %q", fact.Status, fact.Cache)
		}
		if a := s.raw(chatURL, coldWith(`,"stream":true`)); a.word() != "miss" || a.status != 200 {
			t.Errorf("%d %q", a.status, a.word())
		}
	})
}

// A kept answer is given while every provider is down; it is too old after its time, and gone after a purge or a change of its model, but not
// after a change of another one. No copy goes to a mirror for it.
func TestLifeOfAKeptAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := fmt.Sprintf(cachedModel, "openai") + "  other: {targets: [b/m2], cache: {ttl: 5m, when: always}}\n"
		config = strings.Replace(config, "cache: 1h}", "cache: 1h, mirror: {target: b/new, share: 1}}", 1)
		s := newStack(t, config, map[string]mock.Script{"a": answers(), "b": answers()})
		word := func() string { t.Helper(); a := s.raw(chatURL, coldWith("")); return a.word() }
		reload := func(text string) {
			t.Helper()
			s.next = parse(t, text)
			if err := s.app.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		if w := word(); w != "miss" {
			t.Fatal(w)
		}
		time.Sleep(time.Minute)
		if w, n := word(), len(s.copies()); w != "hit" || n != 1 {
			t.Errorf("%s, with %d copies", w, n)
		}
		s.order("a", `{"action":"open","reason":"test"}`)
		s.order("b", `{"action":"open","reason":"test"}`)
		if w := word(); w != "hit" {
			t.Errorf("with nobody to ask: %s", w)
		}
		s.order("a", `{"action":"close","reason":"test"}`)
		s.order("b", `{"action":"close","reason":"test"}`)
		reload(config)
		if w := word(); w != "hit" {
			t.Errorf("after a reload of the same: %s", w)
		}
		reload(strings.Replace(config, "5m", "6m", 1))
		if w := word(); w != "hit" {
			t.Errorf("after a change of another model: %s", w)
		}
		for _, change := range [][2]string{
			{"targets: [a/m, b/m2]", "targets: [{target: a/m, params: {seed: 1}}, b/m2]"}, {"http://a/v1", "http://b/v1"},
		} {
			reload(strings.Replace(config, change[0], change[1], 1))
			if w := word(); w != "miss" {
				t.Errorf("after %s: %s", change[1], w)
			}
			reload(config)
			if w := word(); w != "miss" {
				t.Errorf("back from %s: %s", change[1], w)
			}
		}
		time.Sleep(time.Hour)
		if w := word(); w != "miss" {
			t.Errorf("after its time: %s", w)
		}
		if w := word(); w != "hit" {
			t.Errorf("and then: %s", w)
		}
		if got := s.adminText(http.MethodDelete, "/admin/v1/cache?model=demo", ""); got != `{"removed":1}` {
			t.Errorf("a purge says %s", got)
		}
		if got := s.adminText(http.MethodDelete, "/admin/v1/cache?model=dmo", ""); !strings.Contains(got, `did you mean \"demo\"?`) {
			t.Errorf("a purge of nothing says %s", got)
		}
		if w := word(); w != "miss" {
			t.Errorf("after a purge: %s", w)
		}
		if got := s.adminText(http.MethodGet, "/admin/v1/cache", ""); !strings.HasPrefix(got, `{"entries":1,`) || !strings.HasSuffix(got, `"models":["demo","other"]}`) {
			t.Errorf("the state is %s", got)
		}
		reload(strings.Replace(config, "cache: 1h, ", "", 1))
		if w, c := word(), s.app.ingress.Replies().Stats(); w != "" || c.Entries != 0 {
			t.Errorf("without a cache: %q, %+v", w, c)
		}
	})
}

func (s *stack) order(provider, body string) {
	s.t.Helper()
	s.adminText(http.MethodPost, "/admin/v1/providers/"+provider+"/breaker", body)
}

// adminText asks the admin API and gives what it says.
func (s *stack) adminText(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// An answer that was under way while its model changed is nobody's after the change.
func TestCacheAndAReloadUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := fmt.Sprintf(cachedModel, "openai")
		s := newStack(t, config, map[string]mock.Script{"a": answers(), "b": answers()})
		var first raw
		done := make(chan struct{})
		go func() {
			defer close(done)
			first = s.raw(chatURL, coldWith(""))
		}()
		time.Sleep(20 * time.Millisecond)
		s.next = parse(t, strings.Replace(config, "targets: [a/m, b/m2]", "targets: [{target: a/m, params: {seed: 1}}, b/m2]", 1))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		<-done
		if next := s.raw(chatURL, coldWith("")); first.status != 200 || next.word() != "miss" {
			t.Errorf("the one under way: %d; the next: %s", first.status, next.word())
		}
	})
}
