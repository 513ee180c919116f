package guardrail

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func allRules() []*Rule {
	var rules []*Rule
	for _, k := range Kinds() {
		rules = append(rules, RulesOf(k, "")...)
	}
	return rules
}

func whole(text string, rules []*Rule) string {
	out, n := redact(nil, []byte(text), rules)
	if n == "" {
		return text
	}
	return string(out)
}

func pieces(t interface{ Fatalf(string, ...any) }, text string, rules []*Rule, cuts []int) string {
	s := newStream(rules)
	var out []byte
	done := 0
	for _, c := range cuts {
		out, _ = s.take(out, []byte(text[done:c]), false)
		done = c
	}
	out, _ = s.take(out, []byte(text[done:]), true)
	return string(out)
}

var planted = []struct{ name, text, want string }{
	{"nothing", "a plain text, with 12 words", "a plain text, with 12 words"},
	{"email", "mail ada.l+x@example.co.uk, now", "mail [EMAIL], now"},
	{"email in another form", "mail ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ now", "mail [EMAIL] now"},
	{"unseen characters", "mail a\u200bda@exam\u00adple.com!", "mail [EMAIL]!"},
	{"escapes", `{"a":"ada\u0040example.com"}`, `{"a":"[EMAIL]"}`},
	{"escapes of escapes", `{\"a\":\"ada\\u0040example.com\"}`, `{\"a\":\"[EMAIL]\"}`},
	{"after an escape", `{"a":"x\nsk-abcdefghijklmnopqrstu"}`, `{"a":"x\n[SECRET]"}`},
	{"card", "4111 1111 1111 1111 and 4111111111111112", "[CARD] and 4111111111111112"},
	{"card and more digits", "4111 1111 1111 1111 123, 7 4111-1111-1111-1111, 1234 4111 1111 1111 1111 12 27", "[CARD] 123, 7 [CARD], 1234 [CARD] 12 27"},
	{"cards in a row", "4111 1111 1111 1111 4111 1111 1111 1111", "[CARD] [CARD]"},
	{"iban and more", "AT61 1904 3002 3457 3201 EUR, NR12 BE68539007547034 BIC", "[IBAN] EUR, NR12 [IBAN] BIC"},
	{"iban", "to DE89 3704 0044 0532 0130 00 please", "to [IBAN] please"},
	{"phone", "+49 (30) 1234-5678 or (555) 123-4567", "[PHONE] or [PHONE]"},
	{"ssn", "078-05-1120", "[SSN]"},
	{"ip", "at 192.168.0.1:80", "at [IP]:80"},
	{"aws", "AKIAIOSFODNN7EXAMPLE", "[SECRET]"},
	{"two", "sk-abcdefghijklmnopqrst ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[SECRET] [SECRET]"},
	{"within another", "Bearer sk-abcdefghijklmnopqrst.", "[SECRET]"},
	{"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_ x", "[SECRET] x"},
	{"private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA==\n-----END RSA PRIVATE KEY-----", "[SECRET]"},
	{"a password in a URL", "postgres://app:hunter22@db:5432/x", "postgres[SECRET]db:5432/x"},
	{"a password without a user in a URL", "redis://:hunter22@cache:6379", "redis[SECRET]cache:6379"},
	{"mathematics", "𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏", "[CARD]"},
	{"no word's middle", "task-abcdefghijklmnopqrstuv", "task-abcdefghijklmnopqrstuv"},
}

