package wire

import (
	"testing"

	"evergate/internal/llm"
)

// A text says and writes the same whether it stays in the body or not, and stays only where that can be.
func TestTexts(t *testing.T) {
	t.Parallel()
	for inside, c := range map[string]struct {
		text, written string
		stays         bool
	}{
		``:            {"", `""`, false},
		`plain`:       {"plain", `"plain"`, true},
		`a\n\"b\" é`:  {"a\n\"b\" é", `"a\n\"b\" é"`, true},
		`caf\u00e9`:   {"café", `"café"`, false},
		`a\/b`:        {"a/b", `"a/b"`, false},
		"bad \xff":    {"bad \uFFFD", "\"bad \uFFFD\"", false},
		`half \ud83d`: {"half \uFFFD", "\"half \uFFFD\"", false},
	} {
		for _, carry := range []bool{true, false} {
			texts := Texts{Carry: carry}
			p := texts.Part([]byte(inside))
			if stays := p.Quoted != nil; stays != (carry && c.stays) || stays && p.Text != "" {
				t.Errorf("%q: stays: %v", inside, stays)
			}
			if got := TextOf(&p); got != c.text || p.HasText() != (got != "") {
				t.Errorf("%q says %q", inside, got)
			}
			if got := string(AppendText([]byte("."), &p)); got != "."+c.written {
				t.Errorf("%q is written %s", inside, got)
			}
		}
	}
}

// Lists do not run into each other.
func TestLists(t *testing.T) {
	t.Parallel()
	var texts Texts
	var all [100][]llm.Part
	for i := range all {
		all[i] = append(texts.List(), llm.Part{Kind: llm.PartKind(i)})
	}
	for i := range all {
		if all[i] = append(all[i], llm.Part{Kind: 200}); all[i][0].Kind != llm.PartKind(i) {
			t.Errorf("%d holds %d", i, all[i][0].Kind)
		}
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for inside, want := range map[string]bool{"": false, "a": true, " a": false, `\n`: false, "\u00a0": false, "é": false} {
		for _, carry := range []bool{true, false} {
			texts := Texts{Carry: carry}
			p := texts.Part([]byte(inside))
			if Visible(&p) && !want {
				t.Errorf("%q, carried: %v", inside, carry)
			}
			if want && !Visible(&p) {
				t.Errorf("%q is not seen, carried: %v", inside, carry)
			}
		}
	}
}
