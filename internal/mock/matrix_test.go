package mock_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// Every fault in every dialect, streamed and plain, in that dialect's own words.
func TestFaultsInEveryDialect(t *testing.T) {
	type told struct{ stream, plain string }
	late := map[string]string{
		"chat": "error:server_error", "responses": "error:server_error", "anthropic": "error:api_error", "gemini": "error:INTERNAL",
		"bedrock": "error:internalServerException", "cohere": "error:ERROR",
	}
	first := map[string]string{"responses": "error:event"} // before a response was created there is none that could fail
	for name, a := range apis() {
		end := strings.TrimSpace("5*c " + a.end)
		early := late[a.kind]
		if first[a.kind] != "" {
			early = first[a.kind]
		}
		cases := map[string]told{
			"":                     {"200 " + end, "200 answer"},
			"status=503":           {"503 error", "503 error"},
			"status=429":           {"429 error", "429 error"},
			"status=401":           {"401 error", "401 error"},
			"status=404":           {"404 error", "404 error"},
			"status=529":           {"529 error", "529 error"},
			"html":                 {"200 page", "200 page"},
			"empty":                {"200 nothing", "200 nothing"},
			"gzip":                 {"200 " + end, "200 answer"},
			"hang=before_headers":  {"gave-up", "gave-up"},
			"hang=headers":         {"200 gave-up", "200 gave-up"},
			"hang=0":               {"200 gave-up", "200 gave-up"},
			"hang=3":               {"200 3*c gave-up", "200 gave-up"},
			"hang=end":             {"200 " + end + " gave-up", "200 gave-up"},
			"reset=before_headers": {"reset", "reset"},
			"reset=3":              {"200 3*c reset", "200 reset"},
			"cut=0":                {"200 cut", "200 cut"},
			"cut=3":                {"200 3*c cut", "200 cut"},
			"eof=3":                {"200 3*c", "200 broken"},
			"eof=0":                {"200", "200 nothing"},
			"error=headers":        {"200 " + early, "200 error"},
			"error=0":              {"200 " + late[a.kind], "200 error"},
			"error=3":              {"200 3*c " + late[a.kind], "200 error"},
			"malformed=3":          {"200 2*c broken 2*c " + a.end, "200 broken"},
			"no_finish":            {strings.TrimSpace("200 5*c " + a.noFinish), "200 unfinished"},
			"no_done":              {strings.TrimSpace("200 5*c " + a.noDone), "200 answer"},
			"as=json":              {"200 answer", "200 answer"},
		}
		if name == "gemini, JSON list" { // a list that was not begun has no words of its own
			cases["error=headers"] = told{"200 " + late[a.kind], "200 error"}
			cases["error=0"] = told{"200 " + late[a.kind], "200 error"}
			cases["hang=headers"] = told{"200 gave-up", "200 gave-up"}
			cases["cut=0"], cases["eof=0"] = told{"200 cut", "200 cut"}, told{"200", "200 nothing"}
		}
		for fault, want := range cases {
			for _, stream := range []bool{true, false} {
				expect := want.plain
				if stream {
					expect = want.stream
				}
				t.Run(fmt.Sprintf("%s %s stream=%v", name, fault, stream), func(t *testing.T) {
					s := script()
					s.Defaults.Chunks = 5
					run(t, s, func(t *testing.T, b *bench) {
						c := a.request(stream)
						req := post(t.Context(), t, c.path, c.body, append([]string{mock.FaultHeader, fault}, a.header...)...)
						if got := b.seenBy(a.kind, req); got != expect {
							t.Errorf("\n got %s\nwant %s", got, expect)
						}
						b.client.CloseIdleConnections()
						synctest.Wait()
						if n := b.Counts().InFlight; n != 0 {
							t.Errorf("%d requests are still in flight", n)
						}
					})
				})
			}
		}
	}
}

