package guardrail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evergate/internal/llm"
)

func redactorSet(block bool) *Set {
	return &Set{ByName: map[string]*Named{"pii": {Name: "pii", Guard: NewRedactor(allRules(), block), OnRequest: true, OnResponse: true}}}
}

func watch(t interface{ Fatalf(string, ...any) }, s *Set, names ...string) *Watch {
	w, unknown := s.Watch(About{RequestID: "req_1", Model: "m"}, names)
	if unknown != "" {
		t.Fatalf("%s is not known", unknown)
	}
	return w
}

// told folds what a filter lets out of events, in the order that encoders get it.
func told(f *Filter, all []llm.Event) (*llm.Reply, error) {
	var order llm.Order
	var fold llm.Fold
	say := func(e *llm.Event) { fold.Put(e) }
	next := func(e *llm.Event) { order.Put(e, say) }
	for i := range all {
		if err := f.Put(&all[i], next); err != nil {
			return fold.Reply(), err
		}
	}
	err := f.End(next)
	order.End(say)
	return fold.Reply(), err
}

// stream says a reply in pieces.
func inPieces(t *rapid.T, r *llm.Reply) []llm.Event {
	var out []llm.Event
	llm.Unfold(r, func(e *llm.Event) {
		own := *e
		if e.Kind != llm.Delta {
			out = append(out, own)
			return
		}
		for text := e.Text; len(text) > 0; {
			n := rapid.IntRange(1, min(len(text), 12)).Draw(t, "piece")
			piece := own
			piece.Text = []byte(string(text[:n]))
			out = append(out, piece)
			text = text[n:]
		}
	})
	return out
}

// A stream in any pieces says what the whole reply does: texts, thoughts, refusals, and a call's arguments with their escapes.
func TestFilterStreamIsWhole(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"hello ", "ada@example.com", " sk-abcdefghijklmnopqrstuv ", " 4111 1111 1111 1111 ", "\n", "ünï", "[x]", "."})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "text"), "") })
	rapid.Check(t, func(t *rapid.T) {
		reply := &llm.Reply{ID: "a", Model: "m"}
		for range rapid.IntRange(1, 2).Draw(t, "choices") {
			c := llm.Choice{Stop: llm.EndTurn}
			for range rapid.IntRange(1, 4).Draw(t, "parts") {
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					c.Content = append(c.Content, llm.Part{Kind: llm.Reasoning, Text: text.Draw(t, "thought"), Seal: &llm.Seal{Kind: llm.Signed, Data: "s"}})
				case 1:
					c.Content = append(c.Content, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "f", Arguments: fmt.Sprintf(`{"a":%q,"b":4111111111111111,"c":"ada\u0040example.com"}`, strings.ReplaceAll(text.Draw(t, "argument"), "\n", " "))}})
				case 2:
					c.Content = append(c.Content, llm.Part{Kind: llm.Refusal, Text: text.Draw(t, "refusal")})
				default:
					c.Content = append(c.Content, llm.Part{Kind: llm.Text, Text: text.Draw(t, "text"), Citations: []llm.Citation{{Quote: "ada@example.com", Start: 1, End: 2}}})
				}
			}
			reply.Choices = append(reply.Choices, c)
		}
		pieces := inPieces(t, reply)
		got, err := told(watch(t, redactorSet(false), "pii").Filter(context.Background()), pieces)
		if err != nil {
			t.Fatal(err)
		}
		if err := watch(t, redactorSet(false), "pii").Filter(context.Background()).Reply(reply); err != nil {
			t.Fatal(err)
		}
		g, w := shown(got), shown(reply)
		if g != w {
			t.Fatalf("%s\nnot\n%s", g, w)
		}
		for _, secret := range []string{"ada@", `ada\u0040`, "sk-abc", "4111 "} {
			if strings.Contains(g, secret) {
				t.Fatalf("%s got through: %s", secret, g)
			}
		}
	})
}

