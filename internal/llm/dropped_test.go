package llm

import (
	"slices"
	"strings"
	"testing"
)

func TestDropped(t *testing.T) {
	t.Parallel()
	var nobody *Dropped
	nobody.Add("x")
	if nobody.Names() != nil || nobody.Content() != nil {
		t.Error("a nil Dropped has names")
	}
	d := &Dropped{}
	d.Add("seed", "", "seed", DropImages)
	c := d.Clone()
	c.Add("tools")
	if got := d.Names(); !slices.Equal(got, []string{"seed", DropImages}) {
		t.Errorf("names %q", got)
	}
	if got := c.Content(); !slices.Equal(got, []string{DropImages, "tools"}) {
		t.Errorf("R46: content %q", got)
	}
	for i := range 100 {
		d.Add(string(rune('a'+i%26)) + string(rune('a'+i/26)))
	}
	if n := len(d.Names()); n != maxDropped+1 || d.Names()[maxDropped] != DropMore {
		t.Errorf("%d names: %q", n, d.Names())
	}
	d.Add("zzz", DropSignatures, "tools") // what decides something is always noted
	if got := d.Names()[maxDropped+1:]; !slices.Equal(got, []string{DropSignatures, "tools"}) {
		t.Errorf("beyond the bound: %q", got)
	}
}

// Names are made up by clients, and stand in a header.
func TestDroppedNamesArePrintable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"logit_bias": "logit_bias", "a.b-c[0]": "a.b-c[0]", "a\r\nX-Evil: 1": "a__X-Evil:_1", "a, b": "a__b", "é\x00\x7f": "____",
		strings.Repeat("x", 100_000): strings.Repeat("x", maxName),
	} {
		d := &Dropped{}
		d.Add(name)
		d.Add(name)
		if got := d.Names(); !slices.Equal(got, []string{want}) {
			t.Errorf("%.40q: %.100q, want %q", name, got, want)
		}
	}
}
