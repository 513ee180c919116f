package wire

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evergate/internal/llm"
)

// listener hears what goes on behind a seam, in llm.Order's order as an encoder would.
type listener struct {
	seam   *Seam
	text   strings.Builder
	log    []string
	finish int
}

func (l *listener) hear(e *llm.Event) {
	switch e.Kind {
	case llm.Delta:
		l.text.Write(e.Text)
	case llm.Finish:
		l.finish++
	case llm.Start, llm.Alive, llm.Used, llm.Probs, llm.Sealing, llm.Cited, llm.PartStart, llm.PartStop:
	}
	if e.Kind != llm.Delta {
		l.log = append(l.log, fmt.Sprintf("%d:%d", e.Kind, e.Part))
	}
}

func (l *listener) put(events ...*llm.Event) {
	for _, e := range events {
		l.seam.pass(e, func(e *llm.Event) { l.seam.order.Put(e, l.hear) })
	}
}

func say(pieces ...string) []*llm.Event {
	out := []*llm.Event{{Kind: llm.Start, ID: "x"}, {Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}}}
	for _, p := range pieces {
		out = append(out, &llm.Event{Kind: llm.Delta, Text: []byte(p)})
	}
	return out
}

var done = &llm.Event{Kind: llm.Finish, Stop: llm.EndTurn}

// R70: what a continuation repeats is dropped, and what it contradicts is an error.
func TestSeam(t *testing.T) {
	t.Parallel()
	const sent = "The quick brown fox jumps over the lazy dog and runs "
	cases := []struct {
		name      string
		sent      string
		prefilled bool
		then      []string
		want      string // all that the client has; empty: an error
	}{
		{"goes on", sent, true, []string{"away", "."}, sent + "away."},
		{"goes on with the white space that was left out", sent, true, []string{" ", "away."}, sent + "away."},
		{"in one piece with it", sent, true, []string{" away."}, sent + "away."},
		{"only a part of the white space", "a line of text\n\n", true, []string{"\n", "next"}, "a line of text\n\n\nnext"},
		{"says it all again", sent, true, []string{"The quick brown fox ", "jumps over the lazy dog and runs away."}, sent + "away."},
		{"says all of a short text again", "Hello", true, []string{"Hel", "lo world"}, "Hello world"},
		{"a short repetition is meant", "ha ha ", true, []string{"ha ha!"}, "ha ha ha ha!"},
		{"says the end again", sent, true, []string{"the lazy dog", " and runs away."}, sent + "away."},
		{"says the end again, without the white space", sent, true, []string{"the lazy dog and runs", " away."}, sent + "away."},
		{"a few bytes of the end are meant", sent, true, []string{"runs and runs."}, sent + "runs and runs."},
		{"begins as the answer does, and departs soon", sent, true, []string{"The quick one."}, sent + "The quick one."},
		{"begins anew, and departs late", sent, true, []string{"The quick brown fox jumps over the moon."}, ""},
		{"has nothing to add", sent, true, nil, sent},
		{"anew, the same", sent, false, []string{"The quick brown", " fox jumps over the lazy dog and runs away."}, sent + "away."},
		{"anew, and no more than that", sent, false, []string{sent}, sent},
		{"anew, another", sent, false, []string{"The quick brown cat"}, ""},
		{"anew, too short", sent, false, []string{"The quick brown"}, ""},
		{"anew, nothing", sent, false, nil, ""},
		{"anew, after nothing but thoughts", "", false, []string{"The quick brown"}, "The quick brown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &listener{seam: &Seam{}}
			if c.sent != "" {
				l.put(say(c.sent)...)
			} else {
				l.put(&llm.Event{Kind: llm.Start})
			}
			if !l.seam.Able() {
				t.Fatal("cannot be gone on with")
			}
			l.seam.Broke(7)
			l.seam.Again(c.prefilled)
			l.put(say(c.then...)...)
			l.put(done)
			switch {
			case c.want == "" && l.seam.err == nil:
				t.Errorf("no error; the client has %q", l.text.String())
			case c.want == "" && l.text.String() != c.sent:
				t.Errorf("the client has %q", l.text.String())
			case c.want != "" && (l.seam.err != nil || l.text.String() != c.want || l.finish != 1):
				t.Errorf("%v, %d finishes; the client has\n%q, want\n%q", l.seam.err, l.finish, l.text.String(), c.want)
			}
			if c.want != "" && string(l.seam.text) != c.want {
				t.Errorf("it remembers %q", l.seam.text)
			}
		})
	}
}