func shown(r *llm.Reply) string {
	var b strings.Builder
	for i := range r.Choices {
		for _, p := range r.Choices[i].Content {
			fmt.Fprintf(&b, "%d:%d %q", i, p.Kind, p.Text)
			if p.Call != nil {
				fmt.Fprintf(&b, " %s", p.Call.Arguments)
			}
			fmt.Fprintf(&b, " seal %t %v\n", p.Seal != nil, p.Citations)
		}
	}
	return b.String()
}

// Two calls whose arguments come mixed are each whole; what has no end of its own is let out at the finish.
func TestFilterMixedCalls(t *testing.T) {
	t.Parallel()
	call := func(id string) *llm.Part { return &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: "f"}} }
	all := []llm.Event{
		{Kind: llm.Start, ID: "x"},
		{Kind: llm.PartStart, Part: 0, Head: call("a")},
		{Kind: llm.Delta, Part: 0, Text: []byte(`{"m":"ada@exam`)},
		{Kind: llm.PartStart, Part: 1, Head: call("b")},
		{Kind: llm.Delta, Part: 1, Text: []byte(`{"m":"4111 1111 `)},
		{Kind: llm.Delta, Part: 0, Text: []byte(`ple.com"}`)},
		{Kind: llm.Delta, Part: 1, Text: []byte(`1111 1111"}`)},
		{Kind: llm.Finish, Stop: llm.ToolUse},
	}
	r, err := told(watch(t, redactorSet(false), "pii").Filter(t.Context()), all)
	if err != nil || len(r.Choices) != 1 || len(r.Choices[0].Content) != 2 || r.Choices[0].Content[0].Call.Arguments != `{"m":"[EMAIL]"}` || r.Choices[0].Content[1].Call.Arguments != `{"m":"[CARD]"}` {
		t.Errorf("%v %s", err, shown(r))
	}
}

// Token probabilities have the words again: none are let out.
func TestFilterNoProbabilities(t *testing.T) {
	t.Parallel()
	all := []llm.Event{
		{Kind: llm.Start},
		{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}},
		{Kind: llm.Delta, Text: []byte("so. ")},
		{Kind: llm.Probs, LogProbs: []byte(`[{"token":"ada@example.com"}]`)},
		{Kind: llm.Finish, Stop: llm.EndTurn},
	}
	r, err := told(watch(t, redactorSet(false), "pii").Filter(t.Context()), all)
	if err != nil || len(r.Choices[0].LogProbs) != 0 {
		t.Errorf("%v %s", err, r.Choices[0].LogProbs)
	}
	plain := &llm.Reply{Choices: []llm.Choice{{Content: []llm.Part{{Kind: llm.Text, Text: "a"}}, LogProbs: []byte(`[{"token":"ada@example.com"}]`)}}}
	if err := watch(t, redactorSet(false), "pii").Filter(t.Context()).Reply(plain); err != nil || len(plain.Choices[0].LogProbs) != 0 {
		t.Errorf("%v %s", err, plain.Choices[0].LogProbs)
	}
}

// A guard that blocks lets nothing of what it found out, and says which one it is and why.
func TestFilterBlocks(t *testing.T) {
	t.Parallel()
	all := []llm.Event{
		{Kind: llm.Start},
		{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}},
		{Kind: llm.Delta, Text: []byte("mail ada@exam")},
		{Kind: llm.Delta, Text: []byte("ple.com now")},
		{Kind: llm.Finish, Stop: llm.EndTurn},
	}
	w := watch(t, redactorSet(true), "pii")
	r, err := told(w.Filter(t.Context()), all)
	var b *Blocked
	if !errors.As(err, &b) || b.Guard != "pii" || b.Phase != Response || w.Blocked() != b || !strings.Contains(b.Error(), "email") {
		t.Errorf("%v", err)
	}
	if text := shown(r); strings.Contains(text, "ada") {
		t.Errorf("it got through: %s", text)
	}
}

