package traces

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

const (
	traceHex = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanHex  = "00f067aa0ba902b7"
)

func TestParent(t *testing.T) {
	t.Parallel()
	valid := "00-" + traceHex + "-" + spanHex + "-01"
	cases := []struct {
		name        string
		lines       []string
		ok, sampled bool
	}{
		{"none", nil, false, false},
		{"sampled", []string{valid}, true, true},
		{"not sampled", []string{strings.TrimSuffix(valid, "1") + "0"}, true, false},
		{"other flags", []string{"00-" + traceHex + "-" + spanHex + "-03"}, true, true},
		{"two lines", []string{valid, valid}, false, false},
		{"upper case", []string{strings.ToUpper(valid)}, false, false},
		{"too long for version 0", []string{valid + "-00"}, false, false},
		{"a later version that has more", []string{"cc" + valid[2:] + "-what-the-future-will-be"}, true, true},
		{"a later version that goes on without a dash", []string{"cc" + valid[2:] + "x"}, false, false},
		{"the forbidden version", []string{"ff" + valid[2:]}, false, false},
		{"no trace", []string{"00-" + strings.Repeat("0", 32) + "-" + spanHex + "-01"}, false, false},
		{"no span", []string{"00-" + traceHex + "-" + strings.Repeat("0", 16) + "-01"}, false, false},
		{"short", []string{valid[:54]}, false, false},
		{"no hex", []string{strings.Replace(valid, "4b", "4g", 1)}, false, false},
		{"no dashes", []string{strings.ReplaceAll(valid, "-", "_")}, false, false},
		{"empty", []string{""}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, ok := parent(http.Header{"Traceparent": c.lines})
			if ok != c.ok || got.sampled != c.sampled {
				t.Errorf("got %v, sampled %v", ok, got.sampled)
			}
		})
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	many := make([]string, 33)
	for i := range many {
		many[i] = "m" + strconv.Itoa(i) + "=1"
	}
	cases := []struct {
		name  string
		lines []string
		want  string
	}{
		{"none", nil, ""},
		{"one", []string{"vendor=value"}, "vendor=value"},
		{"several lines", []string{"a=1,b=2", "c@d=3"}, "a=1,b=2,c@d=3"},
		{"empty members", []string{"a=1,,b=2"}, "a=1,,b=2"},
		{"twice the same", []string{"a=1,a=2"}, ""},
		{"no value", []string{"a"}, ""},
		{"a key in capitals", []string{"A=1"}, ""},
		{"a line break", []string{"a=1\r\nx: y"}, ""},
		{"not ASCII", []string{"a=ü"}, ""},
		{"an equals sign in the value", []string{"a=b=c"}, ""},
		{"too many", many, ""},
		{"as many as may be", many[:32], strings.Join(many[:32], ",")},
		{"too long", []string{"a=" + strings.Repeat("x", 600)}, ""},
		{"only commas", []string{",,"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := state(c.lines); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A trace context that is taken goes out again as the same trace.
func FuzzParent(f *testing.F) {
	f.Add("00-"+traceHex+"-"+spanHex+"-01", "a=1,b=2")
	f.Add("cc-"+traceHex+"-"+spanHex+"-00-x", ",")
	f.Add(strings.Repeat("-", 60), strings.Repeat("=", 60))
	f.Fuzz(func(t *testing.T, traceparent, tracestate string) {
		r, s, ok := parent(http.Header{"Traceparent": {traceparent}, "Tracestate": {tracestate}})
		if !ok {
			if s != "" {
				t.Fatalf("the state %q of no trace", s)
			}
			return
		}
		if r.trace == [16]byte{} || r.span == [8]byte{} || len(s) > maxState {
			t.Fatalf("%v %q", r, s)
		}
		for i := range len(s) {
			if (s[i] < ' ' || s[i] > '~') && s[i] != '\t' {
				t.Fatalf("byte %#x in %q", s[i], s)
			}
		}
	})
}
