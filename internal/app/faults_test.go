package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// steady is how providers answer where they are well: 50 ms to the headers, 100 ms to the first of eight chunks, 10 ms
// between them; so a whole stream takes 220 ms and a plain reply 150 ms.
func steady() mock.Behaviour {
	return mock.Behaviour{Latency: 50 * time.Millisecond, FirstToken: 100 * time.Millisecond, ChunkDelay: 10 * time.Millisecond, ChunkSize: 6, Chunks: 8}
}

// oneTry turns retries off, so that a row shows one attempt at each provider.
const oneTry = `
resilience: {retry: {max_retries: 0}}
`

// Every fault the simulated provider can do × every moment × streamed or not, over the real HTTP stack in virtual time: provider a
// has the fault, b is well. A row says what the client got (status, who spoke, finish, end marker, error code, after how long), the
// trail, and what a's breaker counted.
func TestFaultsAtEveryMoment(t *testing.T) {
	tests := []struct {
		rule          string // the rule of RESILIENCE.md that decides
		fault         func(*mock.Behaviour)
		name          string
		stream, plain string
	}{
		{
			"R16", func(*mock.Behaviour) {}, "none",
			"200 a stop done @220ms [a/m=200]",
			"200 a stop @150ms [a/m=200]",
		},

		// Before the headers.
		{
			"R2", func(b *mock.Behaviour) { b.Latency = 90 * time.Second }, "slow headers",
			"200 b stop done @1m0.22s [a/m=timeout, b/m2=200] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R2", func(b *mock.Behaviour) { b.Hang = mock.BeforeHeaders }, "hang before headers",
			"200 b stop done @1m0.22s [a/m=timeout, b/m2=200] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R1", func(b *mock.Behaviour) { b.Reset = mock.BeforeHeaders }, "reset before headers",
			"200 b stop done @270ms [a/m=reset, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R1", func(b *mock.Behaviour) { b.Cut = mock.BeforeHeaders }, "closed before headers",
			"200 b stop done @270ms [a/m=reset, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R3", status(500), "500",
			"200 b stop done @370ms [a/m=500, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=500, b/m2=200] failures=1",
		},
		{
			"R3", status(503), "503",
			"200 b stop done @370ms [a/m=503, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=503, b/m2=200] failures=1",
		},
		{
			"R3", status(529), "529",
			"200 b stop done @370ms [a/m=529, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=529, b/m2=200] failures=1",
		},
		{
			"R3", status(408), "408",
			"200 b stop done @370ms [a/m=408, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=408, b/m2=200] failures=1",
		},
		{
			"R4", status(429), "429",
			"200 b stop done @370ms [a/m=429, b/m2=200] key=rate_limited",
			"200 b stop @300ms [a/m=429, b/m2=200] key=rate_limited",
		},
		{
			"R4", func(b *mock.Behaviour) { b.Status, b.RetryAfter = 429, "2" }, "429 with Retry-After",
			"200 b stop done @370ms [a/m=429, b/m2=200] key=rate_limited",
			"200 b stop @300ms [a/m=429, b/m2=200] key=rate_limited",
		},
		{
			"R5", func(b *mock.Behaviour) { b.Status, b.Code, b.Type = 429, "insufficient_quota", "insufficient_quota" }, "quota",
			"200 b stop done @370ms [a/m=429, b/m2=200] key=quota_exhausted",
			"200 b stop @300ms [a/m=429, b/m2=200] key=quota_exhausted",
		},
		{
			"R7", status(401), "401",
			"200 b stop done @370ms [a/m=401, b/m2=200] key=auth_failed",
			"200 b stop @300ms [a/m=401, b/m2=200] key=auth_failed",
		},
		{
			"R9", status(404), "404",
			"200 b stop done @370ms [a/m=404, b/m2=200] model=model_not_found",
			"200 b stop @300ms [a/m=404, b/m2=200] model=model_not_found",
		},
		{
			"R10", status(400), "400",
			"400 error=invalid_request_error @150ms [a/m=400]",
			"400 error=invalid_request_error @150ms [a/m=400]",
		},
		{
			"R10", status(422), "422",
			"422 error=invalid_request_error @150ms [a/m=422]",
			"422 error=invalid_request_error @150ms [a/m=422]",
		},
		{
			"R11", func(b *mock.Behaviour) { b.Status, b.Code = 400, "context_length_exceeded" }, "context length",
			"200 b stop done @370ms [a/m=400, b/m2=200]",
			"200 b stop @300ms [a/m=400, b/m2=200]",
		},
		{
			"R12", func(b *mock.Behaviour) { b.Status, b.Code = 400, "content_filter" }, "content filter",
			"400 error=content_filter @150ms [a/m=400]",
			"400 error=content_filter @150ms [a/m=400]",
		},
		{
			"R14", status(302), "302",
			"200 b stop done @370ms [a/m=302, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=302, b/m2=200] failures=1",
		},
		{
			"R3", func(b *mock.Behaviour) { b.Status, b.HTML = 502, true }, "502 page of HTML",
			"200 b stop done @370ms [a/m=502, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=502, b/m2=200] failures=1",
		},
		{
			"R3", func(b *mock.Behaviour) { b.Status, b.Hang = 503, mock.AfterHeaders }, "503 whose body hangs",
			"200 b stop done @5.27s [a/m=503, b/m2=200] failures=1",
			"200 b stop @5.2s [a/m=503, b/m2=200] failures=1",
		},
		{
			"R3", func(b *mock.Behaviour) { b.Status, b.Cut = 503, mock.After(1) }, "503 whose body is cut",
			"200 b stop done @370ms [a/m=503, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=503, b/m2=200] failures=1",
		},

		// After the headers, before content.
		{
			"R14", func(b *mock.Behaviour) { b.Empty = true }, "empty",
			"200 b stop done @270ms [a/m=invalid_answer, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R14", func(b *mock.Behaviour) { b.HTML = true }, "page of HTML",
			"200 b stop done @370ms [a/m=invalid_answer, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R2", func(b *mock.Behaviour) { b.Hang = mock.AfterHeaders }, "hang after headers",
			"200 b stop done @1m0.22s [a/m=timeout, b/m2=200] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R2", func(b *mock.Behaviour) { b.Hang = mock.After(0) }, "hang after the role",
			"200 b stop done @1m0.22s [a/m=timeout, b/m2=200] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R2", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.AfterHeaders, time.Second }, "keepalives alone",
			"200 b stop done @1m0.22s [a/m=timeout, b/m2=200] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R1", func(b *mock.Behaviour) { b.Reset = mock.AfterHeaders }, "reset after headers",
			"200 b stop done @270ms [a/m=reset, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R1", func(b *mock.Behaviour) { b.Cut = mock.After(0) }, "cut after the role",
			"200 b stop done @270ms [a/m=reset, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R14", func(b *mock.Behaviour) { b.EOF = mock.AfterHeaders }, "end after headers",
			"200 b stop done @270ms [a/m=invalid_answer, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R14", func(b *mock.Behaviour) { b.EOF = mock.After(0) }, "end after the role",
			"200 b stop done @270ms [a/m=invalid_answer, b/m2=200] failures=1",
			"200 b stop @200ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R14", func(b *mock.Behaviour) { b.Error = mock.After(0) }, "error in a 200",
			"200 b stop done @270ms [a/m=upstream_error, b/m2=200] failures=1",
			"200 b stop @300ms [a/m=upstream_error, b/m2=200] failures=1",
		},
		{
			"R14", func(b *mock.Behaviour) {
				b.Error, b.Code, b.Type = mock.After(0), "rate_limit_exceeded", "rate_limit_error"
			}, "rate limit in a 200",
			"200 b stop done @270ms [a/m=rate_limited, b/m2=200] key=rate_limited",
			"200 b stop @300ms [a/m=rate_limited, b/m2=200] key=rate_limited",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Malformed = 1 }, "malformed first chunk",
			"200 a stop done @220ms [a/m=200]",
			"200 b stop @300ms [a/m=invalid_answer, b/m2=200] failures=1",
		},

		// After content.
		{
			"R15", func(b *mock.Behaviour) { b.Hang = mock.After(3) }, "stall after 3 chunks",
			"200 error=provider_error @30.17s [a/m=cut] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R15", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.After(3), 10*time.Second }, "comments after 3 chunks",
			"200 error=provider_error @5m0.17s [a/m=cut] failures=1",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R15", func(b *mock.Behaviour) { b.Reset = mock.After(3) }, "reset after 3 chunks",
			"200 error=provider_error @170ms [a/m=cut] failures=1",
			"200 b stop @300ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R15", func(b *mock.Behaviour) { b.Cut = mock.After(3) }, "cut after 3 chunks",
			"200 error=provider_error @170ms [a/m=cut] failures=1",
			"200 b stop @300ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R15", func(b *mock.Behaviour) { b.EOF = mock.After(3) }, "end after 3 chunks",
			"200 error=provider_error @170ms [a/m=cut] failures=1",
			"200 b stop @300ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R15", func(b *mock.Behaviour) { b.Error = mock.After(3) }, "error event after 3 chunks",
			"200 error=provider_error @170ms [a/m=cut] failures=1",
			"200 b stop @300ms [a/m=upstream_error, b/m2=200] failures=1",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Malformed = 3 }, "malformed third chunk",
			"200 stop done @220ms [a/m=200]",
			"200 b stop @300ms [a/m=invalid_answer, b/m2=200] failures=1",
		},
		{
			"R17", func(b *mock.Behaviour) { b.NoDone = true }, "no end marker",
			"200 a stop done @220ms [a/m=200]",
			"200 a stop @150ms [a/m=200]",
		},
		{
			"R17", func(b *mock.Behaviour) { b.NoFinish = true }, "no finish reason",
			"200 a stop done @220ms [a/m=200]",
			"200 a @150ms [a/m=200]",
		},
		{
			"R15", func(b *mock.Behaviour) { b.NoFinish, b.NoDone = true, true }, "neither finish nor marker",
			"200 a error=provider_error @220ms [a/m=cut] failures=1",
			"200 a @150ms [a/m=200]",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Cut = mock.AfterFinish }, "cut after the finish",
			"200 a stop done @220ms [a/m=200]",
			"200 b stop @300ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Reset = mock.AfterFinish }, "reset after the finish",
			"200 a stop done @220ms [a/m=200]",
			"200 b stop @300ms [a/m=reset, b/m2=200] failures=1",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Hang = mock.AfterFinish }, "hang after the finish",
			"200 a stop done @5.22s [a/m=200]",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},
		{
			"R17", func(b *mock.Behaviour) { b.Hang = mock.AtEnd }, "hang after the end marker",
			"200 a stop done @320ms [a/m=200]",
			"200 b stop @1m0.15s [a/m=timeout, b/m2=200] failures=1",
		},

		// Sound, but not as asked.
		{
			"R17", func(b *mock.Behaviour) { b.As = mock.JSON }, "JSON whatever was asked",
			"200 a stop done @150ms [a/m=200]",
			"200 a stop @150ms [a/m=200]",
		},
		{
			"R17", func(b *mock.Behaviour) { b.As = mock.Stream }, "a stream whatever was asked",
			"200 a stop done @220ms [a/m=200]",
			"200 a stop @220ms [a/m=200]",
		},
		{
			"R14", func(b *mock.Behaviour) { b.Gzip = true }, "gzip unasked",
			"200 a stop done @220ms [a/m=200]",
			"200 a stop @150ms [a/m=200]",
		},
		{
			"R14", func(b *mock.Behaviour) { b.ContentType = "text/plain" }, "wrong content type",
			"200 a stop done @220ms [a/m=200]",
			"200 a stop @150ms [a/m=200]",
		},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			name, want := tt.name+", stream", tt.stream
			if !stream {
				name, want = tt.name+", plain", tt.plain
			}
			t.Run(tt.rule+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					faulty := steady()
					tt.fault(&faulty)
					s := newStack(t, twoProviders+oneTry, map[string]mock.Script{
						"a": {Rules: []mock.Rule{{Do: faulty}}}, "b": {Defaults: steady()},
					})
					a := s.ask("demo", stream)
					synctest.Wait()
					got := a.story() + " [" + trailOf(s, &a) + "]" + s.counted("a")
					if got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				})
			})
		}
	}
}