// seenBy tells what a client of a dialect sees of an exchange, until it gives up.
func (b *bench) seenBy(kind string, req *http.Request) string {
	ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
	defer cancel()
	s := &story{}
	resp, err := b.client.Do(req.WithContext(ctx))
	if err != nil {
		s.end(err)
		return strings.Join(s.list, " ")
	}
	defer func() { _ = resp.Body.Close() }()
	s.say(fmt.Sprint(resp.StatusCode))
	if resp.Header.Get("Content-Encoding") == "gzip" {
		gz, err := gzip.NewReader(resp.Body)
		if err != nil {
			s.end(err)
			return strings.Join(s.list, " ")
		}
		resp.Body = io.NopCloser(gz)
	}
	stream := strings.Contains(resp.Header.Get("Content-Type"), "stream") || strings.Contains(req.URL.Path, "streamGenerate") && resp.StatusCode == 200
	var list []string
	if stream && !strings.Contains(req.Header.Get(mock.FaultHeader), "as=json") && !strings.Contains(resp.Header.Get("Content-Type"), "html") &&
		!strings.Contains(req.Header.Get(mock.FaultHeader), "empty") {
		if list, err = tell(kind, resp); len(list) == 1 && strings.HasPrefix(list[0], "not a stream") {
			list = nil
		}
	} else {
		var body []byte
		if body, err = io.ReadAll(resp.Body); err == nil {
			list = []string{plainWord(body)}
		}
	}
	for _, w := range list {
		s.say(w)
	}
	if err != nil {
		s.end(err)
	}
	return strings.Join(s.list, " ")
}

// plainWord is what a whole body is.
func plainWord(body []byte) string {
	var r map[string]any
	switch err := json.Unmarshal(body, &r); {
	case len(body) == 0:
		return "nothing"
	case body[0] == '<':
		return "page"
	case err != nil:
		return "broken"
	case r["message"] != nil && r["output"] == nil && r["finish_reason"] == nil && r["usage"] == nil:
		return "error"
	case r["error"] != nil:
		return "error"
	}
	finished := r["stop_reason"] != nil || r["stopReason"] != nil || r["finish_reason"] != nil || r["status"] == "completed"
	for _, key := range []string{"choices", "candidates"} {
		if list, _ := r[key].([]any); len(list) > 0 {
			c, _ := list[0].(map[string]any)
			finished = finished || c["finish_reason"] != nil || c["finishReason"] != nil
		}
	}
	if !finished {
		return "unfinished"
	}
	return "answer"
}

// An answer without content has its faults, too: what would come before the first chunk comes before the end.
func TestFaultsOfAnAnswerWithoutContent(t *testing.T) {
	body := claude(`"messages":[{"role":"user","content":"refuse"}],"stream":true`)
	for fault, want := range map[string]string{"": "200 finish done", "error=3": "200 error:api_error", "cut=0": "200 cut", "eof=1": "200"} {
		run(t, script(), func(t *testing.T, b *bench) {
			req := post(t.Context(), t, "/v1/messages", body, mock.FaultHeader, fault, "Anthropic-Version", "2023-06-01")
			if got := b.seenBy("anthropic", req); got != want {
				t.Errorf("%s: got %s, want %s", fault, got, want)
			}
		})
	}
}

