package ingress

import (
	"bytes"
	"context"
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
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
)

// instant is an upstream that answers at once, without a network.
type instant struct{ body string }

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
func (u *instant) Speaks(string) []string                        { return []string{"chat"} }
func (u *instant) Maker(string) llm.Vendor                       { return "" }
func (u *instant) OmitsModel(string, string) bool                { return false }
func (u *instant) Quirks(string) wire.Quirks                     { return wire.Quirks{} }

type deaf struct{}

func (deaf) RequestEnded(*journal.Request)       {}
func (deaf) AttemptEnded(*journal.Attempt)       {}
func (deaf) GuardChanged(*journal.Guard)         {}
func (deaf) DiscoveryChanged(*journal.Discovery) {}

type noDiscovery struct{}

func (noDiscovery) Snapshot() *route.Inventory                     { return &route.Inventory{} }
func (noDiscovery) Await(context.Context, string) *route.Inventory { return &route.Inventory{} }

// nowhere is a ResponseWriter that keeps nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Flush()                      {}

// What Evergate itself costs a request: no network, no upstream, no log. The upstream speaks chat completions; a client of
// another dialect is translated for.
func BenchmarkServe(b *testing.B) {
	chunk := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n"
	stream := strings.Repeat(chunk, 100) + `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	plain := `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", 150) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":150,"total_tokens":159}}`
	for _, bb := range []struct {
		name, upstream string
		size           int
		stream         bool
		path           string
	}{
		{"small", plain, 100, false, "/v1/chat/completions"},
		{"50KB", plain, 50_000, false, "/v1/chat/completions"},
		{"stream", stream, 100, true, "/v1/chat/completions"},
		{"messages/small", plain, 100, false, "/v1/messages"},
		{"messages/50KB", plain, 50_000, false, "/v1/messages"},
		{"messages/stream", stream, 100, true, "/v1/messages"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			guards := health.New(deaf{})
			settings := resilience.Defaults()
			guards.Apply([]health.Config{{Name: "up", Settings: settings}})
			h := New(wire.NewTable(openaichat.Chat{}, anthropic.Messages{}), Routes{Dialects: []wire.Dialect{openaichat.Chat{}, anthropic.Messages{}}}, &attempt.Runner{Health: guards, Journal: deaf{}}, deaf{}, noDiscovery{})
			h.Configure(&Config{
				Table: &route.Table{
					Providers: []route.Provider{{Name: "up"}},
					Virtual:   map[string]*route.Virtual{"fast": {Name: "fast", Targets: []route.Target{{Provider: "up", Model: "m", Timeouts: route.DefaultTimeouts()}}}},
				},
				Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: &instant{bb.upstream}, Settings: &settings}},
				MaxBody:   1 << 20,
			})
			body := []byte(`{"model":"fast","max_tokens":100,"stream":false,"messages":[{"role":"user","content":"` + strings.Repeat("x", bb.size) + `"}]}`)
			if bb.stream {
				body = bytes.Replace(body, []byte("false"), []byte("true"), 1)
			}
			r := httptest.NewRequest(http.MethodPost, bb.path, nil)
			r.Header.Set("Content-Type", "application/json")
			b.ReportAllocs()
			for b.Loop() {
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				h.ServeHTTP(&nowhere{header: http.Header{}}, r)
			}
		})
	}
}
