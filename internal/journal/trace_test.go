package journal

import "testing"

func TestTraceparent(t *testing.T) {
	t.Parallel()
	tr := Trace{ID: [16]byte{0x4b, 0xf9, 15: 0x36}}
	if got, want := tr.Traceparent(NewSpan(0x00f067aa0ba902b7)), "00-4bf90000000000000000000000000036-00f067aa0ba902b7-01"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if NewSpan(0) == [8]byte{} {
		t.Error("a span of zeros is none")
	}
}
