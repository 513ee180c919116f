package wiretest_test

import (
	"bytes"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// listener is a client's stream: it takes what an upstream sends in the steps, and the order, in which package attempt
// takes it, and keeps what the client gets.
type listener struct {
	upstream    wire.Dialect
	translation wire.Translation
	progress    wire.Progress
	split       sse.Splitter
	unread      []byte

	out  []byte // what the client has
	held []byte // what comes before the first content
	// begun: committed; ended: properly.
	begun, ended bool
	fault        *fault.Fault
	malformed    int
}

// askForAll is a request that asks for everything an answer can have.
func askForAll(t testing.TB, c *client, choices int) *wire.Canonical {
	t.Helper()
	body := map[string]string{
		"chat":        `{"model":"m","messages":[{"role":"user","content":"?"}],"logprobs":true,"top_logprobs":5,"reasoning_effort":"low"}`,
		"completions": `{"model":"m","prompt":"?"}`,
		"messages":    `{"model":"m","max_tokens":1000,"messages":[{"role":"user","content":"?"}],"thinking":{"type":"enabled","budget_tokens":1024}}`,
		"responses":   `{"model":"m","input":"?","include":["reasoning.encrypted_content","message.output_text.logprobs"],"reasoning":{"effort":"low","summary":"auto"},"top_logprobs":5}`,
		"gemini":      `{"contents":[{"role":"user","parts":[{"text":"?"}]}],"generationConfig":{"responseLogprobs":true,"logprobs":5,"thinkingConfig":{"includeThoughts":true}}}`,
	}[c.name]
	if c.stream != "" {
		body = "{" + c.stream + "," + body[1:]
	}
	r, err := c.dialect.ReadRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if c.name == "gemini" { // the path says it
		r.Model, r.Stream = "m", true
	}
	canonical, err := wire.Decode(c.dialect, &r)
	if err != nil {
		t.Fatal(err)
	}
	canonical.Generation().Choices = choices
	return canonical
}

func translate(t testing.TB, c *client, upstream wire.Dialect, choices int) wire.Translation {
	t.Helper()
	return wire.NewTranslation(c.dialect, upstream, askForAll(t, c, choices), wire.Target{Model: "m", Answer: "answer_1", Created: 1782321700})
}

// listen begins a client's stream of an upstream that speaks another dialect, or its own.
func listen(t testing.TB, c *client, upstream wire.Dialect, choices int) *listener {
	t.Helper()
	l := &listener{upstream: upstream, translation: translate(t, c, upstream, choices), split: sse.Splitter{Whole: wire.WholeEvent}}
	l.progress.Choices = choices
	return l
}

// hear takes more bytes.
func (l *listener) hear(t testing.TB, more []byte, atEOF bool) {
	t.Helper()
	l.unread = append(l.unread, more...)
	for !l.ended && l.fault == nil {
		f, n, err := l.split.Next(l.unread, atEOF)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if !f.Comment {
			l.event(f.Event, f.Data)
		}
		l.unread = l.unread[n:]
	}
	if atEOF && !l.ended && l.fault == nil {
		l.over()
	}
}

// event takes one event.
func (l *listener) event(name, data []byte) {
	switch ev := l.upstream.JudgeEvent(data, &l.progress); {
	case ev.Malformed && (l.progress.OpenTool || string(name) == "error"):
		l.fault = &fault.Fault{Class: fault.Invalid, Message: "a malformed event"}
	case ev.Malformed:
		l.malformed++
	case ev.Fault != nil:
		l.fault = ev.Fault
	case ev.End && !l.begun:
		l.fault = &fault.Fault{Class: fault.Invalid, Message: "the end before any content"}
	case ev.End:
		l.end()
	default:
		if ev.Content && !l.begun {
			l.begun = true
			l.out, l.held = l.held, nil
		}
		to := &l.held
		if l.begun {
			to = &l.out
		}
		var err error
		if *to, err = l.translation.AppendEvent(*to, data); err != nil {
			l.fault = &fault.Fault{Class: fault.Invalid, Message: "an event that cannot be translated: " + string(data), Cause: err}
		}
	}
}

// over is the end of the bytes.
func (l *listener) over() {
	if rest := bytes.TrimSpace(l.unread); len(rest) > 0 && rest[0] == '{' { // an error that is in no event
		if ev := l.upstream.JudgeEvent(rest, &l.progress); ev.Fault != nil {
			l.fault = ev.Fault
			return
		}
	}
	if l.begun && l.progress.SawFinish { // R17
		l.end()
		return
	}
	l.fault = &fault.Fault{Class: fault.Cut, Message: "the end without a finish"}
}

func (l *listener) end() {
	l.out = l.translation.AppendEnd(l.out)
	l.ended = true
}
