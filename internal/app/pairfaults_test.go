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

// outcome is what a client must see of a fault, where it asked for a stream and where not: who spoke (a has the fault, b is
// well), how the answer ended, after how long, what the trail says, and what a's guards hold against it.
type outcome struct{ stream, plain string }

// moved is an answer by b: before a had given any content it failed for a reason.
func moved(after, reason, guard string) outcome {
	tail := fmt.Sprintf("@%s [a=%s b=200]%s", after, reason, guard)
	return outcome{"200 b ok ended " + tail, "200 b ok " + tail}
}

// answered is an answer by a.
func answered(after string) outcome {
	return outcome{"200 a ok ended @" + after + " [a=200]", "200 a ok @" + after + " [a=200]"}
}

// refused is a's own refusal.
func refused(status int) outcome {
	s := fmt.Sprintf("%d error @0s [a=%d]", status, status)
	return outcome{s, s}
}

// broke is a stream that ends with the client's own error event after n of eight pieces, where a plain answer is b's.
func broke(n, after string, plain outcome) outcome {
	return outcome{fmt.Sprintf("200 %sa broke off @%s [a=cut] failures=1", n, after), plain.plain}
}

// pairFaults are what a simulated provider can do wrong. What a client sees of it is the same whatever the two dialects
// are; where a provider's API differs by its nature, except has another outcome for its type, or for CLIENT>TYPE. An
// empty outcome is not looked at.
var pairFaults = []struct { //nolint:gochecknoglobals // a table
	name   string
	fault  func(*mock.Behaviour)
	want   outcome
	except map[string]outcome
}{
	{"R16 none", func(*mock.Behaviour) {}, answered("0s"), nil},

	// Before the headers.
	{"R2 slow headers", func(b *mock.Behaviour) { b.Latency = 90 * time.Second }, moved("1m0s", "timeout", failed1), nil},
	{"R2 hang before headers", func(b *mock.Behaviour) { b.Hang = mock.BeforeHeaders }, moved("1m0s", "timeout", failed1), nil},
	{"R1 reset before headers", func(b *mock.Behaviour) { b.Reset = mock.BeforeHeaders }, moved("0s", "reset", failed1), nil},
	{"R1 closed before headers", func(b *mock.Behaviour) { b.Cut = mock.BeforeHeaders }, moved("0s", "reset", failed1), nil},
	{"R3 500", status(500), moved("0s", "500", failed1), nil},
	{"R3 503", status(503), moved("0s", "503", failed1), nil},
	{"R3 529", status(529), moved("0s", "529", failed1), nil},
	{"R3 408", status(408), moved("0s", "408", failed1), nil},
	{"R4 429", status(429), moved("0s", "429", " key=rate_limited"), map[string]outcome{
		"azure": moved("0s", "429", " model=model_limited"), // R6: each of its limits is a deployment's
	}},
	{"R4 429 with Retry-After", func(b *mock.Behaviour) { b.Status, b.RetryAfter = 429, "2" }, moved("0s", "429", " key=rate_limited"), map[string]outcome{
		"azure": moved("0s", "429", " model=model_limited"),
	}},
	{"R5 quota", func(b *mock.Behaviour) { b.Status, b.Code, b.Type = 429, "insufficient_quota", "insufficient_quota" }, moved("0s", "429", " key=quota_exhausted"), map[string]outcome{
		"gemini": moved("0s", "429", " key=rate_limited"), // it says so of every limit, and names a wait
	}},
	{"R7 401", status(401), moved("0s", "401", " key=auth_failed"), nil},
	{"R7 403", status(403), moved("0s", "403", " key=auth_failed"), map[string]outcome{
		"bedrock": moved("0s", "403", " model=model_limited"), // R6: its words are about the model
	}},
	{"R9 404", status(404), moved("0s", "404", " model=model_not_found"), nil},
	{"R10 400", status(400), refused(400), nil},
	{"R10 422", status(422), refused(422), nil},
	{"R11 context length", func(b *mock.Behaviour) {
		b.Status, b.Message = 400, "prompt is too long: 250001 tokens > 200000 maximum"
	}, moved("0s", "400", ""), nil},
	{"R12 content filter", func(b *mock.Behaviour) { b.Status, b.Code = 400, "content_filter" }, refused(400), nil},
	{"R14 302", status(302), moved("0s", "302", failed1), nil},
	{"R3 502 page of HTML", func(b *mock.Behaviour) { b.Status, b.HTML = 502, true }, moved("0s", "502", failed1), nil},
	{"R3 503 whose body hangs", func(b *mock.Behaviour) { b.Status, b.Hang = 503, mock.AfterHeaders }, moved("5s", "503", failed1), nil},
	{"R3 503 whose body is cut", func(b *mock.Behaviour) { b.Status, b.Cut = 503, mock.After(1) }, moved("0s", "503", failed1), nil},

	// After the headers, before content.
	{"R14 empty", func(b *mock.Behaviour) { b.Empty = true }, moved("0s", "invalid_answer", failed1), nil},
	{"R14 page of HTML", func(b *mock.Behaviour) { b.HTML = true }, moved("0s", "invalid_answer", failed1), nil},
	{"R2 hang after headers", func(b *mock.Behaviour) { b.Hang = mock.AfterHeaders }, moved("1m0s", "timeout", failed1), nil},
	{"R2 hang after the opening", func(b *mock.Behaviour) { b.Hang = mock.After(0) }, moved("1m0s", "timeout", failed1), nil},
	{"R2 keepalives alone", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.AfterHeaders, time.Second }, moved("1m0s", "timeout", failed1), nil},
	{"R1 reset after headers", func(b *mock.Behaviour) { b.Reset = mock.AfterHeaders }, moved("0s", "reset", failed1), nil},
	{"R1 cut after the opening", func(b *mock.Behaviour) { b.Cut = mock.After(0) }, moved("0s", "reset", failed1), nil},
	{"R14 end after headers", func(b *mock.Behaviour) { b.EOF = mock.AfterHeaders }, moved("0s", "invalid_answer", failed1), nil},
	{"R14 end after the opening", func(b *mock.Behaviour) { b.EOF = mock.After(0) }, moved("0s", "invalid_answer", failed1), nil},
	{"R14 error in a 200", func(b *mock.Behaviour) { b.Error = mock.After(0) }, moved("0s", "upstream_error", failed1), statusInBody},
	{"R14 rate limit in a 200", func(b *mock.Behaviour) {
		b.Error, b.Code, b.Type = mock.After(0), "rate_limit_exceeded", "rate_limit_error"
	}, moved("0s", "rate_limited", " key=rate_limited"), map[string]outcome{
		"azure":   moved("0s", "model_limited", " model=model_limited"),
		"gemini":  moved("0s", "500", failed1), // it says the status too
		"vertex":  moved("0s", "500", failed1),
		"bedrock": {moved("0s", "rate_limited", " key=rate_limited").stream, moved("0s", "invalid_answer", failed1).plain}, // it has no errors in a plain 200
		"cohere":  {moved("0s", "upstream_error", failed1).stream, moved("0s", "rate_limited", " key=rate_limited").plain}, // no codes in a stream
	}},
	{"R17 malformed first piece", func(b *mock.Behaviour) { b.Malformed = 1 }, outcome{"200 7/8 of a ok ended @0s [a=200]", moved("0s", "invalid_answer", failed1).plain}, nil},

	// After content.
	{"R15 stall after 3 pieces", func(b *mock.Behaviour) { b.Hang = mock.After(3) }, broke("3/8 of ", "30s", moved("1m0s", "timeout", failed1)), nil},
	{"R15 comments after 3 pieces", func(b *mock.Behaviour) { b.Hang, b.Keepalive = mock.After(3), 10*time.Second }, broke("3/8 of ", "5m0s", moved("1m0s", "timeout", failed1)), map[string]outcome{
		"bedrock": broke("3/8 of ", "30s", moved("1m0s", "timeout", failed1)), // its framing has no comments
	}},
	{"R15 reset after 3 pieces", func(b *mock.Behaviour) { b.Reset = mock.After(3) }, broke("3/8 of ", "0s", moved("0s", "reset", failed1)), nil},
	{"R15 cut after 3 pieces", func(b *mock.Behaviour) { b.Cut = mock.After(3) }, broke("3/8 of ", "0s", moved("0s", "reset", failed1)), nil},
	{"R15 end after 3 pieces", func(b *mock.Behaviour) { b.EOF = mock.After(3) }, broke("3/8 of ", "0s", moved("0s", "invalid_answer", failed1)), nil},
	{"R15 error event after 3 pieces", func(b *mock.Behaviour) { b.Error = mock.After(3) }, broke("3/8 of ", "0s", outcome{}), nil},
	{"R17 malformed third piece", func(b *mock.Behaviour) { b.Malformed = 3 }, outcome{"200 7/8 of a ok ended @0s [a=200]", moved("0s", "invalid_answer", failed1).plain}, nil},
	{"R17 no end marker", func(b *mock.Behaviour) { b.NoDone = true }, answered("0s"), map[string]outcome{
		"responses": broke("", "0s", answered("0s")), "responses>azure": broke("", "0s", answered("0s")), // the marker is the finish
	}},
	{"R17 no finish reason", func(b *mock.Behaviour) { b.NoFinish = true }, outcome{stream: answered("0s").stream}, map[string]outcome{
		"responses": broke("", "0s", outcome{}), "responses>azure": broke("", "0s", outcome{}), // the finish is the marker
		"gemini": broke("", "0s", outcome{}), "vertex": broke("", "0s", outcome{}), "bedrock": broke("", "0s", outcome{}), // there is no marker
	}},
	{"R15 neither finish nor marker", func(b *mock.Behaviour) { b.NoFinish, b.NoDone = true, true }, broke("", "0s", outcome{}), nil},
	{"R17 cut after the finish", func(b *mock.Behaviour) { b.Cut = mock.AfterFinish }, outcome{answered("0s").stream, moved("0s", "reset", failed1).plain}, nil},
	{"R17 reset after the finish", func(b *mock.Behaviour) { b.Reset = mock.AfterFinish }, outcome{answered("0s").stream, moved("0s", "reset", failed1).plain}, nil},
	{"R17 hang after the finish", func(b *mock.Behaviour) { b.Hang = mock.AfterFinish }, outcome{answered("5s").stream, moved("1m0s", "timeout", failed1).plain}, nil},

	// Sound, but not as asked.
	{"R17 JSON whatever was asked", func(b *mock.Behaviour) { b.As = mock.JSON }, answered("0s"), nil},
	{"R17 a stream whatever was asked", func(b *mock.Behaviour) { b.As = mock.Stream }, answered("0s"), nil},
	{"R14 gzip unasked", func(b *mock.Behaviour) { b.Gzip = true }, answered("0s"), nil},
	{"R14 wrong content type", func(b *mock.Behaviour) { b.ContentType = "text/plain" }, answered("0s"), nil},
}

