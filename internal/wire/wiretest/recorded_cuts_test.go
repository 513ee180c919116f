package wiretest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"evergate/internal/sse"
	"evergate/internal/wire"
)

// recordedStreams are all that came as events, errors within them too.
func recordedStreams() []recording {
	var out []recording
	for _, r := range recordings() {
		if r.streamed() && r.dialect.Name() != "completions" {
			out = append(out, r)
		}
	}
	return out
}

// finishWords are what an event has in it that says why a choice ended, by dialect.
func finishWords() map[string][]string {
	return map[string][]string{
		"chat": {`"finish_reason":"`}, "responses": {`"type":"response.completed"`, `"type":"response.incomplete"`}, "messages": {`"stop_reason":"`},
		"gemini": {`"finishReason":"`}, "converse": {`"stopReason":"`}, "cohere": {`"finish_reason":"`},
	}
}

// ends are what the proper end of a client's stream has in it.
func ends() map[string]string {
	return map[string]string{"chat": "data: [DONE]", "responses": `"type":"response.completed"`, "messages": `"type":"message_stop"`, "gemini": `"finishReason":`}
}

// finishes counts the reasons in an event.
func finishes(dialect string, event []byte) (n int) {
	event = bytes.ReplaceAll(event, []byte(`": "`), []byte(`":"`))
	for _, w := range finishWords()[dialect] {
		n += bytes.Count(event, []byte(w))
	}
	return n
}

// A stream that is cut after any of its events, before it said why it ended, is no proper end for any client, and nothing
// that the client got says otherwise; the error that then comes is one that its SDK raises.
func TestRecordedCuts(t *testing.T) {
	t.Parallel()
	for _, r := range recordedStreams() {
		for _, c := range clients() {
			t.Run(r.file+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				choices := 1
				if faults()[r.file] == nil {
					choices = r.choices(t)
				}
				events := r.events(t)
				l := listen(t, &c, r.dialect, choices)
				reasons, checked := 0, 0
				for i, data := range events {
					if reasons += finishes(r.dialect.Name(), data); reasons >= choices {
						return // R17: what follows may be missing
					}
					l.event(nil, data)
					switch {
					case l.ended:
						t.Fatalf("a proper end at event %d: %s", i, data)
					case l.progress.SawFinish:
						t.Fatalf("a finish at event %d: %s", i, data)
					case l.fault != nil:
						return
					}
					if !l.begun {
						continue
					}
					if more := l.out[checked:]; finishes(c.name, more) >= choices || bytes.Contains(more, []byte(ends()[c.name])) {
						t.Fatalf("the client got a finish at event %d: %s", i, more)
					}
					checked = len(l.out)
					if cutHere(i, len(events)) {
						if r.file != cutCall || c.name != "messages" { // the reader wants whole arguments
							l.mustBreak(t, &c)
						}
						if m := l.cut(); m.ended || m.fault == nil {
							t.Fatalf("a proper end after event %d", i)
						}
					}
				}
				if faults()[r.file] == nil {
					t.Fatal("it never finished")
				}
			})
		}
	}
}

// cutHere picks the places where what the client has is read whole: all in short streams, some in long ones.
func cutHere(i, events int) bool { return events < 16 || i%(events/8) == 0 }

// cut is what becomes of a listener whose stream ends here; l itself goes on.
func (l *listener) cut() *listener {
	m := *l
	m.unread = nil
	m.out = slices.Clone(l.out)
	m.over()
	return &m
}

// However the bytes of a stream are cut into reads, the events are the same.
func TestRecordedSplits(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		if !r.streamed() {
			continue
		}
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			body := r.body(t)
			want := inReads(t, &r, body)
			if want == "" {
				t.Fatal("no events")
			}
			step := 1
			if len(body) > 2500 {
				step = len(body) / 120
			}
			for at := 0; at <= len(body); at += step {
				if got := inReads(t, &r, body[:at], body[at:]); got != want {
					t.Fatalf("cut at byte %d:\n%s", at, differ(want, got))
				}
			}
			for _, size := range []int{1, 2, 3, 7, 64, 1000} {
				if got := inReads(t, &r, slices.Collect(slices.Chunk(body, size))...); got != want {
					t.Fatalf("in reads of %d bytes:\n%s", size, differ(want, got))
				}
			}
		})
	}
}

// inReads are the events that come of reads: their names and data.
func inReads(t *testing.T, r *recording, reads ...[]byte) string {
	t.Helper()
	var out strings.Builder
	var unread []byte
	split := sse.Splitter{Whole: wire.WholeEvent}
	for i, read := range reads {
		unread = append(unread, read...)
		from := 0
		for {
			f, n, err := split.Next(unread[from:], i == len(reads)-1)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			from += n
			if !f.Comment {
				fmt.Fprintf(&out, "%s %s\n", f.Event, f.Data)
			}
		}
		unread = unread[from:]
	}
	return out.String()
}

func differ(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("event %d\nwant %s\ngot  %s", i, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d events, want %d", len(g), len(w))
}
