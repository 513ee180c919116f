package provider

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"evergate/internal/attempt"
)

// quickUpstream answers each request with the same bytes and as little work as possible.
func quickUpstream(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	reply := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n" + strings.Repeat("x", 300))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					length := 0
					for {
						line, err := r.ReadSlice('\n')
						if err != nil {
							return
						}
						if len(line) == 2 {
							break
						}
						if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
							_, _ = fmt.Sscanf(string(v), "%d", &length)
						}
					}
					if _, err := r.Discard(length); err != nil {
						return
					}
					if _, err := c.Write(reply); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/v1"
}

func callerHeader() http.Header {
	return http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip, deflate"}, "Authorization": {"Bearer x"}, "Connection": {"keep-alive"},
		"Content-Length": {"300"}, "Content-Type": {"application/json"}, "User-Agent": {"OpenAI/Python 2.1"},
		"X-Stainless-Arch": {"x64"}, "X-Stainless-Lang": {"python"}, "X-Stainless-Os": {"Linux"}, "X-Stainless-Runtime": {"CPython"},
	}
}

// BenchmarkSend against what the transport alone takes for the same request (BenchmarkRoundTrip).
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{300, 50_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := newClient(b, quickUpstream(b), nil, nil)
			out := attempt.Outgoing{Credential: "default", Dialect: "chat", Header: callerHeader(), Body: bytes.Repeat([]byte("x"), size), Release: func() {}}
			b.ReportAllocs()
			for b.Loop() {
				resp, f := c.Send(b.Context(), &out)
				if f != nil {
					b.Fatal(f)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}

// BenchmarkRoundTrip is the floor: the same transport, a body it knows, no headers chosen.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{300, 50_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := newClient(b, quickUpstream(b), nil, nil)
			body, header := bytes.Repeat([]byte("x"), size), c.header(&attempt.Outgoing{Dialect: "chat", Header: callerHeader()}, 0)
			target, err := below(c.options.BaseURL, "/chat/completions", "")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, target.String(), bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				req.Header = header
				resp, err := c.pooled.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	c := newClient(b, "http://up.test/v1", nil, nil)
	h := callerHeader()
	b.ReportAllocs()
	for b.Loop() {
		_ = c.header(&attempt.Outgoing{Dialect: "chat", Header: h}, 0)
	}
}

// BenchmarkClassify is what an outage costs for each answer of it.
func BenchmarkClassify(b *testing.B) {
	c := newClient(b, "http://up.test/v1", nil, nil)
	body := []byte(`{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`)
	h := http.Header{"Content-Type": {"application/json"}}
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Classify(503, h, body, "server_error", "The server had an error while processing your request. Sorry about that!")
	}
}
