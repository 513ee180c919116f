package app

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

// liar is a provider that says on each connection whatever its script says, to a chat request it has read; to all others that they are
// unknown. It counts what it could say.
type liar struct {
	listener net.Listener
	script   func(w *bufio.Writer, stream bool) error
	asked    atomic.Int64
	written  atomic.Int64
	talks    sync.WaitGroup
}

func (l *liar) serve() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.talks.Go(func() { l.converse(c) })
	}
}

func (l *liar) converse(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		l.asked.Add(1)
		w := bufio.NewWriter(countingWriter{c, &l.written})
		if l.script(w, bytes.Contains(body, []byte(`"stream":true`))) != nil || w.Flush() != nil {
			return
		}
	}
}

type countingWriter struct {
	io.Writer
	n *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n.Add(int64(n))
	return n, err
}

// text says it and no more.
func text(s string) func(*bufio.Writer, bool) error {
	return func(w *bufio.Writer, _ bool) error { _, err := w.WriteString(s); return err }
}

// endless says a beginning, and a piece for ever.
func endless(begin, piece string) func(*bufio.Writer, bool) error {
	return func(w *bufio.Writer, _ bool) error {
		_, err := w.WriteString(begin)
		for err == nil {
			_, err = w.WriteString(piece)
		}
		return err
	}
}

// drips is endless with a pause before each piece.
func drips(begin, piece string, pause time.Duration) func(*bufio.Writer, bool) error {
	return func(w *bufio.Writer, _ bool) error {
		_, err := w.WriteString(begin)
		for err == nil {
			if err = w.Flush(); err == nil {
				time.Sleep(pause)
				_, err = w.WriteString(piece)
			}
		}
		return err
	}
}

// bomb is n bytes of one letter within a text, compressed.
func bomb(before string, n int, after string, layers int) string {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = io.WriteString(z, before)
	piece := strings.Repeat("a", 1<<20)
	for ; n > 0; n -= len(piece) {
		_, _ = io.WriteString(z, piece)
	}
	_, _ = io.WriteString(z, after)
	_ = z.Close()
	for ; layers > 1; layers-- {
		var next bytes.Buffer
		z, _ := gzip.NewWriterLevel(&next, gzip.BestCompression)
		_, _ = z.Write(out.Bytes())
		_ = z.Close()
		out = next
	}
	return out.String()
}

