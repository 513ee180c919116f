package jsonscan

import "testing"

// A leap takes the reader where Skip would, and only where it can know that.
func TestLeap(t *testing.T) {
	text := []byte(`{"a": [1, "]"], "b": 2}`)
	end := len(`{"a": [1, "]"]`)
	r := Again(text)
	r.Object()
	if _, ok := r.Key(); !ok || r.Leap(r.Offset()) || r.Leap(len(text)+1) || !r.Leap(end) {
		t.Fatal("it leapt to where there is nothing, or did not leap")
	}
	key, _ := r.Key()
	value, ok := r.Int()
	if string(key) != "b" || value != 2 || !ok {
		t.Errorf("%s: %d", key, value)
	}
	if _, more := r.Key(); more || !r.End() {
		t.Error("not at its end")
	}
	if strict := New(text); strict.Leap(end) {
		t.Error("a text that nobody checked was leapt over")
	}
}
