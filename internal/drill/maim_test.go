package drill_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"evergate/internal/drill"
	"evergate/internal/fault"
	"evergate/internal/sse"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// streamed are dialects with a stream each of three content events.
var streamed = []struct {
	dialect wire.Dialect
	stream  string
	marked  bool // it ends in a marker of its own
}{
	{openaichat.Chat{}, frames(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"one"}}]}`, `{"choices":[{"index":0,"delta":{"content":"two"}}]}`, `{"choices":[{"index":0,"delta":{"content":"three"}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`), true},
	{anthropic.Messages{}, named(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"c","usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		delta("one"), delta("two"), delta("three"), `{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`), true},
	{responses.Responses{}, named(`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
		`{"type":"response.output_text.delta","delta":"one"}`, `{"type":"response.output_text.delta","delta":"two"}`, `{"type":"response.output_text.delta","delta":"three"}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":1,"output_tokens":3}}}`), false},
	{gemini.Generate{}, frames(part("one", ""), part("two", ""), part("three", `,"finishReason":"STOP"`)), false},
	{converse.Converse{}, frames(`{"messageStart":{"role":"assistant"}}`, block("one"), block("two"), block("three"), `{"contentBlockStop":{"contentBlockIndex":0}}`,
		`{"messageStop":{"stopReason":"end_turn"}}`), false},
	{cohere.Chat{}, named(`{"type":"message-start","id":"c"}`, said("one"), said("two"), said("three"),
		`{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":1,"output_tokens":3}}}}`), false},
}

func frames(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// named are events with the name that is in their data.
func named(data ...string) string {
	var out strings.Builder
	for _, d := range data {
		_, name, _ := strings.Cut(d, `"type":"`)
		name, _, _ = strings.Cut(name, `"`)
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", name, d)
	}
	return out.String()
}

func delta(text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, text)
}

func part(text, more string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]}%s}]}`, text, more)
}

func block(text string) string {
	return fmt.Sprintf(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":%q}}}`, text)
}

func said(text string) string {
	return fmt.Sprintf(`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":%q}}}}`, text)
}

var errStalled = errors.New("stalled")

func stalled() error { return errStalled }

// judged is what a gateway makes of a stream.
type judged struct {
	content, malformed int
	finish, end        bool
	fault              *fault.Fault
}

func judge(t testing.TB, d wire.Dialect, stream []byte) (j judged) {
	t.Helper()
	var split sse.Splitter
	split.Whole = wire.WholeEvent
	var p wire.Progress
	for {
		f, n, err := split.Next(stream, true)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			j.finish = p.SawFinish
			return j
		}
		stream = stream[n:]
		if f.Comment {
			continue
		}
		e := d.JudgeEvent(f.Data, &p)
		if e.Content {
			j.content++
		}
		if e.Malformed {
			j.malformed++
		}
		j.end = j.end || e.End
		if e.Fault != nil {
			j.fault = e.Fault
		}
	}
}

// R74: in every dialect a stream is maimed after so many content events, no byte of the provider's before it is changed, and what comes is
// what the dialect itself takes for that fault.
func TestMaimedStreams(t *testing.T) {
	t.Parallel()
	for _, c := range streamed {
		whole := judge(t, c.dialect, []byte(c.stream))
		for _, kind := range []drill.Kind{drill.Cut, drill.Stall, drill.Error, drill.Garbage} {
			for after := range whole.content + 2 {
				t.Run(fmt.Sprintf("%s, %s after %d", c.dialect.Name(), kind, after), func(t *testing.T) {
					t.Parallel()
					s := drill.Shape{Kind: kind, After: after}
					body := s.Maim(c.dialect, io.NopCloser(strings.NewReader(c.stream)), true, stalled)
					got, err := io.ReadAll(body)
					j := judge(t, c.dialect, got)
					if after > whole.content { // it ended before
						if string(got) != c.stream || err != nil {
							t.Fatalf("%v: %q", err, got)
						}
						return
					}
					want := map[drill.Kind]error{drill.Cut: io.ErrUnexpectedEOF, drill.Stall: errStalled}[kind]
					if !errors.Is(err, want) {
						t.Errorf("it ends in %v", err)
					}
					switch kind {
					case drill.Cut, drill.Stall:
						if j.content != after || !strings.HasPrefix(c.stream, string(got)) || j.end {
							t.Errorf("%+v: %q", j, got)
						}
					case drill.Error:
						if j.content != after || j.fault == nil || j.fault.Class == fault.Unknown || !strings.Contains(j.fault.Message, "drill") {
							t.Errorf("%+v %+v: %q", j, j.fault, got)
						}
					default:
						if j.content != whole.content || j.malformed != 1 || j.end != whole.end || !j.finish {
							t.Errorf("%+v: %q", j, got)
						}
					}
				})
			}
		}
		t.Run(c.dialect.Name()+", no end", func(t *testing.T) {
			t.Parallel()
			s := drill.Shape{Kind: drill.NoEnd}
			got, err := io.ReadAll(s.Maim(c.dialect, io.NopCloser(strings.NewReader(c.stream)), true, stalled))
			if j := judge(t, c.dialect, got); err != nil || j.end || j.content != whole.content || !strings.HasPrefix(c.stream, string(got)) || whole.end == (len(got) == len(c.stream)) {
				t.Errorf("%v %+v: %q", err, j, got)
			}
		})
	}
}

