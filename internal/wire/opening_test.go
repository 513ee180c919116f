package wire

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/jsonscan"
)

func turnsOf(text string) (first string, goesOn bool) {
	var o Opening
	r := jsonscan.Again([]byte(text))
	o.Turns(&r, Span{})
	return text[o.First.From:o.First.To], o.GoesOn
}

func TestTurns(t *testing.T) {
	many := "[" + strings.Repeat(`{"role":"user"},`, maxOpening) + `{"role":"assistant"}]`
	cases := []struct {
		name, text, first string
		goesOn            bool
	}{
		{"a text", ` "hi"`, `"hi"`, false},
		{"one message", ` [ {"role":"user","content":"hi"} ]`, `[ {"role":"user","content":"hi"}`, false},
		{"who speaks comes last", `[{"content":"hi","role":"user"}]`, `[{"content":"hi","role":"user"}`, false},
		{"after the operator's", `[{"role":"system"},{"role":"developer"},{"role":"user"},{"role":"user"}]`, `[{"role":"system"},{"role":"developer"},{"role":"user"}`, false},
		{"an answer", `[{"role":"user"},{"role":"assistant"},{"role":"user"}]`, `[{"role":"user"}`, true},
		{"Gemini's answer", `[{"parts":[]},{"role":"model"}]`, `[{"parts":[]}`, true},
		{"a tool's result", `[{"role":"user"},{"role":"tool"}]`, `[{"role":"user"}`, true},
		{"an item of no role", `[{"type":"message","role":"user"},{"type":"function_call_output","output":"x"}]`, `[{"type":"message","role":"user"}`, true},
		{"a message of a type", `[{"type":"message","role":"assistant"}]`, ``, true},
		{"nothing", `[]`, ``, false},
		{"of another kind", `{"role":"user"}`, ``, false},
		{"elements of another kind", `[1,null,{"role":"assistant"}]`, `[1`, true},
		{"no answer among those that are looked at", many, `[{"role":"user"}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if first, goesOn := turnsOf(c.text); first != c.first || goesOn != c.goesOn {
				t.Errorf("%q, goes on: %v", first, goesOn)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for value, want := range map[string]string{
		``:         "",
		`"hi\n"`:   `hi\n/4 `,
		`"a text"`: "a te/6 ",
		`[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"text":"b"}]`: "a/1 b/1 ",
		`{"parts":[{"text":"a"},{"inlineData":{"data":"x"}}]}`:                           "a/1 ",
		`[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":"b"`:         "a/1 b/1 ",
		`[1,null,{"text":7}]`: "",
	} {
		var got strings.Builder
		Words([]byte(value), 4, func(words []byte, length int) { fmt.Fprintf(&got, "%s/%d ", words, length) })
		if got.String() != want {
			t.Errorf("%s: %q, want %q", value, got.String(), want)
		}
	}
}

// Whatever comes: no panic, and places that are in the body.
func FuzzOpening(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":[{"text":"a"}]},{"role":"assistant"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if jsonscan.Valid(text) != nil {
			return
		}
		var o, leaping Opening
		r, again := jsonscan.Again(text), jsonscan.Again(text)
		o.Turns(&r, Span{})
		again.Kind()
		leaping.Turns(&again, Span{From: again.Offset(), To: r.Offset()})
		if !r.End() || !again.End() || o != leaping {
			t.Fatalf("stopped at %d and %d, %+v and %+v", r.Offset(), again.Offset(), o, leaping)
		}
		Words(text[o.First.From:o.First.To], 8, func(words []byte, length int) {
			if len(words) > 8 || length < len(words) {
				t.Fatalf("%d of %d", len(words), length)
			}
		})
	})
}