const failed1 = " failures=1"

// statusInBody are the APIs whose errors say their status, or that have none in a plain 200.
var statusInBody = map[string]outcome{ //nolint:gochecknoglobals // a table
	"gemini": moved("0s", "500", failed1), "vertex": moved("0s", "500", failed1),
	"bedrock": {moved("0s", "500", failed1).stream, moved("0s", "invalid_answer", failed1).plain},
	"cohere":  {moved("0s", "upstream_error", failed1).stream, moved("0s", "invalid_answer", failed1).plain},
}

// pairText is how many letters a simulated provider says, in eight pieces.
const pairText = 8 * 6

// Every fault × every client dialect × every provider type, streamed and plain, with a provider of another type to fall
// back on, over the real HTTP stack in virtual time.
func TestEveryFaultInEveryPair(t *testing.T) {
	for _, f := range pairFaults {
		for _, vendor := range vendors {
			t.Run(f.name+" at "+vendor, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					faulty, well := steady(), steady()
					faulty.Text, well.Text = strings.Repeat("a", pairText), strings.Repeat("b", pairText)
					f.fault(&faulty)
					s := pairStack(t, vendor, faulty, well)
					for _, sp := range speakers() {
						want := f.want
						for _, key := range []string{vendor, sp.name + ">" + vendor} {
							if o, ok := f.except[key]; ok {
								want = o
							}
						}
						s.checkPair(&sp, true, want.stream)
						s.checkPair(&sp, false, want.plain)
					}
				})
			})
		}
	}
}

