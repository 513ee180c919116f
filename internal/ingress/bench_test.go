package ingress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/modelfacts"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// instant is an upstream that answers at once, without a network.
type instant struct {
	body   string
	speaks []string
}

func (u *instant) Send(_ context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	r.Release()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(u.body)), ContentLength: int64(len(u.body))}, nil
}

func (u *instant) Classify(int, http.Header, []byte, string, string) *fault.Fault {
	return &fault.Fault{}
}
func (u *instant) Refine(f *fault.Fault) *fault.Fault            { return f }
func (u *instant) ReadFault(context.Context, error) *fault.Fault { return &fault.Fault{} }
func (u *instant) CanStreamUsage() bool                          { return true }
func (u *instant) Speaks(string) []string                        { return u.speaks }
func (u *instant) Maker(string) llm.Vendor                       { return "" }
func (u *instant) OmitsModel(string, string) bool                { return false }
func (u *instant) Quirks(string) wire.Quirks                     { return wire.Quirks{} }

type deaf struct{ journal.Nothing }

type noDiscovery struct{}

func (noDiscovery) Snapshot() *route.Inventory                     { return &route.Inventory{} }
func (noDiscovery) Look(string)                                    {}
func (noDiscovery) Await(context.Context, string) *route.Inventory { return &route.Inventory{} }

// nowhere is a ResponseWriter that keeps nothing.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }
func (w *nowhere) Flush()                      {}

// asker is how the clients of one dialect ask: a body is head, turns, and "]}". Paths and head of a stream are others.
type asker struct {
	dialect               wire.Dialect
	path, streamPath      string
	head, user, assistant string // with places for: whether it streams; the quoted text
}

func askers() []asker {
	const user, assistant = `{"role":"user","content":%s}`, `{"role":"assistant","content":%s}`
	return []asker{
		{openaichat.Chat{}, "/v1/chat/completions", "/v1/chat/completions", `{"model":"fast","max_tokens":100,"stream":%t,"messages":[`, user, assistant},
		{anthropic.Messages{}, "/v1/messages", "/v1/messages", `{"model":"fast","max_tokens":100,"stream":%t,"messages":[`, user, assistant},
		{responses.Responses{}, "/v1/responses", "/v1/responses", `{"model":"fast","max_output_tokens":100,"stream":%t,"input":[`, user, assistant},
		{
			gemini.Generate{},
			"/v1beta/models/fast:generateContent", "/v1beta/models/fast:streamGenerateContent?alt=sse",
			`{"generationConfig":{"maxOutputTokens":100},"streamed":%t,"contents":[`, `{"role":"user","parts":[{"text":%s}]}`, `{"role":"model","parts":[{"text":%s}]}`,
		},
	}
}

// ask makes the body of a conversation of that many turns, each of about 800 bytes with escapes and letters of two
// and three bytes in it.
func (a *asker) ask(turns int, stream bool) []byte {
	text, _ := json.Marshal(strings.Repeat("The breaker opened; the team's notes say \"no pattern\".\nNaïve retries cost more than a café lunch in 東京. ", 7))
	body := fmt.Appendf(nil, a.head, stream)
	for i := range turns {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, []string{a.user, a.assistant}[i%2], text)
	}
	return append(body, "]}"...)
}

// What the upstreams answer: a page of text, or the same in 100 events.
const words = "word "

func chatAnswers() (plain, stream string) {
	const head = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f","choices":[{"index":0,"delta":{`
	plain = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat(words, 150) + `"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":150,"total_tokens":159}}`
	stream = "data: " + head + `"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n" +
		strings.Repeat("data: "+head+`"content":"`+words+`"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n", 100) +
		"data: " + head + `},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\ndata: [DONE]\n\n"
	return plain, stream
}

func anthropicAnswers() (plain, stream string) {
	const usage = `"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":150}`
	event := func(name, more string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + more + "}\n\n"
	}
	plain = `{"id":"a","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + strings.Repeat(words, 150) +
		`"}],"stop_reason":"end_turn","stop_sequence":null,` + usage + `}`
	stream = event("message_start", `,"message":{"id":"a","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,`+usage+`}`) +
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`) +
		strings.Repeat(event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+words+`"}`), 100) +
		event("content_block_stop", `,"index":0`) +
		event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":150}`) +
		event("message_stop", "")
	return plain, stream
}

// What Evergate itself costs a request: no network, no upstream, no log. Clients of each dialect, named first, at an
// upstream that speaks chat completions and one that speaks Anthropic's; where the two differ, answers are translated.
func BenchmarkServe(b *testing.B) {
	for _, speaks := range []wire.Dialect{openaichat.Chat{}, anthropic.Messages{}} {
		plain, stream := chatAnswers()
		if speaks.Name() == "messages" {
			plain, stream = anthropicAnswers()
		}
		for _, a := range askers() {
			name := a.dialect.Name() + "-" + speaks.Name()
			b.Run(name+"/small", func(b *testing.B) { benchmarkServe(b, speaks, plain, a.path, a.ask(1, false)) })
			b.Run(name+"/50KB", func(b *testing.B) { benchmarkServe(b, speaks, plain, a.path, a.ask(61, false)) })
			b.Run(name+"/stream", func(b *testing.B) { benchmarkServe(b, speaks, stream, a.streamPath, a.ask(1, true)) })
		}
	}
}

// A model of which something is known has its requests looked over (R46).
func BenchmarkServeKnownModel(b *testing.B) {
	plain, _ := chatAnswers()
	ask := askers()[0]
	b.Run("unknown", func(b *testing.B) { benchmarkServe(b, openaichat.Chat{}, plain, ask.path, ask.ask(61, false)) })
	b.Run("known", func(b *testing.B) {
		facts := &modelfacts.Facts{ContextWindow: 128000, Input: modelfacts.Text | modelfacts.Image | modelfacts.File, Output: modelfacts.Text}
		benchmarkServe(b, openaichat.Chat{}, plain, ask.path, ask.ask(61, false), func(t *route.Target) { t.Facts = facts })
	})
}

func benchmarkServe(b *testing.B, speaks wire.Dialect, answer, path string, body []byte, change ...func(*route.Target)) {
	guards := health.New(deaf{})
	settings := resilience.Defaults()
	target := route.Target{Provider: "up", Model: "m", Timeouts: route.DefaultTimeouts()}
	for _, f := range change {
		f(&target)
	}
	guards.Apply([]health.Config{{Name: "up", Settings: settings}})
	routes := Routes{
		Dialects: []wire.Dialect{openaichat.Chat{}, anthropic.Messages{}, responses.Responses{}},
		Verbs:    map[string]Verb{"generateContent": {Dialect: gemini.Generate{}}, "streamGenerateContent": {Dialect: gemini.Generate{}, Stream: true}},
	}
	h := New(wire.NewTable(append(routes.Dialects, gemini.Generate{})...), routes, &attempt.Runner{Health: guards, Journal: deaf{}}, deaf{}, noDiscovery{})
	h.Configure(&Config{
		Table: &route.Table{
			Providers: []route.Provider{{Name: "up"}},
			Virtual:   map[string]*route.Virtual{"fast": {Name: "fast", Targets: []route.Target{target}}},
		},
		Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: &instant{answer, []string{speaks.Name()}}, Settings: &settings}},
		MaxBody:   1 << 20,
	})
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		w := &nowhere{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatal("status ", w.status)
		}
	}
}
