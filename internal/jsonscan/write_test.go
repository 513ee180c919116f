package jsonscan

import "testing"

func TestOneLine(t *testing.T) {
	t.Parallel()
	text := []byte("{\r\n\"a\":\n1}")
	if got := string(OneLine(text)); got != `{  "a": 1}` || text[1] != '\r' {
		t.Errorf("%s of %q", got, text)
	}
	same := []byte(`{"a":"\n"}`)
	if got := OneLine(same); &got[0] != &same[0] {
		t.Error("copied for nothing")
	}
}

func TestUnescaped(t *testing.T) {
	t.Parallel()
	var scratch []byte
	plain := []byte("plain")
	if got := Unescaped(&scratch, plain); &got[0] != &plain[0] || scratch != nil {
		t.Error("copied for nothing")
	}
	if got := string(Unescaped(&scratch, []byte(`a\n\u00e9`))); got != "a\né" || string(scratch) != got {
		t.Errorf("%q, %q", got, scratch)
	}
}

func TestIsWritten(t *testing.T) {
	t.Parallel()
	for inside, want := range map[string]bool{
		"":                       true,
		"plain":                  true,
		`a\n\r\t\"\\`:            true,
		"café, 東京 😀 \u2028 \x7f": true,
		`caf\u00e9`:              false, // would be é
		`a\/b`:                   false,
		`a\b`:                    false,
		`\\u00e9`:                true, // a backslash, and no escape
		"\xff":                   false,
		"\xed\xa0\x80":           false, // half a surrogate pair
		`\ud83d`:                 false,
		`\`:                      false,
	} {
		if got := IsWritten([]byte(inside)); got != want {
			t.Errorf("%q: %v", inside, got)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	dst := AppendStringMember([]byte("{"), "a", "\n")
	dst = AppendIntMember(dst, "b", -1)
	dst = append(AppendKey(AppendFloatMember(dst, "c", 0.5), "d"), '[')
	dst = append(AppendStringOrNull(dst, ""), ',')
	dst = append(AppendStringOrNull(dst, "e"), "]}"...)
	if got := string(dst); got != `{"a":"\n","b":-1,"c":0.5,"d":[null,"e"]}` {
		t.Error(got)
	}
}
