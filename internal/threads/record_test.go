package threads

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever stands in an archive, an answer is read from what record wrote alone.
func FuzzRecord(f *testing.F) {
	whole := record("ci", &Answer{ID: "r1", Previous: "r0", Input: []byte("[1]"), Output: []byte("[2]"), Body: []byte("{}"), Provider: "p", Model: "m"})
	f.Add(whole.Body)
	f.Add(whole.Body[:5])
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Record{Owner: "ci", ID: "r1", Previous: "r0", Body: body}
		a, err := r.answer()
		if err != nil {
			return
		}
		again := record("ci", a)
		b, err := again.answer()
		if err != nil || !cmp.Equal(a, b) {
			t.Errorf("%v: %s", err, cmp.Diff(a, b))
		}
	})
}
