package provider

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"

	"evergate/internal/fault"
)

// R58: the list of models, which probes ask for too, is asked for again where the upstream's end crossed the question.
func TestModelListCrossedTheClose(t *testing.T) {
	closing := make(chan struct{})
	u := listen(t, func(n int32, c *net.TCPConn) {
		takeRequest(t, bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"+`{"data":[]}`)
		if n == 1 {
			<-closing
		}
	})
	var g *gatedConn
	c := newClient(t, "http://"+u.Addr().String()+"/v1", nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil || g != nil {
			return raw, err
		}
		g = &gatedConn{TCPConn: raw.(*net.TCPConn), wrote: make(chan struct{}, 1)}
		return g, nil
	})
	if _, f := c.Models(t.Context()); f != nil {
		t.Fatal(f)
	}
	g.before = func() {
		close(closing)
		eventually(t, "the upstream's end is here, unread", func() bool { return tcpState(g) == closeWait })
	}
	open := g.shut()
	done := make(chan *fault.Fault, 1)
	go func() {
		_, f := c.Models(t.Context())
		done <- f
	}()
	<-g.wrote
	eventually(t, "the reset that answers what was written", func() bool { return tcpState(g) != closeWait })
	open()
	if f := <-done; f != nil {
		t.Fatalf("not asked again: %v", f)
	}
	if n := u.conns.Load(); n != 2 {
		t.Errorf("upstream saw %d connections, want 2", n)
	}
}
