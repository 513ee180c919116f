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
