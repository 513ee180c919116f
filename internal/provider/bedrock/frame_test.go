package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"evergate/internal/fault"
	"evergate/internal/testkit"
)

// encoded are frames as the SDK writes them: each is its headers, in pairs, and a payload at the end.
func encoded(t testing.TB, frames ...[]string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range frames {
		m := eventstream.Message{Payload: []byte(f[len(f)-1])}
		for i := 0; i+1 < len(f); i += 2 {
			m.Headers.Set(f[i], eventstream.StringValue(f[i+1]))
		}
		if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func event(name, payload string) []string {
	return []string{":message-type", "event", ":event-type", name, ":content-type", "application/json", payload}
}

func translated(stream []byte) (string, error) {
	out, err := io.ReadAll(newFrames(io.NopCloser(bytes.NewReader(stream))))
	return string(out), err
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		frame []string
		want  string
	}{
		{"event", event("messageStart", `{"p":"ab","role":"assistant"}`), "event: messageStart\ndata: {\"messageStart\":{\"p\":\"ab\",\"role\":\"assistant\"}}\n\n"},
		{"no payload", event("ping", ""), "event: ping\ndata: {\"ping\":{}}\n\n"},
		{"several lines", event("x", "{\n\"a\":\r\n1}"), "event: x\ndata: {\"x\":{\ndata: \"a\":\ndata: 1}}\n\n"},
		{"a name that is none", event("a\nb", "{}"), "data: {\"a\\nb\":{}}\n\n"},
		{"no message type", []string{":event-type", "x", "{}"}, "event: x\ndata: {\"x\":{}}\n\n"},
		{
			"exception",
			[]string{":message-type", "exception", ":exception-type", "throttlingException", `{"message":"Too many requests."}`},
			"event: error\ndata: {\"exception\":\"throttlingException\",\"message\":\"Too many requests.\"}\n\n",
		},
		{
			"exception with more members",
			[]string{":message-type", "exception", ":exception-type", "modelStreamErrorException", ` {"message":"m","originalStatusCode":500} `},
			"event: error\ndata: {\"exception\":\"modelStreamErrorException\",\"message\":\"m\",\"originalStatusCode\":500} \n\n",
		},
		{"exception without words", []string{":message-type", "exception", ":exception-type", "internalServerException", ""}, "event: error\ndata: {\"exception\":\"internalServerException\"}\n\n"},
		{"exception with an empty object", []string{":message-type", "exception", ":exception-type", "e", "{ }"}, "event: error\ndata: {\"exception\":\"e\"}\n\n"},
		{"exception in plain words", []string{":message-type", "exception", ":exception-type", "e", `no "JSON`}, "event: error\ndata: {\"exception\":\"e\",\"message\":\"no \\\"JSON\"}\n\n"},
		{"exception of broken JSON", []string{":message-type", "exception", ":exception-type", "e", `{"a":`}, "event: error\ndata: {\"exception\":\"e\",\"message\":\"{\\\"a\\\":\"}\n\n"},
		{
			"error",
			[]string{":message-type", "error", ":error-code", "InternalError", ":error-message", "went wrong", ""},
			"event: error\ndata: {\"exception\":\"InternalError\",\"message\":\"went wrong\"}\n\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := translated(encoded(t, tt.frame))
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			for line := range strings.Lines(got) {
				if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.Contains(tt.name, "lines") && !json.Valid([]byte(data)) {
					t.Errorf("%q is not JSON", data)
				}
			}
		})
	}
}

