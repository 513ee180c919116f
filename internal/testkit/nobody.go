package testkit

import (
	"net"
	"testing"
)

// Nobody gives a loopback address where nobody listens, and nobody will before the test ends: its port is that of a connection. One that was only free a moment ago
// may be anybody's by now.
func Nobody(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}
