package wiretest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

const (
	// twoAnswers holds two streams, one behind the other, as no provider sends them. A stream is over with the first.
	twoAnswers = "cerebras-chat/tool-stream-glm-4.7.sse"
	// cutCall ends, for the limit's sake, inside a call's arguments.
	cutCall = "openai-responses/incomplete-mid-tool-stream-gpt-5.6.sse"
)

// choices is how many answers a recording's request asked for.
func (r *recording) choices(t testing.TB) int { return max(1, len(r.source(t).Choices)) }

// Each recorded answer says the same to a client of every dialect, whole and as a stream, however it was sent.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range recordedAnswers() {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			source := r.source(t)
			for i := range source.Choices {
				if source.Choices[i].Finish == "" {
					t.Fatal("the reader of the source saw no finish")
				}
			}
			for _, c := range clients() {
				want := heard(&c, source)
				for form, get := range map[string]func(testing.TB, *client) []byte{"plain": r.plain, "folded": r.folded, "streamed": r.relayed} {
					if r.file == twoAnswers && form == "plain" {
						continue
					}
					out := get(t, &c)
					if r.file == cutCall && c.name == "messages" && form == "streamed" {
						if pieces := partialJSON(t, out); pieces != `{"x":48151` {
							t.Errorf("the cut arguments became %s", pieces)
						}
						continue
					}
					got, err := understand(t, &c, out, form == "streamed")
					if err != nil {
						t.Fatalf("%s, %s: %v\n%s", c.name, form, err, tail(out))
					}
					if diff := cmp.Diff(want, forgive(&c, want, got)); diff != "" {
						t.Errorf("%s, %s: sent - heard +\n%s", c.name, form, diff)
					}
				}
			}
		})
	}
}

// partialJSON are the pieces of the arguments in a stream of Messages, joined. SDKs read what there is of them.
func partialJSON(t testing.TB, stream []byte) (out string) {
	t.Helper()
	events, err := eventsOf(stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		out += str(e.body, "delta", "partial_json")
	}
	return out
}

