package wire_test

import (
	"testing"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

func TestWholeEvent(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		`{"a":1}`: true, ` {"a":1} `: true, "[DONE]": true, `{"a":`: false, "[]": false, "": false, `{"a":1}{"a":1}`: false,
	} {
		if wire.WholeEvent([]byte(data)) != want {
			t.Errorf("%q: %v", data, !want)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	listed := func([]byte) *fault.Fault { return wire.Invalid("listed") }
	unlisted := func([]byte) *fault.Fault { return nil }
	const noObject = "the upstream answered with JSON that is not an object"
	for _, c := range []struct {
		name, body string
		inArray    func([]byte) *fault.Fault
		want       string
	}{
		{"an object", ` {"a":1}`, nil, ""},
		{"an object that breaks off", `{"a":`, nil, ""},
		{"nothing", "\r\n", nil, "the upstream answered with an empty body"},
		{"a page", "<!DOCTYPE html>", nil, "the upstream answered with an HTML page"},
		{"words", "upstream error", nil, "the upstream's answer is broken: " + jsonscan.Valid([]byte("upstream error")).Error()},
		{"a number", "1", listed, noObject},
		{"an array", "[1]", nil, noObject},
		{"an array that is an error", "[1]", listed, "listed"},
		{"an array that is none", "[1]", unlisted, noObject},
		{"a broken array", "[1", listed, "the upstream's answer is broken: " + jsonscan.Valid([]byte("[1")).Error()},
	} {
		got := ""
		if f := wire.NoAnswer([]byte(c.body), c.inArray); f != nil {
			got = f.Message
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

func TestNoArray(t *testing.T) {
	t.Parallel()
	for kind, want := range map[jsonscan.Kind]string{
		jsonscan.None:   `the upstream's answer has no "choices"`,
		jsonscan.Null:   `the upstream's answer has no "choices"`,
		jsonscan.Object: `"choices" in the upstream's answer is an object, not an array`,
	} {
		if got := wire.NoArray("choices", kind); got.Message != want {
			t.Errorf("%s: %s", kind, got.Message)
		}
	}
}
