package jsonscan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", chunk, `{"a":[1,2,{"b":null}],"c":"\u00e9\n"}`, `[1e5,-0.1,"\ud83d"]`, `{"a":1,}`, "\"a\x00\"", `"\`,
		`["` + string(make([]byte, 40)) + `"]`, "\xff", "\"\xff\"", "1 2", `{"":""}`, "[[[[]]]]", "tru", "-",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Valid(text)
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			if syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Errorf("offset %d of %d", syntax.Offset, len(text))
			}
			if syntax.Msg == tooDeep.String() {
				return
			}
		}
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v, but encoding/json says %v", text, err, json.Valid(text))
		}
		for r := Again(text); r.OK() && r.Kind() != None; { // whatever it is, it comes to an end
			r.Skip()
		}
		for r, n := Again(text), 0; r.OK() && n < 1000; n++ {
			decode(&r)
		}
		r := New(text)
		got := decode(&r)
		r.End()
		if d := cmp.Diff(err, r.Err()); d != "" {
			t.Fatalf("%q: skipped and walked differ: %s", text, d)
		}
		if err != nil {
			return
		}
		if d := cmp.Diff(unmarshal(t, text), got); d != "" {
			t.Fatalf("%q: %s", text, d)
		}
		again := Again(text)
		if d := cmp.Diff(got, decode(&again)); d != "" || !again.End() {
			t.Fatalf("%q read again: %s", text, d)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "a\"\\\n\x00", "é\xff", "\u2028😀"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, out, err)
		}
		var want string
		std, _ := json.Marshal(s)
		_ = json.Unmarshal(std, &want)
		r := New(out)
		if own, ok := r.Text(); !ok || own != want || got != want || !r.End() {
			t.Fatalf("%q: got %q and %q, want %q", s, got, own, want)
		}
	})
}

// What is called written is what would be written.
func FuzzIsWritten(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "a\\n\\t\\r\\\"\\\\", "caf\u00e9 \u6771", "\\u00e9", "\\/", "\\b", "\\f", "\\u0001", "\\ud83d", "\xff", "\xed\xa0\x80", "\x7f\u2028",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, inside []byte) {
		written := IsWritten(inside) // of anything, it comes to an end
		quoted := append(append([]byte{'"'}, inside...), '"')
		if Valid(quoted) != nil || !written {
			return
		}
		if again := AppendString(nil, TextOf(inside)); string(again) != string(quoted) {
			t.Fatalf("%q is written %q", quoted, again)
		}
	})
}
