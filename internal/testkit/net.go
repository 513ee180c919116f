package testkit

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// backlog is how many connections a listener holds that nobody has accepted yet.
const backlog = 128

// Net is an in-memory network of named hosts. Its connections behave like TCP on Linux, as far as net/http can tell.
// All that blocks blocks durably, so a Net works in a testing/synctest bubble; it must be made inside of it. It is
// safe for concurrent use and starts no goroutine.
type Net struct {
	mu        sync.Mutex
	hosts     map[string]weather   // known names, without port
	listeners map[string]*listener // by the name they were made with: host or host:port
	conns     map[*conn]struct{}   // both ends of every open connection
	ports     int
	dials     map[string]int
}

// weather is how a host meets a dial.
type weather uint8

const (
	fair weather = iota
	refusing
	blackhole
)

// NewNet makes an empty network: every name is unknown.
func NewNet() *Net {
	return &Net{
		hosts: map[string]weather{}, listeners: map[string]*listener{}, conns: map[*conn]struct{}{},
		ports: 40000, dials: map[string]int{},
	}
}

// Listen makes name known and listens there: a host for all its ports, or host:port. It panics if somebody listens
// there already. After Close, dials are refused and the name stays known.
func (n *Net) Listen(name string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[name] != nil {
		panic("testkit: somebody listens on " + name + " already")
	}
	l := &listener{net: n, name: name, queue: make(chan *conn, backlog), closed: make(chan struct{})}
	n.listeners[name] = l
	if host := hostOf(name); n.hosts[host] == fair {
		n.hosts[host] = fair // known from now on
	}
	return l
}

// Refuse has dials to a host refused (ECONNREFUSED), whoever listens there. Open connections live on.
func (n *Net) Refuse(host string) { n.set(host, refusing) }

// Blackhole has dials to a host hang until their context is done. Open connections live on.
func (n *Net) Blackhole(host string) { n.set(host, blackhole) }

// Restore ends Refuse, Blackhole and Forget.
func (n *Net) Restore(host string) { n.set(host, fair) }

// Forget makes a host's name unknown: dials fail with a *net.DNSError. Open connections live on.
func (n *Net) Forget(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hosts, hostOf(host))
}

func (n *Net) set(host string, w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[hostOf(host)] = w
}

// Kill is what happens to a host whose process is killed: its listeners are closed and its connections reset.
func (n *Net) Kill(host string) {
	host = hostOf(host)
	n.mu.Lock()
	var listeners []*listener
	for name, l := range n.listeners {
		if hostOf(name) == host {
			listeners = append(listeners, l)
		}
	}
	conns := n.serverConns(host)
	n.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, c := range conns {
		_ = c.Reset()
	}
}

// ResetAll resets the open connections to a host; it still listens.
func (n *Net) ResetAll(host string) {
	n.mu.Lock()
	conns := n.serverConns(hostOf(host))
	n.mu.Unlock()
	for _, c := range conns {
		_ = c.Reset()
	}
}

// serverConns are a host's ends of its connections. Requires the lock.
func (n *Net) serverConns(host string) []*conn {
	var out []*conn
	for c := range n.conns {
		if !c.dialled && hostOf(c.local.String()) == host {
			out = append(out, c)
		}
	}
	return out
}

// Open is the number of connection ends that are not closed: two for each connection in use.
func (n *Net) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

// Dials is how many dials to a host:port were begun, whatever came of them.
func (n *Net) Dials(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[addr]
}

// DialContext connects to host:port, for http.Transport. Errors are a *net.OpError with ECONNREFUSED, a *net.DNSError
// in one, or one with the context's error.
func (n *Net) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	remote := addr(address)
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	n.mu.Lock()
	n.dials[address]++
	host := hostOf(address)
	w, known := n.hosts[host]
	l := n.listeners[address]
	if l == nil {
		l = n.listeners[host]
	}
	n.ports++
	port := n.ports
	n.mu.Unlock()

	switch {
	case !known:
		return fail(&net.DNSError{Err: "no such host", Name: host, IsNotFound: true})
	case w == blackhole:
		<-ctx.Done()
		return fail(ctx.Err())
	case w == refusing, l == nil:
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}
	client, server := n.pair(local, remote)
	select {
	case l.queue <- server:
	case <-l.closed:
		n.drop(client, server)
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	case <-ctx.Done():
		n.drop(client, server)
		return fail(ctx.Err())
	}
	select {
	case <-l.closed: // it may never have seen this one
		l.reject()
	default:
	}
	return client, nil
}

// pair makes the two ends of a connection.
func (n *Net) pair(local, remote net.Addr) (client, server *conn) {
	up, down := newPipe(), newPipe()
	client = &conn{net: n, in: down, out: up, local: local, remote: remote, dialled: true}
	server = &conn{net: n, in: up, out: down, local: remote, remote: local}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[client], n.conns[server] = struct{}{}, struct{}{}
	return client, server
}

func (n *Net) drop(conns ...*conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		delete(n.conns, c)
	}
}

// listener is a name that somebody listens on.
type listener struct {
	net    *Net
	name   string
	queue  chan *conn
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection. After Close the error is a *net.OpError with net.ErrClosed.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close stops listening; connections that nobody accepted are reset.
func (l *listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		err = nil
		close(l.closed)
		l.net.mu.Lock()
		if l.net.listeners[l.name] == l {
			delete(l.net.listeners, l.name)
		}
		l.net.mu.Unlock()
		l.reject()
	})
	return err
}

func (l *listener) reject() {
	for {
		select {
		case c := <-l.queue:
			_ = c.Reset()
		default:
			return
		}
	}
}

// Addr is the name that was listened on.
func (l *listener) Addr() net.Addr { return addr(l.name) }

// addr is an address by name.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
