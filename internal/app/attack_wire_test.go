package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// A request, its head but for what frames the body, and the one that hides behind it.
const (
	hello    = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
	postChat = "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
	hidden   = "GET /v1/smuggled HTTP/1.1\r\nHost: gateway\r\n\r\n"
)

// spoken is what came back on one connection: the statuses in their order, and whether the gateway ended it.
type spoken struct {
	statuses []int
	bodies   []string
	closed   bool
}

func (s spoken) String() string {
	text := strings.Trim(fmt.Sprint(s.statuses), "[]")
	if s.closed {
		return strings.TrimSpace(text + " closed")
	}
	return text
}

// say writes bytes to a new connection and reads what comes until nothing comes for longer than a client may leave things unsaid.
func (s *stack) say(t *testing.T, raw string) spoken {
	t.Helper()
	c := s.wire(t)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, raw) }()
	_ = c.SetReadDeadline(time.Now().Add(90 * time.Second)) // beyond the limits of heads and bodies, before that of idle connections
	var out spoken
	for in := bufio.NewReader(c); ; {
		res, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
		var body []byte
		if err == nil {
			body, err = io.ReadAll(res.Body)
			out.statuses, out.bodies = append(out.statuses, res.StatusCode), append(out.bodies, string(body))
		}
		if err != nil {
			var late interface{ Timeout() bool }
			out.closed = !(errors.As(err, &late) && late.Timeout())
			return out
		}
	}
}

