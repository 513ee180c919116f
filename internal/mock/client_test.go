package mock_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a provider behind a real server on an in-memory network, and a client of it.
type bench struct {
	*mock.Provider
	net    *testkit.Net
	client *http.Client
}

// run runs a test in a bubble in which goroutines that are left over fail the test.
func run(t *testing.T, s mock.Script, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		p := mock.New(s)
		n.Serve(t, "mock", p)
		client := n.Client(t)
		client.Transport.(*http.Transport).DisableCompression = true
		test(t, &bench{Provider: p, net: n, client: client})
	})
}

func post(ctx context.Context, t testing.TB, path, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mock"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// chat is a small chat request.
func chat(model string, stream bool) string {
	more := ""
	if stream {
		more = `,"stream":true,"stream_options":{"include_usage":true}`
	}
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hi"}]` + more + `}`
}

// whole sends a request that must be answered, and gives status and body.
func (b *bench) whole(t *testing.T, req *http.Request) (int, []byte, http.Header) {
	t.Helper()
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body, resp.Header
}

func (b *bench) ask(t *testing.T, path, body string, header ...string) (int, []byte) {
	t.Helper()
	status, got, _ := b.whole(t, post(t.Context(), t, path, body, header...))
	return status, got
}

// story tells in one line what a client sees of an exchange, until it gives up after 59.5 s: status, form, what came,
// how it ended and when. Repeated words are counted: 3*c.
func (b *bench) story(req *http.Request) string {
	start := time.Now()
	ctx, cancel := context.WithTimeout(req.Context(), 59500*time.Millisecond)
	defer cancel()
	words := &story{}
	resp, err := b.client.Do(req.WithContext(ctx))
	if err != nil {
		words.end(err)
	} else {
		words.read(resp)
		_ = resp.Body.Close()
	}
	return strings.Join(words.list, " ") + fmt.Sprintf(" @%v", time.Since(start))
}

type story struct {
	list  []string
	count int
}

func (s *story) say(word string) {
	if n := len(s.list); n > 0 && s.count > 0 && strings.TrimPrefix(s.list[n-1], fmt.Sprintf("%d*", s.count)) == word {
		s.count++
		s.list[n-1] = fmt.Sprintf("%d*%s", s.count, word)
		return
	}
	s.list = append(s.list, word)
	s.count = 1
}

func (s *story) end(err error) {
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		s.say("reset")
	case errors.Is(err, context.DeadlineExceeded):
		s.say("gave-up")
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.say("cut")
	case errors.Is(err, io.EOF):
		s.say("closed")
	default:
		s.say(err.Error())
	}
}

func (s *story) read(resp *http.Response) {
	s.say(fmt.Sprint(resp.StatusCode))
	form, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	_, form, _ = strings.Cut(form, "/")
	s.say(form)
	body := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		s.say("gzip")
		gz, err := gzip.NewReader(body)
		if err != nil {
			s.end(err)
			return
		}
		body = gz
	}
	br := bufio.NewReader(body)
	first, err := br.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) { // its second telling by net/http has other words
		if form != "event-stream" {
			s.say("nothing")
		}
		s.end(err)
		return
	}
	if form == "event-stream" || string(first) == "d" {
		s.events(br)
		return
	}
	var data []byte
	data, err = io.ReadAll(br)
	s.plain(data)
	if err != nil {
		s.end(err)
		return
	}
	s.say("EOF")
}

func (s *story) plain(data []byte) {
	trimmed := bytes.TrimLeft(data, "\n")
	for range len(data) - len(trimmed) {
		s.say("newline")
	}
	var r struct {
		Choices []struct {
			Finish *string `json:"finish_reason"`
		}
		Error *struct{ Code, Type string }
	}
	switch {
	case len(trimmed) == 0:
		s.say("nothing")
	case trimmed[0] == '<':
		s.say("page")
	case json.Unmarshal(trimmed, &r) != nil:
		s.say("broken")
	case r.Error != nil:
		s.say("error:" + r.Error.Type + "," + r.Error.Code)
	case len(r.Choices) == 1 && r.Choices[0].Finish == nil:
		s.say("answer-without-finish")
	case len(r.Choices) == 1:
		s.say("answer")
	default:
		s.say("object")
	}
}

func (s *story) events(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.HasPrefix(line, ":"):
			s.say("comment")
		case line == "data: [DONE]":
			s.say("done")
		default:
			s.event(strings.TrimPrefix(line, "data: "))
		}
		if err == io.EOF {
			s.say("EOF")
			return
		}
		if err != nil {
			s.end(err)
			return
		}
	}
}

func (s *story) event(data string) {
	var e struct {
		Choices []struct {
			Delta struct {
				Role      string
				Content   string
				ToolCalls []any `json:"tool_calls"`
			}
			Text   string
			Finish string `json:"finish_reason"`
		}
		Usage *struct{}
		Error *struct{ Code, Type string }
	}
	switch err := json.Unmarshal([]byte(data), &e); {
	case err != nil:
		s.say("broken")
	case e.Error != nil:
		s.say("error:" + e.Error.Type + "," + e.Error.Code)
	case len(e.Choices) == 0 && e.Usage != nil:
		s.say("usage")
	case len(e.Choices) == 0:
		s.say("?")
	case e.Choices[0].Finish != "":
		s.say("finish")
	case e.Choices[0].Delta.Role != "":
		s.say("role")
	case e.Choices[0].Delta.Content != "", e.Choices[0].Text != "":
		s.say("c")
	case e.Choices[0].Delta.ToolCalls != nil:
		s.say("tool")
	default:
		s.say("?")
	}
}