// plain is the answer to a client that wants it whole: a stream is folded in the upstream's own dialect first, as the
// gateway does it (R17).
func (r *recording) plain(t testing.TB, c *client) []byte {
	t.Helper()
	body := r.body(t)
	if r.streamed() || body[0] == '[' {
		var err error
		if body, err = r.dialect.ReplyFromStream(body); err != nil {
			t.Fatal(err)
		}
	}
	if _, f := r.dialect.Judge(body); f != nil {
		t.Fatal(f)
	}
	out, err := translate(t, c, r.dialect, r.choices(t)).AppendReply(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// folded is the same by way of the canonical events: a stream's are folded, a reply's are told and folded again.
func (r *recording) folded(t testing.TB, c *client) []byte {
	t.Helper()
	up := r.dialect.(wire.Upstream)
	var fold llm.Fold
	if r.streamed() {
		var order llm.Order
		put := func(e *llm.Event) { order.Put(e, fold.Put) }
		d := up.NewDecoder()
		p := wire.Progress{Choices: r.choices(t)}
		for _, data := range r.events(t) {
			ev := up.JudgeEvent(data, &p)
			if ev.Fault != nil || ev.Malformed {
				t.Fatalf("%+v: %s", ev, data)
			}
			if ev.End {
				break
			}
			if err := d.Decode(data, put); err != nil {
				t.Fatal(err)
			}
		}
		d.End(put)
		order.End(fold.Put)
	} else {
		body := r.body(t)
		if body[0] == '[' {
			return r.plain(t, c)
		}
		a, err := up.DecodeReply(body)
		if err != nil {
			t.Fatal(err)
		}
		llm.Unfold(a, fold.Put)
	}
	a := fold.Reply()
	if a.Model == "" { // not every upstream says one
		a.ID, a.Model, a.Created = "answer_1", "m", 1782321700
	}
	return c.dialect.(wire.Client).AppendReply(nil, a, askForAll(t, c, r.choices(t)).Generation())
}

// relayed is the answer to a client that wants a stream: a whole one is told as a stream in the upstream's own dialect
// first (R17).
func (r *recording) relayed(t testing.TB, c *client) []byte {
	t.Helper()
	body := r.body(t)
	if !r.streamed() {
		var err error
		if body, err = r.dialect.StreamFromReply(body, true); err != nil {
			t.Fatal(err)
		}
	}
	l := listen(t, c, r.dialect, r.choices(t))
	l.hear(t, body, true)
	if l.fault != nil || !l.ended || l.malformed > 0 {
		t.Fatalf("%v, ended %v, %d malformed", l.fault, l.ended, l.malformed)
	}
	return l.out
}

// heard is what a client of a dialect can be told of an answer.
func heard(c *client, source meaning) meaning {
	m := source
	m.Choices = slices.Clone(source.Choices)
	if len(m.Choices) > 1 && (c.name == "messages" || c.name == "responses") {
		m.Choices = m.Choices[:1]
	}
	for i := range m.Choices {
		s := &m.Choices[i]
		switch {
		case s.Finish == finishStop && c.name != "messages", s.Finish == finishPause && c.name != "messages":
			s.Finish = finishEnd
		case s.Finish == finishFilter && c.name == "messages":
			s.Finish = finishRefusal
		case s.Finish == finishRefusal && s.Refusal == "" && c.name != "messages":
			s.Finish = finishFilter
		}
		if s.Refusal != "" && (c.name == "messages" || c.name == "gemini") { // a refusal is text there; Anthropic has a finish for it
			s.text(s.Refusal)
			s.Refusal = ""
			switch {
			case c.name == "messages":
				s.Finish = finishRefusal
			case s.Finish == finishRefusal:
				s.Finish = finishEnd
			}
		}
		if c.name == "messages" { // it cannot ask for them
			s.Probs = nil
		}
		if c.name == "chat" { // each kind has one place in a message
			s.Order = kinds(s.Order)
		}
	}
	return m
}

// kinds are the kinds of parts, each once, in the order of their names.
func kinds(order string) string {
	list := strings.Fields(order)
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// finishPause is Anthropic's: send the answer back, to go on.
const finishPause = finishUnknown + "pause_turn"

// idLetters are what Anthropic takes in an id of a call.
const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// forgive takes from what was heard what the source could not say: ids that had to be made up, and counts that one of the
// two dialects has no word for.
func forgive(c *client, want, got meaning) meaning {
	got.Choices = slices.Clone(got.Choices)
	for i := range got.Choices {
		s := &got.Choices[i]
		s.Calls = slices.Clone(s.Calls)
		for j := range s.Calls {
			if i >= len(want.Choices) || j >= len(want.Choices[i].Calls) {
				continue
			}
			if id := want.Choices[i].Calls[j].ID; id == "" || c.name == "messages" && strings.Trim(id, idLetters) != "" && strings.Trim(s.Calls[j].ID, idLetters) == "" {
				s.Calls[j].ID = id
			}
			if text, ok := strings.CutPrefix(fmt.Sprint(want.Choices[i].Calls[j].Arguments), "not JSON: "); ok && at(s.Calls[j].Arguments, "input") == text {
				s.Calls[j].Arguments = want.Choices[i].Calls[j].Arguments // where there must be an object
			}
		}
		if c.name == "chat" {
			s.Order = kinds(s.Order)
		}
	}
	if want.Usage.Input < 0 && got.Usage.Input <= 0 && got.Usage.Output <= 0 { // nothing is said, or zeros where the dialect must
		got.Usage = want.Usage
	}
	for _, n := range []struct{ want, got *int64 }{{&want.Usage.Write, &got.Usage.Write}, {&want.Usage.Reasoning, &got.Usage.Reasoning}} {
		if *n.want < 1 && *n.got < 1 || *n.got < 0 {
			*n.got = *n.want
		}
	}
	return got
}
