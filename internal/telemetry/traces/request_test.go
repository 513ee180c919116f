package traces

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/testkit"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

// places are those of the tests' providers.
func places(name string) Place {
	switch name {
	case "groq":
		return Place{Type: "groq", Address: "api.groq.com", Port: 443}
	case "azure":
		return Place{Type: "azure-openai", Address: "x.openai.azure.com", Port: 443}
	}
	return Place{Type: "gemini"}
}

func testOrigin() *origin {
	return &origin{version: "1.2.3", place: places, resource: []Pair{{"service.name", "evergate"}, {"service.instance.id", "a1"}}}
}

func span8(n byte) [8]byte { return [8]byte{0, 0, 0, 0, 0, 0, 0, n} }

// story is a stream with everything that a trail can have.
func story() *journal.Request {
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	return &journal.Request{
		ID: "req_1", Start: begin, Dialect: "messages", Stream: true, Key: "team-a", Asked: "fast", Route: "fast", Provider: "azure", Model: "gpt-4o",
		Status: 200, Committed: true, Duration: 3 * time.Second, FirstContent: 900 * time.Millisecond, Upstream: 2500 * time.Millisecond,
		Waits: 100 * time.Millisecond, Overhead: 300 * time.Microsecond, Finish: "stop", Order: "least_latency", Affinity: "moved", Lost: []string{"top_k", "metadata"},
		Usage: journal.Usage{Known: true, Input: 100, Output: 20}, UpstreamRequestID: "up-7",
		Trace: journal.Trace{ID: [16]byte{1, 2}, Span: span8(1), Parent: span8(9), State: "a=1"},
		Trail: []journal.Step{
			{Provider: "gemini", Model: "flash", Skipped: true, Reason: "circuit_open", Until: at(60000), Start: at(1)},
			{Provider: "groq", Model: "llama-3.3", Credential: "main", Status: 503, Reason: "upstream_error", Why: "first", Message: "words of an upstream that quotes the prompt", Start: at(1), Duration: 200 * time.Millisecond, Span: span8(2)},
			{
				Provider: "groq", Model: "llama-3.3", Credential: "main", Status: 200, Reason: "cancelled", Why: "next_candidate", Start: at(210), Duration: time.Second, Span: span8(3),
				Usage: journal.Usage{Input: 90, Output: 3}, Estimated: true, Cost: journal.Cost{Nano: 1_500_000, Known: true},
			},
			{Provider: "azure", Model: "gpt-4o", Credential: "eu", Status: 200, Reason: "cut", Why: "hedge", Start: at(500), Duration: 1500 * time.Millisecond, FirstContent: 400 * time.Millisecond, Span: span8(4), Drill: "rehearsal"},
			{
				Provider: "azure", Model: "gpt-4o", Status: 200, Reason: "ok", Why: "resume", Seam: 1234, Start: at(2100), Duration: 900 * time.Millisecond, FirstContent: 50 * time.Millisecond, Span: span8(5),
				Usage: journal.Usage{Known: true, Input: 100, Output: 20, CachedInput: 64, CacheWrite: 8, Reasoning: 5, AudioInput: 1, AudioOutput: 2}, Cost: journal.Cost{Nano: 250_000, Known: true},
			},
		},
	}
}

func written(f form, requests ...*journal.Request) []byte {
	o := testOrigin()
	var s span
	return f.batch(nil, o, func(each func(*span)) {
		for _, r := range requests {
			o.spans(&s, r, each)
		}
	})
}

func TestSpans(t *testing.T) {
	t.Parallel()
	plain := &journal.Request{
		ID: "req_2", Start: begin, Dialect: "passthrough", Asked: "GET /models", Status: 404, Code: "model_not_found", Route: "other", Duration: time.Millisecond,
		Trace: journal.Trace{ID: [16]byte{3}, Span: span8(7)},
	}
	var whole any
	got := written(jsonForm{}, story(), plain)
	if err := json.Unmarshal(got, &whole); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	pretty, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(pretty), "quotes the prompt") {
		t.Error("an upstream's words may quote a prompt, and are in no span")
	}
	testkit.Golden(t, "spans.json", append(pretty, '\n'))
}

// What counts as failed: see the comments of request and outcome.
func TestFailed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		status int
		code   string
		failed bool
	}{
		{"answered", 200, "", false},
		{"a stream that broke", 200, "provider_error", true},
		{"a client's mistake", 404, "model_not_found", false},
		{"limited", 429, "all_providers_rate_limited", false},
		{"nobody answered", 503, "all_providers_failed", true},
		{"the client left", 499, "client_closed_request", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s span
			testOrigin().request(&s, &journal.Request{Status: c.status, Code: c.code})
			if s.failed != c.failed {
				t.Errorf("failed is %v", s.failed)
			}
		})
	}
}

// Texts of clients and upstreams do no harm in either form.
func FuzzForms(f *testing.F) {
	f.Add("m", "provider", "reason", int64(1))
	f.Add("\xff\xfe", "a\"b\\\r\n", "<img src=x onerror=alert(1)>\u2028", int64(-1))
	f.Add(strings.Repeat("ü", 300), "", "\x00", int64(1)<<62)
	f.Fuzz(func(t *testing.T, model, provider, reason string, n int64) {
		r := story()
		r.Asked, r.Route, r.Provider, r.Code, r.ID, r.Key, r.Finish, r.Lost = model, model, provider, reason, reason, provider, reason, []string{model, reason}
		r.Duration, r.Trail[1].Usage = time.Duration(n), journal.Usage{Known: true, Input: n, Output: -n}
		for i := range r.Trail {
			r.Trail[i].Model, r.Trail[i].Provider, r.Trail[i].Reason, r.Trail[i].Credential = model, provider, reason, reason
		}
		if b := written(jsonForm{}, r); !json.Valid(b) {
			t.Fatalf("no JSON: %q", b)
		}
		if spans := strict(t, written(protobuf{}, r)); spans != 5 {
			t.Fatalf("%d spans", spans)
		}
	})
}
