package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/testkit"
)

// told is what a client hears of a decoder's events.
func told(q *llm.Request, events ...*llm.Event) []byte {
	var order llm.Order
	var out []byte
	e := Messages{}.NewEncoder(q)
	put := func(ev *llm.Event) { out = e.Append(out, ev) }
	for _, ev := range events {
		order.Put(ev, put)
	}
	order.End(put)
	return e.AppendEnd(out)
}

func starts(part int, head llm.Part) *llm.Event {
	return &llm.Event{Kind: llm.PartStart, Part: part, Head: &head}
}

func more(part int, s string) *llm.Event {
	return &llm.Event{Kind: llm.Delta, Part: part, Text: []byte(s)}
}

func seals(part int, s llm.Seal) *llm.Event {
	return &llm.Event{Kind: llm.Sealing, Part: part, Seal: &s}
}

func ends(stop llm.Stop, word string) *llm.Event {
	return &llm.Event{Kind: llm.Finish, Stop: stop, StopText: word}
}

// A stream of a foreign upstream with everything in it, as a golden file.
func TestEncoderGolden(t *testing.T) {
	t.Parallel()
	q := &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}
	out := told(q,
		&llm.Event{Kind: llm.Alive}, // before anything is said
		&llm.Event{Kind: llm.Start, ID: "chatcmpl-u1", Model: "gpt-x", ServiceTier: "default"},
		starts(0, llm.Part{Kind: llm.Text}), more(0, ""), // nothing is said: no block
		starts(1, llm.Part{Kind: llm.Reasoning}), more(1, "Think "), more(1, "hard."), seals(1, llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "sig"}),
		starts(2, llm.Part{Kind: llm.Reasoning}), seals(2, llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAA", ID: "rs_1"}),
		starts(3, llm.Part{Kind: llm.Reasoning}), seals(3, llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "red"}),
		starts(4, llm.Part{Kind: llm.Reasoning}), more(4, "no seal"),
		starts(5, llm.Part{Kind: llm.Text}), more(5, "First \"x\"\n"), &llm.Event{Kind: llm.Alive},
		&llm.Event{Kind: llm.Cited, Part: 5, Citation: &llm.Citation{URL: "https://s", Title: "T", Quote: "Q"}},
		&llm.Event{Kind: llm.Cited, Part: 5, Citation: &llm.Citation{Title: "only a title"}},
		seals(5, llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "of text"}),
		starts(6, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "functions.f:0", Name: "f"}}), more(6, `{"a":`), seals(6, llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "of call"}), more(6, `"é"}`),
		starts(7, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_2", Name: "g"}}), &llm.Event{Kind: llm.PartStop, Part: 7},
		starts(8, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_3", Name: "patch", Custom: true}}), more(8, "*** \"Begin\n"), more(8, "End"), &llm.Event{Kind: llm.PartStop, Part: 8},
		starts(9, llm.Part{Kind: llm.Audio, Media: &llm.Media{}}), more(9, "AAAA"),
		starts(10, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "x", Raw: []byte("{}")}}),
		&llm.Event{Kind: llm.Delta, Choice: 1, Text: []byte("another answer")},
		ends(llm.EndTurn, ""), // some say stop where they called
		&llm.Event{Kind: llm.Used, Usage: llm.Usage{Known: true, Input: 1000, CachedInput: 900, CacheWrite: 40, Output: 25, Reasoning: 20}},
	)
	if err := grammar(out); err != nil {
		t.Error(err)
	}
	testkit.Golden(t, "golden/encoder/everything.sse", out)
	want := []string{llm.DropCitations, llm.DropSignatures, llm.DropAudio, llm.DropServerTools, "n"}
	if diff := cmp.Diff(want, q.Dropped.Names()); diff != "" {
		t.Error(diff)
	}
	// What the client heard comes back with its next turn: every seal as it was.
	body, err := Messages{}.ReplyFromStream(out)
	if err != nil {
		t.Fatal(err)
	}
	content := valueOf(membersOf(body), "content")
	r, err := Messages{}.ReadRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":` + string(content) + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	back, err := Messages{}.DecodeRequest(&r)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "golden/encoder/everything-back.txt", show(back))
}