func TestWhole(t *testing.T) {
	t.Parallel()
	rules := allRules()
	for _, c := range planted {
		if got := whole(c.text, rules); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// Wherever a text is cut in two or into single bytes, the stream says what the whole does.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	rules := allRules()
	for _, c := range planted {
		for cut := range len(c.text) + 1 {
			if got := pieces(t, c.text, rules, []int{cut}); got != c.want {
				t.Errorf("%s cut at %d: %q, not %q", c.name, cut, got, c.want)
			}
		}
		var all []int
		for i := range len(c.text) {
			all = append(all, i)
		}
		if got := pieces(t, c.text, rules, all); got != c.want {
			t.Errorf("%s in bytes: %q, not %q", c.name, got, c.want)
		}
	}
}

// Any text, any cuts, own rules and ready ones: the stream says what the whole does.
func TestStreamIsWhole(t *testing.T) {
	t.Parallel()
	sets := [][]*Rule{allRules()}
	for _, e := range [][]string{{`\bab+c?\b`}, {`a(?:b|bc|bcd)`, `c[a-d]{2}`}, {`[0-9]{4}`}, {`(?m)^a.c$`}, {`a{2,5}?`, `b{2,5}`}, {`a[^b]{0,20}c|aa`}} {
		var rules []*Rule
		for _, x := range e {
			r, err := NewRule("x", "[X]", x, 0)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		sets = append(sets, rules)
	}
	word := rapid.SampledFrom([]string{"a", "b", "c", "d", "ab", " ", "\n", "1", "23", "4111111111111111", "4111 ", "1111", "1111 ", "AT61", "1904", "3002 ", "3457", "3201", "@", ".com", "sk-", "\\", "u0061", "\\u0062", "ｂ", "\u200b", "é", "\xff", "\"", "/", "-", "+49", "x@y.z"})
	rapid.Check(t, func(t *rapid.T) {
		rules := sets[rapid.IntRange(0, len(sets)-1).Draw(t, "rules")]
		text := strings.Join(rapid.SliceOfN(word, 0, 40).Draw(t, "text"), "")
		var cuts []int
		for i := range len(text) {
			if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
				cuts = append(cuts, i)
			}
		}
		want := whole(text, rules)
		if got := pieces(t, text, rules, cuts); got != want {
			t.Fatalf("%q cut at %v: %q, not %q", text, cuts, got, want)
		}
	})
}

// A secret that is longer than any window does not get out, and the stream goes on after it.
func TestLongerThanTheWindow(t *testing.T) {
	t.Parallel()
	rules := allRules()
	text := "key sk-" + strings.Repeat("Ab1", 2000) + " and more"
	for _, step := range []int{1, 7, 300, 5000} {
		var cuts []int
		for i := step; i < len(text); i += step {
			cuts = append(cuts, i)
		}
		if got := pieces(t, text, rules, cuts); got != "key [SECRET] and more" {
			t.Errorf("in steps of %d: %.60q", step, got)
		}
	}
}

// After a match the next one is looked for with the character before it in mind, however far the scan had gone on.
func TestBoundaryAfterMatch(t *testing.T) {
	t.Parallel()
	r, err := NewRule("x", "[X]", `a(?:--b)?|\B-`, 0)
	if err != nil {
		t.Fatal(err)
	}
	rules := []*Rule{r}
	if got, want := pieces(t, "a--x", rules, []int{1, 2, 3}), whole("a--x", rules); got != want || want != "[X]-[X]x" {
		t.Errorf("%q, not %q", got, want)
	}
}

// A text is held back only as far as something may begin in it.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	s := newStream(allRules())
	out, _ := s.take(nil, []byte("hello, wor"), false)
	if string(out) != "hello, " {
		t.Errorf("%q", out)
	}
	if out, _ = s.take(nil, []byte("ld. "), false); string(out) != "world. " {
		t.Errorf("%q", out)
	}
}

func FuzzRedact(f *testing.F) {
	rules := allRules()
	for _, c := range planted {
		f.Add(c.text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, step int) {
		if len(text) > 4096 {
			return
		}
		step = max(step%64, 1)
		var cuts []int
		for i := step; i < len(text); i += step {
			cuts = append(cuts, i)
		}
		want := whole(text, rules)
		got := pieces(t, text, rules, cuts)
		if got != want && len(text) < DefaultWindow {
			t.Fatalf("%q by %d: %q, not %q", text, step, got, want)
		}
		if again := whole(want, rules); len(text) < DefaultWindow && strings.Count(again, "[") < strings.Count(want, "[") {
			t.Fatalf("%q is redacted to %q and then to %q", text, want, again)
		}
	})
}

func BenchmarkWhole(b *testing.B) {
	rules := allRules()
	text := []byte(strings.Repeat("The quick brown fox (aged 12) jumps over 3 lazy dogs; see file main.go:120, mail a@b and so on.\n", 520))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		redact(nil, text, rules)
	}
}

func BenchmarkStream(b *testing.B) {
	rules := allRules()
	s := newStream(rules)
	piece := []byte(" word")
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out, _ = s.take(out[:0], piece, false)
	}
}
