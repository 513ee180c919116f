package jsonscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// decode builds with a Reader what encoding/json would build, numbers as json.Number.
func decode(r *Reader) any {
	switch r.Kind() {
	case Object:
		out := map[string]any{}
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			name := string([]rune(string(key))) // U+FFFD for what is not UTF-8, as in encoding/json
			out[name] = decode(r)
		}
		return out
	case Array:
		out := []any{}
		r.Array()
		for r.Elem() {
			out = append(out, decode(r))
		}
		return out
	case String:
		text, _ := r.Text()
		return text
	case Number:
		return json.Number(r.Raw())
	case Bool:
		value, _ := r.Bool()
		return value
	case Null:
		r.Null()
		return nil
	case None:
		r.Skip()
	}
	return nil
}

func unmarshal(tb testing.TB, text []byte) any {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		tb.Fatal(err)
	}
	return want
}

func TestProblemsSayWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		offset     int
		bad        problem
	}{
		{"empty", "", 0, unexpectedEnd},
		{"white space only", " \t\r\n", 4, unexpectedEnd},
		{"open object", `{"a":1`, 6, unexpectedEnd},
		{"open array", `[1,`, 3, unexpectedEnd},
		{"open string", `{"a":"b`, 7, unexpectedEnd},
		{"open escape", `"\`, 2, unexpectedEnd},
		{"open unicode escape", `"\u12`, 5, unexpectedEnd},
		{"half a word", `[tru`, 4, unexpectedEnd},
		{"not a value", `{"a":x}`, 5, wantValue},
		{"no value before the comma", `[,1]`, 1, wantValue},
		{"no value after the comma", `[1,]`, 3, wantValue},
		{"plus sign", `[+1]`, 1, wantValue},
		{"unquoted key", `{a:1}`, 1, wantKey},
		{"single quotes", `{'a':1}`, 1, wantKey},
		{"comma before the brace", `{"a":1,}`, 7, wantKey},
		{"no colon", `{"a" 1}`, 5, wantColon},
		{"no comma in an object", `{"a":1 "b":2}`, 7, wantCommaOrBrace},
		{"bracket closes an object", `{"a":1]`, 6, wantCommaOrBrace},
		{"no comma in an array", `[1 2]`, 3, wantCommaOrBracket},
		{"brace closes an array", `[1}`, 2, wantCommaOrBracket},
		{"misspelt word", `[nul]`, 4, badWord},
		{"leading zero", `[01]`, 2, wantCommaOrBracket},
		{"minus alone", `[-]`, 2, badNumber},
		{"no digit after the point", `[1.]`, 3, badNumber},
		{"no digit in the exponent", `[1e+]`, 4, badNumber},
		{"unknown escape", `"a\x"`, 3, badEscape},
		{"bad unicode escape", `"\u12g4"`, 5, badEscape},
		{"line end in a string", "\"a\nb\"", 2, controlCharacter},
		{"control character deep in a string", `"` + strings.Repeat("a", 40) + "\x01\"", 41, controlCharacter},
		{"two values", `{} {}`, 3, trailing},
		{"byte order mark", "\ufeff{}", 0, wantValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			walk := New([]byte(c.text))
			decode(&walk)
			walk.End()
			for how, err := range map[string]error{"skipped": Valid([]byte(c.text)), "walked": walk.Err()} {
				var syntax *SyntaxError
				if !errors.As(err, &syntax) {
					t.Fatalf("%s: got %v, want a *SyntaxError", how, err)
				}
				if syntax.Offset != c.offset || syntax.Msg != c.bad.String() {
					t.Errorf("%s: got %v, want byte %d: %v", how, err, c.offset, c.bad)
				}
			}
			if json.Valid([]byte(c.text)) {
				t.Error("encoding/json finds it valid")
			}
		})
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"[", `{"a":`} {
		closing := map[string]string{"[": "]", `{"a":`: "}"}[open]
		nested := func(n int) []byte {
			return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(closing, n))
		}
		if err := Valid(nested(MaxDepth)); err != nil {
			t.Errorf("%s at the limit: %v", open, err)
		}
		walk := New(nested(MaxDepth))
		decode(&walk)
		if !walk.End() {
			t.Errorf("%s walked at the limit: %v", open, walk.Err())
		}
		beyond := nested(MaxDepth + 1)
		over := &SyntaxError{Offset: len(open) * MaxDepth, Msg: tooDeep.String()}
		if d := cmp.Diff(error(over), Valid(beyond)); d != "" {
			t.Errorf("%s skipped: %s", open, d)
		}
		walk = New(beyond)
		decode(&walk)
		if d := cmp.Diff(error(over), walk.Err()); d != "" {
			t.Errorf("%s walked: %s", open, d)
		}
		// Half walked, half skipped counts both.
		walk = New(beyond)
		for range 500 {
			if walk.Object() || walk.Array() {
				walk.Key()
			}
		}
		walk.Skip()
		if walk.OK() {
			t.Errorf("%s walked and skipped beyond the limit", open)
		}
	}
}

