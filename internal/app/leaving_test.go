package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// Java's client offers HTTP/2 with each request that it sends in clear text. Its connections end with their answer like any other's:
// else one that is asked on again and again would keep the process until its grace period is over.
func TestOffersOfAnotherProtocolEndTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		k := s.persistent(t)
		ask := func() string {
			const body = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
			_, _ = io.WriteString(k.conn, head("POST", "/v1/chat/completions", len(body),
				"Connection: Upgrade, HTTP2-Settings\r\n", "Upgrade: h2c\r\n", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n")+body)
			resp, err := http.ReadResponse(k.reader, nil)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
			return fmt.Sprintf("%d, close: %t", resp.StatusCode, resp.Close)
		}
		if got := ask(); got != "200, close: false" {
			t.Errorf("before: %s", got)
		}
		ended := s.stopping(s.app.Stop)
		time.Sleep(900 * time.Millisecond)
		if got := ask(); got != "200, close: true" {
			t.Errorf("while it stops: %s", got)
		}
		if d := <-ended; d > 1100*time.Millisecond {
			t.Errorf("it took %s", d)
		}
	})
}

// A WebSocket has its second to be closed behind the frame under way also where other requests are cut off beside it.
func TestSocketsAreClosedBesideRequestsThatAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		echo := echoes(t, func(*http.Request) {}, &closed)
		s := passStack(t, "", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/slow" {
				<-r.Context().Done()
				return
			}
			echo(w, r)
		})
		k := s.dialSocket("/passthrough/up/realtime", "", "Authorization", "Bearer client-key-1")
		k.read(t, 5)
		_, _ = io.WriteString(k, "\x81\x85\x00\x00\x00\x00he") // a frame, of which three bytes are missing
		slow := s.persistent(t)
		_, _ = io.WriteString(slow.conn, "GET /passthrough/up/slow HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer client-key-1\r\n\r\n")
		synctest.Wait()
		if n := s.app.ingress.InFlight(); n != 2 {
			t.Fatalf("%d requests under way", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := s.app.Stop(ctx); err == nil {
			t.Error("nothing was cut off")
		}
		if n := s.app.ingress.InFlight(); n != 0 {
			t.Errorf("the process ends while %d sockets still close", n)
		}
		_ = k.Close()
		time.Sleep(5 * time.Second)
	})
}