func (s *stack) checkPair(sp *speaker, stream bool, want string) {
	name := fmt.Sprintf("%s-%t", sp.name, stream)
	start := time.Now()
	h := s.talk(sp, name, stream, sp.body(name, stream, "hello", false))
	took := time.Since(start)
	synctest.Wait()
	if got := s.pairStory(h, stream, took) + s.counted("a-"+name); got != want && want != "" {
		s.t.Errorf("%s, stream %t\ngot  %s\nwant %s", sp.name, stream, got, want)
	}
}

// pairStory is what a client understood, in one line, and in words that are the same for all dialects.
func (s *stack) pairStory(h *heard, stream bool, took time.Duration) string {
	words := []string{fmt.Sprint(h.status)}
	for _, who := range []string{"a", "b"} {
		switch n := strings.Count(h.text, who); {
		case n == pairText && n == len(h.text):
			words = append(words, who)
		case n > 0:
			words = append(words, fmt.Sprintf("%d/8 of %s", n/6, who))
		}
	}
	switch h.stop {
	case "":
	case "stop", "end_turn", "completed", "STOP":
		words = append(words, "ok")
	default:
		words = append(words, h.stop)
	}
	if stream && h.ended {
		words = append(words, "ended")
	}
	switch h.failed {
	case "":
	case "error server_error", "api_error", "server_error", "UNAVAILABLE": // chat, Messages, Responses, Gemini
		words = append(words, "broke off")
	default:
		words = append(words, "error")
	}
	var trail []string
	for _, step := range s.facts.last().Trail {
		word := step.Reason
		if step.Status >= 300 && word != "cut" || step.Reason == "ok" {
			word = fmt.Sprint(step.Status)
		}
		trail = append(trail, step.Provider[:1]+"="+word)
	}
	return fmt.Sprintf("%s @%s [%s]", strings.Join(words, " "), took.Round(time.Second), strings.Join(trail, " "))
}
