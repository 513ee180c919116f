package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// event is a Frame without its slices.
type event struct {
	Event, Data string
	Comment     bool
	Plain       bool
	Named       bool
}

func wholeObject(data []byte) bool {
	return string(data) == "[DONE]" || len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// cut runs a Splitter over in, which comes in reads of the sizes that read gives.
func cut(s *Splitter, in []byte, read func() int) ([]event, error) {
	var out []event
	var unread []byte
	for at := 0; ; {
		n := min(max(read(), 1), len(in)-at)
		unread = append(bytes.Clone(unread), in[at:at+n]...) // a new array each time: nothing old may be held
		at += n
		for {
			f, n, err := s.Next(unread, at == len(in))
			if err != nil {
				return out, err
			}
			if n == 0 {
				break
			}
			if !bytes.HasSuffix(unread[:n], f.Raw) {
				return out, fmt.Errorf("raw %q is not the end of %q", f.Raw, unread[:n])
			}
			data := "data: " + string(f.Data) + "\n\n"
			if plain := !f.Comment && string(f.Raw) == data; plain != f.Plain {
				return out, fmt.Errorf("raw %q: plain is %v", f.Raw, f.Plain)
			}
			named := !f.Comment && len(f.Event) > 0 && string(f.Raw) == "event: "+string(f.Event)+"\n"+data
			if named != f.Named {
				return out, fmt.Errorf("raw %q: named is %v", f.Raw, f.Named)
			}
			out = append(out, event{string(f.Event), string(f.Data), f.Comment, f.Plain, f.Named})
			unread = unread[n:]
		}
		if at == len(in) {
			return out, nil
		}
	}
}

func whole(in string) func() int { return func() int { return len(in) } }

func everyByte() int { return 1 }

// events drops the comments.
func events(in []event) []event {
	var out []event
	for _, e := range in {
		if !e.Comment {
			out = append(out, e)
		}
	}
	return out
}

func TestSplitter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in     string
		want, strict []event // strict is want if nil
	}{
		{
			name: "canonical",
			in:   "data: {\"a\":1}\n\ndata: [DONE]\n\n",
			want: []event{{Data: `{"a":1}`, Plain: true}, {Data: "[DONE]", Plain: true}},
		},
		{
			name: "no space after the colon, and two",
			in:   "data:{}\n\ndata:  {}\n\n",
			want: []event{{Data: "{}"}, {Data: " {}", Plain: true}},
		},
		{
			name: "crlf, cr, and both mixed",
			in:   "data: 1\r\n\r\ndata: 2\r\rdata: 3\r\n\rdata: 4\r\r\ndata: 5\n\r\n",
			want: []event{{Data: "1"}, {Data: "2"}, {Data: "3"}, {Data: "4"}, {Data: "5"}},
		},
		{
			name: "cr then lf is one line end",
			in:   "data: 1\r\ndata: 2\n\n",
			want: []event{{Data: "1\n2"}},
		},
		{
			name: "a cr in a frame that looks canonical",
			in:   "data: 1\rdata: 2\n\n",
			want: []event{{Data: "1\n2"}},
		},
		{
			name: "byte order mark, at the start only",
			in:   "\ufeffdata: 1\n\n\ufeffdata: 2\n\n",
			want: []event{{Data: "1", Plain: true}},
		},
		{
			name: "comments and pings",
			in:   ": OPENROUTER PROCESSING\n\n:\n\ndata: 1\n\n: ping\ndata: 2\n\n",
			want: []event{{Data: "1", Plain: true}, {Data: "2"}},
		},
		{
			name: "event, id, retry and unknown fields",
			in:   "event: error\nid: 7\nretry: 10\nfoo: bar\ndata: 1\n\nevent: late\ndata: 2\nevent: later\n\n",
			want: []event{{Event: "error", Data: "1"}, {Event: "later", Data: "2"}},
		},
		{
			name: "event and data in separate blocks",
			in:   "event: message_start\n\ndata: 1\n\n",
			want: []event{{Data: "1", Plain: true}},
		},
		{
			name: "field names without a colon",
			in:   "data\ndata: 1\ndata\n\n",
			want: []event{{Data: "\n1\n"}},
		},
		{
			name: "other names that begin like data",
			in:   "dat: 1\ndatas: 2\nDATA: 3\n data: 4\ndata: 5\n\n",
			want: []event{{Data: "5"}},
		},
		{
			name: "data without anything in it",
			in:   "data:\n\ndata: \n\ndata\n\ndata:\ndata:\n\ndata: 1\n\n",
			want: []event{{Data: "1", Plain: true}},
		},
		{
			name: "one JSON text over several lines",
			in:   "data: {\"a\":1,\ndata:  \"b\":[2,\ndata: 3]}\n\n",
			want: []event{{Data: "{\"a\":1,\n \"b\":[2,\n3]}"}},
		},
		{
			name:   "events parted by single line feeds",
			in:     "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n",
			want:   []event{{Data: `{"a":1}`}, {Data: `{"b":2}`}, {Data: "[DONE]", Plain: true}},
			strict: []event{{Data: "{\"a\":1}\n{\"b\":2}\n[DONE]"}},
		},
		{
			name:   "the same with names, and crlf",
			in:     "event: x\r\ndata: {\"a\":1}\r\nevent: y\r\ndata: {\"b\":2}\r\n\r\n",
			want:   []event{{Event: "x", Data: `{"a":1}`}, {Event: "y", Data: `{"b":2}`}},
			strict: []event{{Event: "y", Data: "{\"a\":1}\n{\"b\":2}"}},
		},
		{
			name:   "a whole event, then half a one",
			in:     "data: {\"a\":1}\ndata: {\"b\":\n\ndata: {}\n\n",
			want:   []event{{Data: `{"a":1}`}, {Data: `{"b":`, Plain: true}, {Data: "{}", Plain: true}},
			strict: []event{{Data: "{\"a\":1}\n{\"b\":"}, {Data: "{}", Plain: true}},
		},
		{
			name: "numbers are no events: plain lines of text stay together",
			in:   "data: 1\ndata: 2\n\n",
			want: []event{{Data: "1\n2"}},
		},
		{
			name: "a whole event and an empty line of data",
			in:   "data: {}\ndata:\n\n",
			want: []event{{Data: "{}\n"}},
		},
		{
			name:   "no blank line at the end",
			in:     "data: {}\n\ndata: [DONE]\n",
			want:   []event{{Data: "{}", Plain: true}, {Data: "[DONE]"}},
			strict: []event{{Data: "{}", Plain: true}},
		},
		{
			name:   "no line end at the end",
			in:     "data: {}\ndata: [DONE]",
			want:   []event{{Data: "{}"}, {Data: "[DONE]"}},
			strict: []event{},
		},
		{
			name:   "several lines and no blank line at the end",
			in:     "data: {\"a\":\ndata: 1}\nid",
			want:   []event{{Data: "{\"a\":\n1}"}},
			strict: []event{},
		},
		{
			name: "half an event at the end",
			in:   "data: {}\n\ndata: {\"a\":",
			want: []event{{Data: "{}", Plain: true}},
		},
		{
			name: "a plain text at the end is half an event",
			in:   "data: {}\n\ndata: 1\n",
			want: []event{{Data: "{}", Plain: true}},
		},
		{
			name:   "the error as a field",
			in:     "data: {}\n\nerror: {\"error\":{}}\n\n",
			want:   []event{{Data: "{}", Plain: true}, {Event: "error", Data: `{"error":{}}`}},
			strict: []event{{Data: "{}", Plain: true}},
		},
		{
			name: "an error field after the data",
			in:   "data: {\"a\":1}\nerror: {}\n\n",
			want: []event{{Data: `{"a":1}`}},
		},
		{
			name: "an error field without an error",
			in:   "error: nothing\n\nerror: {}x\ndata: 1\n\n",
			want: []event{{Data: "1"}},
		},
		{
			name: "letters cut in two",
			in:   "data: 北京 🌤 naïve\n\n",
			want: []event{{Data: "北京 🌤 naïve", Plain: true}},
		},
		{
			name: "named, exactly and not",
			in: "event: a\ndata: 1\n\nevent:a\ndata: 1\n\nevent: a\ndata:1\n\nevent: a\r\ndata: 1\n\nevent: \ndata: 1\n\n" +
				"event: a\nevent: b\ndata: 1\n\nevent: a\ndata: 1\nid: 1\n\nevent:  a\ndata:  1\n\n",
			want: []event{
				{Event: "a", Data: "1", Named: true},
				{Event: "a", Data: "1"},
				{Event: "a", Data: "1"},
				{Event: "a", Data: "1"},
				{Data: "1"},
				{Event: "b", Data: "1"},
				{Event: "a", Data: "1"},
				{Event: " a", Data: " 1", Named: true},
			},
		},
		{name: "nothing", in: "", want: []event{}},
		{name: "only line ends", in: "\r\n\r\n\n\r", want: []event{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			strict := c.strict
			if strict == nil {
				strict = c.want
			}
			for _, read := range []func() int{whole(c.in), everyByte} {
				got, err := cut(&Splitter{Whole: wholeObject}, []byte(c.in), read)
				if d := cmp.Diff(c.want, append([]event{}, events(got)...)); d != "" || err != nil {
					t.Error(d, err)
				}
				got, err = cut(&Splitter{}, []byte(c.in), read)
				if d := cmp.Diff(strict, append([]event{}, events(got)...)); d != "" || err != nil {
					t.Error("strict:", d, err)
				}
			}
		})
	}
}