func TestEncoderStops(t *testing.T) {
	t.Parallel()
	said := []*llm.Event{starts(0, llm.Part{Kind: llm.Text}), more(0, "x")}
	calls := []*llm.Event{starts(0, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "f"}})}
	refuses := []*llm.Event{starts(0, llm.Part{Kind: llm.Refusal}), more(0, "no")}
	for name, c := range map[string]struct {
		events   []*llm.Event
		stop     llm.Stop
		word     string
		reason   string
		sequence any
	}{
		"end":               {said, llm.EndTurn, "", "end_turn", nil},
		"length":            {said, llm.Length, "", "max_tokens", nil},
		"tools":             {calls, llm.ToolUse, "", "tool_use", nil},
		"tools, said badly": {calls, llm.EndTurn, "", "tool_use", nil},
		"length in a call":  {calls, llm.Length, "", "max_tokens", nil},
		"stop sequence":     {said, llm.StopSequence, "END", "stop_sequence", "END"},
		"which one?":        {said, llm.StopSequence, "", "stop_sequence", nil},
		"filter":            {said, llm.ContentFilter, "", "refusal", nil},
		"refusal":           {said, llm.Refused, "", "refusal", nil},
		"refusal, as text":  {refuses, llm.EndTurn, "", "refusal", nil},
		"paused":            {said, llm.Paused, "", "pause_turn", nil},
		"window full":       {said, llm.ContextFull, "", "model_context_window_exceeded", nil},
		"unknown":           {said, llm.OtherStop, "tea_break", "end_turn", nil},
		"nothing said":      {nil, llm.EndTurn, "", "end_turn", nil},
	} {
		q := &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}
		stream := told(q, append(append([]*llm.Event{{Kind: llm.Start, ID: "i", Model: "m"}}, c.events...), ends(c.stop, c.word))...)
		if err := grammar(stream); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var fold llm.Fold
		var order llm.Order
		for _, ev := range append(slices.Clone(c.events), ends(c.stop, c.word)) {
			order.Put(ev, fold.Put)
		}
		plain := Messages{}.AppendReply(nil, fold.Reply(), q)
		for kind, raw := range map[string][]byte{"stream": closing(stream), "plain": plain} {
			var got struct {
				Reason   string `json:"stop_reason"`
				Sequence any    `json:"stop_sequence"`
			}
			if err := json.Unmarshal(raw, &got); err != nil || got.Reason != c.reason || got.Sequence != c.sequence {
				t.Errorf("%s, %s: %+v, %v", name, kind, got, err)
			}
		}
	}
	// An answer that has not ended is never told as one that has.
	if got := string(Messages{}.AppendReply(nil, &llm.Reply{Choices: make([]llm.Choice, 1)}, nil)); !strings.Contains(got, `"stop_reason":null`) {
		t.Error(got)
	}
}

// closing is the delta of a stream's message_delta.
func closing(stream []byte) []byte {
	_, rest, _ := bytes.Cut(stream, []byte(`{"type":"message_delta","delta":`))
	raw, _, _ := bytes.Cut(rest, []byte(`,"usage"`))
	return raw
}

func TestAppendReply(t *testing.T) {
	t.Parallel()
	q := &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}
	a := &llm.Reply{
		ID: "resp_1", Model: "m", ServiceTier: "default",
		Usage: llm.Usage{Known: true, Input: 1000, CachedInput: 900, Output: 25},
		Choices: []llm.Choice{{Stop: llm.ToolUse, Content: []llm.Part{
			text(""),
			{Kind: llm.Reasoning},
			{Kind: llm.Reasoning, Text: "open"},
			thought(llm.OpenAI, llm.Encrypted, "summary", "gAAA"),
			thought(llm.OpenAI, llm.Encrypted, "", "gAAA"),
			thought(llm.Anthropic, llm.Redacted, "shown", "red"),
			{Kind: llm.Text, Text: "hi", Citations: []llm.Citation{{URL: "u", Quote: "q"}, {Title: "t"}}},
			{Kind: llm.ToolCall, Call: &llm.Call{ID: "a.b", Name: "f"}, Signature: &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "s"}},
			{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "p", Arguments: "free", Custom: true}},
			{Kind: llm.Image, Media: &llm.Media{}},
		}}, {}},
	}
	got := Messages{}.AppendReply(nil, a, q)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	testkit.Golden(t, "golden/encoder/reply.json", append(pretty.Bytes(), '\n'))
	if diff := cmp.Diff([]string{"n", llm.DropCitations, llm.DropImages}, q.Dropped.Names()); diff != "" {
		t.Error(diff)
	}
}

