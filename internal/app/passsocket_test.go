package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// socket is a WebSocket's connection. What goes through it is any bytes: the gateway looks into none of them.
type socket struct {
	net.Conn
	in   *bufio.Reader
	head *http.Response
}

// dialSocket makes the handshake with the gateway, and sends early along with it.
func (s *stack) dialSocket(path, early string, headers ...string) *socket {
	s.t.Helper()
	conn, err := s.net.DialContext(context.Background(), "tcp", "gateway:80")
	if err != nil {
		s.t.Fatal(err)
	}
	text := "GET " + path + " HTTP/1.1\r\nHost: gateway\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
	for i := 0; i+1 < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"+early); err != nil {
		s.t.Fatal(err)
	}
	k := &socket{Conn: conn, in: bufio.NewReader(conn)}
	if k.head, err = http.ReadResponse(k.in, &http.Request{Method: http.MethodGet}); err != nil {
		s.t.Fatal(err)
	}
	return k
}

func (k *socket) read(t *testing.T, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(k.in, b); err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// echoes answers a handshake and sends back what it gets until its client closes, or says bye.
func echoes(t *testing.T, seen func(*http.Request), closed *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		defer closed.Add(1)
		_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n",
			"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: realtime\r\nX-Echo: sk-up-key-1\r\n\r\nhello")
		buf := make([]byte, 1<<10)
		for {
			n, err := rw.Read(buf)
			if err != nil || strings.Contains(string(buf[:n]), "bye") {
				return
			}
			_, _ = conn.Write(buf[:n])
		}
	}
}

func TestPassthroughSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		var closed atomic.Int32
		s := passStack(t, "", echoes(t, func(r *http.Request) { got = r }, &closed))
		k := s.dialSocket("/passthrough/up/v1/realtime?model=gpt-realtime", "early", "Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.client-key-1, openai-beta.realtime-v1")
		if k.head.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%+v", k.head)
		}
		for name, want := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-Websocket-Protocol": "realtime",
			"X-Evergate-Provider": "up", "X-Echo": "",
		} {
			if v := k.head.Header.Get(name); v != want {
				t.Errorf("reply header %s: %q, want %q", name, v, want)
			}
		}
		for name, want := range map[string]string{
			"Authorization": "Bearer sk-up-key-1", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-Websocket-Version": "13",
			"Sec-Websocket-Extensions": "permessage-deflate", "Sec-Websocket-Protocol": "realtime, openai-beta.realtime-v1",
		} {
			if v := got.Header.Get(name); v != want {
				t.Errorf("request header %s: %q, want %q", name, v, want)
			}
		}
		if got.RequestURI != "/v1/realtime?model=gpt-realtime" {
			t.Error(got.RequestURI)
		}
		if text := k.read(t, 10); text != "helloearly" {
			t.Errorf("%q", text)
		}
		time.Sleep(2 * time.Hour) // nothing ends a connection that is silent
		_, _ = io.WriteString(k, "more")
		if text := k.read(t, 4); text != "more" {
			t.Errorf("%q", text)
		}
		if n := s.app.ingress.InFlight(); n != 1 {
			t.Errorf("%d in flight", n)
		}
		_ = k.Close()
		synctest.Wait()
		if closed.Load() != 1 || s.app.ingress.InFlight() != 0 {
			t.Errorf("the client's end was not passed on: %d in flight", s.app.ingress.InFlight())
		}
		if f := s.facts.last(); f.Status != http.StatusSwitchingProtocols || f.Code != "" || f.Duration != 2*time.Hour || f.Overhead > time.Second {
			t.Errorf("%+v", f)
		}

		k = s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
		_, _ = io.WriteString(k, "bye")
		if rest, err := io.ReadAll(k.in); string(rest) != "hello" || err != nil {
			t.Errorf("the provider's end was not passed on: %q, %v", rest, err)
		}
		_ = k.Close()
	})
}

// An upstream that takes nothing any more keeps no connection of a client that has left.
func TestPassthroughSocketToTheDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
			<-gone
		})
		defer close(gone)
		k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
		_ = k.SetWriteDeadline(time.Now().Add(time.Second))
		for chunk := make([]byte, 64<<10); ; {
			if _, err := k.Write(chunk); err != nil {
				break
			}
		}
		_ = k.Close()
		time.Sleep(time.Hour)
		if n := s.app.ingress.InFlight(); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