// judge is a guard of a test.
type judge func(ctx context.Context, p *Passage) (Verdict, error)

func (j judge) Check(ctx context.Context, p *Passage) (Verdict, error) { return j(ctx, p) }

// A guard that follows no text judges windows of it, is shown what stood before, and may replace each.
func TestFilterWindows(t *testing.T) {
	t.Parallel()
	var seen []string
	g := &Named{Name: "j", OnResponse: true, Every: 10, Guard: judge(func(_ context.Context, p *Passage) (Verdict, error) {
		seen = append(seen, string(p.Before)+"|"+string(p.Texts[0].Value))
		p.Texts[0].Value = []byte(strings.ToUpper(string(p.Texts[0].Value)))
		return Verdict{Action: Replace}, nil
	})}
	all := []llm.Event{
		{Kind: llm.Start},
		{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}},
		{Kind: llm.Delta, Text: []byte("one two ")},
		{Kind: llm.Delta, Text: []byte("three ")},
		{Kind: llm.Delta, Text: []byte("four")},
		{Kind: llm.Finish, Stop: llm.EndTurn},
	}
	r, err := told(watch(t, &Set{ByName: map[string]*Named{"j": g}}, "j").Filter(t.Context()), all)
	if err != nil || r.Choices[0].Content[0].Text != "ONE TWO THREE FOUR" || fmt.Sprint(seen) != "[|one two three  one two three |four]" {
		t.Errorf("%v %q %q", err, r.Choices[0].Content[0].Text, seen)
	}
}

// A guard that cannot tell lets all pass or nothing, as it is configured, and that is a fact.
func TestGuardThatFails(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		failed := 0
		s := &Set{
			ByName: map[string]*Named{"j": {Name: "j", OnRequest: true, FailOpen: open, Guard: judge(func(context.Context, *Passage) (Verdict, error) { return Verdict{}, errors.New("down") })}},
			Failed: func(*About, string, Phase, bool, error) { failed++ },
		}
		w := watch(t, s, "j")
		body := []byte(`{"messages":[{"content":"hello"}]}`)
		out, err := w.Request(t.Context(), body)
		var b *Blocked
		if open && (err != nil || string(out) != string(body)) || !open && (!errors.As(err, &b) || !b.Failed) || failed != 1 {
			t.Errorf("open %t: %s %v, said %d times", open, out, err, failed)
		}
		want := []Fact{{"j", "request", map[bool]string{false: "failed_closed", true: "failed_open"}[open]}}
		if got := w.Facts(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v", got)
		}
	}
}

// A guard that is to hold and is not there: nothing passes without it.
func TestUnknownGuard(t *testing.T) {
	t.Parallel()
	var none *Set
	for _, s := range []*Set{none, redactorSet(false)} {
		if w, unknown := s.Watch(About{}, s.Names(nil, []string{"gone"})); w != nil || unknown != "gone" {
			t.Errorf("%v %q", w, unknown)
		}
	}
}