// A seal stands as it is only in the field that the dialect has for its kind.
func TestSealText(t *testing.T) {
	t.Parallel()
	for _, s := range []llm.Seal{
		{Vendor: llm.Anthropic, Kind: llm.Encrypted, Data: "d"}, {Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "d"}, {Vendor: llm.Google, Kind: llm.Signed, Data: "d"},
	} {
		if got, ok := llm.Unwrap(sealText(&s, llm.Signed)); !ok || got != s {
			t.Errorf("%+v became %+v", s, got)
		}
	}
	if got := sealText(&llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "d"}, llm.Signed); got != "d" {
		t.Error(got)
	}
}

// anyAnswer draws the events of an answer as decoders tell them, in any mixture.
func anyAnswer(t *rapid.T) (events []*llm.Event) {
	for i := range rapid.IntRange(0, 5).Draw(t, "parts") {
		kind := rapid.SampledFrom([]llm.PartKind{
			llm.Text, llm.Text, llm.Reasoning, llm.Refusal, llm.ToolCall, llm.ToolCall, llm.Opaque, llm.Audio,
		}).Draw(t, "kind")
		head := llm.Part{Kind: kind}
		switch kind {
		case llm.ToolCall:
			head.Call = &llm.Call{ID: rapid.String().Draw(t, "id"), Name: "f", Custom: rapid.Bool().Draw(t, "custom")}
		case llm.Opaque:
			head.Opaque = &llm.Block{Vendor: rapid.SampledFrom([]llm.Vendor{llm.Anthropic, llm.OpenAI}).Draw(t, "maker"), Type: "hologram", Raw: []byte(`{"type":"hologram"}`)}
		default:
		}
		events = append(events, starts(i, head))
		for range rapid.IntRange(0, 4).Draw(t, "pieces") {
			switch rapid.IntRange(0, 5).Draw(t, "piece") {
			case 0:
				events = append(events, seals(i, llm.Seal{
					Vendor: rapid.SampledFrom([]llm.Vendor{llm.Anthropic, llm.OpenAI, llm.Google}).Draw(t, "vendor"),
					Kind:   rapid.SampledFrom([]llm.SealKind{llm.Signed, llm.Redacted, llm.Encrypted}).Draw(t, "seal"), Data: "s",
				}))
			case 1:
				events = append(events, &llm.Event{Kind: llm.Cited, Part: i, Citation: &llm.Citation{URL: rapid.SampledFrom([]string{"", "u"}).Draw(t, "url")}})
			default:
				events = append(events, more(i, rapid.String().Draw(t, "text")))
			}
		}
		if rapid.Bool().Draw(t, "stop") {
			events = append(events, &llm.Event{Kind: llm.PartStop, Part: i})
		}
	}
	return events
}

