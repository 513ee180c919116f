package testkit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/testkit"
)

func TestDial(t *testing.T) {
	refused := func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
	timeout := func(err error) bool {
		var ne net.Error
		return errors.Is(err, context.DeadlineExceeded) && errors.As(err, &ne) && ne.Timeout()
	}
	unknown := func(err error) bool {
		var de *net.DNSError
		return errors.As(err, &de) && de.IsNotFound && de.Name == "host"
	}
	cases := map[string]struct {
		prepare func(n *testkit.Net)
		want    func(error) bool // nil: it connects
		after   time.Duration
	}{
		"listening":            {func(n *testkit.Net) { n.Listen("host:80") }, nil, 0},
		"listening, any port":  {func(n *testkit.Net) { n.Listen("host") }, nil, 0},
		"unknown name":         {func(*testkit.Net) {}, unknown, 0},
		"forgotten name":       {func(n *testkit.Net) { n.Listen("host"); n.Forget("host") }, unknown, 0},
		"other port":           {func(n *testkit.Net) { n.Listen("host:81") }, refused, 0},
		"listener closed":      {func(n *testkit.Net) { _ = n.Listen("host:80").Close() }, refused, 0},
		"killed":               {func(n *testkit.Net) { n.Listen("host:80"); n.Kill("host") }, refused, 0},
		"refused":              {func(n *testkit.Net) { n.Listen("host:80"); n.Refuse("host") }, refused, 0},
		"refused and restored": {func(n *testkit.Net) { n.Listen("host"); n.Refuse("host"); n.Restore("host") }, nil, 0},
		"blackhole":            {func(n *testkit.Net) { n.Listen("host"); n.Blackhole("host") }, timeout, 5 * time.Second},
		"closed and back": {func(n *testkit.Net) {
			_ = n.Listen("host:80").Close()
			n.Listen("host:80")
		}, nil, 0},
		"backlog full": {func(n *testkit.Net) {
			n.Listen("host:80")
			for range 128 {
				_, _ = n.DialContext(context.Background(), "tcp", "host:80")
			}
		}, timeout, 5 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := testkit.NewNet()
				c.prepare(n)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				conn, err := n.DialContext(ctx, "tcp", "host:80")
				if d := time.Since(start); d != c.after {
					t.Errorf("it took %v, want %v", d, c.after)
				}
				if c.want == nil {
					if err != nil {
						t.Fatal(err)
					}
					_ = conn.Close()
					return
				}
				var oe *net.OpError
				if !errors.As(err, &oe) || oe.Op != "dial" || !c.want(err) {
					t.Errorf("dial: %v", err)
				}
			})
		})
	}
}

func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		l := n.Listen("host:80")
		c, err := n.DialContext(t.Context(), "tcp", "host:80")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		time.AfterFunc(time.Second, func() { _ = l.Close() })
		if got, err := l.Accept(); err != nil {
			t.Fatal(err)
		} else {
			defer func() { _ = got.Close() }()
		}
		queued, err := n.DialContext(t.Context(), "tcp", "host:80")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = queued.Close() }()
		_, err = queued.Read(make([]byte, 1)) // nobody accepts it
		checkOpError(t, "read", err, syscall.ECONNRESET)
		_, err = l.Accept()
		checkOpError(t, "accept", err, net.ErrClosed)
	})
}

func TestListenTwicePanics(t *testing.T) {
	n := testkit.NewNet()
	n.Listen("host:80")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	n.Listen("host:80")
}

// A real client and a real server: one connection, reused, in exact virtual time.
func TestHTTPKeepsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		n.Serve(t, "host", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			time.Sleep(2 * time.Second)
			_, _ = w.Write(body)
		}))
		client := n.Client(t)
		big := strings.Repeat("x", 1<<20)
		start := time.Now()
		for range 3 {
			resp, err := client.Post("http://host/echo", "text/plain", strings.NewReader(big))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(got) != big {
				t.Fatalf("got %d bytes, %v", len(got), err)
			}
		}
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("three requests took %v, want exactly 6s", d)
		}
		if d := n.Dials("host:80"); d != 1 {
			t.Errorf("%d dials, want 1", d)
		}
		client.CloseIdleConnections()
		synctest.Wait()
		if open := n.Open(); open != 0 {
			t.Errorf("%d connection ends are open", open)
		}
	})
}

func TestHTTPServerSeesTheClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		var gone time.Duration
		start := time.Now()
		n.Serve(t, "host", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			gone = time.Since(start)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://host/", nil)
		resp, err := n.Client(t).Do(req)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("an answer came")
		}
		synctest.Wait()
		if gone != 7*time.Second {
			t.Errorf("the server saw it after %v, want exactly 7s", gone)
		}
		if open := n.Open(); open != 0 {
			t.Errorf("%d connection ends are open", open)
		}
	})
}

func TestHTTPDialIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		n.Blackhole("host")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://host/", nil)
		resp, err := n.Client(t).Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		// That the bubble ends shows that the dialling goroutine did.
	})
}

func TestKillUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		n.Serve(t, "host", hang)
		time.AfterFunc(time.Second, func() { n.Kill("host") })
		client, start := n.Client(t), time.Now()
		resp, err := client.Get("http://host/")
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, syscall.ECONNRESET) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		n.Serve(t, "host", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		resp, err = client.Get("http://host/")
		if err != nil {
			t.Fatalf("after the restart: %v", err)
		}
		_ = resp.Body.Close()
	})
}

func TestResetAllKeepsTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		n.Serve(t, "host", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hang" {
				<-r.Context().Done()
			}
		}))
		time.AfterFunc(time.Second, func() { n.ResetAll("host") })
		client := n.Client(t)
		resp, err := client.Get("http://host/hang")
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v", err)
		}
		resp, err = client.Get("http://host/")
		if err != nil {
			t.Fatalf("the next request: %v", err)
		}
		_ = resp.Body.Close()
	})
}
