package ingress

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/guardrail"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/llm"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/testkit"
	"evergate/internal/threads"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// pausing is a body whose pieces come one by one, with a pause before each but the first, and before the end.
type pausing struct {
	pieces []string
	every  time.Duration
	begun  bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.begun {
		time.Sleep(p.every)
	}
	p.begun = true
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	} else {
		p.begun = false
	}
	return n, nil
}

// events are those of a stream, each with what ends it.
func events(stream string) []string {
	all := strings.SplitAfter(stream, "\n\n")
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	}
	return all
}

// leisurely is an upstream that takes its time: for its head, and for each event.
type leisurely struct {
	instant
	status      int
	head, every time.Duration
}

func (u *leisurely) Send(_ context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	r.Release()
	time.Sleep(u.head)
	return &http.Response{StatusCode: u.status, Header: http.Header{}, Body: io.NopCloser(&pausing{pieces: events(u.body), every: u.every}), ContentLength: -1}, nil
}

func (u *leisurely) Classify(status int, _ http.Header, _ []byte, code, message string) *fault.Fault {
	return &fault.Fault{Class: fault.ModelMissing, Status: status, Code: code, Message: message}
}

// fronting is a gateway that speaks some dialects and has one provider and the models fast and secret.
func fronting(up attempt.Upstream, facts *heard, change func(*Config), dialects ...wire.Dialect) *Handler {
	guards, settings := health.New(deaf{}), resilience.Defaults()
	settings.Retry.MaxRetries = 0
	guards.Apply([]health.Config{{Name: "up", Settings: settings}})
	all := dialects
	if dialects[0].Name() != "chat" {
		all = append(all[:len(all):len(all)], openaichat.Chat{})
	}
	h := New(wire.NewTable(all...), Routes{Dialects: dialects}, &attempt.Runner{Health: guards, Journal: deaf{}}, facts, noDiscovery{})
	targets := []route.Target{{Provider: "up", Model: "m", Timeouts: route.DefaultTimeouts()}}
	cfg := &Config{
		Table: &route.Table{
			Providers: []route.Provider{{Name: "up"}},
			Virtual:   map[string]*route.Virtual{"fast": {Name: "fast", Targets: targets}, "secret": {Name: "secret", Targets: targets}},
		},
		Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: up, Settings: &settings}},
		MaxBody:   1 << 20,
	}
	if change != nil {
		change(cfg)
	}
	h.Configure(cfg)
	return h
}

// server.write_timeout is for a client that takes nothing. One that speaks HTTP/2 and waits for a provider that is silent for longer gets its answer to the end, as
// all others do.
func TestSilentAnswersOverHTTP2(t *testing.T) {
	_, stream := chatAnswers()
	for name, handler := range map[string]func() http.Handler{
		"a stream": func() http.Handler {
			up := &leisurely{instant: instant{stream, []string{"chat"}}, status: http.StatusOK, every: 25 * time.Second}
			return fronting(up, &heard{}, func(c *Config) { c.WriteTimeout = 10 * time.Second }, openaichat.Chat{})
		},
		"what a provider keeps": func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				x := &exchange{cfg: &Config{WriteTimeout: 10 * time.Second}, w: w, r: r, control: http.NewResponseController(w), dialect: openaichat.Chat{}, id: "req"}
				x.passOn(&http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&pausing{pieces: events(stream), every: 25 * time.Second})}, &threads.Answer{Provider: "up"})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				authority, n := testkit.NewAuthority(t), testkit.NewNet()
				server := &http.Server{Handler: handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, 24*time.Hour, "gateway").TLS}}}
				l := n.Listen("gateway:443")
				go func() { _ = server.ServeTLS(l, "", "") }()
				defer server.Close()
				tr := &http.Transport{DialContext: n.DialContext, TLSClientConfig: &tls.Config{RootCAs: authority.Pool}, ForceAttemptHTTP2: true}
				defer tr.CloseIdleConnections()
				res, err := (&http.Client{Transport: tr}).Post("https://gateway/v1/chat/completions", "application/json", strings.NewReader(`{"model":"fast","stream":true,"messages":[]}`))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				if err != nil || res.ProtoMajor != 2 || !strings.HasSuffix(string(got), "[DONE]\n\n") {
					t.Errorf("%s, %v: %s", res.Proto, err, got)
				}
				_ = res.Body.Close()
				time.Sleep(2 * time.Hour) // whatever was under way is over
			})
		})
	}
}

// Over HTTP/1 the limit stays, so that a stream does not set one for each event.
func TestWriteLimitStaysOverHTTP1(t *testing.T) {
	w := &limited{ResponseRecorder: httptest.NewRecorder()}
	x := &exchange{cfg: &Config{WriteTimeout: time.Minute}, w: w, r: httptest.NewRequest(http.MethodPost, "/", nil), control: http.NewResponseController(w), dialect: openaichat.Chat{}}
	x.out.x = x
	for range 10 {
		if err := x.out.Write([]byte("x")); err != nil || x.out.Flush() != nil {
			t.Fatal(err)
		}
	}
	if len(w.write) != 1 || w.write[0].IsZero() {
		t.Errorf("limits %v", w.write)
	}
}

