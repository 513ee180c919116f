package mock_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// timed has waits of its own, so that a story's end tells how far the exchange came.
func timed() mock.Script {
	return mock.Script{Defaults: mock.Behaviour{
		Latency: 50 * time.Millisecond, FirstToken: 100 * time.Millisecond, ChunkDelay: 10 * time.Millisecond, Chunks: 5,
	}}
}

// Every fault as a client sees it, streamed and plain, in exact virtual time.
func TestFaults(t *testing.T) {
	cases := []struct{ fault, stream, plain string }{
		{
			"",
			"200 event-stream role 5*c finish usage done EOF @190ms",
			"200 json answer EOF @150ms",
		},
		{"latency=2s; first_token=0s; chunk_delay=0s", "200 event-stream role 5*c finish usage done EOF @2s", "200 json answer EOF @2s"},
		{"latency=0s; first_token=2s; chunk_delay=0s", "200 event-stream role 5*c finish usage done EOF @2s", "200 json answer EOF @2s"},
		{"latency=0s; first_token=0s; chunk_delay=1s", "200 event-stream role 5*c finish usage done EOF @4s", "200 json answer EOF @0s"},
		{"chunks=2", "200 event-stream role 2*c finish usage done EOF @160ms", "200 json answer EOF @150ms"},

		{"status=503", "503 json error:server_error, EOF @150ms", "503 json error:server_error, EOF @150ms"},
		{"status=429", "429 json error:requests,rate_limit_exceeded EOF @150ms", "429 json error:requests,rate_limit_exceeded EOF @150ms"},
		{"status=401", "401 json error:invalid_request_error,invalid_api_key EOF @150ms", "401 json error:invalid_request_error,invalid_api_key EOF @150ms"},
		{"status=404", "404 json error:invalid_request_error,model_not_found EOF @150ms", "404 json error:invalid_request_error,model_not_found EOF @150ms"},
		{
			"status=429; code=insufficient_quota; type=insufficient_quota",
			"429 json error:insufficient_quota,insufficient_quota EOF @150ms", "429 json error:insufficient_quota,insufficient_quota EOF @150ms",
		},
		{"status=502; html", "502 html page EOF @150ms", "502 html page EOF @150ms"},
		{"status=503; cut=1", "503 json broken cut @150ms", "503 json broken cut @150ms"},
		{"status=503; hang=headers", "503 json nothing gave-up @59.5s", "503 json nothing gave-up @59.5s"},
		{"status=204", "204 json nothing EOF @50ms", "204 json nothing EOF @50ms"},

		{"hang=before_headers", "gave-up @59.5s", "gave-up @59.5s"},
		{"hang=headers", "200 event-stream gave-up @59.5s", "200 json nothing gave-up @59.5s"},
		{"hang=0", "200 event-stream role gave-up @59.5s", "200 json nothing gave-up @59.5s"},
		{"hang=3", "200 event-stream role 3*c gave-up @59.5s", "200 json broken gave-up @59.5s"},
		{"hang=99", "200 event-stream role 5*c gave-up @59.5s", "200 json broken gave-up @59.5s"},
		{"hang=finish", "200 event-stream role 5*c finish gave-up @59.5s", "200 json answer gave-up @59.5s"},
		{"hang=end", "200 event-stream role 5*c finish usage done gave-up @59.5s", "200 json answer gave-up @59.5s"},

		{"reset=before_headers", "reset @50ms", "reset @50ms"},
		{"reset=headers", "200 event-stream reset @50ms", "200 json nothing reset @50ms"},
		{"reset=0", "200 event-stream role reset @50ms", "200 json nothing reset @50ms"},
		{"reset=3", "200 event-stream role 3*c reset @170ms", "200 json broken reset @150ms"},
		{"reset=finish", "200 event-stream role 5*c finish reset @190ms", "200 json answer reset @150ms"},

		{"cut=before_headers", "closed @50ms", "closed @50ms"},
		{"cut=headers", "200 event-stream cut @50ms", "200 json nothing cut @50ms"},
		{"cut=0", "200 event-stream role cut @50ms", "200 json nothing cut @50ms"},
		{"cut=3", "200 event-stream role 3*c cut @170ms", "200 json broken cut @150ms"},
		{"cut=finish", "200 event-stream role 5*c finish cut @190ms", "200 json answer cut @150ms"},
		{"cut=end", "200 event-stream role 5*c finish usage done cut @190ms", "200 json answer cut @150ms"},

		{"eof=headers", "200 event-stream EOF @50ms", "200 json nothing EOF @50ms"},
		{"eof=0", "200 event-stream role EOF @50ms", "200 json nothing EOF @50ms"},
		{"eof=3", "200 event-stream role 3*c EOF @170ms", "200 json broken EOF @150ms"},
		{"eof=finish", "200 event-stream role 5*c finish EOF @190ms", "200 json answer EOF @150ms"},

		{"error=headers", "200 event-stream error:server_error, EOF @50ms", "200 json error:server_error, EOF @150ms"},
		{"error=0", "200 event-stream role error:server_error, EOF @50ms", "200 json error:server_error, EOF @150ms"},
		{
			"error=3; type=rate_limit_error; code=rate_limit_exceeded",
			"200 event-stream role 3*c error:rate_limit_error,rate_limit_exceeded EOF @170ms",
			"200 json error:rate_limit_error,rate_limit_exceeded EOF @150ms",
		},

		{"malformed=1", "200 event-stream role broken 4*c finish usage done EOF @190ms", "200 json broken EOF @150ms"},
		{"malformed=3", "200 event-stream role 2*c broken 2*c finish usage done EOF @190ms", "200 json broken EOF @150ms"},
		{"no_done", "200 event-stream role 5*c finish usage EOF @190ms", "200 json answer EOF @150ms"},
		{"no-finish", "200 event-stream role 5*c usage done EOF @190ms", "200 json answer-without-finish EOF @150ms"},
		{"no_finish; no_done", "200 event-stream role 5*c usage EOF @190ms", "200 json answer-without-finish EOF @150ms"},
		{"empty", "200 json nothing EOF @50ms", "200 json nothing EOF @50ms"},
		{"html", "200 html page EOF @150ms", "200 html page EOF @150ms"},
		{"content_type=text/html", "200 html role 5*c finish usage done EOF @190ms", "200 html answer EOF @150ms"},
		{"as=json", "200 json answer EOF @150ms", "200 json answer EOF @150ms"},
		{"as=stream", "200 event-stream role 5*c finish usage done EOF @190ms", "200 event-stream role 5*c finish done EOF @190ms"},
		{`body={"choices":[]}`, "200 json object EOF @150ms", "200 json object EOF @150ms"},
		{"body=data: [DONE]", "200 event-stream done EOF @150ms", "200 event-stream done EOF @150ms"},

		{"gzip", "200 event-stream gzip role 5*c finish usage done EOF @190ms", "200 json gzip answer EOF @150ms"},
		{"gzip; status=503", "503 json gzip error:server_error, EOF @150ms", "503 json gzip error:server_error, EOF @150ms"},
		{"gzip; cut=3", "200 event-stream gzip role 3*c cut @170ms", "200 json gzip broken cut @150ms"},
		{"gzip; eof=3", "200 event-stream gzip role 3*c EOF @170ms", "200 json gzip broken cut @150ms"},

		{"keepalive=40ms", "200 event-stream role 2*comment 5*c finish usage done EOF @190ms", "200 json 2*newline answer EOF @150ms"},
		{"keepalive=1s; hang=headers", "200 event-stream 59*comment gave-up @59.5s", "200 json 59*newline nothing gave-up @59.5s"},
		{"keepalive=25s; hang=3", "200 event-stream role 3*c 2*comment gave-up @59.5s", "200 json broken gave-up @59.5s"},
	}
	for _, c := range cases {
		for _, form := range []struct {
			name   string
			stream bool
			want   string
		}{{"stream", true, c.stream}, {"plain", false, c.plain}} {
			t.Run(c.fault+" "+form.name, func(t *testing.T) {
				run(t, timed(), func(t *testing.T, b *bench) {
					got := b.story(post(t.Context(), t, "/v1/chat/completions", chat("m", form.stream), mock.FaultHeader, c.fault))
					if got != form.want {
						t.Errorf("\n got %s\nwant %s", got, form.want)
					}
					b.client.CloseIdleConnections()
					synctest.Wait()
					if n := b.Counts().InFlight; n != 0 {
						t.Errorf("%d requests are still in flight", n)
					}
					if n := b.net.Open(); n != 0 {
						t.Errorf("%d connection ends are open", n)
					}
				})
			})
		}
	}
}

