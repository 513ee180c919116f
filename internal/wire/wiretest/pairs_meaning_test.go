package wiretest_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/wire"
)

// TestPairsMeanTheSame holds what a client reads against what the upstream wrote: text, thoughts, calls and their ids,
// the finish and the counted tokens, in whole replies and in streams.
func TestPairsMeanTheSame(t *testing.T) {
	t.Parallel()
	everyPair(t, func(t *testing.T, c *conversation, from *client, to *upstream) {
		plain, stream, ok := replyOf(t, c, to)
		if !ok {
			return
		}
		model, body := to.asked(c), request(t, c, from)
		whole, err := ask(t, from, to, model, body, false)
		if err != nil {
			t.Fatal(err)
		}
		reply, f, err := whole.plain(plain)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := ask(t, from, to, model, body, true)
		if err != nil {
			t.Fatal(err)
		}
		said, err := streamed.relay(stream)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil || said.fault != nil {
			if c.name != "refusal" || to.name != "gemini" { // Gemini refuses a prompt without an answer
				t.Fatal(f, said.fault)
			}
			return
		}
		r, w := readers()[from.name], readers()[to.name]
		for _, side := range []struct {
			name             string
			theirs, ours     []byte
			readAs, writenAs func([]byte) (meaning, error)
		}{
			{"reply", reply, plain, r.ofPlain, w.ofPlain},
			{"stream", said.bytes, stream, r.ofStream, w.ofStream},
		} {
			got, err := side.readAs(side.theirs)
			if err != nil {
				t.Fatalf("%s: %v\n%s", side.name, err, side.theirs)
			}
			want, err := side.writenAs(side.ours)
			if err != nil {
				t.Fatalf("%s: %v", side.name, err)
			}
			expect(&want, &got, c, from)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the %s, wrote - read +\n%s", side.name, diff)
			}
		}
	})
}

// expect turns what the upstream wrote into what a client of another dialect can be told of it.
func expect(want, got *meaning, c *conversation, from *client) {
	for i := range want.Choices {
		w := &want.Choices[i]
		if from.name == "messages" && !c.thinks { // clients of Messages see thoughts only if they ask for thinking
			w.Thought, w.Order = "", strings.TrimPrefix(strings.ReplaceAll(w.Order, "thought", ""), " ")
		}
		// Dialects without a word for it: a stop sequence is an end, a filter a refusal or the other way round.
		switch {
		case w.Finish == finishStop && from.name != "messages":
			w.Finish = finishEnd
		case w.Finish == finishFilter && from.name == "messages":
			w.Finish = finishRefusal
		case w.Finish == finishRefusal && w.Refusal == "" && from.name != "messages":
			w.Finish = finishFilter
		}
		if from.name == "messages" || from.name == "gemini" { // there a refusal is text; Anthropic has a finish for it
			if w.Refusal != "" {
				w.text(w.Refusal)
				w.Refusal = ""
				if from.name == "gemini" {
					w.Finish = finishEnd
				}
			}
		}
		if from.name == "messages" { // it cannot ask for them
			w.Probs = nil
		}
		for j := range w.Calls {
			if w.Calls[j].ID == "" && i < len(got.Choices) && j < len(got.Choices[i].Calls) {
				w.Calls[j].ID = got.Choices[i].Calls[j].ID // made up, where the dialect needs one
			}
		}
	}
	if (from.name == "messages" || from.name == "responses") && len(want.Choices) > 1 { // it could not ask for more
		want.Choices = want.Choices[:1]
	}
	for _, n := range []struct{ want, got *int64 }{
		{&want.Usage.Write, &got.Usage.Write}, {&want.Usage.Reasoning, &got.Usage.Reasoning},
	} {
		if *n.want < 1 && *n.got < 1 || *n.want < 0 || *n.got < 0 { // one of the two cannot say it
			*n.want = *n.got
		}
	}
}

// TestPairsCutStreams cuts each stream after each of its events: without a finish it is no proper end for the client, but
// an error, whatever came before.
func TestPairsCutStreams(t *testing.T) {
	t.Parallel()
	everyPair(t, func(t *testing.T, c *conversation, from *client, to *upstream) {
		_, stream, ok := replyOf(t, c, to)
		if !ok || !c.first() {
			return
		}
		events := bytes.SplitAfter(stream, []byte("\n\n"))
		r := readers()[from.name]
		var until []byte
		for _, e := range events[:len(events)-1] {
			a, err := ask(t, from, to, to.asked(c), request(t, c, from), true)
			if err != nil {
				t.Fatal(err)
			}
			said, err := a.relay(until)
			if err != nil {
				t.Fatal(err)
			}
			if finished(to, c, until) {
				break
			}
			until = append(until, e...)
			if said.ended {
				t.Fatalf("a proper end after\n%s", until)
			}
			if len(said.bytes) == 0 {
				continue // the client was told nothing: another upstream is asked
			}
			if _, err := r.ofStream(said.bytes); !errors.Is(err, errNoEnd) {
				t.Fatalf("%v, want no end: %s", err, said.bytes)
			}
			broken := a.broken(&said)
			if _, err := r.ofStream(broken); !errors.Is(err, errNoEnd) || err.Error() == errNoEnd.Error() {
				t.Fatalf("%v, want an error: %s", err, broken)
			}
			expectFault(t, from.dialect, broken[len(said.bytes):])
		}
	})
}

// finished says whether a stream has said, for each choice, why it ended.
func finished(to *upstream, c *conversation, stream []byte) bool {
	words := map[string][]string{
		"chat": {`"finish_reason":"`}, "responses": {`"type":"response.completed"`, `"type":"response.incomplete"`},
		"anthropic": {`"stop_reason":"`}, "gemini": {`"finishReason":"`}, "converse": {`"stopReason":"`}, "cohere": {`"finish_reason":"`},
	}
	words["azure"] = words["chat"]
	n := 0
	for _, w := range words[to.name] {
		n += strings.Count(string(stream), w)
	}
	want := 1
	if c.answer() == "choices" && strings.Contains("chat azure gemini", to.name) {
		want = 2
	}
	return n >= want
}

// expectFault says that the dialect itself reads its error event as one.
func expectFault(t *testing.T, d wire.Dialect, stream []byte) {
	t.Helper()
	events, err := eventsOf(stream)
	if err != nil {
		t.Fatal(err)
	}
	var p wire.Progress
	for i, e := range events {
		switch ev := d.JudgeEvent([]byte(e.data), &p); {
		case ev.End:
			t.Fatalf("an end: %s", stream)
		case i == len(events)-1 && ev.Fault == nil:
			t.Fatalf("no fault: %s", stream)
		}
	}
}
