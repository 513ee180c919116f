package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// strict checks a stream's events against the order that encoders want and gives what is wrong.
type strict struct {
	choices map[int]*strictChoice
	err     error
}

type strictChoice struct {
	next     int
	open     bool
	kind     PartKind
	finished bool
}

func (s *strict) put(e *Event) {
	if s.err != nil || e.Kind == Start || e.Kind == Used || e.Kind == Alive {
		return
	}
	if s.choices == nil {
		s.choices = map[int]*strictChoice{}
	}
	c := s.choices[e.Choice]
	if c == nil {
		c = &strictChoice{}
		s.choices[e.Choice] = c
	}
	bad := func(why string) { s.err = fmt.Errorf("%s: %+v in %+v", why, *e, *c) }
	if c.finished {
		bad("after the finish")
		return
	}
	switch e.Kind {
	case PartStart:
		if c.open || e.Part != c.next || e.Head == nil || e.Head.Text != "" {
			bad("start")
		}
		c.open, c.kind = true, e.Head.Kind
		c.next++
	case Delta, Sealing, Cited, PartStop:
		if !c.open || e.Part != c.next-1 {
			bad("piece of no open part")
		}
		c.open = e.Kind != PartStop
	case Finish:
		if c.open {
			bad("finish in an open part")
		}
		c.finished = true
	case Probs:
		if !c.open {
			bad("probabilities of no open part")
		}
	case Start, Used, Alive:
	}
}

func (s *strict) end() error {
	for n, c := range s.choices {
		if s.err == nil && !c.finished {
			s.err = fmt.Errorf("choice %d has no finish", n)
		}
	}
	return s.err
}

func head(t *rapid.T, kind PartKind) *Part {
	p := &Part{Kind: kind}
	if kind == ToolCall {
		p.Call = &Call{ID: rapid.StringN(0, 4, -1).Draw(t, "id"), Name: "f", Custom: rapid.Bool().Draw(t, "custom")}
	}
	return p
}

var kinds = []PartKind{Text, ToolCall, Reasoning, Refusal, Opaque}

func anyEvent(t *rapid.T) *Event {
	e := &Event{
		Kind:   rapid.SampledFrom([]EventKind{Start, PartStart, Delta, Sealing, Cited, Probs, PartStop, Finish, Used, Alive}).Draw(t, "kind"),
		Choice: rapid.IntRange(0, 2).Draw(t, "choice"),
		Part:   rapid.IntRange(-1, 3).Draw(t, "part"),
	}
	switch e.Kind {
	case PartStart:
		e.Head = head(t, rapid.SampledFrom(kinds).Draw(t, "part kind"))
	case Delta:
		e.Text = []byte(rapid.SampledFrom([]string{"", "{", "}", `{"a":1}`, `"`, `\`, "x"}).Draw(t, "text"))
	case Sealing:
		e.Seal = &Seal{Vendor: OpenAI, Kind: Signed, Data: "s"}
	case Cited:
		e.Citation = &Citation{URL: "u"}
	case Probs:
		e.LogProbs = []byte(`[1]`)
	case Finish:
		e.Stop = EndTurn
	case Start, PartStop, Used, Alive:
	}
	return e
}

// Whatever comes, what goes out is strict.
func TestOrderIsStrict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(anyEvent), 0, 40).Draw(t, "events")
		var o Order
		var s strict
		for _, e := range events {
			o.Put(e, s.put)
		}
		o.End(s.put)
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// spoken is one part as a decoder tells it.
type spoken struct {
	head   *Part
	pieces []string
	stops  bool
}

// tell merges the parts' events, each part's own in order. Calls may be told in turns; a decoder of a plain dialect
// tells the rest as it comes.
func tell(t *rapid.T, choice int, parts []spoken) (events []*Event) {
	queues := make([][]*Event, len(parts))
	for i, p := range parts {
		q := []*Event{{Kind: PartStart, Choice: choice, Part: i, Head: p.head}}
		for _, text := range p.pieces {
			q = append(q, &Event{Kind: Delta, Choice: choice, Part: i, Text: []byte(text)})
		}
		if p.stops {
			q = append(q, &Event{Kind: PartStop, Choice: choice, Part: i})
		}
		queues[i] = q
	}
	for {
		var left []int
		for i, q := range queues {
			if len(q) > 0 {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return events
		}
		i := rapid.SampledFrom(left).Draw(t, "next")
		events = append(events, queues[i][0])
		queues[i] = queues[i][1:]
	}
}

func anyArguments(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
		return ""
	}
	m := rapid.MapOfN(rapid.String(), rapid.SampledFrom([]any{1, `}"{\`, nil, map[string]any{"x": []any{"]"}}}), 0, 3).Draw(t, "arguments")
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func cut(t *rapid.T, text string) (pieces []string) {
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "cut")
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// Parts whose pieces come in turns stay apart, and no byte of a call's arguments, or of a part's text, is lost or changes
// its place.
func TestOrderKeepsEveryByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var parts []spoken
		want := map[string]string{} // by the part's name
		for i := range rapid.IntRange(1, 5).Draw(t, "parts") {
			p := spoken{head: &Part{Kind: rapid.SampledFrom([]PartKind{Text, Reasoning, ToolCall, ToolCall}).Draw(t, "kind")}}
			text := rapid.StringN(0, 8, -1).Draw(t, "text")
			name := fmt.Sprint("part", i)
			if p.head.Kind == ToolCall {
				text = anyArguments(t)
				p.head.Call = &Call{ID: name, Name: "f"}
			} else {
				p.head.Media = &Media{Name: name} // no such part has one: it is a mark
			}
			want[name] = text
			p.pieces = cut(t, text)
			p.stops = rapid.Bool().Draw(t, "stops")
			parts = append(parts, p)
		}
		events := tell(t, 0, parts)
		var o Order
		var s strict
		got := map[string]string{}
		open := ""
		put := func(e *Event) {
			s.put(e)
			switch e.Kind {
			case PartStart:
				if e.Head.Kind != ToolCall {
					open = e.Head.Media.Name
					got[open] += ""
					return
				}
				open = e.Head.Call.ID
				if _, twice := got[open]; twice {
					t.Fatalf("%s starts twice", open)
				}
				got[open] = ""
			case Delta:
				got[open] += string(e.Text)
			default:
			}
		}
		for _, e := range events {
			o.Put(e, put)
		}
		if rapid.Bool().Draw(t, "finish") {
			o.Put(&Event{Kind: Finish, Stop: EndTurn}, put)
		}
		o.End(put)
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, describe(events))
		}
	})
}