const (
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	goodReply  = `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"from the liar"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	goodEvent  = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"from the liar"},"finish_reason":null}]}` + "\n\n"
	goodEnd    = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// sized is a reply with its length.
func sized(head, body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// A provider that lies, floods or says nothing costs its caller a bounded time and the gateway bounded bytes; the next provider answers where
// nothing was sent yet, and what was sent ends in an error.
func TestHostileProviders(t *testing.T) {
	if testkit.Race { // make check runs it again without: there it takes a minute
		t.Skip("hundreds of gateways, one after the other: run without the race detector")
	}
	const (
		next = "b"                     // the second provider answered
		took = "a"                     // the answer is the liar's own
		cut  = "a, cut off in the end" // what came was passed on, and its end is an error
		// A plain reply that is too large to be held is passed on unseen, within the time that an attempt has: no end of it is made up.
		cutPlain = "broken off"
	)
	flood := strings.Repeat("x", 32<<10)
	before := heap()
	defer func() {
		if grown := int64(heap()) - int64(before); grown > 64<<20 {
			t.Errorf("%d bytes are left of all this", grown)
		}
	}()
	for _, tc := range []struct {
		name   string
		script func(*bufio.Writer, bool) error
		plain  string
		stream string
		most   int64 // bytes the liar can write in one attempt; 0: 1 MiB
	}{
		{name: "endless headers", script: endless("HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("b", 1000)+"\r\n"), plain: next, stream: next},
		{name: "one endless header", script: endless("HTTP/1.1 200 OK\r\nX-A: ", flood), plain: next, stream: next},
		{name: "an endless status line", script: endless("HTTP/1.1 200 ", flood), plain: next, stream: next},
		{name: "endless 100 Continue", script: endless("", "HTTP/1.1 100 Continue\r\n\r\n"), plain: next, stream: next},
		{name: "endless 103 Early Hints", script: endless("", "HTTP/1.1 103 Early Hints\r\nLink: </"+strings.Repeat("a", 1000)+">\r\n\r\n"), plain: next, stream: next},
		{name: "headers in drips", script: drips("HTTP/1.1 200 OK\r\n", "X-A: b\r\n", 10*time.Second), plain: next, stream: next},
		{name: "no HTTP", script: endless("", "\x00\xff\x16\x03"), plain: next, stream: next},
		{name: "a status of three letters", script: text("HTTP/1.1 abc OK\r\n\r\n"), plain: next, stream: next},
		{name: "status 999", script: text(sized("HTTP/1.1 999 Odd\r\n", goodReply)), plain: next, stream: next},
		{name: "status 0", script: text(sized("HTTP/1.1 000 Odd\r\n", goodReply)), plain: next, stream: next},
		{name: "an unasked 101", script: text("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), plain: next, stream: next},
		{name: "204", script: text("HTTP/1.1 204 No Content\r\n\r\n" + sized(jsonHead, goodReply)), plain: next, stream: next},
		{name: "lengths that differ", script: text(jsonHead + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + goodReply), plain: next, stream: next},
		{name: "a negative length", script: text(jsonHead + "Content-Length: -1\r\n\r\n" + goodReply), plain: next, stream: next},
		{name: "more than its length", script: text(sized(jsonHead, goodReply) + sized(jsonHead, goodReply)), plain: took, stream: took},
		{name: "less than its length, then silence", script: func(w *bufio.Writer, _ bool) error {
			_, _ = w.WriteString(jsonHead + "Content-Length: 5000\r\n\r\n" + goodReply)
			_ = w.Flush()
			time.Sleep(time.Hour)
			return io.EOF
		}, plain: next, stream: next},
		{name: "a reply in drips", script: drips(jsonHead+"Content-Length: 5000000\r\n\r\n", " ", time.Second), plain: next, stream: next},
		{name: "a reply without end", script: endless(jsonHead+"\r\n", flood), plain: next, stream: next, most: 20 << 20},
		{name: "a string of 20 MB", script: func(w *bufio.Writer, _ bool) error {
			_, err := w.WriteString(jsonHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(`{"id":"`))
			for n := 0; n < 20<<20 && err == nil; n += len(flood) {
				_, err = w.WriteString(chunked(flood))
			}
			return cmp.Or(err, w.Flush(), io.EOF)
		}, plain: cutPlain, stream: next, most: 21 << 20},
		{name: "a reply of 9 EB", script: endless(jsonHead+"Content-Length: 9223372036854775807\r\n\r\n", flood), plain: next, stream: next, most: 20 << 20},
		{name: "deep JSON", script: text(sized(jsonHead, strings.Repeat("[", 1<<20))), plain: next, stream: next, most: 2 << 20},
		{name: "an error without end", script: endless("HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\n\r\n", flood), plain: next, stream: next, most: 4 << 20},
		{name: "a refusal without end", script: endless("HTTP/1.1 401 No\r\nContent-Type: application/json\r\n\r\n"+`{"error":{"message":"`, flood), plain: next, stream: next, most: 4 << 20},
		{name: "a bomb", script: text(sized(jsonHead+"Content-Encoding: gzip\r\n", bomb(`{"id":"`, 20<<20, `"}`, 1))), plain: next, stream: next},
		{name: "a bomb in a bomb", script: text(sized(jsonHead+"Content-Encoding: gzip, gzip\r\n", bomb(`{"id":"`, 20<<20, `"}`, 2))), plain: next, stream: next},
		{name: "four layers", script: text(sized(jsonHead+"Content-Encoding: gzip, gzip, gzip, gzip\r\n", bomb("", 1<<20, "", 4))), plain: next, stream: next},
		{name: "a bomb as an error", script: text(sized("HTTP/1.1 500 Oops\r\nContent-Encoding: gzip\r\n", bomb(`{"error":{"message":"`, 20<<20, `"}}`, 1))), plain: next, stream: next},
		{name: "a bomb as an event", script: text(sized(streamHead+"Content-Encoding: gzip\r\n", bomb("data: ", 20<<20, "\n\n", 1))), plain: next, stream: next},
		{name: "br", script: text(sized(jsonHead+"Content-Encoding: br\r\n", "\x1b\xff")), plain: next, stream: next},
		{name: "zstd", script: text(sized(jsonHead+"Content-Encoding: zstd\r\n", "\x28\xb5\x2f\xfd")), plain: next, stream: next},
		{name: "a line without end", script: endless(streamHead+"\r\ndata: ", flood), plain: next, stream: next, most: 20 << 20},
		{name: "an event of 100 MB after content", script: func(w *bufio.Writer, _ bool) error {
			_, err := w.WriteString(streamHead + "\r\n" + goodEvent + "data: ")
			for n := 0; n < 100<<20 && err == nil; n += len(flood) {
				_, err = w.WriteString(flood)
			}
			return err
		}, plain: next, stream: cut, most: 20 << 20},
		{name: "comments for ever", script: drips(streamHead+"\r\n", ": x\n\n", 5*time.Second), plain: next, stream: next},
		{name: "many comments at once", script: drips(streamHead+"\r\n"+strings.Repeat(": x\n\n", 1<<17), ": x\n\n", time.Second), plain: next, stream: next, most: 6 << 20},
		{name: "events without content for ever", script: endless(streamHead+"\r\n", `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}`+"\n\n"), plain: next, stream: next, most: 20 << 20},
		{name: "a stream of comments after content", script: drips(streamHead+"\r\n"+goodEvent, ": x\n\n", 5*time.Second), plain: next, stream: cut},
		{name: "NULs in an event", script: text(streamHead + "Connection: close\r\n\r\ndata: \x00\x00\n\n"), plain: next, stream: next},
		{name: "trailers", script: text(streamHead + "Transfer-Encoding: chunked\r\nTrailer: X-Secret, Set-Cookie\r\n\r\n" + chunked(goodEvent+goodEnd) + "0\r\nX-Secret: sk-key-of-a\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\n"), plain: took, stream: took},
		{name: "trailers of a plain reply", script: text(jsonHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(goodReply) + "0\r\nX-Secret: sk-key-of-a\r\nSet-Cookie: a=b\r\n\r\n"), plain: took, stream: took},
		{name: "trailers without end", script: endless(jsonHead+"Transfer-Encoding: chunked\r\n\r\n"+chunked(goodReply)+"0\r\n", "X-T: "+strings.Repeat("t", 1000)+"\r\n"), plain: next, stream: next},
		{name: "a chunk of 16 digits", script: endless(jsonHead+"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", flood), plain: next, stream: next, most: 34 << 20},
		{name: "chunk extensions", script: endless(jsonHead+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("e", 4000)+"\r\n \r\n"), plain: next, stream: next, most: 20 << 20},
		{name: "a redirect to the metadata service", script: text("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest/meta-data\r\nContent-Length: 0\r\n\r\n"), plain: next, stream: next},
		{name: "a redirect to itself", script: text("HTTP/1.1 308 Permanent Redirect\r\nLocation: http://a/v1/chat/completions\r\nContent-Length: 0\r\n\r\n"), plain: next, stream: next},
		{name: "cookies and the like", script: text(sized(jsonHead+"Set-Cookie: session=stolen\r\nAccess-Control-Allow-Origin: *\r\nX-Evergate-Provider: root\r\nX-Request-Id: a\r\nLocation: http://169.254.169.254/\r\nRefresh: 0;url=http://evil/\r\nX-Leak: Bearer sk-key-of-a\r\n", goodReply)), plain: took, stream: took},
	} {
		for _, stream := range []bool{false, true} {
			if !stream && tc.most >= 20<<20 && tc.plain == tc.stream {
				continue // one megabyte after another: once is enough
			}
			t.Run(fmt.Sprintf("%s, stream=%t", tc.name, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var lie *liar
					s := newStackWith(t, parse(t, twoProviders+"resilience: {retry: {max_retries: 0}}\n"), map[string]mock.Script{"b": {Defaults: mock.Behaviour{Text: "from b"}}}, slog.New(slog.DiscardHandler), func(s *stack) {
						lie = &liar{listener: s.net.Listen("a:80"), script: tc.script}
						t.Cleanup(func() { _ = lie.listener.Close(); lie.talks.Wait() })
						go lie.serve()
					})
					a := s.ask("demo", stream)
					got, want := "", tc.plain
					switch {
					case strings.Contains(a.text, "from b"):
						got = next
					case a.broken != nil:
						got = cutPlain
					case strings.Contains(a.text, "from the liar") && a.errCode != "":
						got = cut
					case strings.Contains(a.text, "from the liar"):
						got = took
					}
					if stream {
						want = tc.stream
					}
					if got != want || a.status != http.StatusOK || a.took > 10*time.Minute {
						t.Errorf("%q, want %q: %s %.300s", got, want, a.story(), a.body)
					}
					for name, values := range a.header {
						v := strings.Join(values, " ")
						if name == "Set-Cookie" || name == "Location" || strings.HasPrefix(name, "Access-Control") || strings.Contains(v, "sk-key-of-a") || strings.Contains(v, "root") {
							t.Errorf("header %s: %s", name, v)
						}
					}
					s.client.CloseIdleConnections()
					synctest.Wait()
					if n, most := lie.written.Load(), max(tc.most, 1<<20); n > most {
						t.Errorf("the liar could write %d bytes, not %d", n, most)
					}
					if n := lie.asked.Load(); n != 1 {
						t.Errorf("asked %d times", n)
					}
					if n := s.app.ingress.InFlight(); n != 0 {
						t.Errorf("%d requests are left", n)
					}
				})
			})
		}
	}
}

// chunked is one chunk.
func chunked(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// heap is how many bytes live on it.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