// limited keeps the limits that are set on its connection.
type limited struct {
	*httptest.ResponseRecorder
	write, read []time.Time
}

func (l *limited) SetWriteDeadline(t time.Time) error {
	l.write = append(l.write, t)
	return nil
}

func (l *limited) SetReadDeadline(t time.Time) error {
	l.read = append(l.read, t)
	return nil
}

// A body that is read while its request ends has no more time than a refused client is given.
func TestEndingBodyHasLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &limited{ResponseRecorder: httptest.NewRecorder()}
		x := &exchange{cfg: &Config{}, w: w, r: httptest.NewRequest(http.MethodPost, "/", strings.NewReader("hello")), control: http.NewResponseController(w)}
		b := &clientBody{x: x}
		x.body.ending.Store(true)
		if _, err := b.Read(make([]byte, 1)); err != nil || len(w.read) == 0 || time.Until(w.read[len(w.read)-1]) > drainTime {
			t.Errorf("%v, limits %v", err, w.read)
		}
	})
}

// Over HTTP/2 the limit of a read ends a body that nobody reads as well: an upstream that takes it slowly must not make the client slow.
func TestReadLimitIsOfReadsAlone(t *testing.T) {
	for major, want := range map[int]bool{1: false, 2: true} {
		w, r := &limited{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("hello"))
		r.ProtoMajor = major
		b := &clientBody{x: &exchange{cfg: &Config{}, w: w, r: r, control: http.NewResponseController(w)}}
		for range 2 {
			if _, err := b.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if last := w.read[len(w.read)-1]; last.IsZero() != want {
				t.Errorf("HTTP/%d: limits %v", major, w.read)
			}
		}
		if n := len(w.read); n != map[int]int{1: 1, 2: 4}[major] {
			t.Errorf("HTTP/%d: limits %v", major, w.read)
		}
	}
}

// A key hears nothing of models that it may not use, neither by asking for one nor by what is proposed in its place.
func TestModelsOfOthersAreNotProposed(t *testing.T) {
	book := identity.NewBook()
	book.Configure([]identity.Own{{Principal: identity.Principal{Name: "ci", Models: []string{"fast"}}, Value: "sk-client-0123456789"}}, nil)
	h := fronting(&instant{"", []string{"chat"}}, &heard{}, func(c *Config) { c.Callers = book }, openaichat.Chat{})
	for name, want := range map[string]string{"secret": "", "secrets": "", "fasst": "did you mean fast?"} {
		r := httptest.NewRequest(http.MethodGet, "/v1/models/"+name, nil)
		r.Header.Set("Authorization", "Bearer sk-client-0123456789")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code != http.StatusNotFound || want == "" && strings.Contains(got, "did you mean") || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", name, w.Code, got)
		}
	}
}

// What a provider took to say that it counts no tokens is its time, not the gateway's.
func TestEstimateIsNotOverhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts := &heard{}
		up := &leisurely{instant: instant{"{}", []string{"count_tokens"}}, status: http.StatusNotFound, head: 3 * time.Second}
		h := fronting(up, facts, nil, anthropic.CountTokens{})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/messages/count_tokens", strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"hi"}]}`)))
		if f := facts.requests[0]; w.Header().Get("X-Evergate-Estimated") != "true" || f.Overhead != 0 || f.Upstream != 3*time.Second || len(f.Trail) != 1 {
			t.Errorf("%d %s, overhead %s, upstream %s", w.Code, w.Body, f.Overhead, f.Upstream)
		}
	})
}

// What a client takes to send its body is its time, too, whether the gateway looks into the body or holds it for passthrough.
func TestASlowBodyIsNotOverhead(t *testing.T) {
	plain, _ := chatAnswers()
	for _, path := range []string{"/v1/chat/completions", "/passthrough/up/v1/things"} {
		synctest.Test(t, func(t *testing.T) {
			facts := &heard{}
			up := &leisurely{instant: instant{plain, []string{"chat"}}, status: http.StatusOK, head: 3 * time.Second}
			h := fronting(up, facts, func(c *Config) { c.Providers["up"].Raw = passing{up} }, openaichat.Chat{})
			r := httptest.NewRequest(http.MethodPost, path, &pausing{pieces: []string{`{"model":"fast",`, `"messages":[]}`}, every: 10 * time.Second})
			r.Header.Set("Idempotency-Key", "1") // so that it is held
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if f := facts.requests[0]; w.Code != http.StatusOK || f.Overhead != 0 || f.Upstream != 3*time.Second || f.Duration != 23*time.Second {
				t.Errorf("%s: %d, overhead %s, upstream %s, of %s", path, w.Code, f.Overhead, f.Upstream, f.Duration)
			}
		})
	}
}

// passing is the same for passthrough.
type passing struct{ *leisurely }

func (passing) Reach(string) error { return nil }
func (passing) SignsBody() bool    { return false }

func (p passing) Pass(ctx context.Context, r *attempt.Raw) (*http.Response, *fault.Fault) {
	return p.Send(ctx, &attempt.Outgoing{Release: r.Release})
}

