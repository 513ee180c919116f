package probing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/resilience"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

func dialects() *wire.Table {
	return wire.NewTable(openaichat.Chat{}, openaichat.Embeddings{}, responses.Responses{}, anthropic.Messages{}, gemini.Generate{}, converse.Converse{}, cohere.Chat{})
}

// upstream is a provider that speaks one dialect and answers one thing.
type upstream struct {
	speaks string
	omits  bool
	quirks wire.Quirks
	status int
	answer string
	fault  *fault.Fault
	broken error // met at the answer's end
	sent   *attempt.Outgoing
}

func (u *upstream) Send(_ context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	u.sent = r
	if u.fault != nil {
		return nil, u.fault
	}
	body := io.Reader(strings.NewReader(u.answer))
	if u.broken != nil {
		body = io.MultiReader(body, brokenReader{u.broken})
	}
	return &http.Response{StatusCode: u.status, Body: io.NopCloser(body)}, nil
}

func (u *upstream) Classify(status int, _ http.Header, _ []byte, code, message string) *fault.Fault {
	class := fault.Rejected
	if status >= 500 {
		class = fault.Upstream
	}
	return &fault.Fault{Class: class, Status: status, Code: code, Message: message}
}
func (u *upstream) Refine(f *fault.Fault) *fault.Fault { return f }
func (u *upstream) ReadFault(_ context.Context, err error) *fault.Fault {
	return &fault.Fault{Class: fault.Reset, Cause: err}
}
func (u *upstream) CanStreamUsage() bool           { return false }
func (u *upstream) Speaks(string) []string         { return []string{u.speaks} }
func (u *upstream) Maker(string) llm.Vendor        { return "" }
func (u *upstream) OmitsModel(string, string) bool { return u.omits }
func (u *upstream) Quirks(string) wire.Quirks      { return u.quirks }

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// R75: the question is as short as each dialect lets it be.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dialect string
		omits         bool
		quirks        wire.Quirks
		want          string
	}{
		{name: "chat", dialect: "chat", want: `{"model":"m","messages":[{"role":"user","content":"ping"}],"max_tokens":1}`},
		{name: "chat of a reasoning model", dialect: "chat", quirks: wire.Quirks{MaxTokensField: "max_completion_tokens"}, want: `{"model":"m","messages":[{"role":"user","content":"ping"}],"max_completion_tokens":1}`},
		{name: "messages with the model elsewhere", dialect: "messages", omits: true, want: `"max_tokens":1`},
		{name: "responses", dialect: "responses", want: `16`},
		{name: "messages", dialect: "messages", want: `"max_tokens":1`},
		{name: "gemini", dialect: "gemini", want: `"maxOutputTokens":1`},
		{name: "converse", dialect: "converse", want: `"maxTokens":1`},
		{name: "cohere", dialect: "cohere", want: `"max_tokens":1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := &upstream{speaks: c.dialect, omits: c.omits, quirks: c.quirks, status: 500}
			status, _, f := New(dialects()).complete(t.Context(), &Source{Upstream: u}, "m", "key-1")
			if status != 500 || f == nil || f.Class != fault.Upstream {
				t.Fatalf("%d %+v", status, f)
			}
			if u.sent.Dialect != c.dialect || u.sent.Model != "m" || u.sent.Credential != "key-1" || u.sent.Stream {
				t.Errorf("%+v", u.sent)
			}
			if got := string(u.sent.Body); got != c.want && (c.dialect == "chat" || c.omits && strings.Contains(got, "model") || !strings.Contains(got, c.want) || !strings.Contains(got, "ping")) {
				t.Errorf("%s", got)
			}
		})
	}
}

// R24, R75: what an answer to a completion is found to be.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const good = `{"choices":[{"index":0,"message":{"role":"assistant","content":"pong"},"finish_reason":"length"}]}`
	for _, c := range []struct {
		name     string
		upstream upstream
		status   int
		want     string // class, empty: none
		means    resilience.Outcome
	}{
		{"good", upstream{speaks: "chat", status: 200, answer: good}, 200, "", resilience.Outcome{Success: true}},
		{"a stream", upstream{speaks: "chat", status: 200, answer: "data: " + `{"choices":[{"index":0,"delta":{"content":"p"},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"}, 200, "", resilience.Outcome{Success: true}},
		{"a stream that breaks", upstream{speaks: "chat", status: 200, answer: "data: {\n\n"}, 200, "invalid_answer", resilience.Outcome{Class: fault.Invalid}},
		{"a stream that ends in an error", upstream{speaks: "chat", status: 200, answer: `data: {"error":{"message":"x"}}` + "\n\n"}, 200, "invalid_answer", resilience.Outcome{Class: fault.Invalid}},
		{"nothing but thoughts, in messages", upstream{speaks: "messages", status: 200, answer: `{"type":"message","role":"assistant","content":[],"stop_reason":"max_tokens"}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing but thoughts, in chat", upstream{speaks: "chat", status: 200, answer: `{"choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"length"}]}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing but thoughts, in responses", upstream{speaks: "responses", status: 200, answer: `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[]}]}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing but thoughts, in gemini", upstream{speaks: "gemini", status: 200, answer: `{"candidates":[{"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":1}}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing but thoughts, in converse", upstream{speaks: "converse", status: 200, answer: `{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"max_tokens"}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing but thoughts, in cohere", upstream{speaks: "cohere", status: 200, answer: `{"finish_reason":"MAX_TOKENS","message":{"role":"assistant"}}`}, 200, "", resilience.Outcome{Success: true}},
		{"nothing is said", upstream{speaks: "chat", status: 200, answer: `{"choices":[]}`}, 200, "invalid_answer", resilience.Outcome{Class: fault.Invalid}},
		{"a page", upstream{speaks: "chat", status: 200, answer: "<html>"}, 200, "invalid_answer", resilience.Outcome{Class: fault.Invalid}},
		{"more than was asked for", upstream{speaks: "chat", status: 200, answer: strings.Repeat("x", maxAnswer+1)}, 200, "", resilience.Outcome{Success: true}},
		{"cut", upstream{speaks: "chat", status: 200, answer: `{"cho`, broken: io.ErrUnexpectedEOF}, 200, "reset", resilience.Outcome{Class: fault.Reset}},
		{"refused", upstream{speaks: "chat", status: 400, answer: `{"error":{"code":"c","message":"no"}}`}, 400, "rejected", resilience.Outcome{Class: fault.Rejected}},
		{"refused, and cut", upstream{speaks: "chat", status: 500, answer: `{"er`, broken: errors.New("x")}, 500, "upstream_error", resilience.Outcome{Class: fault.Upstream}},
		{"no connection", upstream{speaks: "chat", fault: &fault.Fault{Class: fault.Connect}}, 0, "connect", resilience.Outcome{Class: fault.Connect}},
		{"the key is gone", upstream{speaks: "chat", fault: &fault.Fault{Class: fault.Next}}, 0, "next", resilience.Outcome{Class: fault.Next, Unasked: true}},
		{"the gateway stops", upstream{speaks: "chat", fault: &fault.Fault{Class: fault.ClientGone}}, 0, "client_gone", resilience.Outcome{Class: fault.ClientGone, Unasked: true}},
		{"it has no chats", upstream{speaks: "embeddings"}, 0, "unable", resilience.Outcome{Class: fault.Unable, Unasked: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &Source{Settings: Settings{Kind: Completion}, Upstream: &c.upstream}
			status, _, f := New(dialects()).ask(t.Context(), s, "m", "default")
			got := ""
			if f != nil {
				got = f.Class.String()
			}
			if status != c.status || got != c.want {
				t.Errorf("%d %q %+v, want %d %q", status, got, f, c.status, c.want)
			}
			if o := s.outcome(f, status); o != c.means {
				t.Errorf("it means %+v, want %+v", o, c.means)
			}
		})
	}
}

// R24, R75: a model list proves that the provider answers, and moves no key and no model.
func TestLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault *fault.Fault
		means resilience.Outcome
	}{
		{"good", nil, resilience.Outcome{Class: fault.Rejected}},
		{"not for this key", &fault.Fault{Class: fault.Auth, Status: 403}, resilience.Outcome{Class: fault.Rejected}},
		{"not there", &fault.Fault{Class: fault.ModelMissing, Status: 404}, resilience.Outcome{Class: fault.Rejected}},
		{"limited", &fault.Fault{Class: fault.RateLimited, Status: 429, Wait: fault.Wait{For: 7}}, resilience.Outcome{Class: fault.RateLimited, Wait: fault.Wait{For: 7}}},
		{"down", &fault.Fault{Class: fault.Upstream, Status: 503}, resilience.Outcome{Class: fault.Upstream}},
		{"no connection", &fault.Fault{Class: fault.Reset}, resilience.Outcome{Class: fault.Reset}},
		{"no token", &fault.Fault{Class: fault.Auth}, resilience.Outcome{Class: fault.Auth, Unasked: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &Source{Settings: Settings{Kind: Models}, List: func(context.Context, string) *fault.Fault { return c.fault }}
			status, _, f := New(nil).ask(t.Context(), s, "", "default")
			if f != nil {
				status = f.Status
			}
			if o := s.outcome(f, status); f != c.fault || o != c.means {
				t.Errorf("%+v means %+v, want %+v", f, o, c.means)
			}
		})
	}
}