// A part that goes on after another one spoke is one text for the client: what is split by that is found, and no more of it let out than was before.
func TestFilterPartTakenUpAgain(t *testing.T) {
	t.Parallel()
	for _, block := range []bool{false, true} {
		w := watch(t, redactorSet(block), "pii")
		f := w.Filter(t.Context())
		said := map[int]string{}
		next := func(e *llm.Event) {
			if e.Kind == llm.Delta {
				said[e.Part] += string(e.Text)
			}
		}
		var err error
		for i, e := range []llm.Event{
			{Kind: llm.Start},
			{Kind: llm.PartStart, Part: 0, Head: &llm.Part{Kind: llm.Text}},
			{Kind: llm.PartStart, Part: 1, Head: &llm.Part{Kind: llm.Reasoning}},
			{Kind: llm.Delta, Part: 0, Text: []byte("mail ada@exam")},
			{Kind: llm.Delta, Part: 1, Text: []byte("so ")},
			{Kind: llm.Delta, Part: 0, Text: []byte("ple.com now, or")},
			{Kind: llm.Delta, Part: 1, Text: []byte("so")},
			{Kind: llm.Delta, Part: 0, Text: []byte("dinary text")},
			{Kind: llm.Finish, Stop: llm.EndTurn},
		} {
			if err = f.Put(&e, next); err != nil {
				if !block || i != 5 {
					t.Errorf("event %d: %v", i, err)
				}
				break
			}
		}
		if !block && (said[0] != "mail ada@exam[EMAIL] now, ordinary text" || said[1] != "so so") || block && (err == nil || strings.Contains(said[0], "ple.com")) {
			t.Errorf("block %t: %v %v", block, err, said)
		}
	}
}

// What a tool is called with, or gave back, are words whatever its members are called: a service that judges texts is shown them.
func TestToolDataIsWords(t *testing.T) {
	t.Parallel()
	const planted = "sk-proj-0123456789012345678901234567890123456789"
	for _, body := range []string{
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"name":"` + planted + `"}}]}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"signature":["` + planted + `"]}}]}]}`,
		`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"url":{"id":"` + planted + `"}}}}]}]}`,
		`{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"status":"` + planted + `"}}}]}]}`,
	} {
		words := 0
		for _, text := range read([]byte(body)).texts {
			if text.Kind == Words && string(text.Value) == planted {
				words++
			}
		}
		if words != 1 {
			t.Errorf("%s: it is %d times a word", body, words)
		}
	}
	d := read([]byte(`{"metadata":{"a":-4111111111111111,"b":4111111111111111.00,"c":0.123456789012345,"d":4111111111111111.5}}`))
	if len(d.texts) != 2 || d.texts[0].Kind != Number || d.texts[1].Kind != Number {
		t.Errorf("%q", d.texts)
	}
}

// What a guard leaves in the texts without replacing them, or before it fails, is nobody's, of a request and of a window of an answer.
func TestGuardThatLeavesSomething(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]judge{
		"allowed": func(_ context.Context, p *Passage) (Verdict, error) {
			p.Texts[0].Value = []byte("x")
			return Verdict{}, nil
		},
		"failed": func(_ context.Context, p *Passage) (Verdict, error) {
			p.Texts[0].Value = []byte("x")
			return Verdict{}, errors.New("down")
		},
		"failed, emptied": func(_ context.Context, p *Passage) (Verdict, error) {
			p.Texts = nil
			return Verdict{}, errors.New("down")
		},
		"emptied": func(_ context.Context, p *Passage) (Verdict, error) {
			p.Texts = nil
			return Verdict{Action: Replace}, nil
		},
		"more": func(_ context.Context, p *Passage) (Verdict, error) {
			p.Texts = append(p.Texts, Text{})
			p.Texts[0].Value = []byte("x")
			return Verdict{Action: Replace}, nil
		},
	} {
		s := &Set{ByName: map[string]*Named{"j": {Name: "j", OnRequest: true, OnResponse: true, FailOpen: true, Every: 1, Guard: g}}}
		body := `{"messages":[{"content":"hello"}]}`
		if out, err := watch(t, s, "j").Request(t.Context(), []byte(body)); err != nil || string(out) != body {
			t.Errorf("%s: the request is %s %v", name, out, err)
		}
		r, err := told(watch(t, s, "j").Filter(t.Context()), []llm.Event{
			{Kind: llm.Start}, {Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}}, {Kind: llm.Delta, Text: []byte("hello")}, {Kind: llm.Finish, Stop: llm.EndTurn},
		})
		if err != nil || r.Choices[0].Content[0].Text != "hello" {
			t.Errorf("%s: the answer is %s %v", name, shown(r), err)
		}
	}
}
