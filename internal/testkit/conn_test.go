package testkit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"evergate/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const window = 64 << 10

// pair connects two ends on a fresh network.
func pair(t testing.TB) (n *testkit.Net, client, server testkit.ResetConn) {
	t.Helper()
	n = testkit.NewNet()
	l := n.Listen("host:80")
	c, err := n.DialContext(t.Context(), "tcp", "host:80")
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = c.Close(), s.Close(), l.Close() })
	return n, c.(testkit.ResetConn), s.(testkit.ResetConn)
}

func TestConnIsANetConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		n := testkit.NewNet()
		l := n.Listen("host:80")
		if c1, err = n.DialContext(context.Background(), "tcp", "host:80"); err != nil {
			return nil, nil, nil, err
		}
		if c2, err = l.Accept(); err != nil {
			return nil, nil, nil, err
		}
		return c1, c2, func() { _, _, _ = c1.Close(), c2.Close(), l.Close() }, nil
	})
}

func TestPeerAfterTheEnd(t *testing.T) {
	cases := map[string]struct {
		end       func(c testkit.ResetConn) error
		wantRead  error
		wantWrite error
	}{
		"close": {func(c testkit.ResetConn) error { return c.Close() }, io.EOF, syscall.EPIPE},
		"reset": {func(c testkit.ResetConn) error { return c.Reset() }, syscall.ECONNRESET, syscall.ECONNRESET},
		"close after linger 0": {func(c testkit.ResetConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		}, syscall.ECONNRESET, syscall.ECONNRESET},
		"close after linger set back": {func(c testkit.ResetConn) error {
			return errors.Join(c.SetLinger(0), c.SetLinger(-1), c.Close())
		}, io.EOF, syscall.EPIPE},
		"half close": {func(c testkit.ResetConn) error { return c.CloseWrite() }, io.EOF, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, client, server := pair(t)
				write(t, server, "the rest")
				if err := c.end(server); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(client)
				if string(got) != "the rest" {
					t.Errorf("read %q before the end", got)
				}
				if errors.Is(c.wantRead, io.EOF) {
					c.wantRead = nil // ReadAll's word for it
				}
				checkOpError(t, "read", err, c.wantRead)
				_, err = client.Write([]byte("x"))
				checkOpError(t, "write", err, c.wantWrite)
			})
		})
	}
}

func TestCloseWithUnreadBytesResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, server := pair(t)
		write(t, client, "never read")
		_ = server.Close()
		_, err := client.Read(make([]byte, 1))
		checkOpError(t, "read", err, syscall.ECONNRESET)
	})
}

func TestOwnCloseEndsWhatIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, _ := pair(t)
		var readErr, writeErr error
		var wg sync.WaitGroup
		wg.Go(func() { _, readErr = client.Read(make([]byte, 1)) })
		wg.Go(func() { _, writeErr = client.Write(make([]byte, 2*window)) })
		synctest.Wait()
		_ = client.Close()
		wg.Wait()
		checkOpError(t, "read", readErr, net.ErrClosed)
		checkOpError(t, "write", writeErr, net.ErrClosed)
		if err := client.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second close: %v", err)
		}
	})
}

func TestSlowReaderHoldsTheWriterBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, server := pair(t)
		start := time.Now()
		var took time.Duration
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := server.Write(make([]byte, window+1)); err != nil {
				t.Error(err)
			}
			took = time.Since(start)
		})
		time.Sleep(3 * time.Second)
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if took != 3*time.Second {
			t.Errorf("the byte beyond the window went after %v, want 3s", took)
		}
		rest := make([]byte, window)
		if _, err := io.ReadFull(client, rest); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWindowTakesAWholeBufferAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, _ := pair(t)
		if n, err := client.Write(make([]byte, window)); n != window || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	})
}

func TestDeadlinesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, _ := pair(t)
		start := time.Now()
		_ = client.SetReadDeadline(start.Add(2 * time.Second))
		_ = client.SetWriteDeadline(start.Add(5 * time.Second))
		_, err := client.Read(make([]byte, 1))
		checkOpError(t, "read", err, os.ErrDeadlineExceeded)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("read ended after %v", d)
		}
		n, err := client.Write(make([]byte, window+10))
		checkOpError(t, "write", err, os.ErrDeadlineExceeded)
		if d := time.Since(start); d != 5*time.Second || n != window {
			t.Errorf("write of %d ended after %v", n, d)
		}
		// A deadline that moves while somebody waits.
		_ = client.SetReadDeadline(time.Now().Add(time.Hour))
		time.AfterFunc(time.Second, func() { _ = client.SetReadDeadline(time.Unix(1, 0)) })
		_, err = client.Read(make([]byte, 1))
		checkOpError(t, "read", err, os.ErrDeadlineExceeded)
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("read ended after %v", d)
		}
	})
}

// A second Write finds room in the window while the first still waits, and must not take it.
func TestWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, server := pair(t)
		const size = 2 * window
		for range 100 {
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := server.Write(bytes.Repeat([]byte("a"), size)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			got := make([]byte, size+1)
			if _, err := io.ReadFull(client, got[:window]); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				time.Sleep(time.Second)
				if _, err := io.ReadFull(client, got[window:]); err != nil {
					t.Error(err)
				}
			})
			write(t, server, "b")
			wg.Wait()
			if i := bytes.IndexByte(got, 'b'); i != size {
				t.Fatalf("the second write came after %d of %d bytes of the first", i, size)
			}
		}
	})
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

// checkOpError wants a *net.OpError of this operation around an error, or no error.
func checkOpError(t *testing.T, op string, err, want error) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("%s: %v, want none", op, err)
		}
		return
	}
	var oe *net.OpError
	if !errors.As(err, &oe) || oe.Op != op || !errors.Is(err, want) {
		t.Errorf("%s: %v, want a *net.OpError of %v", op, err, want)
	}
}
