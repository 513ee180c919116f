package wiretest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// data cuts a stream into the data of its events.
func data(stream []byte) [][]byte {
	var out [][]byte
	split := sse.Splitter{Whole: wire.WholeEvent}
	for {
		f, n, err := split.Next(stream, true)
		if n == 0 || err != nil {
			return out
		}
		if stream = stream[n:]; !f.Comment {
			out = append(out, bytes.Clone(f.Data))
		}
	}
}

// judgement is what a dialect says of one event, and what it knew after it.
type judgement struct {
	Event    wire.Event
	Progress wire.Progress
}

func judgements(d wire.Dialect, stream []byte) []judgement {
	var out []judgement
	var p wire.Progress
	for _, e := range data(stream) {
		j := judgement{Event: d.JudgeEvent(e, &p)}
		j.Event.Name = bytes.Clone(j.Event.Name)
		j.Progress = p
		j.Progress.Pattern = wire.Pattern{}
		out = append(out, j)
	}
	return out
}

// oddEvents: whatever JSON comes as an event, nothing panics, and after each odd one the rest is still read.
func oddEvents(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	var variants oddities
	for _, stream := range s.Streams {
		events := data(stream)
		var at wire.Progress
		for i, e := range events {
			for _, odd := range append(variants.of(e), []byte("{"), []byte("[DONE]"), []byte("null"), []byte("7"), []byte(`"x"`), []byte("[]"), []byte("[[]]"), []byte("\xff")) {
				p := at
				if ev := d.JudgeEvent(odd, &p); ev.Malformed || ev.Fault != nil || ev.End {
					continue
				}
				u, ok := d.(wire.Upstream)
				if !ok {
					continue
				}
				dec := u.NewDecoder()
				var order llm.Order
				put := func(e *llm.Event) { order.Put(e, func(*llm.Event) {}) }
				for _, before := range events[:i] {
					_ = dec.Decode(before, put)
				}
				_ = dec.Decode(odd, put) // an error is as good as events; a panic is not
				for _, after := range events[i+1 : min(i+4, len(events))] {
					_ = dec.Decode(after, put)
				}
				dec.End(put)
			}
			d.JudgeEvent(e, &at)
		}
	}
}

// decoded is the reply that a stream says.
func decoded(t *testing.T, u wire.Upstream, stream []byte) *llm.Reply {
	t.Helper()
	var fold llm.Fold
	var order llm.Order
	dec := u.NewDecoder()
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	for _, e := range data(stream) {
		var p wire.Progress
		if u.JudgeEvent(e, &p).End {
			break
		}
		if err := dec.Decode(e, put); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
	}
	dec.End(put)
	order.End(fold.Put)
	return fold.Reply()
}

// same holds two replies together. Arguments may be said to be none in two ways.
func same(t *testing.T, what string, want, got *llm.Reply) {
	t.Helper()
	none := cmp.Transformer("none", func(c llm.Call) llm.Call {
		if c.Arguments == "" && !c.Custom {
			c.Arguments = "{}"
		}
		return c
	})
	once := cmp.FilterValues(func(a, b llm.Call) bool { return a.Arguments == "" || b.Arguments == "" }, none)
	if diff := cmp.Diff(want, got, once, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Reply{}, "Created", "ServiceTier")); diff != "" {
		t.Errorf("%s, want - got +\n%s", what, diff)
	}
}

// finishes says whether two words of one dialect's may stand for the same finish: a filter has more than one in some.
func finishes(d wire.Dialect, a, b string) bool {
	_, read := d.(wire.Upstream) // whose decoder says what they mean
	return read || a == b
}

// unfolds: a whole reply, as a stream, says the same, and folded again too (R17).
func unfolds(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	for _, body := range s.Replies {
		stream, err := d.StreamFromReply(body, true)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		js := judgements(d, stream)
		if len(js) == 0 {
			t.Fatalf("no events: %s", stream)
		}
		for i := range js {
			if ev := &js[i].Event; ev.Malformed || ev.Fault != nil {
				t.Fatalf("event %d: %+v\n%s", i, ev, stream)
			}
		}
		if last := &js[len(js)-1]; !last.Progress.SawFinish || !last.Progress.SawContent {
			t.Errorf("no finish, or no content: %s", stream)
		}
		back, err := d.ReplyFromStream(stream)
		if err != nil {
			t.Fatalf("%v: %s", err, stream)
		}
		want, _ := d.Judge(body)
		got, f := d.Judge(back)
		if f != nil || want.Usage != got.Usage || !finishes(d, want.Finish, got.Finish) {
			t.Errorf("%v\n%+v\n%+v\n%s", f, want, got, back)
		}
		if u, ok := d.(wire.Upstream); ok {
			want, err := u.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			folded, err := u.DecodeReply(back)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "a reply, unfolded and folded", want, folded)
			same(t, "a reply, unfolded and read as a stream", want, decoded(t, u, stream))
		}
	}
}

// folds: a stream, as a whole reply, says the same (R17).
func folds(t *testing.T, d wire.Dialect, s *Samples) {
	t.Helper()
	for _, stream := range s.Streams {
		body, err := d.ReplyFromStream(stream)
		if err != nil {
			t.Fatalf("%v: %s", err, stream)
		}
		reply, f := d.Judge(body)
		if f != nil {
			t.Fatalf("%v: %s", f, body)
		}
		js := judgements(d, stream)
		p := &js[len(js)-1].Progress
		if p.Reply.Usage != reply.Usage || !finishes(d, p.Reply.Finish, reply.Finish) {
			t.Errorf("folded %+v, read as a stream %+v", reply, p.Reply)
		}
		if u, ok := d.(wire.Upstream); ok {
			got, err := u.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "a stream, folded", decoded(t, u, stream), got)
		}
	}
}

// splits: where a stream is cut into reads changes nothing.
func splits(t *testing.T, s *Samples) {
	t.Helper()
	for n, stream := range s.Streams {
		want := data(stream)
		step := 1
		if n > 0 {
			step = 7 // the first one is cut everywhere
		}
		for at := 0; at < len(stream); at += step {
			split := sse.Splitter{Whole: wire.WholeEvent}
			var got [][]byte
			from := 0
			for _, to := range []int{at, len(stream)} {
				for {
					f, n, err := split.Next(stream[from:to], to == len(stream))
					if err != nil {
						t.Fatal(err)
					}
					if n == 0 {
						break
					}
					if from += n; !f.Comment {
						got = append(got, bytes.Clone(f.Data))
					}
				}
			}
			if !slices.EqualFunc(want, got, bytes.Equal) {
				t.Fatalf("cut at %d there are %d events, not %d", at, len(got), len(want))
			}
		}
	}
}