func TestSiblingsAreNotNested(t *testing.T) {
	t.Parallel()
	for _, one := range []string{"[]", "[1]", "{}", `{"a":1}`} {
		r := New([]byte("[" + strings.Repeat(one+",", 2*MaxDepth) + one + "]"))
		decode(&r)
		if !r.End() {
			t.Errorf("%s: %v", one, r.Err())
		}
	}
}

func TestReaderConsumesOneValueWhateverItIs(t *testing.T) {
	t.Parallel()
	values := []string{`{"x":[1]}`, `[{"x":1},2]`, `"s\n"`, `12`, `true`, `null`}
	reads := map[string]func(*Reader) bool{
		"Object": func(r *Reader) bool {
			ok := r.Object()
			for ok {
				if _, more := r.Key(); !more {
					break
				}
				r.Skip()
			}
			return ok
		},
		"Array": func(r *Reader) bool {
			ok := r.Array()
			for ok && r.Elem() {
				r.Skip()
			}
			return ok
		},
		"RawString": func(r *Reader) bool { _, ok := r.RawString(); return ok },
		"Literal":   func(r *Reader) bool { _, ok := r.Literal(); return ok },
		"Text":      func(r *Reader) bool { _, ok := r.Text(); return ok },
		"Int":       func(r *Reader) bool { _, ok := r.Int(); return ok },
		"Bool":      func(r *Reader) bool { _, ok := r.Bool(); return ok },
	}
	wanted := map[string]string{
		"Object": `{"x":[1]}`, "Array": `[{"x":1},2]`, "RawString": `"s\n"`, "Literal": `"s\n"`, "Text": `"s\n"`,
		"Int": `12`, "Bool": `true`,
	}
	for name, read := range reads {
		for _, value := range values {
			r := New([]byte(`[` + value + `,7]`))
			r.Array()
			r.Elem()
			if got, want := read(&r), wanted[name] == value; got != want {
				t.Errorf("%s of %s: ok = %v", name, value, got)
			}
			if !r.Elem() {
				t.Fatalf("%s of %s: the next element is lost: %v", name, value, r.Err())
			}
			if n, ok := r.Int(); n != 7 || !ok || r.Elem() || !r.End() {
				t.Errorf("%s of %s left the reader astray: %v", name, value, r.Err())
			}
		}
	}
}

func TestKeysAreUnescaped(t *testing.T) {
	t.Parallel()
	r := New([]byte(`{"mod\u0065l":1,"a\"b":2,"\ud83d\ude00":3}`))
	var got []string
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		got = append(got, string(key))
		r.Skip()
	}
	if d := cmp.Diff([]string{"model", `a"b`, "😀"}, got); d != "" || !r.End() {
		t.Error(d, r.Err())
	}
}

func TestSkipGivesThePlace(t *testing.T) {
	t.Parallel()
	text := ` { "a" : [ 1 , 2 ] , "b" : "x" } `
	r := New([]byte(text))
	r.Object()
	r.Key()
	from, to := r.Skip()
	if got := text[from:to]; got != "[ 1 , 2 ]" {
		t.Errorf("a is %q", got)
	}
	r.Key()
	if got := string(r.Raw()); got != `"x"` || r.Offset() != strings.Index(text, `"x"`)+3 {
		t.Errorf("b is %q, offset %d", got, r.Offset())
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-0", 0, true},
		{"-17", -17, true},
		{"999999999999999999", 999999999999999999, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false},
		{"12.0", 12, true},
		{"1e3", 1000, true},
		{"12.5", 0, false},
		{"1e400", 0, false},
		{`"12"`, 0, false},
		{"null", 0, false},
	} {
		r := New([]byte(c.text))
		if got, ok := r.Int(); got != c.want || ok != c.ok || !r.End() {
			t.Errorf("%s: got %d %v, err %v", c.text, got, ok, r.Err())
		}
	}
}