// What a dialect sends in a silence: comments, Anthropic pings, a growing list white space, and AWS's frames nothing.
func TestKeepalives(t *testing.T) {
	for name, want := range map[string]string{
		"chat": ": keepalive\n\n: keepalive\n\n", "anthropic": "event: ping\ndata: {\"type\": \"ping\"}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n",
		"gemini": ": keepalive\n\n: keepalive\n\n", "gemini, JSON list": "\n\n", "bedrock": "", "cohere": ": keepalive\n\n: keepalive\n\n",
	} {
		run(t, script(), func(t *testing.T, b *bench) {
			a := apis()[name]
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			c := a.request(true)
			req := post(ctx, t, c.path, c.body, append([]string{mock.FaultHeader, "hang=headers; keepalive=1s"}, a.header...)...)
			resp, err := b.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if got, _ := io.ReadAll(resp.Body); string(got) != want {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// The words of errors are each dialect's own, and a script's words go into their places.
func TestErrorsInEveryDialect(t *testing.T) {
	cases := map[string]map[string]string{
		"status=429": {
			"chat":      `{"error":{"message":"Rate limit reached for m in simulation. Please try again later.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
			"anthropic": `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your simulated organization."},"request_id":"req_mock"}`,
			"gemini":    `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}],"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`,
			"bedrock":   `{"message":"Too many requests, please wait before trying again."}`,
			"cohere":    `{"id":"err-mock","message":"You are past the per minute request limit, please wait and try again later."}`,
			"azure":     `{"error":{"code":"429","message":"Requests to this simulation have exceeded the call rate limit of your current pricing tier. Please retry later."}}`,
		},
		"status=529; message=busy": {
			"anthropic": `{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_mock"}`,
			"gemini":    `{"error":{"code":529,"message":"busy","status":"UNAVAILABLE"}}`,
		},
		"status=400; type=odd_error; message=so odd": {
			"chat":      `{"error":{"message":"so odd","type":"odd_error","param":null,"code":null}}`,
			"anthropic": `{"type":"error","error":{"type":"odd_error","message":"so odd"},"request_id":"req_mock"}`,
			"gemini":    `{"error":{"code":400,"message":"so odd","status":"odd_error"}}`,
			"cohere":    `{"error_type":"odd_error","id":"err-mock","message":"so odd"}`,
		},
	}
	for fault, wants := range cases {
		for name, want := range wants {
			t.Run(fault+" "+name, func(t *testing.T) {
				run(t, script(), func(t *testing.T, b *bench) {
					a := apis()[name]
					code, body, h := b.send(t, a.request(false), append([]string{mock.FaultHeader, fault}, a.header...)...)
					if string(body) != want {
						t.Errorf("%d\n got %s\nwant %s", code, body, want)
					}
					if name == "bedrock" && !strings.HasPrefix(h.Get("X-Amzn-Errortype"), "ThrottlingException:") {
						t.Errorf("error type %q", h.Get("X-Amzn-Errortype"))
					}
				})
			})
		}
	}
}

// A key that is not accepted and a model that is not served are refused in the dialect's words, too.
func TestKeysAndModelsInEveryDialect(t *testing.T) {
	for name, a := range apis() {
		t.Run(name, func(t *testing.T) {
			s := script()
			s.Models = []string{"other"}
			run(t, s, func(t *testing.T, b *bench) {
				code, body, _ := b.send(t, a.request(false), a.header...)
				if code != http.StatusNotFound || !strings.Contains(string(body), "m") {
					t.Errorf("model: %d %s", code, body)
				}
				s.Keys = []string{"right"}
				b.SetScript(s)
				if code, body, _ = b.send(t, a.request(false), a.header...); code != http.StatusUnauthorized || words(t, body) == "" {
					t.Errorf("key: %d %s", code, body)
				}
			})
		})
	}
}

// Credentials are found wherever a dialect puts them.
func TestCredentialsOfEveryDialect(t *testing.T) {
	s := script()
	s.Keys = []string{"right"}
	cases := map[string]struct {
		path   string
		header []string
	}{
		"bearer":    {"/v1/chat/completions", []string{"Authorization", "Bearer right"}},
		"x-api-key": {"/v1/messages", []string{"X-Api-Key", "right", "Anthropic-Version", "2023-06-01"}},
		"goog":      {"/v1beta/models/m:generateContent", []string{"X-Goog-Api-Key", "right"}},
		"query":     {"/v1beta/models/m:generateContent?key=right", nil},
		"signature": {"/model/m/converse", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=right/20250101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"}},
	}
	for name, c := range cases {
		run(t, s, func(t *testing.T, b *bench) {
			if code, body, _ := b.send(t, call{c.path, `{}`}, c.header...); code == http.StatusUnauthorized {
				t.Errorf("%s: %s", name, body)
			}
			if tail := b.Requests()[0].Key; tail != "ight" {
				t.Errorf("%s: seen as %q", name, tail)
			}
			for _, v := range b.Requests()[0].Header {
				if strings.Contains(strings.Join(v, " "), "right") {
					t.Errorf("%s: the key is kept in %v", name, v)
				}
			}
		})
	}
}