// Whatever an upstream says in whatever order, the client's stream keeps to the grammar, and no text, no call and no
// byte of arguments is lost.
func TestEncoderGrammar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := anyAnswer(t)
		for range rapid.IntRange(0, 6).Draw(t, "swaps") { // pieces come in turns
			if len(events) > 1 {
				i := rapid.IntRange(0, len(events)-2).Draw(t, "swap")
				events[i], events[i+1] = events[i+1], events[i]
			}
		}
		extra := []*llm.Event{
			{Kind: llm.Start, ID: "i", Model: "m"},
			{Kind: llm.Alive},
			{Kind: llm.Used, Usage: llm.Usage{Known: true, Input: 1, Output: 2}},
			{Kind: llm.Probs, LogProbs: []byte("[]")},
		}
		for _, e := range extra {
			events = slices.Insert(events, rapid.IntRange(0, len(events)).Draw(t, "at"), e)
		}
		if rapid.Bool().Draw(t, "finish") {
			events = append(events, ends(llm.EndTurn, ""))
		}
		var order llm.Order
		var texts, got []string
		open := llm.Part{}
		note := func(list *[]string, p *llm.Part, s string) {
			switch p.Kind {
			case llm.Text, llm.Refusal:
				*list = append(*list, "text "+s)
			case llm.Reasoning:
				*list = append(*list, "thought "+s)
			case llm.ToolCall:
				if p.Call.Custom {
					raw := quoted(s)
					s = string(raw[1 : len(raw)-1])
				}
				*list = append(*list, "call "+s)
			default:
			}
		}
		put := func(e *llm.Event) {
			switch e.Kind {
			case llm.PartStart:
				open = *e.Head
			case llm.Delta:
				note(&texts, &open, string(e.Text))
			default:
			}
		}
		for _, ev := range events {
			order.Put(ev, put)
		}
		order.End(put)
		stream := told(&llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}, events...)
		if err := grammar(stream); err != nil {
			t.Fatalf("%v\n%s", err, stream)
		}
		var d decoder
		var kind llm.PartKind
		for _, f := range bytes.Split(stream, []byte("\n\n")) {
			_, data, _ := bytes.Cut(f, []byte("\ndata: "))
			if len(data) == 0 {
				continue
			}
			if err := d.Decode(data, func(e *llm.Event) {
				switch e.Kind {
				case llm.PartStart:
					kind = e.Head.Kind
				case llm.Delta:
					word := map[llm.PartKind]string{llm.Text: "text ", llm.Reasoning: "thought ", llm.ToolCall: "call "}[kind]
					got = append(got, word+string(e.Text))
				default:
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if w, g := joined(texts), joined(got); w != g {
			t.Fatalf("said %q, heard %q", w, g)
		}
	})
}

func quoted(s string) []byte { return jsonscan.AppendString(nil, s) }

// joined joins what was said of a kind in a row; what wraps a custom call's text does not count.
func joined(list []string) (out string) {
	var last string
	for _, s := range list {
		kind, text, _ := strings.Cut(s, " ")
		if kind == "call" {
			text = strings.NewReplacer(`{"input":"`, "", `"}`, "").Replace(text)
		}
		if text == "" {
			continue
		}
		if kind != last {
			out += fmt.Sprintf("|%s ", kind)
		}
		last = kind
		out += text
	}
	return out
}

// A stream says the same wherever its bytes are cut: frames are whole events, whatever the reads were.
func TestDecoderTellsTheSameTwice(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		want := decodeStream(t, stream)
		for _, ends := range []string{"\r\n", "\r"} {
			other := bytes.ReplaceAll(stream, []byte("\n"), []byte(ends))
			if diff := cmp.Diff(want, decodeStream(t, other), wholeBytes); diff != "" {
				t.Errorf("%s with %q: %s", name, ends, diff)
			}
		}
	}
}

// A client that did not ask for thoughts gets none: only what a call must bring back, right before it.
func TestUnaskedThoughts(t *testing.T) {
	t.Parallel()
	sealed := func(kind llm.SealKind) *llm.Seal { return &llm.Seal{Vendor: llm.OpenAI, Kind: kind, Data: "d"} }
	call := llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c1", Name: "f", Arguments: "{}"}}
	text := llm.Part{Kind: llm.Text, Text: "hi"}
	for _, tc := range []struct {
		name    string
		content []llm.Part
		want    string // types of the blocks
	}{
		{"text alone", []llm.Part{{Kind: llm.Reasoning, Text: "hm"}, text}, "text"},
		{"sealed, before text", []llm.Part{{Kind: llm.Reasoning, Text: "hm", Seal: sealed(llm.Encrypted)}, text}, "text"},
		{"sealed, before a call", []llm.Part{{Kind: llm.Reasoning, Text: "hm", Seal: sealed(llm.Encrypted)}, call}, "redacted_thinking tool_use"},
		{"signed, before a call", []llm.Part{{Kind: llm.Reasoning, Text: "hm", Seal: sealed(llm.Signed)}, call}, "tool_use"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			reply := &llm.Reply{ID: "r", Model: "m", Choices: []llm.Choice{{Content: tc.content, Stop: llm.EndTurn}}}
			q := &llm.Request{Dropped: &llm.Dropped{}}
			var m struct{ Content []struct{ Type string } }
			if err := json.Unmarshal(Messages{}.AppendReply(nil, reply, q), &m); err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, b := range m.Content {
				types = append(types, b.Type)
			}
			if got := strings.Join(types, " "); got != tc.want {
				t.Errorf("reply: %s", got)
			}
			e := Messages{}.NewEncoder(q)
			var stream []byte
			llm.Unfold(reply, func(ev *llm.Event) { stream = e.Append(stream, ev) })
			types = nil
			for line := range strings.Lines(string(e.AppendEnd(stream))) {
				var ev struct {
					Block struct{ Type string } `json:"content_block"`
				}
				if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &ev) == nil && ev.Block.Type != "" {
					types = append(types, ev.Block.Type)
				}
			}
			if got := strings.Join(types, " "); got != tc.want {
				t.Errorf("stream: %s", got)
			}
		})
	}
}
