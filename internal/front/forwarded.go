package front

import (
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are those whose word is taken for who their client is.
type Proxies struct {
	Networks []netip.Prefix
	// Header is where they say it: X-Forwarded-For or Forwarded, in the form that net/http gives names. Nothing else is looked at, as a proxy
	// that writes one of the two may pass the other on as the client sent it.
	Header string
}

// maxProxies bounds how far back a chain of proxies is followed.
const maxProxies = 32

// Client has r.RemoteAddr name the client that trusted proxies speak for: coming from the connection's peer, the first address of the chain
// that is none of theirs. What stands before it in the header was written by that client, or whoever it says it speaks for, and is not
// believed. An address that the header does not say, or not as one, ends the chain.
func (p *Proxies) Client(r *http.Request) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !within(p.Networks, addr) {
		return
	}
	found := addr
	p.back(r.Header[p.Header], func(said netip.Addr) bool {
		found = said
		return within(p.Networks, said)
	})
	if found != addr {
		r.RemoteAddr = netip.AddrPortFrom(found, 0).String() // the port is the proxy's to know
	}
}

// back gives the addresses of a chain from its end, until each says no or one is no address.
func (p *Proxies) back(lines []string, each func(netip.Addr) bool) {
	read := hop
	if p.Header == "Forwarded" {
		read = forwardedFor
	}
	n := 0
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; n++ {
			var last string
			// A comma between quotes ends no element, but no address has one: what it cuts is none, and ends the chain as the whole would.
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, last = rest[:at], rest[at+1:]
			} else {
				last, more = rest, false
			}
			addr, ok := read(strings.Trim(last, " \t"))
			if !ok || n == maxProxies || !each(addr) {
				return
			}
		}
	}
}

// hop is an address as X-Forwarded-For has it: with a port or without.
func hop(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		with, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = with.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// forwardedFor is the address in an element of Forwarded (RFC 7239): for=192.0.2.43, or for="[2001:db8::17]:4711"; proto=https.
func forwardedFor(element string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, ok := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !ok || !strings.EqualFold(name, "for") {
			continue
		}
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		return hop(value)
	}
	return netip.Addr{}, false
}
