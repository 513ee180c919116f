package llm

import (
	"slices"
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
	if n := len(d.Names()); n != maxDropped {
		t.Errorf("%d names", n)
	}
}
