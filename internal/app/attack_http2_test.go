package app

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"evergate/internal/mock"
)

// framed is a client's HTTP/2 connection on which a test writes any frames.
type framed struct {
	*http2.Framer
	conn  net.Conn
	words bytes.Buffer
	pack  *hpack.Encoder
	ended chan struct{} // the gateway has closed it
	reset map[uint32]http2.ErrCode
	goes  http2.ErrCode
	head  map[uint32]string // :status by stream; read after ended
}

// frames opens one. reads: what comes is read.
func (s *secured) frames(t *testing.T, reads bool) *framed {
	t.Helper()
	raw, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{RootCAs: s.authority.Pool, ServerName: "gateway", NextProtos: []string{"h2"}})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, http2.ClientPreface)
	f := &framed{Framer: http2.NewFramer(c, c), conn: c, ended: make(chan struct{}), reset: map[uint32]http2.ErrCode{}, head: map[uint32]string{}}
	f.pack = hpack.NewEncoder(&f.words)
	f.AllowIllegalWrites = true
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	if reads {
		go f.listen()
	}
	t.Cleanup(func() { _ = c.Close() })
	return f
}

func (f *framed) listen() {
	defer close(f.ended)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch v := frame.(type) {
		case *http2.RSTStreamFrame:
			f.reset[v.StreamID] = v.ErrCode
		case *http2.GoAwayFrame:
			f.goes = v.ErrCode
		case *http2.MetaHeadersFrame:
			f.head[v.StreamID] = v.PseudoValue("status")
		}
	}
}

// ask writes a request's head; the names and values of more come in pairs.
func (f *framed) ask(id uint32, end bool, more ...string) error {
	f.words.Reset()
	pairs := append([]string{":method", "POST", ":scheme", "https", ":authority", "gateway", ":path", "/v1/chat/completions", "content-type", "application/json"}, more...)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = f.pack.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.words.Bytes(), EndStream: end, EndHeaders: true})
}

// What floods an HTTP/2 connection ends it after a bounded number of frames, and the next client is served.
func TestHTTP2Floods(t *testing.T) {
	const most = 20_000 // frames
	for name, flood := range map[string]struct {
		reads bool
		piece func(f *framed, i int) error
		n     int // frames; 0: most
	}{
		"continuations": {true, func(f *framed, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: nil})
			}
			f.words.Reset()
			_ = f.pack.WriteField(hpack.HeaderField{Name: fmt.Sprintf("x-%d", i), Value: strings.Repeat("v", 200)})
			return f.WriteContinuation(1, false, f.words.Bytes())
		}, 0},
		"settings, nothing read": {false, func(f *framed, i int) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i)})
		}, 0},
		"pings, nothing read":       {false, func(f *framed, i int) error { return f.WritePing(false, [8]byte{byte(i)}) }, 0},
		"frames beyond the largest": {true, func(f *framed, _ int) error { return f.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 1<<20)) }, 50},
		"data for no stream":        {true, func(f *framed, i int) error { return f.WriteData(uint32(2*i+1), false, []byte("x")) }, 0},
		"windows that overflow":     {true, func(f *framed, _ int) error { return f.WriteWindowUpdate(0, 1<<31-1) }, 0},
		"streams of the server's":   {true, func(f *framed, i int) error { return f.ask(uint32(2*i+2), true) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSecured(t, "", map[string]mock.Script{"a": answers(), "b": answers()})
				f := s.frames(t, flood.reads)
				var err error
				wrote := 0
				_ = f.conn.SetWriteDeadline(time.Now().Add(5 * time.Minute))
				for ; wrote < cmp.Or(flood.n, most); wrote++ {
					if err = flood.piece(f, wrote); err != nil {
						break
					}
				}
				time.Sleep(time.Minute)
				for range 300 { // the first may still find room
					if err = flood.piece(f, most); err != nil {
						break
					}
				}
				if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection is still there after %d frames: %v", wrote, err)
				}
				_ = f.conn.Close()
				if got := s.ask("demo", true); got.status != 200 || !got.done {
					t.Errorf("the next client: %s", got.story())
				}
				time.Sleep(time.Minute) // what waits for the lost client
			})
		})
	}
}

