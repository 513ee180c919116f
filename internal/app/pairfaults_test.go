package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// vendorTypes are the provider types, in the order of vendors, as a configuration says them.
var vendorTypes = map[string]string{
	"chat":      `type: openai-compatible, base_url: "http://%s/v1", api_key: sk-key-of-a-provider`,
	"responses": `type: openai, api: responses, base_url: "http://%s/v1", api_key: sk-key-of-a-provider`,
	"anthropic": `type: anthropic, base_url: "http://%s", api_key: sk-key-of-a-provider`,
	"gemini":    `type: gemini, base_url: "http://%s", api_key: sk-key-of-a-provider`,
	"vertex":    `type: vertex, base_url: "http://%s", api_key: sk-key-of-a-provider`,
	"azure":     `type: azure-openai, base_url: "http://%s", api_key: sk-key-of-a-provider`,
	"bedrock":   `type: bedrock, base_url: "http://%s", region: us-east-1, aws: {access_key_id: AKIAEXAMPLE, secret_access_key: secret-of-bedrock}`,
	"cohere":    `type: cohere, base_url: "http://%s", api_key: sk-key-of-a-provider`,
}

// pairStack is a gateway on which every client has a model of its own, NAME-true where it streams and NAME-false where
// not: first a provider of the vendor's type, played by a, then one of another type, played by b. So one client's
// faults move no other's guards.
func pairStack(t *testing.T, vendor string, faulty, well mock.Behaviour) *stack {
	var b strings.Builder
	b.WriteString("server: {listen: \"gateway:80\"}\nauth: {allow_anonymous: true}\nadmin: {token: admin-token}\nresilience: {retry: {max_retries: 0}}\nproviders:\n")
	models := "models:\n"
	at := 0
	for v, name := range vendors {
		if name == vendor {
			at = v
		}
	}
	for c, sp := range speakers() {
		for s, stream := range []bool{true, false} {
			name := fmt.Sprintf("%s-%t", sp.name, stream)
			other := vendors[(at+1+(2*c+s)%(len(vendors)-1))%len(vendors)]
			fmt.Fprintf(&b, "  a-%s: {%s, models: [m]}\n", name, fmt.Sprintf(vendorTypes[vendor], "a"))
			fmt.Fprintf(&b, "  b-%s: {%s, models: [m2]}\n", name, fmt.Sprintf(vendorTypes[other], "b"))
			models += fmt.Sprintf("  %s: {targets: [a-%s/m, b-%s/m2]}\n", name, name, name)
		}
	}
	return newStack(t, b.String()+models, map[string]mock.Script{"a": {Rules: []mock.Rule{{Do: faulty}}}, "b": {Defaults: well}})
}

