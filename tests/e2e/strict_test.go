package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// got is what a caller got: the answer as its SDK would show it, or the error that its SDK would raise.
type got struct {
	status int
	model  string
	text   string
	finish string
	// in and out are tokens; both are 0 if the reply had no usage.
	in, out int
	err     *raised
	// breach is what is against the rules of the dialect, so that an SDK would choke on it or show half an answer as a whole one.
	breach string
	took   time.Duration
	header http.Header
}

// raised is an error as an SDK raises it: from a status, or in the middle of a stream.
type raised struct{ kind, code, message string }

// String is the answer in one line.
func (g *got) String() string {
	line := fmt.Sprintf("%d after %.2fs, %d words", g.status, g.took.Seconds(), len(strings.Fields(g.text)))
	if g.err != nil {
		line += fmt.Sprintf(", error %s/%s %q", g.err.kind, g.err.code, g.err.message)
	} else {
		line += fmt.Sprintf(", finish %q, usage %d+%d, model %q", g.finish, g.in, g.out, g.model)
	}
	if g.breach != "" {
		line += ", AGAINST THE DIALECT: " + g.breach
	}
	return line
}

// strictClient is a caller in one dialect. It takes nothing for granted: each event must be one that the dialect has, at the place where
// the dialect has it.
type strictClient struct {
	name, path string
	// body asks a model something.
	body func(model string, stream bool) string
	// plain reads a whole reply, stream a stream's events.
	plain  func(g *got, body []byte)
	stream func(g *got, next func() (sseEvent, bool))
	// refusal reads the body of an error.
	refusal func(g *got, body []byte)
}

var strictClients = []strictClient{strictChat, strictMessages, strictResponses}

// ask sends one request and reads the reply to its end.
func (c *strictClient) ask(ctx context.Context, base, model string, stream bool) *got {
	g := &got{}
	start := time.Now()
	defer func() { g.took = time.Since(start) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+c.path, strings.NewReader(c.body(model, stream)))
	if err != nil {
		g.breach = err.Error()
		return g
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer none")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.breach = err.Error()
		return g
	}
	defer func() { _ = resp.Body.Close() }()
	g.status, g.header = resp.StatusCode, resp.Header
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if resp.StatusCode == http.StatusOK && stream {
		g.want(kind == "text/event-stream", "a stream of type %q", kind)
		events := &sseReader{lines: bufio.NewReader(resp.Body)}
		c.stream(g, events.next)
		g.want(events.err == nil, "%v", events.err)
		return g
	}
	g.want(kind == "application/json", "a reply of type %q", kind)
	body, err := io.ReadAll(resp.Body)
	g.want(err == nil, "the body broke off: %v", err)
	if resp.StatusCode == http.StatusOK {
		c.plain(g, body)
	} else {
		c.refusal(g, body)
		g.want(g.err != nil && g.err.message != "", "an error without a message: %s", body)
	}
	return g
}

// want notes what is against the dialect; the first breach stays.
func (g *got) want(ok bool, format string, args ...any) {
	if !ok && g.breach == "" {
		g.breach = fmt.Sprintf(format, args...)
	}
}

// read reads JSON into v. Members that v does not name are the upstream's own and may be there.
func (g *got) read(data []byte, v any) {
	if err := json.Unmarshal(data, v); err != nil {
		g.want(false, "%v: %s", err, data)
	}
}

// sseEvent is one server-sent event.
type sseEvent struct {
	name string
	data []byte
}

// sseReader cuts a body into events as the standard has them.
type sseReader struct {
	lines *bufio.Reader
	err   error
}

// next gives the next event that has data; false at the end of the body, or where it breaks off.
func (r *sseReader) next() (sseEvent, bool) {
	var e sseEvent
	for {
		line, err := r.lines.ReadBytes('\n')
		if err != nil {
			if err != io.EOF {
				r.err = fmt.Errorf("the stream broke off: %w", err)
			} else if len(line) > 0 || e.data != nil {
				r.err = fmt.Errorf("the stream ends in the middle of an event: %s%s", e.data, line)
			}
			return sseEvent{}, false
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && e.data != nil:
			return e, true
		case len(line) == 0:
			e = sseEvent{}
		case string(field) == "event":
			e.name = string(value)
		case string(field) == "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			if e.data == nil {
				e.data = []byte{}
			}
		}
	}
}
