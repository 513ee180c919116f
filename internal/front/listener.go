package front

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits say which connections a Listener takes. In its numbers 0 is no limit.
type Limits struct {
	// ProxyProtocol are the networks from which each connection begins with a PROXY header; from all others none does.
	ProxyProtocol []netip.Prefix
	// HeaderTime is how long a peer may take for its PROXY header.
	HeaderTime time.Duration
	// Connections at one time, and PerAddress of them from one address. Of IPv6 the network of 64 bits counts, which is what one
	// customer has.
	Connections, PerAddress int
}

// plain says that there is nothing to do for any connection.
func (l *Limits) plain() bool {
	return len(l.ProxyProtocol) == 0 && l.Connections == 0 && l.PerAddress == 0
}

// Why connections are not taken.
const (
	TooMany        = "max_connections"
	TooManyFromOne = "max_connections_per_address"
	NoHeader       = "proxy_header"
)

// Refusals count the connections that were not taken.
type Refusals struct {
	tooMany, tooManyFromOne, noHeader atomic.Uint64
	told                              [3]atomic.Int64 // when the log was told, in Unix seconds
}

// Counts gives them by why.
func (r *Refusals) Counts() map[string]uint64 {
	return map[string]uint64{TooMany: r.tooMany.Load(), TooManyFromOne: r.tooManyFromOne.Load(), NoHeader: r.noHeader.Load()}
}

// tellEvery is how often the log hears that connections are refused for one reason.
const tellEvery = 60 // seconds

func (r *Refusals) add(log *slog.Logger, why string, from net.Addr) {
	count, i := &r.tooMany, 0
	switch why {
	case TooManyFromOne:
		count, i = &r.tooManyFromOne, 1
	case NoHeader:
		count, i = &r.noHeader, 2
	}
	n := count.Add(1)
	now, last := time.Now().Unix(), r.told[i].Load()
	if now-last >= tellEvery && r.told[i].CompareAndSwap(last, now) {
		log.Warn("connections are refused", "why", why, "from", from.String(), "since_start", n)
	}
}

// Listen puts limits before a listener; what has none is the listener itself.
func Listen(l net.Listener, limits Limits, refused *Refusals, log *slog.Logger) net.Listener {
	if limits.plain() {
		return l
	}
	return &listener{Listener: l, limits: limits, refused: refused, log: log, from: map[netip.Addr]int{}}
}

type listener struct {
	net.Listener
	limits  Limits
	refused *Refusals
	log     *slog.Logger

	mu   sync.Mutex // taken when a connection begins and ends
	open int
	from map[netip.Addr]int
}

// Accept implements net.Listener. It waits for no peer's first bytes.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, l: l}
		peer := address(raw.RemoteAddr())
		why := l.enter()
		switch {
		case why != "":
		case within(l.limits.ProxyProtocol, peer.Addr()):
			c.expects = true
			return c, nil
		default:
			if why = c.count(peer.Addr()); why == "" {
				return c, nil
			}
			l.leave(netip.Addr{})
		}
		l.refused.add(l.log, why, raw.RemoteAddr())
		_ = raw.Close() // nobody spoke on it yet
	}
}

// enter counts one more connection, or says why there is no room.
func (l *listener) enter() (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.Connections > 0 && l.open >= l.limits.Connections {
		return TooMany
	}
	l.open++
	return ""
}

// enterFrom counts one more of an address.
func (l *listener) enterFrom(who netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[who] >= l.limits.PerAddress {
		return false
	}
	l.from[who]++
	return true
}

// leave takes a connection back, and what it counted for an address; none: it did not.
func (l *listener) leave(who netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !who.IsValid() {
		return
	}
	if l.from[who]--; l.from[who] <= 0 {
		delete(l.from, who)
	}
}

// conn is a connection that was taken. Its PROXY header is read by whoever first asks for something that depends on it, which is not the
// goroutine that accepts.
type conn struct {
	net.Conn
	l       *listener
	expects bool // a PROXY header

	begun  sync.Once
	client net.Addr // as the header names it; nil: the peer
	rest   []byte   // what came with the header and was not read yet
	wrong  error

	mu     sync.Mutex
	who    netip.Addr // for whom it counts; none: nobody
	closed bool
}

// count counts the connection for an address, or says why not.
func (c *conn) count(addr netip.Addr) (why string) {
	if c.l.limits.PerAddress == 0 || !addr.IsValid() {
		return ""
	}
	who := Household(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ""
	case !c.l.enterFrom(who):
		return TooManyFromOne
	}
	c.who = who
	return ""
}

// begin reads the PROXY header.
func (c *conn) begin() {
	if !c.expects {
		return
	}
	c.begun.Do(func() {
		client, err := c.header()
		why := NoHeader
		if err == nil {
			addr := address(c.Conn.RemoteAddr())
			if client.IsValid() {
				addr, c.client = client, net.TCPAddrFromAddrPort(client)
			}
			if why = c.count(addr.Addr()); why == "" {
				return
			}
		}
		c.wrong = io.EOF // to which a server has no answer
		c.l.refused.add(c.l.log, why, c.Conn.RemoteAddr())
	})
}

// header reads the bytes of the header, and perhaps some that follow it.
func (c *conn) header() (client netip.AddrPort, err error) {
	_ = c.SetReadDeadline(time.Now().Add(c.l.limits.HeaderTime)) // the read fails if this does
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	b := make([]byte, 0, 256)
	for {
		n, err := c.Conn.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		client, length, wrong := proxyHeader(b)
		switch {
		case wrong == nil:
			c.rest = b[length:]
			return client, nil
		case !errors.Is(wrong, errShort):
			return client, wrong
		case err != nil:
			return client, err
		}
		b = slices.Grow(b, 1)
	}
}

// RemoteAddr is the client's address.
func (c *conn) RemoteAddr() net.Addr {
	if c.begin(); c.client != nil {
		return c.client
	}
	return c.Conn.RemoteAddr()
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.expects {
		if c.begin(); c.wrong != nil {
			return 0, c.wrong
		}
		if len(c.rest) > 0 {
			n := copy(p, c.rest)
			if c.rest = c.rest[n:]; len(c.rest) == 0 {
				c.rest = nil
			}
			return n, nil
		}
	}
	return c.Conn.Read(p)
}

// CloseWrite lets net/http end what it says before it closes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	again, who := c.closed, c.who
	c.closed = true
	c.mu.Unlock()
	if !again {
		c.l.leave(who)
	}
	return c.Conn.Close()
}

// address is that of a peer; the zero value where it has none.
func address(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		p := tcp.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	}
	if a == nil {
		return netip.AddrPort{}
	}
	p, _ := netip.ParseAddrPort(a.String()) // the zero value with an error
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
}

// Household is what counts as one client: an address, of IPv6 its network of 64 bits.
func Household(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		p, _ := addr.Prefix(64) // it has so many
		return p.Addr()
	}
	return addr
}

func within(networks []netip.Prefix, addr netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}