// Headers of every type are passed over, wherever they stand.
func TestOtherHeaders(t *testing.T) {
	t.Parallel()
	m := eventstream.Message{Payload: []byte("{}")}
	for name, v := range map[string]eventstream.Value{
		"a": eventstream.BoolValue(true), "b": eventstream.BoolValue(false), "c": eventstream.Int8Value(1), "d": eventstream.Int16Value(1),
		"e": eventstream.Int32Value(1), "f": eventstream.Int64Value(1), "g": eventstream.BytesValue("xyz"), "h": eventstream.TimestampValue{},
		"i": eventstream.UUIDValue{}, ":message-type": eventstream.StringValue("event"), ":event-type": eventstream.StringValue("x"),
	} {
		m.Headers.Set(name, v)
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	if got, err := translated(b.Bytes()); err != nil || got != "event: x\ndata: {\"x\":{}}\n\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Recorded streams come out as files that a person can read, whatever the pieces in which they come.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.eventstream")
	if err != nil || len(files) < 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			stream, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := translated(stream)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, strings.TrimSuffix(filepath.Base(file), ".eventstream")+".sse", []byte(whole))
			for how, r := range map[string]io.Reader{
				"a byte at a time": iotest.OneByteReader(bytes.NewReader(stream)), "halves": iotest.HalfReader(bytes.NewReader(stream)),
				"with its end": iotest.DataErrReader(bytes.NewReader(stream)),
			} {
				got, err := io.ReadAll(newFrames(io.NopCloser(r)))
				if err != nil || string(got) != whole {
					t.Errorf("%s: %v, or different bytes", how, err)
				}
			}
			cuts(t, stream)
		})
	}
}

// cuts ends a stream at every byte: only between two frames is that an end.
func cuts(t *testing.T, stream []byte) {
	t.Helper()
	between := map[int]bool{0: true}
	for at := 0; at < len(stream); {
		at += int(binary.BigEndian.Uint32(stream[at:]))
		between[at] = true
	}
	for cut := range len(stream) {
		_, err := translated(stream[:cut])
		if between[cut] != (err == nil) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d (between frames: %t): %v", cut, between[cut], err)
		}
	}
}

// damaged says whether an error is the fault of a corrupt stream.
func damaged(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Class == fault.Invalid
}

// Each byte of a frame is under a checksum: what was changed on its way is never given out.
func TestDamagedFrames(t *testing.T) {
	t.Parallel()
	good := encoded(t, event("x", `{"a":1}`))
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if got, err := translated(append(bad, good...)); err == nil || got != "" {
				t.Fatalf("byte %d, bit %d: %q, %v", i, bit, got, err)
			}
		}
	}
	got, err := translated(append(bytes.Clone(good), "<html>not an event stream</html>"...))
	if !damaged(err) || got != "event: x\ndata: {\"x\":{\"a\":1}}\n\n" {
		t.Errorf("%q, %v; want the good event first", got, err)
	}
}

