package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/mock"
)

// keeps is everyVendor with bodies kept, 4 KiB of each, without what stands in #…#.
const keeps = everyVendor + `
log: {bodies: true, max_body: 4KiB, redact: ['#[^#]*#']}
`

// keptBodies is what the ledger has of the last request's bodies; nil: nothing.
func (s *stack) keptBodies() *ledger.Body {
	s.t.Helper()
	rows := s.kept(ledger.RequestQuery{Limit: 1})
	if len(rows) != 1 || rows[0].Body != nil {
		s.t.Fatalf("%d rows, a list with a body: %v", len(rows), len(rows) == 1 && rows[0].Body != nil)
	}
	r, ok, err := s.app.book.Store().Request(context.Background(), string(rows[0].Row))
	if err != nil || !ok {
		s.t.Fatal(ok, err)
	}
	if f := s.facts.last(); f.ID != r.ID || f.Bodies != nil {
		s.t.Errorf("the fact of %s has bodies, or is not of %s", f.ID, r.ID)
	}
	return r.Body
}

// With log.bodies a request is kept as it came and the answer as it went, whoever is asked and however.
func TestBodiesAreKept(t *testing.T) {
	for _, vendor := range []string{"chat", "anthropic", "bedrock"} {
		for _, sp := range speakers() {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s to %s stream %t", sp.name, vendor, stream), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newStack(t, strings.Replace(keeps, "4KiB", "64KiB", 1), map[string]mock.Script{"a": {}})
						asked := sp.body(vendor+"/m", stream, "a word", false)
						h := s.talk(&sp, vendor+"/m", stream, asked)
						if b := s.keptBodies(); h.status != 200 || b == nil || *b != (ledger.Body{Request: asked, Response: h.raw}) {
							t.Errorf("%d, kept %+v\nof %s\nand %s", h.status, b, asked, h.raw)
						}
					})
				})
			}
		}
	}
}