func status(code int) func(*mock.Behaviour) {
	return func(b *mock.Behaviour) { b.Status = code }
}

// trailOf is the trail of the header where there is one; it must agree with the journal's.
func trailOf(s *stack, a *answer) string {
	var words []string
	for _, step := range s.facts.last().Trail {
		word := step.Reason
		if step.Status >= 300 || step.Reason == "ok" {
			word = fmt.Sprint(step.Status)
		}
		words = append(words, step.Provider+"/"+step.Model+"="+word)
	}
	trail := strings.Join(words, ", ")
	if h := a.header.Get("X-Evergate-Trail"); h != "" && a.status == http.StatusOK && !strings.HasPrefix(trail, strings.TrimSuffix(h, "=200")) {
		s.t.Errorf("header trail %q, journal %q", h, trail)
	}
	return trail
}

// counted says what the guards of a provider hold against it, if anything.
func (s *stack) counted(name string) string {
	v := s.app.health.Provider(name).Snapshot(time.Now()).Guards
	out := ""
	if n := v.Breaker.ConsecutiveFailures; n > 0 {
		out += fmt.Sprintf(" failures=%d", n)
	}
	for _, c := range v.Credentials {
		if c.State != "ok" {
			out += fmt.Sprintf(" key=%s", c.Reason)
		}
	}
	for _, l := range v.Lockouts {
		out += fmt.Sprintf(" model=%s", l.Reason)
	}
	return out
}