func describe(events []*Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %d %q\n", e.Kind, e.Part, e.Text)
	}
	return b.String()
}

// What can go out at once does: only pieces of other parts wait while a call is not complete.
func TestOrderHoldsNothingElse(t *testing.T) {
	t.Parallel()
	var o Order
	var got []string
	put := func(e *Event) { got = append(got, fmt.Sprintf("%d/%d %s", e.Kind, e.Part, e.Text)) }
	step := func(want []string, events ...*Event) {
		t.Helper()
		got = nil
		for _, e := range events {
			o.Put(e, put)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	call := func(id string) *Part { return &Part{Kind: ToolCall, Call: &Call{ID: id}} }
	delta := func(part int, text string) *Event { return &Event{Kind: Delta, Part: part, Text: []byte(text)} }
	step([]string{"2/0 "}, &Event{Kind: PartStart, Part: 7, Head: call("a")})
	step(nil, &Event{Kind: PartStart, Part: 7, Head: call("a")}) // said twice
	step(nil, &Event{Kind: PartStart, Part: 8, Head: call("b")}, delta(8, `{"x`))
	step([]string{`3/0 {"y":{`}, delta(7, `{"y":{`))
	step([]string{"3/0 }}", "7/0 ", "2/1 ", `3/1 {"x`}, delta(7, "}}"))
	step([]string{`3/1 ":1}`}, delta(8, `":1}`))
	step([]string{"7/1 ", "2/2 "}, &Event{Kind: PartStart, Part: 9, Head: &Part{Kind: Text}})
	step([]string{"3/2 hi"}, &Event{Kind: PartStart, Part: 9, Head: &Part{Kind: Text}}, delta(9, "hi"))
	step(nil, &Event{Kind: PartStart, Part: 7, Head: call("a")}, delta(7, "more")) // of a call that is closed
	step([]string{"7/2 ", "8/0 "}, &Event{Kind: Finish, Stop: ToolUse})
	step(nil, delta(9, "late"), &Event{Kind: Finish, Stop: EndTurn})
}

// R17: an end without a finish reason is one.
func TestOrderEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part *Part
		want Stop
	}{
		"text":   {&Part{Kind: Text}, EndTurn},
		"a call": {&Part{Kind: ToolCall, Call: &Call{}}, ToolUse},
	} {
		var o Order
		var last Event
		put := func(e *Event) { last = *e }
		o.Put(&Event{Kind: PartStart, Choice: 1, Head: c.part}, put)
		o.End(put)
		if last.Kind != Finish || last.Stop != c.want || last.Choice != 1 {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