func TestErrorIsSticky(t *testing.T) {
	t.Parallel()
	r := New([]byte(`{"a":tru,"b":1}`))
	r.Object()
	r.Key()
	r.Bool()
	first := r.Err()
	if _, ok := r.Key(); ok || r.Elem() || r.Object() || r.Raw() != nil || r.End() || r.Kind() != None || r.Null() {
		t.Error("the reader went on after an error")
	}
	if r.OK() || first == nil || r.Err().Error() != first.Error() {
		t.Errorf("first %v, then %v", first, r.Err())
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	text := []byte("{\n  \"a\": x\n}")
	err := Valid(text)
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatal(err)
	}
	if line, column := Position(text, syntax.Offset); line != 2 || column != 8 {
		t.Errorf("line %d, column %d", line, column)
	}
	if line, column := Position(text, 1000); line != 3 || column != 2 {
		t.Errorf("beyond the end: line %d, column %d", line, column)
	}
}

// anyJSON draws a JSON text with odd spacing, escapes and numbers.
func anyJSON(t *rapid.T, depth int) string {
	gap := rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t \r\n"})
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"true", "false", "null", "0", "-1.5e-7", "12345678901234567890"}).Draw(t, "word")
	case 1:
		return fmt.Sprint(rapid.Int64().Draw(t, "n"))
	case 2, 3:
		return anyString(t)
	case 4:
		var out strings.Builder
		for i := range rapid.IntRange(0, 4).Draw(t, "elements") {
			if i > 0 {
				out.WriteString(",")
			}
			out.WriteString(gap.Draw(t, "gap") + anyJSON(t, depth-1) + gap.Draw(t, "gap"))
		}
		return "[" + out.String() + gap.Draw(t, "gap") + "]"
	default:
		var out strings.Builder
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			if i > 0 {
				out.WriteString(",")
			}
			out.WriteString(gap.Draw(t, "gap") + anyString(t) + gap.Draw(t, "gap") + ":" +
				gap.Draw(t, "gap") + anyJSON(t, depth-1) + gap.Draw(t, "gap"))
		}
		return "{" + gap.Draw(t, "gap") + out.String() + "}"
	}
}

func anyString(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "model", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\uD83D\uDE00`, `\ud83d`, `\udE00`, `\ud83dx`, `\ud83d\u0041`, "é", "東", "😀",
		"\xff", "\x7f", "padding that is longer than four words of eight", "[", "}", " ",
	}), 0, 6).Draw(t, "parts")
	return `"` + strings.Join(parts, "") + `"`
}

func TestWalkAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(anyJSON(t, 4))
		if err := Valid(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := New(text)
		got := decode(&r)
		if !r.End() {
			t.Fatalf("%s: %v", text, r.Err())
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s: %s", text, d)
		}
	})
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   `""`,
		`a"b\c`:              `"a\"b\\c"`,
		"\n\r\t\x00\x1f":     `"\n\r\t\u0000\u001f"`,
		"<&> é 東 😀 \u2028":   "\"<&> é 東 😀 \u2028\"",
		"a\xffb\xc3":         "\"a\ufffdb\ufffd\"",
		"\ufffd stays as is": "\"\ufffd stays as is\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got := string(AppendString([]byte("x="), "y")); got != `x="y"` {
		t.Errorf("appending: %s", got)
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	body := chatBody(t, 5_000)
	if n := testing.AllocsPerRun(20, func() {
		if Valid(body) != nil {
			t.Error("not valid")
		}
		r := New(body)
		r.Object()
		for _, ok := r.Key(); ok; _, ok = r.Key() {
			switch r.Kind() {
			case String:
				r.RawString()
			case Number:
				r.Int()
			case Bool:
				r.Bool()
			case Object, Array, Null, None:
				r.Skip()
			}
		}
		if !r.End() {
			t.Error("not valid")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
