package openaichat

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// unaided judges an event as if no pattern were known.
func unaided(d wire.Dialect, data []byte, p *wire.Progress) wire.Event {
	p.Pattern = wire.Pattern{}
	e := d.JudgeEvent(data, p)
	p.Pattern = wire.Pattern{}
	return e
}

// judgeBoth compares both ways of judging one event after another.
func judgeBoth(t *testing.T, d wire.Dialect, events [][]byte) {
	t.Helper()
	var aided, plain wire.Progress
	for i, data := range events {
		got, want := d.JudgeEvent(data, &aided), unaided(d, data, &plain)
		state := aided
		state.Pattern = wire.Pattern{}
		if diff := cmp.Diff(want, got) + cmp.Diff(plain, state); diff != "" {
			t.Fatalf("event %d, %.200s: %s", i, data, diff)
		}
	}
}

// decodeBoth compares what a decoder makes of events with what it makes of them without a pattern.
func decodeBoth(t *testing.T, events [][]byte) {
	t.Helper()
	var aided, plain decoder
	told := func(d *decoder, data []byte) (events []llm.Event, failed bool) {
		err := d.Decode(data, func(e *llm.Event) {
			said := *e
			said.Text, said.LogProbs = bytes.Clone(e.Text), bytes.Clone(e.LogProbs)
			events = append(events, said)
		})
		return events, err != nil
	}
	for i, data := range events {
		plain.pattern = wire.Pattern{}
		want, wantFailed := told(&plain, data)
		got, failed := told(&aided, data)
		if diff := cmp.Diff(want, got); diff != "" || failed != wantFailed {
			t.Fatalf("event %d, %.200s: %s", i, data, diff)
		}
	}
}

// The pattern is a short cut and nothing else: on every recording the same facts come out with it and without.
func TestPatternOnRecordings(t *testing.T) {
	for name, stream := range files(t, "streams") {
		var events [][]byte
		for _, f := range frames(t, stream) {
			if len(f.Data) > 0 {
				events = append(events, bytes.Clone(f.Data))
			}
		}
		t.Run(name, func(t *testing.T) {
			judgeBoth(t, Chat{}, events)
			decodeBoth(t, events)
		})
	}
}

func TestPattern(t *testing.T) {
	chunk := func(text string) []byte {
		return []byte(`{"id":"c","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}],"usage":null}`)
	}
	var p wire.Progress
	Chat{}.JudgeEvent(chunk("Hello"), &p)
	if len(p.Pattern.Before) == 0 {
		t.Fatal("no pattern was taken from an event that is nothing but text")
	}
	for text, want := range map[string]wire.Event{
		" there":                   {Content: true},
		`\u00fc \" \\`:             {Content: true},
		"":                         {},
		"\n":                       {Malformed: true},
		`\x`:                       {Malformed: true},
		`a","role":"assistant`:     {Content: true},
		`a"},"finish_reason":"x`:   {Malformed: true},
		`","tool_calls":[],"x":"y`: {},
	} {
		q := p
		if got := (Chat{}).JudgeEvent(chunk(text), &q); !cmp.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// A text that stands twice in an event is no pattern: nobody knows which one it was.
func TestDecoderPattern(t *testing.T) {
	for name, deltas := range map[string][]string{
		"a text like the role":       {`{"role":"user","content":"a"}`, `{"role":"user","content":"user"}`, `{"role":"x","content":"user"}`},
		"a call after text":          {`{"content":"a"}`, `{"content":"b"}`, `{"tool_calls":[{"id":"c","function":{"name":"f"}}]}`, `{"content":"c"}`},
		"arguments of two calls":     {`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`, `{"tool_calls":[{"index":1,"id":"d","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":" "}}]}`},
		"a thought in tags and text": {`{"content":"a"}`, `{"content":"b"}`, `{"content":"<thought>t","extra_content":{"google":{"thought":true}}}`, `{"content":"</thought>c"}`, `{"content":"</thought>d"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var events [][]byte
			for _, delta := range deltas {
				events = append(events, []byte(oneChoice(delta)))
			}
			decodeBoth(t, events)
		})
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("Hello", " there", `{"id":"c","choices":[{"index":0,"delta":{"content":"`, `"},"finish_reason":null}]}`)
	f.Add(`a\"`, `"}`, `{"choices":[{"index":0,"delta":{"reasoning":"`, `","content":""}}]}`)
	f.Add("a", "b", `{"choices":[{"text":"`, `"}]}`)
	f.Add("assistant", "b", `{"choices":[{"delta":{"role":"assistant","content":"`, `"}}]}`)
	f.Add("{", `\"a\":`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"`, `"}}]}}]}`)
	f.Add("a</thought>", "b", `{"choices":[{"delta":{"content":"`, `","extra_content":{"google":{"thought":true}}}}]}`)
	f.Fuzz(func(t *testing.T, one, two, before, after string) {
		var events [][]byte
		for _, text := range []string{one, two, one + two, ""} {
			events = append(events, fmt.Appendf(nil, "%s%s%s", before, text, after))
		}
		for _, d := range []wire.Dialect{Chat{}, Completions{}} {
			judgeBoth(t, d, events)
		}
		decodeBoth(t, events)
	})
}

// A client that asked for two answers has not got them when the first one, sent before the second, is finished.
func TestAskedChoices(t *testing.T) {
	r, err := Chat{}.ReadRequest([]byte(`{"model":"m","n":2,"messages":[]}`))
	if err != nil || r.Choices != 2 {
		t.Fatalf("choices %d, %v", r.Choices, err)
	}
	p := wire.Progress{Choices: r.Choices}
	for i, want := range []bool{false, false, false, true} {
		event := []string{
			`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`,
		}[i]
		if (Chat{}).JudgeEvent([]byte(event), &p); p.SawFinish != want {
			t.Errorf("after %s: finished %v, want %v", event, p.SawFinish, want)
		}
	}
}
