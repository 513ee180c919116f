package ingress

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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

// faulty is a dialect with a bug in one of its methods.
type faulty struct {
	anthropic.Messages
	bug string
}

func (d faulty) at(method string) {
	if d.bug == method {
		panic("a bug in " + method)
	}
}

func (d faulty) ReadRequest(body []byte) (wire.Request, error) {
	d.at("ReadRequest")
	return d.Messages.ReadRequest(body)
}

func (d faulty) DecodeRequest(r *wire.Request) (*llm.Request, error) {
	d.at("DecodeRequest")
	return d.Messages.DecodeRequest(r)
}

func (d faulty) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	d.at("AppendReply")
	return d.Messages.AppendReply(dst, a, q)
}

func (d faulty) NewEncoder(q *llm.Request) wire.Encoder {
	d.at("NewEncoder")
	return faultyEncoder{d.Messages.NewEncoder(q), d}
}

type faultyEncoder struct {
	wire.Encoder
	d faulty
}

func (e faultyEncoder) Append(dst []byte, ev *llm.Event) []byte {
	if ev.Kind == llm.Finish {
		e.d.at("Append")
	}
	return e.Encoder.Append(dst, ev)
}

// faultyUpstream is the same on the other side.
type faultyUpstream struct {
	openaichat.Chat
	bug string
}

func (d faultyUpstream) at(method string) {
	if d.bug == method {
		panic("a bug in " + method)
	}
}

func (d faultyUpstream) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	d.at("EncodeRequest")
	return d.Chat.EncodeRequest(dst, q, t)
}

func (d faultyUpstream) Judge(body []byte) (wire.Reply, *fault.Fault) {
	d.at("Judge")
	return d.Chat.Judge(body)
}

func (d faultyUpstream) DecodeReply(body []byte) (*llm.Reply, error) {
	d.at("DecodeReply")
	return d.Chat.DecodeReply(body)
}

func (d faultyUpstream) JudgeEvent(data []byte, p *wire.Progress) wire.Event {
	d.at("JudgeEvent")
	return d.Chat.JudgeEvent(data, p)
}

func (d faultyUpstream) NewDecoder() wire.Decoder { return faultyDecoder{d.Chat.NewDecoder(), d} }

type faultyDecoder struct {
	wire.Decoder
	d faultyUpstream
}

func (e faultyDecoder) Decode(data []byte, emit func(*llm.Event)) error {
	if strings.Contains(string(data), `"finish_reason":"stop"`) {
		e.d.at("Decode")
	}
	return e.Decoder.Decode(data, emit)
}

// heard keeps the facts of requests.
type heard struct {
	deaf
	mu       sync.Mutex
	requests []journal.Request
}

func (h *heard) RequestEnded(f *journal.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, *f)
}

// R33: a bug in a dialect costs the request that met it, and nothing else: the client hears an error in its own words, the permit is
// settled, the journal knows, and the log has the stack.
func TestCrash(t *testing.T) {
	const broke = "200 event: error" // after content, the stream's own error event
	for _, tt := range []struct {
		bug    string
		stream string // what the client hears
		plain  string
	}{
		{"ReadRequest", "500", "500"},
		{"DecodeRequest", "500", "500"},
		{"EncodeRequest", "500", "500"},
		{"Judge", "200", "500"},
		{"DecodeReply", "200", "500"},
		{"AppendReply", "200", "500"},
		{"JudgeEvent", "500", "200"},
		{"NewEncoder", "500", "200"},
		{"Decode", broke, "200"},
		{"Append", broke, "200"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(tt.bug+map[bool]string{true: ", stream", false: ", plain"}[stream], func(t *testing.T) {
				crash(t, tt.bug, stream, map[bool]string{true: tt.stream, false: tt.plain}[stream])
			})
		}
	}
}

func crash(t *testing.T, bug string, stream bool, want string) {
	guards, facts, settings := health.New(deaf{}), &heard{}, resilience.Defaults()
	guards.Apply([]health.Config{{Name: "up", Settings: settings}})
	client, up := faulty{bug: bug}, faultyUpstream{bug: bug}
	h := New(wire.NewTable(client, up), Routes{Dialects: []wire.Dialect{client}}, &attempt.Runner{Health: guards, Journal: deaf{}}, facts, noDiscovery{})
	plain, streamed := chatAnswers()
	answer := plain
	if stream {
		answer = streamed
	}
	h.Configure(&Config{
		Table: &route.Table{
			Providers: []route.Provider{{Name: "up"}},
			Virtual:   map[string]*route.Virtual{"fast": {Name: "fast", Targets: []route.Target{{Provider: "up", Model: "m", Timeouts: route.DefaultTimeouts()}}}},
		},
		Providers: map[string]*Provider{"up": {Guards: guards.Provider("up"), Upstream: &instant{answer, []string{"chat"}}, Settings: &settings}},
		MaxBody:   1 << 20, Keepalive: time.Hour,
	})
	var logged strings.Builder
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(&logged, "", 0)
	server.Start()
	body := string(askers()[1].ask(1, stream))
	res, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(body)) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	server.Close()
	failed := want != "200"
	if want != "200" && want != "500" { // an event and no end
		if !strings.Contains(string(got), "event: error") || strings.Contains(string(got), "message_stop") || err == nil {
			t.Errorf("%v: %s", err, got)
		}
	} else if err != nil || res.StatusCode != map[string]int{"200": 200, "500": 500}[want] {
		t.Errorf("%d, %v: %s", res.StatusCode, err, got)
	}
	if failed && (!strings.Contains(string(got), `"api_error"`) || !strings.Contains(string(got), codeInternal)) {
		t.Errorf("it does not tell: %s", got)
	}
	if in := strings.Contains(logged.String(), "a bug in "+bug); in != failed {
		t.Errorf("logged: %s", logged.String())
	}
	if n := guards.Provider("up").Snapshot(time.Now()).InFlight; n != 0 {
		t.Errorf("%d permits are not settled", n)
	}
	if h.InFlight() != 0 || len(facts.requests) != 1 || failed != (facts.requests[0].Code == codeInternal) {
		t.Errorf("%d in flight, facts %+v", h.InFlight(), facts.requests)
	}
}