// Errors are kept as the client has them: the gateway's, a provider's, those before any attempt, and those within a stream.
func TestBodiesOfFailures(t *testing.T) {
	broken := mock.Behaviour{ChunkDelay: time.Millisecond, Chunks: 10, Error: mock.After(5), Code: "503"}
	for _, c := range []struct {
		name, model string
		stream      bool
		a           mock.Script
		status      int
		want        string
	}{
		{"a provider that fails", "chat/m", false, do(mock.Behaviour{Status: 503}), 502, `"provider_error"`},
		{"a refusal in the provider's words", "chat/m", false, do(mock.Behaviour{Status: 400, Message: "no such thing"}), 400, "no such thing"},
		{"no such model", "nobody", false, mock.Script{}, 404, `"model_not_found"`},
		{"a stream that breaks", "chat/m", true, do(broken), 200, `"provider_error"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, keeps, map[string]mock.Script{"a": c.a})
				chat := &speakers()[0]
				h := s.talk(chat, c.model, c.stream, chat.body(c.model, c.stream, "a word", false))
				b := s.keptBodies()
				if b == nil || h.status != c.status || !strings.Contains(h.raw, c.want) || b.Response != h.raw || !strings.Contains(b.Request, "a word") {
					t.Errorf("%d, kept %+v\nof %s", h.status, b, h.raw)
				}
			})
		})
	}
}

// A request that continues a kept answer is kept as it came, without the conversation before it.
func TestBodiesOfKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, keeps, map[string]mock.Script{"a": {}})
		sp := &speakers()[2]
		first := s.talk(sp, "chat/m", false, `{"model":"chat/m","input":"first words"}`)
		asked := fmt.Sprintf(`{"model":"chat/m","input":"then these","previous_response_id":%q}`, idOf(t, first))
		second := s.talk(sp, "chat/m", false, asked)
		if b := s.keptBodies(); b == nil || b.Request != asked || b.Response != second.raw {
			t.Errorf("%+v", b)
		}
	})
}

// Passthrough: text alone is kept; of other bodies what they are and how long.
func TestBodiesOfPassthrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := do(mock.Behaviour{Status: 400, Body: `{"error":"not sk-key-chat"}`, ContentType: "application/json"})
		s := newStack(t, keeps, map[string]mock.Script{"a": script})
		for _, c := range []struct{ kind, body, want string }{
			{"application/json", `{"a":"#b#"}`, `{"a":"[redacted]"}`},
			{"application/octet-stream", "\x01\x02\x03", "[application/octet-stream, 3 bytes]"},
			{"multipart/form-data; boundary=x", "--x--", "[multipart/form-data, 5 bytes]"},
			{"text/plain", "a\x00b", "[text/plain, 3 bytes]"},
		} {
			s.post(t.Context(), "/passthrough/chat/chat/completions", c.body, "Content-Type", c.kind)
			if b := s.keptBodies(); b == nil || b.Request != c.want || b.Response == "" || strings.Contains(b.Response, "sk-key-chat") {
				t.Errorf("%s: %+v", c.kind, b)
			}
		}
		long := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
		s.post(t.Context(), "/passthrough/chat/chat/completions", long)
		if b := s.keptBodies(); b == nil || b.Request != long[:4<<10] || !b.RequestCut {
			t.Errorf("a long one: %d bytes", len(b.Request))
		}
	})
}

// Credentials and what log.redact finds are in nothing that is kept, nor is the half of one that the limit cuts.
func TestBodiesAreRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, strings.Replace(keeps, "auth: {allow_anonymous: true}", "auth: {keys: [{name: ci, value: client-key-1}]}", 1), map[string]mock.Script{"a": {}})
		say := func(text string) *ledger.Body {
			t.Helper()
			a := s.post(t.Context(), "/v1/chat/completions", fmt.Sprintf(`{"model":"chat/m","messages":[{"role":"user","content":%q}]}`, text), "Authorization", "Bearer client-key-1")
			if a.status != 200 {
				t.Fatal(a.status)
			}
			return s.keptBodies()
		}
		b := say("keys: sk-key-anthropic, secret-of-bedrock, client-key-1, admin-token, gsk_0123456789; names: #Ada Lovelace#.")
		if want := `"keys: ***, ***, ***, ***, ***; names: [redacted]."`; !strings.Contains(b.Request, want) || b.RequestCut {
			t.Errorf("%+v", b)
		}
		const secret = "#0123456789abcdefghijklmnopqrstuvwxyz#"
		for _, limit := range []int{4 << 10, 12 << 10} { // what is kept, and what is copied
			for at := limit - 100; at < limit; at++ {
				b := say(strings.Repeat("word ", 4000)[:at-56] + secret + strings.Repeat(" word", 4000))
				if strings.Contains(b.Request, "#") || strings.Contains(b.Request, "012") || len(b.Request) > 4<<10 || !b.RequestCut {
					t.Fatalf("at %d: %d bytes, …%s", at, len(b.Request), b.Request[max(len(b.Request)-100, 0):])
				}
			}
		}
		// What is taken out makes a text shorter than what was copied: its end, where a secret is cut, must not come in sight by that.
		for at := 12<<10 - 100; at < 12<<10; at++ {
			b := say("#" + strings.Repeat("x", 11<<10) + "#" + strings.Repeat("-", at-11<<10-58) + secret + strings.Repeat(" word", 4000))
			if strings.Contains(b.Request, "012") {
				t.Fatalf("at %d: %s", at, b.Request)
			}
		}
	})
}

// Without log.bodies no word of a prompt or a reply is anywhere: not in the ledger, an admin reply, an event, a log line. With it they are in
// GET /admin/v1/requests/{id} alone. A reload turns it on and off.
func TestBodiesAreNowhereElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const prompt, reply = "planted-prompt-1234", "planted-reply-1234"
		var log bytes.Buffer
		script := map[string]mock.Script{"a": do(mock.Behaviour{Text: reply})}
		s := newStackWith(t, parse(t, everyVendor), script, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		e := s.events()
		synctest.Wait()
		for _, on := range []bool{false, true, false} {
			text := everyVendor
			if on {
				text = keeps
			}
			s.next = parse(t, text)
			if err := s.app.Reload(); err != nil {
				t.Fatal(err)
			}
			chat := &speakers()[0]
			if h := s.talk(chat, "chat/m", true, chat.body("chat/m", true, prompt, false)); !strings.Contains(h.text, reply) {
				t.Fatal(h.raw)
			}
			if b := s.keptBodies(); (b != nil) != on {
				t.Fatalf("on %t: kept %+v", on, b)
			}
			id := s.facts.last().ID
			res, shown := s.operator(http.MethodGet, "/admin/v1/requests/"+id, "")
			if res.StatusCode != 200 || strings.Contains(shown, prompt) != on || strings.Contains(shown, `"request_cut":false`) != on {
				t.Errorf("on %t: %s", on, shown)
			}
			all := log.String()
			for _, path := range []string{"requests", "requests?q=planted", "timeline", "audit", "usage?group_by=key,route,model,provider", "overview", "models", "config", "health", "faults", "explain/" + id, "openapi.json"} {
				_, text := s.operator(http.MethodGet, "/admin/v1/"+path, "")
				all += text
			}
			_, metrics := s.operator(http.MethodGet, "/metrics", "")
			time.Sleep(time.Second) // by then the event is read
			e.mu.Lock()
			all += e.data + metrics
			if !strings.Contains(e.data, id) {
				t.Errorf("the request is in no event: %q %s", e.names, e.data)
			}
			e.mu.Unlock()
			if strings.Contains(all, prompt) || strings.Contains(all, reply) {
				t.Errorf("on %t: a prompt or a reply is told", on)
			}
		}
		e.end()
	})
}