// The breaker hears of the handshake alone, and a refused one goes back as it is.
func TestPassthroughSocketRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 0
		s := passStack(t, ", resilience: {when_all_blocked: fail_fast, retry: {max_retries: 0}}", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
		})
		for _, status = range []int{400, 500, 500, 500, 500, 500} {
			k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
			if text := k.read(t, 26); k.head.StatusCode != status || text != `{"error":{"message":"no"}}` {
				t.Errorf("%d %q", k.head.StatusCode, text)
			}
			_ = k.Close()
		}
		k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
		if k.head.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%+v", k.head)
		}
		_ = k.Close()
		k = s.dialSocket("/passthrough/up/realtime", "")
		if k.head.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a key: %+v", k.head)
		}
		_ = k.Close()
	})
}

// A stop waits for sockets, and cuts them off when the grace period is over.
func TestPassthroughSocketAtStop(t *testing.T) {
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprintf("ends in time: %t", ends), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var closed atomic.Int32
				s := passStack(t, "", echoes(t, func(*http.Request) {}, &closed))
				k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
				k.read(t, 5)
				stopped := make(chan error)
				start := time.Now()
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					defer cancel()
					stopped <- s.app.Stop(ctx)
				}()
				time.Sleep(10 * time.Second)
				_, _ = io.WriteString(k, "still")
				if text := k.read(t, 5); text != "still" {
					t.Errorf("%q", text)
				}
				if ends {
					_ = k.Close()
				}
				err := <-stopped
				if took := time.Since(start); (err == nil) != ends || ends && took > 11*time.Second || !ends && (took < 30*time.Second || took > 32*time.Second) {
					t.Errorf("%v after %v", err, took)
				}
				if _, err := k.in.ReadByte(); err == nil {
					t.Error("the socket outlived the gateway")
				}
				_ = k.Close()
			})
		})
	}
}

// When the grace period is over both ends hear it by a close frame, behind the frame under way, and then the connection ends.
func TestPassthroughSocketSaysGoodbye(t *testing.T) {
	const away = "\x88\x02\x03\xe9"
	for _, tt := range []struct{ name, sent, rest, want string }{
		{"between frames", "\x81\x82\x00\x00\x00\x00hi", "", "\x81\x02hi" + away},
		{"in a frame", "\x81\x82\x00\x00\x00\x00h", "i", "\x81\x02hi" + away},
		{"silent", "", "", away},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := make(chan string, 1)
				s := passStack(t, "", func(w http.ResponseWriter, _ *http.Request) { // sends back what it gets, unmasked, but for close frames
					conn, rw, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
					all, at := []byte{}, 0
					for buf := make([]byte, 1<<10); ; {
						n, err := rw.Read(buf)
						if all = append(all, buf[:n]...); err != nil {
							break
						}
						text, _, _ := strings.Cut(string(all), "\x88\x82")
						for ; at < len(text); at++ {
							switch {
							case at == 0:
								_, _ = conn.Write([]byte{all[0], 2})
							case at >= 6:
								_, _ = conn.Write(all[at : at+1])
							}
						}
					}
					heard <- string(all)
				})
				k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
				_, _ = io.WriteString(k, tt.sent)
				stopped := make(chan error)
				start := time.Now()
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					defer cancel()
					stopped <- s.app.Stop(ctx)
				}()
				time.Sleep(30*time.Second + 500*time.Millisecond)
				_, _ = io.WriteString(k, tt.rest)
				got, _ := io.ReadAll(k.in)
				if err := <-stopped; err == nil || time.Since(start) > 32*time.Second {
					t.Errorf("%v after %s", err, time.Since(start))
				}
				if string(got) != tt.want {
					t.Errorf("the client heard %q, want %q", got, tt.want)
				}
				up := <-heard
				if masked := strings.TrimPrefix(up, tt.sent+tt.rest); len(masked) != 8 || masked[:2] != "\x88\x82" || masked[6]^masked[2] != 3 || masked[7]^masked[3] != 0xe9 {
					t.Errorf("the provider heard %q", up)
				}
				_ = k.Close()
			})
		})
	}
}
