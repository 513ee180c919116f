// Package reach says which addresses the gateway connects to. Hosts come from the configuration alone, but what their names lead to is decided by whoever
// answers for the name: one that leads into the gateway's own network would have it ask there, with credentials, for whoever controls the
// name. So a name of the public Internet must lead to an address of it, and no name to a service that hands out a machine's own credentials.
// The address is looked at when it is known and the connection is not made yet, so that another answer in between changes nothing.
//
// It must not know who connects, nor why.
package reach

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Dial makes a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Options say which hosts may be where.
type Options struct {
	// Private lets every name lead to private addresses.
	Private bool
	// Foreign says that hosts may come from elsewhere than the configuration: an address is looked at, too, as what a name leads to.
	Foreign bool
	// Trusted are hosts of which nothing is asked: proxies that the configuration or the environment names.
	Trusted []string
}

// RefusedError is an address that is not connected to.
type RefusedError struct {
	Addr netip.Addr
	Why  string // what the address is
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the name leads to %s, %s", e.Addr, e.Why)
	if e.Addr.IsValid() && Refused(e.Addr, true) == "" {
		text += "; private: true allows that"
	}
	return text
}

// With gives d's way to connect, within o. An address that the configuration names itself, as an address, is connected to whatever it is, unless hosts
// come from elsewhere, too.
func With(d *net.Dialer, o Options) Dial {
	strict, near := *d, *d
	strict.ControlContext = control(false)
	near.ControlContext = control(true)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		switch {
		case literal(host) && !o.Foreign || slices.Contains(o.Trusted, strings.ToLower(host)):
			return d.DialContext(ctx, network, address)
		case o.Private || Near(host) && !o.Foreign:
			return near.DialContext(ctx, network, address)
		}
		return strict.DialContext(ctx, network, address)
	}
}

// control looks at the address that a socket is about to be connected to.
func control(private bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &RefusedError{Why: "which is no address"}
		}
		if why := Refused(to.Addr(), private); why != "" {
			return &RefusedError{Addr: to.Addr(), Why: why}
		}
		return nil
	}
}

// Refused says what an address is that a name must not lead to, empty if it may; private allows addresses of private networks.
func Refused(addr netip.Addr, private bool) (why string) {
	addr = plain(addr)
	switch {
	case slices.Contains(metadata, addr):
		return "where a cloud hands out its machines' credentials"
	case private:
		return ""
	case addr.IsLoopback():
		return "which is this machine"
	case !public(addr):
		return "which is in no public network"
	}
	return ""
}

// plain takes an IPv4 address out of those of IPv6 that hold one: mapped, translated (NAT64) and 6to4.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:]))
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

func public(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

//nolint:gochecknoglobals // constants in all but type
var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// special are unicast ranges that nobody in the Internet has (IANA's registries of special-purpose addresses).
	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
		netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
		netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
	}
	// metadata are the addresses at which clouds tell machines and containers who they are.
	metadata = []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::254"),
		netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"),
		netip.MustParseAddr("192.0.0.192"),
	}
)

// literal says whether a host is an address already.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Near says whether a host is this machine or in a private network, going by its name alone.
func Near(host string) bool {
	if Loopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, suffix := range []string{".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return host != "" && !strings.Contains(host, ".") // a service name of a container network
}

// Loopback says whether a host is this machine alone, going by its name.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// EnvironmentProxies are the hosts of the proxies that the environment names, as net/http takes them from there.
func EnvironmentProxies() []string {
	var out []string
	for _, name := range [...]string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" {
			u, err = url.Parse("http://" + value)
		}
		if err == nil && u.Hostname() != "" {
			out = append(out, strings.ToLower(u.Hostname()))
		}
	}
	return out
}