// Legacy completions fail in the same ways; they have no role chunk.
func TestFaultsOfLegacyCompletions(t *testing.T) {
	cases := []struct{ fault, stream, plain string }{
		{"", "200 event-stream 5*c finish done EOF @190ms", "200 json answer EOF @150ms"},
		{"hang=0", "200 event-stream gave-up @59.5s", "200 json nothing gave-up @59.5s"},
		{"cut=2", "200 event-stream 2*c cut @160ms", "200 json broken cut @150ms"},
		{"error=2", "200 event-stream 2*c error:server_error, EOF @160ms", "200 json error:server_error, EOF @150ms"},
		{"malformed=5", "200 event-stream 4*c broken finish done EOF @190ms", "200 json broken EOF @150ms"},
		{"no_finish; no_done", "200 event-stream 5*c EOF @190ms", "200 json answer-without-finish EOF @150ms"},
	}
	for _, c := range cases {
		for body, want := range map[string]string{
			`{"model":"m","prompt":"p","stream":true}`: c.stream, `{"model":"m","prompt":"p"}`: c.plain,
		} {
			run(t, timed(), func(t *testing.T, b *bench) {
				if got := b.story(post(t.Context(), t, "/v1/completions", body, mock.FaultHeader, c.fault)); got != want {
					t.Errorf("%s %s\n got %s\nwant %s", c.fault, body, got, want)
				}
			})
		}
	}
}