// pairFaults are what a simulated provider can do wrong, and what a client must see of it, streamed and plain, whatever
// the two dialects are. An answer is the same in every one of the clients' dialects. Where a provider's API differs by its nature, except
// has its line by the provider's type.
var pairFaults = []struct {
	name          string
	fault         func(*mock.Behaviour)
	stream, plain string
	except        map[string][2]string
}{
	{"none", func(*mock.Behaviour) {}, "200 a", "200 a", nil},

	// Before the headers.
	{"slow headers", func(b *mock.Behaviour) { b.Latency = 90 * time.Second }, "", "", nil},
	{"hang before headers", func(b *mock.Behaviour) { b.Hang = mock.BeforeHeaders }, "", "", nil},
	{"reset before headers", func(b *mock.Behaviour) { b.Reset = mock.BeforeHeaders }, "", "", nil},
	{"closed before headers", func(b *mock.Behaviour) { b.Cut = mock.BeforeHeaders }, "", "", nil},
	{"500", status(500), "", "", nil},
	{"503", status(503), "", "", nil},
	{"529", status(529), "", "", nil},
	{"408", status(408), "", "", nil},
	{"429", status(429), "", "", nil},
	{"429 with Retry-After", func(b *mock.Behaviour) { b.Status, b.RetryAfter = 429, "2" }, "", "", nil},
	{"quota", func(b *mock.Behaviour) { b.Status, b.Code, b.Type = 429, "insufficient_quota", "insufficient_quota" }, "", "", nil},
	{"401", status(401), "", "", nil},
	{"403", status(403), "", "", nil},
	{"404", status(404), "", "", nil},
	{"400", status(400), "", "", nil},
	{"422", status(422), "", "", nil},
	{"context length", func(b *mock.Behaviour) { b.Status, b.Code = 400, "context_length_exceeded" }, "", "", nil},
	{"content filter", func(b *mock.Behaviour) { b.Status, b.Code = 400, "content_filter" }, "", "", nil},
	{"302", status(302), "", "", nil},
	{"502 page of HTML", func(b *mock.Behaviour) { b.Status, b.HTML = 502, true }, "", "", nil},
	{"503 whose body hangs", func(b *mock.Behaviour) { b.Status, b.Hang = 503, mock.AfterHeaders }, "", "", nil},
	{"503 whose body is cut", func(b *mock.Behaviour) { b.Status, b.Cut = 503, mock.After(1) }, "", "", nil},

	// After the headers, before content.
	{"empty", func(b *mock.Behaviour) { b.Empty = true }, "", "", nil},
	{"page of HTML", func(b *mock.Behaviour) { b.HTML = true }, "", "", nil},
	{"hang after headers", func(b *mock.Behaviour) { b.Hang = mock.AfterHeaders }, "", "", nil},
	{"hang after the opening", func(b *mock.Behaviour) { b.Hang = mock.After(0) }, "", "", nil},
	{"keepalives alone", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.AfterHeaders, time.Second }, "", "", nil},
	{"reset after headers", func(b *mock.Behaviour) { b.Reset = mock.AfterHeaders }, "", "", nil},
	{"cut after the opening", func(b *mock.Behaviour) { b.Cut = mock.After(0) }, "", "", nil},
	{"end after headers", func(b *mock.Behaviour) { b.EOF = mock.AfterHeaders }, "", "", nil},
	{"end after the opening", func(b *mock.Behaviour) { b.EOF = mock.After(0) }, "", "", nil},
	{"error in a 200", func(b *mock.Behaviour) { b.Error = mock.After(0) }, "", "", nil},
	{"rate limit in a 200", func(b *mock.Behaviour) {
		b.Error, b.Code, b.Type = mock.After(0), "rate_limit_exceeded", "rate_limit_error"
	}, "", "", nil},
	{"malformed first chunk", func(b *mock.Behaviour) { b.Malformed = 1 }, "", "", nil},

	// After content.
	{"stall after 3 chunks", func(b *mock.Behaviour) { b.Hang = mock.After(3) }, "", "", nil},
	{"comments after 3 chunks", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.After(3), 10*time.Second }, "", "", nil},
	{"reset after 3 chunks", func(b *mock.Behaviour) { b.Reset = mock.After(3) }, "", "", nil},
	{"cut after 3 chunks", func(b *mock.Behaviour) { b.Cut = mock.After(3) }, "", "", nil},
	{"end after 3 chunks", func(b *mock.Behaviour) { b.EOF = mock.After(3) }, "", "", nil},
	{"error event after 3 chunks", func(b *mock.Behaviour) { b.Error = mock.After(3) }, "", "", nil},
	{"malformed third chunk", func(b *mock.Behaviour) { b.Malformed = 3 }, "", "", nil},
	{"no end marker", func(b *mock.Behaviour) { b.NoDone = true }, "", "", nil},
	{"no finish reason", func(b *mock.Behaviour) { b.NoFinish = true }, "", "", nil},
	{"neither finish nor marker", func(b *mock.Behaviour) { b.NoFinish, b.NoDone = true, true }, "", "", nil},
	{"cut after the finish", func(b *mock.Behaviour) { b.Cut = mock.AfterFinish }, "", "", nil},
	{"reset after the finish", func(b *mock.Behaviour) { b.Reset = mock.AfterFinish }, "", "", nil},
	{"hang after the finish", func(b *mock.Behaviour) { b.Hang = mock.AfterFinish }, "", "", nil},
	{"hang after the end marker", func(b *mock.Behaviour) { b.Hang = mock.AtEnd }, "", "", nil},

	// Sound, but not as asked.
	{"JSON whatever was asked", func(b *mock.Behaviour) { b.As = mock.JSON }, "", "", nil},
	{"a stream whatever was asked", func(b *mock.Behaviour) { b.As = mock.Stream }, "", "", nil},
	{"gzip unasked", func(b *mock.Behaviour) { b.Gzip = true }, "", "", nil},
	{"wrong content type", func(b *mock.Behaviour) { b.ContentType = "text/plain" }, "", "", nil},
}

const pairText = 8 * 6

// TestEveryFaultInEveryPair: every fault × every client dialect × every provider type, streamed and plain, with another
// type to fall back on.
func TestEveryFaultInEveryPair(t *testing.T) {
	for _, f := range pairFaults {
		for _, vendor := range vendors {
			t.Run(f.name+" at "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					faulty, well := steady(), steady()
					faulty.Text, well.Text = strings.Repeat("a", pairText), strings.Repeat("b", pairText)
					f.fault(&faulty)
					s := pairStack(t, vendor, faulty, well)
					want := [2]string{f.stream, f.plain}
					if w, ok := f.except[vendor]; ok {
						want = w
					}
					for i, stream := range []bool{true, false} {
						for _, sp := range speakers() {
							name := fmt.Sprintf("%s-%t", sp.name, stream)
							start := time.Now()
							h := s.talk(&sp, name, stream, sp.body(name, stream, "hello", false))
							took := time.Since(start)
							synctest.Wait()
							got := s.pairStory(h, stream, took) + s.counted("a-"+name)
							if got != want[i] {
								fmt.Printf("%s|%s|%t|%s|%s\n", f.name, vendor, stream, sp.name, got)
							}
						}
					}
				})
			})
		}
	}
}

// pairStory is what a client understood, in one line.
func (s *stack) pairStory(h *heard, stream bool, took time.Duration) string {
	words := []string{fmt.Sprint(h.status)}
	for _, who := range []string{"a", "b"} {
		switch n := strings.Count(h.text, who); {
		case n == pairText && n == len(h.text):
			words = append(words, who)
		case n > 0:
			words = append(words, fmt.Sprintf("%d%s", n/6, who))
		}
	}
	if h.stop != "" {
		words = append(words, h.stop)
	}
	if stream && h.ended {
		words = append(words, "ended")
	}
	if h.failed != "" {
		words = append(words, "failed="+h.failed)
	}
	var trail []string
	for _, step := range s.facts.last().Trail {
		word := step.Reason
		if step.Status >= 300 || step.Reason == "ok" {
			word = fmt.Sprint(step.Status)
		}
		trail = append(trail, step.Provider[:1]+"="+word)
	}
	return fmt.Sprintf("%s @%s [%s]", strings.Join(words, " "), took.Round(time.Second), strings.Join(trail, " "))
}