// A request whose length is in doubt is refused, or served as its chunks say, and its connection ended, so that no second one hides in it;
// one whose framing is odd and clear is served once.
func TestSmuggling(t *testing.T) {
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(hello), hello)
	length := fmt.Sprintf("Content-Length: %d\r\n", len(hello))
	tests := []struct {
		name, raw, want string
		upstream        int // requests that a provider saw
	}{
		{"plain", postChat + length + "\r\n" + hello, "200", 1},
		{"two in a row", postChat + length + "\r\n" + hello + postChat + length + "\r\n" + hello, "200 200", 2},
		{"CL.TE", postChat + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "400 closed", 0},
		{"TE.CL", postChat + "Transfer-Encoding: chunked\r\n" + length + "\r\n" + chunk + "0\r\n\r\n" + hidden, "200 closed", 1},
		{"TE.TE, one unknown", postChat + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "501 closed", 0},
		{"TE twice", postChat + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "501 closed", 0},
		{"TE list", postChat + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "501 closed", 0},
		{"TE xchunked", postChat + "Transfer-Encoding: xchunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "501 closed", 0},
		{"TE with a tab", postChat + "Transfer-Encoding:\tchunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "200 closed", 1},
		{"TE with a vertical tab", postChat + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunk + "0\r\n\r\n", "400 closed", 0},
		{"TE with a space before the colon", postChat + "Transfer-Encoding : chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "400 closed", 0},
		{"TE folded", postChat + "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "200 closed", 1},
		{"TE in HTTP/1.0", strings.Replace(postChat, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "400 closed", 0},
		{"two lengths", postChat + length + "Content-Length: 5\r\n\r\n" + hello + hidden, "400 closed", 0},
		{"the same length twice", postChat + length + length + "\r\n" + hello, "200", 1},
		{"a list of lengths", postChat + "Content-Length: 5, 5\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a length with a sign", postChat + "Content-Length: +5\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a negative length", postChat + "Content-Length: -5\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a hexadecimal length", postChat + "Content-Length: 0x5\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a length of 20 digits", postChat + "Content-Length: 99999999999999999999\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a length of 18 digits", postChat + "Content-Length: 999999999999999999\r\n\r\nhello" + hidden, "413 closed", 0},
		{"a length of nothing", postChat + "Content-Length:\r\n\r\nhello" + hidden, "400 closed", 0},
		{"a folded header", postChat + "X-A: b\r\n c\r\n" + length + "\r\n" + hello + hidden, "200 404", 1},
		{"a bare CR in a header", postChat + "X-A: b\rTransfer-Encoding: chunked\r\n" + length + "\r\n" + hello, "400 closed", 0},
		{"a NUL in a header", postChat + "X-A: b\x00c\r\n" + length + "\r\n" + hello, "400 closed", 0},
		{"a header without a colon", postChat + "X-A\r\n" + length + "\r\n" + hello, "400 closed", 0},
		{"a header without a name", postChat + ": a\r\n" + length + "\r\n" + hello, "400 closed", 0},
		{"a space in a header's name", postChat + "X A: b\r\n" + length + "\r\n" + hello, "400 closed", 0},
		{"a chunk extension", postChat + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;a=b\r\n%s\r\n0;c\r\n\r\n", len(hello), hello) + hidden, "200 closed", 1},
		{"a chunk without its end", postChat + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%sXX", len(hello), hello) + "0\r\n\r\n" + hidden, "400 closed", 0},
		{"a chunk of 17 digits", postChat + "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n" + hidden, "400 closed", 0},
		{"a chunk of 16 digits", postChat + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff0\r\n" + hello, "408 closed", 0},
		{"a chunk with a sign", postChat + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n" + hidden, "400 closed", 0},
		{"a chunk in 0x", postChat + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n" + hidden, "400 closed", 0},
		{"endless chunk extensions", postChat + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("a", 3000)+"\r\nx\r\n", 50), "400 closed", 0},
		{"a long chunk line", postChat + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("a", 1<<20) + "\r\nx\r\n", "400 closed", 0},
		{"trailers", postChat + "Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n" + chunk + "0\r\nAuthorization: Bearer x\r\nContent-Length: 5\r\n\r\n" + hidden, "200 closed", 1},
		{"a trailer that frames", postChat + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n" + chunk + "0\r\nContent-Length: 5\r\n\r\n", "400 closed", 0},
		{"endless trailers", postChat + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n" + strings.Repeat("X-T: "+strings.Repeat("t", 1000)+"\r\n", 500) + "\r\n", "400 closed", 0},
		{"a body behind a GET", "GET /v1/models HTTP/1.1\r\nHost: gateway\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, "200", 0},
		{"chunks behind a GET", "GET /v1/models HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + hidden, "200 closed", 0},
		{"two hosts", strings.Replace(postChat, "Host: gateway", "Host: gateway\r\nHost: other", 1) + length + "\r\n" + hello, "400 closed", 0},
		{"no host", strings.Replace(postChat, "Host: gateway\r\n", "", 1) + length + "\r\n" + hello, "400 closed", 0},
		{"a host of two lines", strings.Replace(postChat, "Host: gateway", "Host: a\x0bb", 1) + length + "\r\n" + hello, "400 closed", 0},
		{"HTTP/0.9", "GET /v1/models\r\n\r\n", "400 closed", 0},
		{"HTTP/3.0", "GET /v1/models HTTP/3.0\r\nHost: a\r\n\r\n", "505 closed", 0},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "404 closed", 0},
		{"an upgrade to HTTP/2", "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\n" + length + "\r\n" + hello, "200", 1},
		{"chunks behind a WebSocket's head", "GET /passthrough/a/x HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, "404 closed", 0},
		{"chunks and an upgrade that is none", postChat + "Upgrade: websocket\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n" + hidden, "200 closed", 1},
		{"CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n" + hidden, "404 404", 0},
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: gateway\r\nX-Secret: s\r\n\r\n", "404", 0},
		{"an absolute target", strings.Replace(postChat, "/v1/", "http://elsewhere/v1/", 1) + length + "\r\n" + hello, "200", 1},
		{"Expect of another thing", postChat + length + "Expect: 200-ok\r\n\r\n" + hello, "417 closed", 0},
		{"a head of 100 KB in one header", postChat + "X-A: " + strings.Repeat("a", 100<<10) + "\r\n" + length + "\r\n" + hello, "431 closed", 0},
		{"a head of 20 000 headers", postChat + strings.Repeat("X-A: b\r\n", 20_000) + length + "\r\n" + hello, "431 closed", 0},
		{"a long request line", "POST /" + strings.Repeat("a", 200<<10) + " HTTP/1.1\r\nHost: gateway\r\n\r\n", "431 closed", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
				got := s.say(t, tt.raw)
				if got.String() != tt.want {
					t.Errorf("%s, want %s: %q", got, tt.want, got.bodies)
				}
				seen := len(s.chats("a")) + len(s.chats("b"))
				if seen != tt.upstream {
					t.Errorf("%d requests came to providers, want %d", seen, tt.upstream)
				}
				if a := s.ask("demo", true); a.status != http.StatusOK || !a.done {
					t.Errorf("the next client: %s", a.story())
				}
			})
		})
	}
}
