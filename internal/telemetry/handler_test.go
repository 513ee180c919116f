package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"
)

func logger(t testing.TB, out *bytes.Buffer, format string) *slog.Logger {
	t.Helper()
	l, err := NewLogger(out, format, slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The standard library's own contract for handlers.
func TestHandlerKeepsSlogsContract(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		out.Reset()
		return logger(t, &out, "json").Handler()
	}, func(t *testing.T) map[string]any {
		var m map[string]any
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			t.Fatalf("%v in %s", err, out.Bytes())
		}
		return m
	})
}

type secret string

func (secret) MarshalText() ([]byte, error) { return []byte("<secret>"), nil }

type size int

func (size) String() string { return "3 MiB" }

type later struct{}

func (later) LogValue() slog.Value { return slog.GroupValue(slog.Int("x", 1)) }

func TestFormats(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 13, 4, 5, 67_999_999, time.FixedZone("CET", 3600))
	type pair struct{ A, B int }
	cases := []struct {
		name       string
		attrs      []slog.Attr
		json, text string
	}{
		{"numbers", []slog.Attr{slog.Int("i", -1), slog.Uint64("u", math.MaxUint64), slog.Bool("b", true)}, `"i":-1,"u":18446744073709551615,"b":true`, `i=-1 u=18446744073709551615 b=true`},
		{"fractions", []slog.Attr{slog.Float64("f", 1234.567), slog.Float64("g", 0.1), slog.Float64("h", -2.5), slog.Float64("n", 0), slog.Float64("z", 3)}, `"f":1234.567,"g":0.1,"h":-2.5,"n":0,"z":3`, `f=1234.567 g=0.1 h=-2.5 n=0 z=3`},
		{"small fractions", []slog.Attr{slog.Float64("f", 0.0625), slog.Float64("g", -0.001), slog.Float64("x", math.Inf(1))}, `"f":0.0625,"g":-0.001,"x":"+Inf"`, `f=0.0625 g=-0.001 x=+Inf`},
		{"times", []slog.Attr{slog.Time("t", at), slog.Duration("d", 90*time.Second)}, `"t":"2026-03-01T12:04:05.067Z","d":"1m30s"`, `t=2026-03-01T12:04:05.067Z d=1m30s`},
		{"plain strings", []slog.Attr{slog.String("s", "a-b_c/d:1"), slog.String("e", "")}, `"s":"a-b_c/d:1","e":""`, `s=a-b_c/d:1 e=""`},
		{"strings with signs", []slog.Attr{slog.String("s", `a b="c\`)}, `"s":"a b=\"c\\"`, `s="a b=\"c\\"`},
		{"letters of all languages", []slog.Attr{slog.String("s", "Müller 模型 🙂")}, `"s":"Müller 模型 🙂"`, `s="Müller 模型 🙂"`},
		{"a forged line", []slog.Attr{slog.String("s", "x\r\n{\"msg\":\"y\"}\t\x00")}, `"s":"x\r\n{\"msg\":\"y\"}\t\u0000"`, `s="x\r\n{\"msg\":\"y\"}\t\u0000"`},
		{"a terminal's commands", []slog.Attr{slog.String("s", "\x1b[2J\x7f\u009b")}, `"s":"\u001b[2J\u007f\u009b"`, `s="\u001b[2J\u007f\u009b"`},
		{"invisible characters", []slog.Attr{slog.String("s", "a\u202eb\u200bc\u2028\U000e0041")}, `"s":"a\u202eb\u200bc\u2028\udb40\udc41"`, `s="a\u202eb\u200bc\u2028\udb40\udc41"`},
		{"bytes that are no text", []slog.Attr{slog.String("s", "a\xffb\ufffd")}, `"s":"a\ufffdb` + "\ufffd" + `"`, `s="a\ufffdb` + "\ufffd" + `"`},
		{"a forged key", []slog.Attr{slog.String("a\nb", "x")}, `"a\nb":"x"`, `"a\nb"=x`}, //nolint:sloglint // the key is the point
		{"errors, secrets and others", []slog.Attr{slog.Any("e", errors.New("no\nway")), slog.Any("s", secret("planted")), slog.Any("z", size(3)), slog.Any("n", nil)}, `"e":"no\nway","s":"<secret>","z":"3 MiB","n":null`, `e="no\nway" s=<secret> z="3 MiB" n=null`},
		{"structures", []slog.Attr{slog.Any("p", pair{1, 2}), slog.Any("c", func() {})}, `"p":{"A":1,"B":2},`, `p="{A:1 B:2}" `},
		{"groups", []slog.Attr{slog.Group("g", slog.Int("a", 1), slog.Group("h", slog.Int("b", 2)), slog.Group("none")), slog.Any("l", later{}), slog.Group("", slog.Int("c", 3)), {}}, `"g":{"a":1,"h":{"b":2}},"l":{"x":1},"c":3`, `g.a=1 g.h.b=2 l.x=1 c=3`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for format, want := range map[string]string{
				"json": `{"time":"2026-03-01T12:04:05.067Z","level":"WARN","msg":"m",` + c.json,
				"text": `time=2026-03-01T12:04:05.067Z level=WARN msg=m ` + c.text,
			} {
				var out bytes.Buffer
				h := logger(t, &out, format).Handler()
				r := slog.NewRecord(at, slog.LevelWarn, "m", 0)
				r.AddAttrs(c.attrs...)
				if err := h.Handle(t.Context(), r); err != nil {
					t.Error(err)
				}
				if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\n") || (c.name != "structures" && strings.TrimRight(got, "}\n") != strings.TrimRight(want, "}")) {
					t.Errorf("%s\ngot  %swant %s", format, got, want)
				}
			}
		})
	}
}

func TestWithAttrsAndGroupsInText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := logger(t, &out, "text").With("a", 1).WithGroup("g").WithGroup("").With("b", 2).With().WithGroup("h")
	l.Info("m", "c", 3)
	l.Info("m")
	for line := range strings.Lines(out.String()) {
		_, line, _ = strings.Cut(line, " ")
		out.Reset()
		if line != "level=INFO msg=m a=1 g.b=2 g.h.c=3\n" && line != "level=INFO msg=m a=1 g.b=2\n" {
			t.Errorf("%q", line)
		}
	}
}

func TestAGroupOfNothingIsLeftOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger(t, &out, "json").With("a", 1).WithGroup("g").Info("m", slog.Group("none"), slog.Attr{})
	_, got, _ := strings.Cut(out.String(), ",")
	equal(t, "line", got, `"level":"INFO","msg":"m","a":1}`+"\n")
}

func TestDerivedLoggersDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	for i := range 128 { // of all lengths: some leave room in the buffer that is shared
		var out bytes.Buffer
		base := logger(t, &out, []string{"json", "text"}[i%2]).With("base", strings.Repeat("x", i)).WithGroup("g")
		a, b := base.With("a", "left"), base.With("b", "right")
		a.Info("m")
		if got := out.String(); !strings.Contains(got, "left") || strings.Contains(got, "right") {
			t.Fatal(got)
		}
		out.Reset()
		b.WithGroup("h").Info("m", "c", 1)
		if got := out.String(); strings.Contains(got, "left") || !strings.Contains(got, "right") {
			t.Fatal(got)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var level slog.LevelVar
	l, err := NewLogger(&out, "text", &level)
	if err != nil {
		t.Fatal(err)
	}
	level.Set(slog.LevelWarn)
	l.Info("no")
	level.Set(slog.LevelInfo) // takes effect at once
	l.Info("yes")
	if got := out.String(); strings.Contains(got, "msg=no") || !strings.Contains(got, "msg=yes") {
		t.Error(got)
	}
	if _, err := NewLogger(&out, "xml", &level); err == nil {
		t.Error("took an unknown format")
	}
}

func TestAWarningHastensTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &writes{start: time.Now()}
		w := NewLineWriter(out)
		l, err := NewLogger(w, "text", slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		l.Info("one")
		pass(time.Millisecond)
		l.Warn("two")
		synctest.Wait()
		l.Info("three")
		pass(time.Second)
		equal(t, "at", out.at, []time.Duration{time.Millisecond, 101 * time.Millisecond})
		_, _ = w.Write(bytes.Repeat([]byte("x\n"), maxPending))
		_ = w.Close()
		equal(t, "what was dropped is told as a line", out.list[2], "time=2000-01-01T00:00:01.001Z level=WARN msg=\"log lines dropped\" lines=1048576\n")
	})
}

func FuzzQuoted(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\x7f\u0080", "\xff\xc0\x80", "\u202e\U000e0041", `"\`, "é🙂"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := appendQuoted(nil, s)
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q came back as %q", s, back)
		}
		for _, line := range [][]byte{quoted, appendBare(nil, s)} {
			for _, r := range string(line) {
				if !unicode.IsPrint(r) {
					t.Fatalf("%U in %q", r, line)
				}
			}
		}
	})
}

func BenchmarkHandle(b *testing.B) {
	var out bytes.Buffer
	h := logger(b, &out, "json").Handler()
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "m", 0)
	r.AddAttrs(slog.String("a", "b"))
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		_ = h.Handle(context.Background(), r)
	}
}
