package replica

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/affinity"
)

func someNotes() []affinity.Note {
	now := noon.Add(10 * time.Minute).UnixMilli()
	return []affinity.Note{
		{Conversation: [2]uint64{1, 1<<64 - 1}, At: now, Target: 7, Credential: 1<<16 - 1},
		{Conversation: [2]uint64{2, 3}, At: now - time.Hour.Milliseconds(), Target: 1<<32 - 1},
	}
}

// R63: conversations are the same after the way through the store, by a clock that is wrong.
func TestNotesThereAndBack(t *testing.T) {
	t.Parallel()
	c, now := here(), noon.Add(10*time.Minute)
	body := encodeNotes(c, now, someNotes())
	if got := decodeNotes(c, now, body); !cmp.Equal(got, someNotes()) {
		t.Error(cmp.Diff(someNotes(), got))
	}
	var other clock // of an instance an hour behind the store
	other.take(noon.Add(-time.Hour), noon.Add(-time.Hour), noon)
	for i, n := range decodeNotes(other, noon.Add(-time.Hour), body) {
		if age := noon.Add(-time.Hour).UnixMilli() - n.At; age != now.UnixMilli()-someNotes()[i].At {
			t.Errorf("%d is %d ms old", i, age)
		}
	}
	most := encodeNotes(c, now, make([]affinity.Note, maxNotes))
	if len(most) > 32<<10 || len(decodeNotes(c, now, most)) != maxNotes {
		t.Errorf("the longest has %d bytes", len(most))
	}
	for name, bad := range map[string][]byte{
		"nothing": nil, "a piece": body[:5], "cut off": body[:len(body)-1], "another version": append([]byte{2}, body[1:]...),
		"too many": append(slices.Clone(most), make([]byte, noteSize)...), "of next year": encodeNotes(c, now.Add(365*24*time.Hour), someNotes()),
	} {
		if got := decodeNotes(c, now, bad); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Whatever stands in a page of conversations, none of them is of the future.
func FuzzNotes(f *testing.F) {
	c, now := here(), noon.Add(10*time.Minute)
	f.Add(encodeNotes(c, now, someNotes()))
	f.Add(encodeNotes(c, now.Add(30*time.Second), someNotes()))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, n := range decodeNotes(c, now, body) {
			if n.At > now.UnixMilli() {
				t.Errorf("%+v", n)
			}
		}
	})
}