// A tool call is streamed in pieces that can be broken like any content.
func TestFaultsInsideAToolCall(t *testing.T) {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"?"}],"tools":[` + weather + `]}`
	cases := map[string]string{
		"":            "200 event-stream role 6*tool finish done EOF @200ms",
		"cut=3":       "200 event-stream role 3*tool cut @170ms",
		"malformed=3": "200 event-stream role 2*tool broken 3*tool finish done EOF @200ms",
		"hang=0":      "200 event-stream role gave-up @59.5s",
	}
	for fault, want := range cases {
		run(t, timed(), func(t *testing.T, b *bench) {
			if got := b.story(post(t.Context(), t, "/v1/chat/completions", body, mock.FaultHeader, fault)); got != want {
				t.Errorf("%s\n got %s\nwant %s", fault, got, want)
			}
		})
	}
}

// The models that choose a fault by their names.
func TestModelNames(t *testing.T) {
	cases := map[string]string{
		"mock-hang":          "gave-up @59.5s",
		"mock-silent":        "200 event-stream gave-up @59.5s",
		"mock-stall":         "200 event-stream role 3*c gave-up @59.5s",
		"mock-reset":         "reset @0s",
		"mock-reset-headers": "200 event-stream reset @0s",
		"mock-reset-stream":  "200 event-stream role 3*c reset @0s",
		"mock-close":         "closed @0s",
		"mock-cut":           "200 event-stream role 3*c cut @0s",
		"mock-eof":           "200 event-stream role 3*c EOF @0s",
		"mock-error":         "200 event-stream error:server_error, EOF @0s",
		"mock-error-late":    "200 event-stream role 3*c error:server_error, EOF @0s",
		"mock-malformed":     "200 event-stream role 2*c broken 2*c finish usage done EOF @0s",
		"mock-no-done":       "200 event-stream role 5*c finish usage EOF @0s",
		"mock-no-finish":     "200 event-stream role 5*c usage done EOF @0s",
		"mock-empty":         "200 json nothing EOF @0s",
		"mock-html":          "200 html page EOF @0s",
		"mock-comments":      "200 event-stream 59*comment gave-up @59.5s",
		"mock-gzip":          "200 event-stream gzip role 5*c finish usage done EOF @0s",
		"mock-slow":          "200 event-stream role 5*c finish usage done EOF @3.3s",
		"mock-503":           "503 json error:server_error, EOF @0s",
		"mock-429":           "429 json error:requests,rate_limit_exceeded EOF @0s",
		"mock-302":           "302 json error:invalid_request_error, EOF @0s",
		"mock-200":           "200 event-stream role 5*c finish usage done EOF @0s", // no fault of that name
		"mock-chat":          "200 event-stream role 5*c finish usage done EOF @0s",
	}
	for model, want := range cases {
		t.Run(model, func(t *testing.T) {
			run(t, mock.Script{Defaults: mock.Behaviour{Chunks: 5}}, func(t *testing.T, b *bench) {
				if got := b.story(post(t.Context(), t, "/chat/completions", chat(model, true))); got != want {
					t.Errorf("\n got %s\nwant %s", got, want)
				}
			})
		})
	}
}

// HTTP/2 connections cannot be hijacked: the stream is reset and the connection lives.
func TestFaultsOnHTTP2(t *testing.T) {
	cases := map[string]string{
		"reset=before_headers": "stream error: stream ID 1; INTERNAL_ERROR; received from peer",
		"reset=3":              "stream error: stream ID 1; INTERNAL_ERROR; received from peer",
		"cut=3":                "stream error: stream ID 1; INTERNAL_ERROR; received from peer",
	}
	for fault, want := range cases {
		t.Run(fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := overHTTP2(t, timed())
				err := readAll(b.client.Do(post(t.Context(), t, "/v1/chat/completions", chat("m", true), mock.FaultHeader, fault)))
				if err == nil || !endsWith(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				if err := readAll(b.client.Do(post(t.Context(), t, "/v1/chat/completions", chat("m", true)))); err != nil {
					t.Errorf("the next request: %v", err)
				}
				if n := b.net.Dials("mock:80"); n != 1 {
					t.Errorf("%d dials, want 1", n)
				}
			})
		})
	}
}

func TestBadFaultHeader(t *testing.T) {
	cases := map[string]string{
		"stauts=503":           `x-mock-fault: unknown key "stauts"; known are`,
		"statu=503":            `x-mock-fault: unknown key "statu"; did you mean "status"?`,
		"status=99":            `x-mock-fault: status: "99" is not a whole number from 200 to 599`,
		"hang=1; cut=2":        `x-mock-fault: hang and cut exclude each other`,
		"error=before_headers": `x-mock-fault: error cannot happen before_headers`,
		"header=nonsense":      `x-mock-fault: header: "nonsense" is not a header: write "name: value"`,
	}
	for fault, want := range cases {
		t.Run(fault, func(t *testing.T) {
			run(t, mock.Script{}, func(t *testing.T, b *bench) {
				status, body := b.ask(t, "/v1/chat/completions", chat("m", false), mock.FaultHeader, fault)
				if got := message(t, body); status != http.StatusBadRequest || len(got) < len(want) || got[:len(want)] != want {
					t.Errorf("got %d %s\nwant 400 %s", status, got, want)
				}
			})
		})
	}
}

func TestReplyHeaders(t *testing.T) {
	s := timed()
	s.Defaults.Header = http.Header{"X-Should-Retry": {"false"}}
	run(t, s, func(t *testing.T, b *bench) {
		fault := "status=429; retry-after=7; header=x-ratelimit-reset: 1m30s; header=content-type: text/odd"
		_, _, h := b.whole(t, post(t.Context(), t, "/v1/chat/completions", chat("m", true), mock.FaultHeader, fault))
		for name, want := range map[string]string{
			"Retry-After": "7", "X-Ratelimit-Reset": "1m30s", "Content-Type": "text/odd", "X-Should-Retry": "false",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		_, _, h = b.whole(t, post(t.Context(), t, "/v1/chat/completions", chat("m", true)))
		if h.Get("Retry-After") != "" || h.Get("X-Ratelimit-Reset") != "" || h.Get("X-Should-Retry") != "false" {
			t.Errorf("the next reply has %v: one request's fault stuck to the script", h)
		}
	})
}
