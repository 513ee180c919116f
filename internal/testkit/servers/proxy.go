package servers

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between a client and a server of a test: it counts what goes through, and can hold it up, cut it, or lead elsewhere. All methods
// are safe for concurrent use.
type Proxy struct {
	Addr string // where it listens

	Sent, Received atomic.Int64 // bytes to and from the server
	// Turns is how often the client spoke after the server had, or first: its round trips, if it waits for answers.
	Turns atomic.Int64

	mu     sync.Mutex
	target string
	delay  time.Duration
	ration func() int64 // how many bytes of a connection's client go through before it is cut; nil: all
	shut   bool         // refuses new connections
	conns  map[net.Conn]struct{}
}

// StartProxy listens until the test ends and leads to target.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, conns: map[net.Conn]struct{}{}}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.Shut()
		open.Wait()
	})
	return p
}

// Lead sends connections to another target from now on.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target, p.shut = target, false
}

// Delay holds up each piece of what either side says by d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Ration cuts each connection from now on, new or not, once its client has said as many bytes more as it gets by n, in the middle of what it says
// then; nil: none is cut. n is called under a lock.
func (p *Proxy) Ration(n func() int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ration = n
}

// Cut ends all connections there are; new ones go through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Shut ends all connections and lets none through until Lead.
func (p *Proxy) Shut() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.Cut()
}

// Conns is how many connections go through now.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	target, shut := p.target, p.shut
	p.mu.Unlock()
	if shut {
		return
	}
	server, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	var serverSpoke atomic.Bool
	serverSpoke.Store(true)
	var both sync.WaitGroup
	both.Go(func() {
		left := int64(-1) // not rationed
		p.copy(server, client, func(n int) int {
			p.Sent.Add(int64(n))
			if serverSpoke.CompareAndSwap(true, false) {
				p.Turns.Add(1)
			}
			p.mu.Lock()
			switch {
			case p.ration == nil:
				left = -1
			case left < 0:
				left = p.ration()
			}
			p.mu.Unlock()
			if left < 0 {
				return n
			}
			n = min(n, int(left))
			left -= int64(n)
			return n
		})
	})
	both.Go(func() {
		p.copy(client, server, func(n int) int {
			p.Received.Add(int64(n))
			serverSpoke.Store(true)
			return n
		})
	})
	both.Wait()
}

// copy carries what one side says until either closes, or less of a piece is let through than there is.
func (p *Proxy) copy(to, from net.Conn, let func(int) int) {
	defer func() { _ = to.Close() }()
	defer func() { _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			whole := n
			n = let(n)
			p.mu.Lock()
			delay := p.delay
			p.mu.Unlock()
			if delay > 0 {
				<-time.After(delay)
			}
			if _, err := to.Write(buf[:n]); err != nil || n < whole {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
