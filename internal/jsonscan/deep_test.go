package jsonscan

import "testing"

// SkipDeep skips what Skip does, and counts the levels below where the reader stands.
func TestSkipDeep(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`[]`: 1, `{}`: 1, ` [1,"[[["] `: 1, `[{"a":1},{}]`: 2, `[[],[[]],[]]`: 3, `{"a":{"b":[{}]},"c":{}}`: 4,
		`"[[]]"`: 0, `1`: 0, `null`: 0, ``: 0, `[`: 0, `[{]`: 0, `x`: 0,
	} {
		for _, outer := range []string{"", "[", `[{"x":`} {
			plain, deep := New([]byte(outer+text)), New([]byte(outer+text))
			for _, r := range []*Reader{&plain, &deep} {
				if outer != "" {
					r.Array()
					r.Elem()
				}
				if len(outer) > 1 {
					r.Object()
					r.Key()
				}
			}
			from, to := plain.Skip()
			gotFrom, gotTo, levels := deep.SkipDeep()
			if gotFrom != from || gotTo != to || deep.OK() != plain.OK() || deep.Offset() != plain.Offset() || levels != want {
				t.Errorf("%s%s: %d to %d, %d levels, want %d to %d, %d", outer, text, gotFrom, gotTo, levels, from, to, want)
			}
		}
	}
	if r := Again([]byte(`[[]]`)); true {
		if from, to, levels := r.SkipDeep(); from != 0 || to != 4 || levels != 0 {
			t.Error("again", from, to, levels)
		}
	}
}
