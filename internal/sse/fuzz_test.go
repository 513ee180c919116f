package sse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dumb is the Splitter written to be read: it has the whole input, and knows neither reads nor offsets.
func dumb(in string, whole func([]byte) bool) []event {
	in = strings.TrimPrefix(in, byteOrderMark)
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var out []event
	lines := strings.SplitAfter(in, "\n")
	for at := 0; at < len(lines); {
		var e event
		var data []string
		nameAtData, next := "", 0
		ended := false
		for ; at < len(lines) && !ended; at++ {
			line, lf := strings.CutSuffix(lines[at], "\n")
			if !lf && (line == "" || whole == nil) {
				continue
			}
			if line == "" {
				ended = true
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			if name == "error" && len(data) == 0 && whole != nil && whole([]byte(value)) {
				name, e.Event = "data", "error"
			}
			switch name {
			case "event":
				e.Event = value
			case "data":
				if len(data) > 0 && whole != nil && whole([]byte(data[0])) && strings.TrimSpace(value) != "" {
					e.Event, data, ended = nameAtData, data[:1], true
					at = next - 1
					continue
				}
				if len(data) == 0 {
					nameAtData, next = e.Event, at+1
				}
				data = append(data, value)
			}
		}
		e.Data = strings.Join(data, "\n")
		e.Comment = strings.TrimSpace(e.Data) == ""
		if ended || whole != nil && len(data) > 0 && whole([]byte(e.Data)) {
			out = append(out, e)
		}
	}
	return out
}

func FuzzSplitter(f *testing.F) {
	for _, seed := range []string{
		"data: {\"a\":1}\n\ndata: [DONE]\n\n", "\ufeffdata: {}\r\n\r\n: x\r\rid\n", "data: {}\rdata: {}\r\n\r\n\ndata",
		"event: x\ndata: {\ndata: }\nevent: y\ndata: {}\n\n", "error: {}\n\nerror: x\ndata:\n\n", "data\ndata\n\n", "\r\n\r\n",
		"data: {}\nevent: a\nid: 1\ndata: x", "\xef\xbb", "data: \v\n\n", "data: {}\r\ndata: {}\r\n\r\n",
		"event: a\ndata: {}\n\nevent: a\r\ndata:{}\n\n", "event: \ndata: 1\n\nevent: a\nevent: b\ndata: 1\n\n", "abcdef\nerror: {}\n\n",
		"x\nevent\ndata: 1\n\n", "event: a\r\ndata:1\n\n", "event: a\ndata: 1\nid: 1\n\n",
	} {
		f.Add([]byte(seed), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size byte) {
		for name, hook := range map[string]func([]byte) bool{"strict": nil, "forgiving": wholeObject} {
			want, err := cut(&Splitter{Whole: hook}, in, whole(string(in)))
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []int{1, int(size)} {
				got, err := cut(&Splitter{Whole: hook}, in, func() int { return step })
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Fatalf("%s: %q in reads of %d: %s %v", name, in, step, d, err)
				}
			}
			for i := range want {
				want[i].Plain, want[i].Named = false, false // cut has checked them against the bytes
			}
			if d := cmp.Diff(dumb(string(in), hook), want); d != "" {
				t.Fatalf("%s: %q: (-dumb +splitter) %s", name, in, d)
			}
		}
	})
}

func FuzzAppendData(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "\r", "\r\n", "{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := AppendData(nil, data)
		got, err := cut(&Splitter{}, in, everyByte)
		if err != nil || len(got) != 1 {
			t.Fatalf("%q: %v, %v", in, got, err)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
		if got[0].Data != want {
			t.Fatalf("%q: got %q", data, got[0].Data)
		}
	})
}

func BenchmarkSplitter(b *testing.B) {
	one := "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{\"content\":\"" +
		strings.Repeat("x", 180) + "\"}}]}\n\n"
	for _, c := range []struct{ name, in string }{
		{"100 canonical events of 280 B", strings.Repeat(one, 100)},
		{"100 named events of 300 B", strings.Repeat("event: content_block_delta\n"+one, 100)},
		{"100 events with CRLF", strings.Repeat(strings.ReplaceAll(one, "\n", "\r\n"), 100)},
		{"100 events with CR", strings.Repeat(strings.ReplaceAll(one, "\n", "\r"), 100)},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := []byte(c.in)
			s := Splitter{Whole: wholeObject}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				for unread := in; len(unread) > 0; {
					f, n, err := s.Next(unread, false)
					if err != nil || n == 0 || f.Comment {
						b.Fatal(n, err)
					}
					unread = unread[n:]
				}
			}
		})
	}
}

func BenchmarkLongLine(b *testing.B) {
	in := []byte("data: " + strings.Repeat("x", 2<<20) + "\n\n")
	var s Splitter
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		s.Reset()
		n := 0
		for at := 4096; n == 0; at += 4096 {
			_, n, _ = s.Next(in[:min(at, len(in))], false)
		}
	}
}