func TestCommentsAreFrames(t *testing.T) {
	t.Parallel()
	in := ": a\n\n\nevent: x\n\ndata: \n\ndata: 1\n\n"
	got, err := cut(&Splitter{}, []byte(in), whole(in))
	want := []event{{Comment: true}, {Comment: true}, {Event: "x", Comment: true}, {Comment: true}, {Data: "1", Plain: true}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// An event goes out with the line end that ends it, not with the byte after that.
func TestNoFrameWaitsForTheNext(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: 1\n\n", "data: 1\r\n\r\n", "data: 1\r\r", "data: 1\r\n\r"} {
		var s Splitter
		f, n, err := s.Next([]byte(in), false)
		if n != len(in) || string(f.Data) != "1" || string(f.Raw) != in || err != nil {
			t.Errorf("%q: %d bytes, data %q, raw %q, %v", in, n, f.Data, f.Raw, err)
		}
	}
	// The second half of a CRLF comes late: it is in no frame.
	var s Splitter
	if _, n, _ := s.Next([]byte("data: 1\r\n\r"), false); n != 10 {
		t.Fatal(n)
	}
	f, n, err := s.Next([]byte("\ndata: 2\n\n"), false)
	if n != 10 || string(f.Raw) != "data: 2\n\n" || !f.Plain || err != nil {
		t.Errorf("%d bytes, %+v, %v", n, f, err)
	}
}

func TestMax(t *testing.T) {
	t.Parallel()
	in := "data: 1\n\ndata: " + strings.Repeat("x", 92) + "\n\n" // the second is 100 bytes
	for _, read := range []func() int{whole(in), everyByte} {
		got, err := cut(&Splitter{Max: 100}, []byte(in), read)
		if len(got) != 2 || err != nil {
			t.Errorf("at the limit: %d, %v", len(got), err)
		}
		got, err = cut(&Splitter{Max: 99}, []byte(in), read)
		if len(got) != 1 || !errors.Is(err, ErrTooLong) {
			t.Errorf("beyond the limit: %d, %v", len(got), err)
		}
	}
	var s Splitter
	if _, n, err := s.Next(make([]byte, MaxFrame), false); n != 0 || err != nil {
		t.Errorf("at the built-in limit: %d, %v", n, err)
	}
	if _, _, err := s.Next(make([]byte, MaxFrame+1), false); !errors.Is(err, ErrTooLong) {
		t.Errorf("beyond the built-in limit: %v", err)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := Splitter{Whole: wholeObject}
	_, _, _ = s.Next([]byte("data: half\r"), false)
	s.Reset()
	in := "\ufeff\ndata: {}"
	got, err := cut(&s, []byte(in), whole(in))
	if d := cmp.Diff([]event{{Comment: true}, {Data: "{}"}}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// A line of 2 MB that comes in reads of 4 KB is searched once: with a search from its start at each read it would be
// half a gigabyte.
func TestLongLineIsScannedOnce(t *testing.T) {
	t.Parallel()
	in := []byte("data: " + strings.Repeat("x", 2<<20) + "\n\n")
	var s Splitter
	for at := 4096; at < len(in)-2; at += 4096 {
		if _, n, err := s.Next(in[:at], false); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if s.f.seen != at {
			t.Fatalf("after %d bytes %d were seen", at, s.f.seen)
		}
	}
	f, n, err := s.Next(in, false)
	if n != len(in) || !f.Plain || err != nil {
		t.Error(n, f.Plain, err)
	}
}

func TestAppendData(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":             "data: \n\n",
		"{}":           "data: {}\n\n",
		"a\nb\r\nc\rd": "data: a\ndata: b\ndata: c\ndata: d\n\n",
		"a\n":          "data: a\ndata: \n\n",
	} {
		if got := string(AppendData([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	in := []byte(strings.Repeat("data: {\"a\":1}\n\nevent: x\ndata: 1\n\nevent: x\ndata:{}\ndata: \n\n", 3))
	s := Splitter{Whole: func([]byte) bool { return true }}
	var out []byte
	if n := testing.AllocsPerRun(20, func() {
		out = out[:0]
		for unread := in; len(unread) > 0; {
			f, n, err := s.Next(unread, false)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			out = AppendData(out, f.Data)
			unread = unread[n:]
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