// How the provider's bytes come, and how they are read, changes nothing.
func TestMaimedInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(streamed).Draw(t, "stream")
		s := drill.Shape{
			Kind: rapid.SampledFrom([]drill.Kind{drill.Cut, drill.Stall, drill.Error, drill.Garbage, drill.NoEnd}).Draw(t, "kind"), After: rapid.IntRange(0, 4).Draw(t, "after"),
		}
		plain := rapid.Bool().Draw(t, "plain")
		at := func(r io.Reader) io.Reader { return s.Maim(c.dialect, io.NopCloser(r), !plain, stalled) }
		want, err := io.ReadAll(at(strings.NewReader(c.stream)))
		pieces := &pieces{left: []byte(c.stream), size: rapid.SliceOfN(rapid.IntRange(1, 60), 1, 20).Draw(t, "sizes")}
		got, err2 := io.ReadAll(iotest.OneByteReader(at(pieces)))
		if !bytes.Equal(got, want) || !errors.Is(err2, err) {
			t.Fatalf("%v %q\n%v %q", err, want, err2, got)
		}
	})
}

// pieces is a body that comes in pieces.
type pieces struct {
	left []byte
	size []int
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := min(len(b), len(p.left), p.size[p.n%len(p.size)])
	p.n++
	copy(b, p.left[:n])
	p.left = p.left[n:]
	return n, nil
}

// R74: a plain answer loses its end, or is an error object in a 200.
func TestMaimedAnswers(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`
	for _, body := range []string{answer, `{}`, answer + strings.Repeat(" ", 10_000), ""} {
		for kind, want := range map[drill.Kind]error{drill.Cut: io.ErrUnexpectedEOF, drill.Stall: errStalled, drill.Garbage: nil, drill.NoEnd: nil, drill.Error: nil} {
			s := drill.Shape{Kind: kind, After: 3}
			got, err := io.ReadAll(s.Maim(openaichat.Chat{}, io.NopCloser(strings.NewReader(body)), false, stalled))
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", kind, err)
			}
			if kind == drill.Error {
				if _, f := (openaichat.Chat{}).Judge(got); f == nil || !strings.Contains(f.Message, "drill") {
					t.Errorf("%s: %q, %v", kind, got, f)
				}
				continue
			}
			if len(body) > 0 && strings.HasPrefix(string(got), body) || !strings.HasPrefix(body, strings.TrimSuffix(string(got), "\x00drill")) {
				t.Errorf("%s: %q of %q", kind, got, body)
			}
		}
	}
}

// An error of the provider's own stays what it is.
func TestMaimedOfOneThatBreaks(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		s := drill.Shape{Kind: drill.Stall, After: 100}
		broken := io.MultiReader(strings.NewReader("data: {\"choices\":[]}\n\ndata: half"), iotest.ErrReader(io.ErrClosedPipe))
		if _, err := io.ReadAll(s.Maim(openaichat.Chat{}, io.NopCloser(broken), stream, stalled)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("stream %t: %v", stream, err)
		}
	}
}

// R74: an error reply is in the words of the dialect, unless the rule brings its own, and the dialect reads a message in it.
func TestReplies(t *testing.T) {
	t.Parallel()
	for _, c := range streamed {
		for _, status := range []int{400, 401, 403, 404, 418, 429, 500, 503, 529} {
			s := drill.Shape{Kind: drill.Status, Status: status, RetryAfter: 1500e6}
			r := s.Reply(c.dialect)
			_, message := c.dialect.ReadError(r.Body)
			if r.Status != status || !strings.Contains(message, "drill") || r.Header["Retry-After"] != "2" {
				t.Errorf("%s: %+v %s", c.dialect.Name(), r, r.Body)
			}
			if named := r.Header["X-Amzn-Errortype"] != ""; named != (c.dialect.Name() == "converse") {
				t.Errorf("%s: %v", c.dialect.Name(), r.Header)
			}
		}
		s := drill.Shape{Kind: drill.Status, Status: 500, Body: "own words"}
		if r := s.Reply(c.dialect); string(r.Body) != "own words" {
			t.Errorf("%s", r.Body)
		}
		for _, answer := range []string{drill.HTML, drill.JSON, drill.Empty} {
			s := drill.Shape{Kind: drill.Invalid, Answer: answer}
			if r := s.Reply(c.dialect); r.Status != 200 {
				t.Errorf("%+v", r)
			} else if _, f := c.dialect.Judge(r.Body); f == nil {
				t.Errorf("%s takes %q for an answer", c.dialect.Name(), r.Body)
			}
		}
	}
}

// An event may be as long as events may be, and costs memory of that size only: what comes of it is not copied with each read.
func TestMaimedLongEvents(t *testing.T) {
	const size = 4 << 20
	event := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", size) + `"}}]}` + "\n\n"
	s := drill.Shape{Kind: drill.Cut, After: 2}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, s.Maim(openaichat.Chat{}, io.NopCloser(iotest.OneByteReader(strings.NewReader("data: {}\n\n"))), true, stalled))
	if n != 10 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	n, err = io.Copy(io.Discard, s.Maim(openaichat.Chat{}, io.NopCloser(strings.NewReader(event)), true, stalled))
	runtime.ReadMemStats(&after)
	if n != int64(len(event)) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16*size {
		t.Errorf("%d MiB for an event of %d MiB", used>>20, size>>20)
	}
}