// sealed makes a frame with right checksums and whatever lengths.
func sealed(size, headers uint32, rest []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, size)
	b = binary.BigEndian.AppendUint32(b, headers)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(b, rest...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func TestImpossibleFrames(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"more than 16 MiB":        sealed(16<<20+1, 0, nil),
		"shorter than its ends":   sealed(15, 0, nil),
		"headers beyond its end":  sealed(16, 1, nil),
		"a name beyond its end":   sealed(18, 2, []byte{9, 'x'}),
		"a value beyond its end":  sealed(21, 5, []byte{1, 'x', 7, 0, 9}),
		"no length of a value":    sealed(19, 3, []byte{1, 'x', 7}),
		"a type that is none":     sealed(19, 3, []byte{1, 'x', 10}),
		"a number beyond its end": sealed(19, 3, []byte{1, 'x', 5}),
	} {
		if got, err := translated(b); !damaged(err) || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// An announced length takes no memory before its bytes are there, and a large frame's buffers do not stay.
func TestBuffersAreSmall(t *testing.T) {
	t.Parallel()
	announced := sealed(maxFrame, 0, bytes.Repeat([]byte("x"), 100))
	f := newFrames(io.NopCloser(bytes.NewReader(announced)))
	if _, err := io.Copy(io.Discard, f); !errors.Is(err, io.ErrUnexpectedEOF) || cap(f.frame) > 8<<10 {
		t.Errorf("%v, %d bytes held", err, cap(f.frame))
	}
	f = newFrames(io.NopCloser(bytes.NewReader(encoded(t, event("x", `"`+strings.Repeat("y", 1<<20)+`"`), event("x", "{}"), event("x", "{}")))))
	if _, err := io.Copy(io.Discard, f); err != nil || cap(f.frame) > keepBuffer || cap(f.out) > keepBuffer {
		t.Errorf("%v, %d and %d bytes held", err, cap(f.frame), cap(f.out))
	}
}

// A frame's event is given out before the next frame comes.
func TestFramesFlow(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	f := newFrames(r)
	b := make([]byte, 4096)
	for _, name := range []string{"one", "two"} {
		go func() { _, _ = w.Write(encoded(t, event(name, "{}"))) }()
		n, err := f.Read(b)
		if want := "event: " + name + "\ndata: {\"" + name + "\":{}}\n\n"; err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
	_ = w.CloseWithError(errors.New("reset"))
	if _, err := f.Read(b); err == nil || err.Error() != "reset" {
		t.Errorf("the connection's own error became %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// Bodies that say so are event streams, and those that are (R17); all else is left alone.
func TestFrame(t *testing.T) {
	t.Parallel()
	good := encoded(t, event("x", `{"a":1}`))
	const said = "event: x\ndata: {\"x\":{\"a\":1}}\n\n"
	for _, tt := range []struct {
		media, body string
		stream      bool
		mediaAfter  string
		want        string
	}{
		{"application/vnd.amazon.eventstream", string(good), true, "text/event-stream", said},
		{"Application/vnd.Amazon.EventStream; charset=x", string(good), false, "text/event-stream", said},
		{"text/plain", string(good), true, "text/plain", said},
		{"", string(good), true, "", said},
		{"application/json", "{}", true, "application/json", "{}"},
		{"", "{}", true, "", "{}"},
		{"text/html", "<html>", true, "text/html", "<html>"},
		{"", "", true, "", ""},
		{"", string(good), false, "", string(good)},
	} {
		h := http.Header{"Content-Type": {tt.media}, "Content-Length": {"5"}}
		got, err := io.ReadAll(frame(h, io.NopCloser(iotest.OneByteReader(strings.NewReader(tt.body))), tt.stream))
		changed := tt.mediaAfter != tt.media
		if err != nil || string(got) != tt.want || h.Get("Content-Type") != tt.mediaAfter || changed == (h.Get("Content-Length") != "") {
			t.Errorf("%q, stream %t: %q, %v, %v", tt.media, tt.stream, got, err, h)
		}
	}
	if _, err := io.ReadAll(frame(http.Header{}, io.NopCloser(bytes.NewReader(good[:20])), true)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

// Whatever comes, the reader agrees with the SDK's own decoder on which frames there are and whether the end is clean.
func FuzzFrames(f *testing.F) {
	files, err := filepath.Glob("testdata/*.eventstream")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(sealed(19, 3, []byte{1, 'x', 10}))
	f.Add(encoded(f, []string{":message-type", "exception", ":exception-type", "e", "{}"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, gotErr := translated(data)
		r, d, frames := bytes.NewReader(data), eventstream.NewDecoder(), 0
		var wantErr error
		for r.Len() > 0 && wantErr == nil {
			if _, wantErr = d.Decode(r, nil); wantErr == nil {
				frames++
			}
		}
		events := 0
		for _, block := range strings.SplitAfter(got, "\n\n") {
			if block != "" {
				events++
			}
		}
		if (gotErr == nil) != (wantErr == nil) || events != frames {
			t.Errorf("%d events, %v; the SDK reads %d frames, %v", events, gotErr, frames, wantErr)
		}
	})
}

func BenchmarkFrames(b *testing.B) {
	data, err := os.ReadFile("testdata/tool-single-stream-sonnet-3.eventstream")
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 4096)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			f := newFrames(io.NopCloser(bytes.NewReader(data)))
			for {
				if _, err := f.Read(buf); err != nil {
					break
				}
			}
		}
	})
	b.Run("sdk decoder alone", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r, d := bytes.NewReader(data), eventstream.NewDecoder()
			for {
				if _, err := d.Decode(r, buf[:0]); err != nil {
					break
				}
			}
		}
	})
}