// Requests that are reset as soon as they are asked cost the provider no more than clients may ask at a time, and leave nothing behind.
func TestHTTP2RapidReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, "", map[string]mock.Script{"a": answers(), "b": answers()})
		f := s.frames(t, true)
		n := 0
		for ; n < 5_000; n++ {
			id := uint32(2*n + 1)
			if f.ask(id, false) != nil || f.WriteData(id, true, []byte(hello)) != nil || f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				break
			}
		}
		time.Sleep(time.Minute)
		if in := s.app.ingress.InFlight(); in != 0 {
			t.Errorf("%d requests are in flight", in)
		}
		seen := s.mocks["a"].Counts()
		t.Logf("%d requests were written, %d came to the provider, %d at a time", n, seen.Requests, seen.Peak)
		if seen.Requests < 2 || seen.Peak > streamsOfOne || seen.InFlight != 0 {
			t.Errorf("the provider saw %+v", seen)
		}
		_ = f.conn.Close()
		if got := s.ask("demo", true); got.status != 200 || !got.done {
			t.Errorf("the next client: %s", got.story())
		}
	})
}

// What HTTP/1 knows as smuggling has no way through HTTP/2: headers of a connection, a length that is not the body's, and line ends are refused.
func TestHTTP2Heads(t *testing.T) {
	for name, tc := range map[string]struct {
		more   []string
		status string // empty: the stream is reset, or the connection ended
	}{
		"good":                      {nil, "200"},
		"chunks":                    {[]string{"transfer-encoding", "chunked"}, ""},
		"a connection's":            {[]string{"connection", "x"}, "400"},
		"te":                        {[]string{"te", "gzip"}, "400"},
		"a length too short":        {[]string{"content-length", "5"}, ""},
		"a length too long":         {[]string{"content-length", "500"}, ""},
		"two lengths":               {[]string{"content-length", fmt.Sprint(len(hello)), "content-length", "5"}, "200"}, // the first is the one; none of them goes on
		"capitals":                  {[]string{"X-Capital", "x"}, ""},
		"a line end in a value":     {[]string{"x-a", "b\r\nx-injected: 1"}, ""},
		"a line end in a name":      {[]string{"x-a\r\nx-injected", "1"}, ""},
		"a NUL":                     {[]string{"x-a", "b\x00"}, ""},
		"a second path":             {[]string{":path", "/admin/v1/health"}, ""},
		"a pseudo header behind":    {[]string{"x-a", "b", ":path", "/x"}, ""},
		"an unknown pseudo header":  {[]string{":smuggled", "x"}, ""},
		"a large head":              {[]string{"x-a", strings.Repeat("a", 200<<10)}, ""},
		"an upgrade":                {[]string{"upgrade", "websocket"}, "400"},
		"a host that is another":    {[]string{"host", "evil.example"}, "200"},
		"an expectation of nothing": {[]string{"expect", "x"}, "200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSecured(t, "", map[string]mock.Script{"a": answers(), "b": answers()})
				f := s.frames(t, true)
				if f.ask(1, false, tc.more...) == nil {
					_ = f.WriteData(1, true, []byte(hello))
				}
				time.Sleep(90 * time.Second)
				_ = f.conn.Close()
				<-f.ended
				if got := f.head[1]; got != tc.status && !(tc.status == "" && got >= "400") {
					t.Errorf("status %q, want %q; reset %v, goes %v", got, tc.status, f.reset, f.goes)
				}
				seen := s.chats("a")
				if tc.status == "200" != (len(seen) == 1) {
					t.Errorf("the provider was asked %d times", len(seen))
				}
				for _, r := range seen {
					if r.Header.Get("X-Injected") != "" || r.Path != "/v1/chat/completions" {
						t.Errorf("%s %v", r.Path, r.Header)
					}
				}
			})
		})
	}
}