// R70: only text can be gone on with, and thoughts that are over.
func TestSeamAble(t *testing.T) {
	t.Parallel()
	part := func(n int, k llm.PartKind) *llm.Event {
		return &llm.Event{Kind: llm.PartStart, Part: n, Head: &llm.Part{Kind: k, Call: &llm.Call{}}}
	}
	delta := func(n int) *llm.Event { return &llm.Event{Kind: llm.Delta, Part: n, Text: []byte("x")} }
	start := &llm.Event{Kind: llm.Start}
	for name, c := range map[string]struct {
		events []*llm.Event
		able   bool
	}{
		"nothing":                            {nil, false},
		"text":                               {[]*llm.Event{start, part(0, llm.Text), delta(0)}, true},
		"text that was closed":               {[]*llm.Event{start, part(0, llm.Text), delta(0), {Kind: llm.PartStop}}, true},
		"in a thought":                       {[]*llm.Event{start, part(0, llm.Reasoning), delta(0)}, false},
		"after a thought":                    {[]*llm.Event{start, part(0, llm.Reasoning), delta(0), {Kind: llm.PartStop}}, true},
		"after a thought that nobody closed": {[]*llm.Event{start, part(0, llm.Reasoning), delta(0), part(1, llm.Text), delta(1)}, true},
		"in a call":                          {[]*llm.Event{start, part(0, llm.Text), delta(0), part(1, llm.ToolCall), delta(1)}, false},
		"after a call":                       {[]*llm.Event{start, part(0, llm.ToolCall), delta(0), part(1, llm.Text), delta(1)}, false},
		"a refusal":                          {[]*llm.Event{start, part(0, llm.Refusal), delta(0)}, false},
		"finished":                           {[]*llm.Event{start, part(0, llm.Text), delta(0), {Kind: llm.Finish}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &listener{seam: &Seam{}}
			l.put(c.events...)
			if got := l.seam.Able(); got != c.able {
				t.Errorf("able %t", got)
			}
		})
	}
}

// A call in the continuation comes after the text, which is closed first; the usage is the sum.
func TestSeamGoesOnWithACall(t *testing.T) {
	t.Parallel()
	l := &listener{seam: &Seam{}}
	text := strings.Repeat("some text ", 10)
	l.put(say(text)...)
	l.put(&llm.Event{Kind: llm.Used, Usage: llm.Usage{Known: true, Input: 10, Output: 1}})
	l.seam.Broke(99)
	l.seam.Again(true)
	l.put(&llm.Event{Kind: llm.Start}, &llm.Event{Kind: llm.PartStart, Part: 0, Head: &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "1", Name: "f"}}},
		&llm.Event{Kind: llm.Delta, Part: 0, Text: []byte("{}")}, done, &llm.Event{Kind: llm.Used, Usage: llm.Usage{Known: true, Input: 12, Output: 5}})
	// Start, the text's start, usage, its stop, the call's start and stop, finish, usage.
	if got := strings.Join(l.log, " "); got != "1:0 2:0 9:0 7:0 2:1 7:1 8:0 9:0" {
		t.Errorf("events %s", got)
	}
	if u := l.seam.Usage(); u.Input != 22 || u.Output != 5+llm.EstimateText([]byte(text)) {
		t.Errorf("usage %+v", u)
	}
	if l.seam.Able() {
		t.Error("it can be gone on with after a call")
	}
}

// However a text is cut into pieces, and wherever it broke, a true continuation and a faithful repetition complete it.
func TestSeamCompletes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringOfN(rapid.SampledFrom([]rune("ab \né語")), 1, 200, -1).Draw(t, "text")
		runes := []rune(whole)
		cut := rapid.IntRange(0, len(runes)).Draw(t, "cut")
		sent, rest := string(runes[:cut]), string(runes[cut:])
		l := &listener{seam: &Seam{}}
		l.put(say(pieces(t, sent)...)...)
		l.seam.Broke(1)
		how := rapid.SampledFrom([]string{"anew", "repeats", "overlaps"}).Draw(t, "how")
		then := whole
		if how == "overlaps" {
			if len(sent) < 32 { // may be too little to tell
				then, how = whole, "anew"
			} else {
				from := len(sent) - rapid.IntRange(leastOverlap, len(sent)).Draw(t, "overlap")
				for from > 0 && sent[from]&0xc0 == 0x80 {
					from--
				}
				then = sent[from:] + rest
			}
		}
		l.seam.Again(how != "anew" && len(sent) >= wholeOverlap)
		// What comes before an attempt that failed leaves nothing behind.
		if rapid.Bool().Draw(t, "fails first") {
			l.put(say(pieces(t, string(runes[:cut/2]))...)...)
			l.seam.Again(l.seam.prefilled)
		}
		l.put(say(pieces(t, then)...)...)
		l.put(done)
		if l.seam.err != nil || how != "overlaps" && l.text.String() != whole || l.finish != 1 {
			t.Fatalf("%s: %v, %d finishes; the client has\n%q, want\n%q", how, l.seam.err, l.finish, l.text.String(), whole)
		}
		if got := l.text.String(); how == "overlaps" && !strings.HasPrefix(got, sent) {
			t.Fatalf("the client has\n%q, after\n%q", got, sent)
		}
	})
}

func pieces(t *rapid.T, text string) []string {
	var out []string
	for runes := []rune(text); len(runes) > 0; {
		n := rapid.IntRange(1, len(runes)).Draw(t, "piece")
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