// asking looks, as soon as the client has the end of an answer, whether the answer is kept.
type asking struct {
	*httptest.ResponseRecorder
	of   *threads.Store
	end  string
	kept []bool
}

var answerID = regexp.MustCompile(`"id":"(resp_[^"]+)"`)

func (a *asking) Write(p []byte) (int, error) {
	if id := answerID.FindSubmatch(p); id != nil && strings.Contains(string(p), a.end) {
		search := a.of.Search(context.Background())
		_, ok := a.of.Get(time.Now(), &search, "", string(id[1]))
		a.kept = append(a.kept, ok)
	}
	return a.ResponseRecorder.Write(p)
}

// An answer is kept before its client has the end of it, and may go on with it by its id: also where the provider does not end its stream at once.
func TestAnswersAreKeptBeforeTheyEnd(t *testing.T) {
	const object = `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
	native, err := responses.Responses{}.StreamFromReply([]byte(object), true)
	if err != nil {
		t.Fatal(err)
	}
	plain, stream := chatAnswers()
	for _, tt := range []struct {
		name, speaks, answer, request, end string
	}{
		{"a stream, translated", "chat", stream, `{"model":"fast","stream":true,"input":"hi"}`, "event: response.completed"},
		{"a plain answer, translated", "chat", plain, `{"model":"fast","input":"hi"}`, `"status":"completed"`},
		{"a stream of the provider's", "responses", string(native), `{"model":"fast","stream":true,"input":"hi"}`, "event: response.completed"},
		{"a plain answer of the provider's", "responses", object, `{"model":"fast","input":"hi"}`, `"status":"completed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := fronting(&leisurely{instant: instant{tt.answer, []string{tt.speaks}}, status: http.StatusOK, every: 50 * time.Millisecond}, &heard{}, nil, responses.Responses{})
				w := &asking{ResponseRecorder: httptest.NewRecorder(), of: h.Threads(), end: tt.end}
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(tt.request)))
				if w.Code != http.StatusOK || len(w.kept) != 1 || !w.kept[0] {
					t.Errorf("%d, kept %v", w.Code, w.kept)
				}
			})
		})
	}
}

// A request with more members that nobody here knows than are noted may be any: its answer is not given again.
func TestUnknownMembersMayLookUp(t *testing.T) {
	t.Parallel()
	q := llm.Request{Dropped: &llm.Dropped{}}
	for i := range 40 {
		if looksUp(&q) != (i > 32) {
			t.Errorf("after %d unknown members: %t", i, looksUp(&q))
		}
		q.Dropped.Add(fmt.Sprintf("unknown_%d", i))
	}
	q.Dropped.Add("plugins")
	if !looksUp(&q) {
		t.Error("plugins look nothing up")
	}
}

// A request that meets a bug before a guardrail has looked at it leaves no words in the log.
func TestCrashLeavesNothingUnguarded(t *testing.T) {
	facts, client := &heard{}, faulty{bug: "ReadRequest"}
	h := fronting(&instant{"", []string{"chat"}}, facts, func(c *Config) {
		c.Bodies, c.Guardrails = 1000, &guardrail.Set{Defaults: []string{"pii"}}
	}, client)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the bug is hidden")
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"planted words"}]}`)))
	}()
	if f := facts.requests[0]; f.Bodies == nil || strings.Contains(string(f.Bodies.Request.Text), "planted") {
		t.Errorf("kept: %+v", f.Bodies)
	}
}

// An answer that has no body, whatever it is about, says no length that its provider did not say.
func TestNoLengthWithoutABody(t *testing.T) {
	for status, want := range map[int]string{http.StatusOK: "0", http.StatusNoContent: "", http.StatusNotModified: ""} {
		w := httptest.NewRecorder()
		x := &exchange{cfg: &Config{}, w: w, r: httptest.NewRequest(http.MethodGet, "/", nil), control: http.NewResponseController(w), dialect: openaichat.Chat{}}
		x.out.x = x
		s := &passSink{x: x, provider: "up"}
		if err := s.Begin(&attempt.PassHead{Status: status, Header: http.Header{}, Whole: true}); err != nil || w.Header().Get("Content-Length") != want {
			t.Errorf("%d: %q, %v", status, w.Header().Get("Content-Length"), err)
		}
	}
}

// An answer that comes before the body is whole ends the connection over HTTP/1 alone: over HTTP/2 other requests are on it.
func TestEarlyAnswerOverHTTP2(t *testing.T) {
	for major, want := range map[int]string{1: "close", 2: ""} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil)
		r.ProtoMajor = major
		x := &exchange{cfg: &Config{}, w: w, r: r, control: http.NewResponseController(w), dialect: openaichat.Chat{}}
		x.out.x = x
		if err := (&passSink{x: x, provider: "up"}).Begin(&attempt.PassHead{Status: http.StatusRequestEntityTooLarge, Header: http.Header{}}); err != nil || w.Header().Get("Connection") != want {
			t.Errorf("HTTP/%d: %q, %v", major, w.Header().Get("Connection"), err)
		}
	}
}
