package front

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"strconv"
	"strings"
)

// Bounds of a PROXY header in bytes. Version 1 is a line whose length the specification bounds; version 2 may be larger than any
// balancer makes it.
const (
	maxLine   = 107
	maxBinary = 4 << 10
)

// binaryMark begins a header of version 2.
const binaryMark = "\r\n\r\n\x00\r\nQUIT\n"

// errHeader is what is wrong with a PROXY header; errShort that more of it must come first.
var (
	errHeader = errors.New("the connection does not begin with a PROXY header, which is expected from this address")
	errShort  = errors.New("the PROXY header goes on")
)

// proxyHeader reads the PROXY header at the begin of b: the client's address, invalid where the header names none and the peer's own
// counts, and how long the header is. The error is errShort or errHeader.
func proxyHeader(b []byte) (client netip.AddrPort, length int, err error) {
	const line = "PROXY "
	switch {
	case bytes.HasPrefix(b, []byte(binaryMark)):
		return binaryHeader(b)
	case bytes.HasPrefix(b, []byte(line)):
		return lineHeader(b)
	case strings.HasPrefix(binaryMark, string(b)) || strings.HasPrefix(line, string(b)):
		return client, 0, errShort
	}
	return client, 0, errHeader
}

// lineHeader reads version 1: PROXY TCP4 192.0.2.1 192.0.2.2 56324 443.
func lineHeader(b []byte) (client netip.AddrPort, length int, err error) {
	text, _, whole := bytes.Cut(b[:min(len(b), maxLine)], []byte("\r\n"))
	switch {
	case !whole && len(b) < maxLine:
		return client, 0, errShort
	case !whole:
		return client, 0, errHeader
	}
	length = len(text) + 2
	words := strings.Split(string(text), " ")
	if len(words) > 1 && words[1] == "UNKNOWN" {
		return client, length, nil
	}
	if len(words) != 6 {
		return client, 0, errHeader
	}
	from, ok := lineAddress(words[2], words[4], words[1])
	if _, okTo := lineAddress(words[3], words[5], words[1]); !ok || !okTo {
		return client, 0, errHeader
	}
	return from, length, nil
}

func lineAddress(host, port, family string) (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(host)
	n, errPort := strconv.ParseUint(port, 10, 16)
	fits := family == "TCP4" && addr.Is4() || family == "TCP6" && addr.Is6() && addr.Zone() == ""
	if err != nil || errPort != nil || !fits || strconv.FormatUint(n, 10) != port {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), true
}

// binaryHeader reads version 2.
func binaryHeader(b []byte) (client netip.AddrPort, length int, err error) {
	const head = len(binaryMark) + 4
	if len(b) < head {
		return client, 0, errShort
	}
	command, family := b[12], b[13]
	length = head + int(binary.BigEndian.Uint16(b[14:]))
	switch {
	case command>>4 != 2 || command&15 > 1 || length > maxBinary:
		return client, 0, errHeader
	case len(b) < length:
		return client, 0, errShort
	}
	about := b[head:length]
	size := 0
	switch family {
	case 0x11: // TCP over IPv4
		size = 12
	case 0x21: // and IPv6
		size = 36
	}
	if len(about) < size {
		return client, 0, errHeader
	}
	if size > 0 && !unbroken(b[:length], head+size) {
		return client, 0, errHeader
	}
	if command&15 == 0 || size == 0 { // the balancer's own connection, or a client without an address
		return client, length, nil
	}
	addrs := (size - 4) / 2
	addr, _ := netip.AddrFromSlice(about[:addrs])
	return netip.AddrPortFrom(addr.Unmap(), binary.BigEndian.Uint16(about[2*addrs:])), length, nil
}

// unbroken looks at the fields after the addresses of a whole header of version 2, and at its checksum if one is among them.
func unbroken(header []byte, at int) bool {
	const checksum = 0x03
	for at < len(header) {
		if len(header)-at < 3 {
			return false
		}
		size := int(binary.BigEndian.Uint16(header[at+1:]))
		value := at + 3
		if len(header)-value < size {
			return false
		}
		if header[at] == checksum {
			if size != 4 {
				return false
			}
			said := binary.BigEndian.Uint32(header[value:])
			plain := bytes.Clone(header)
			clear(plain[value : value+4])
			if crc32.Checksum(plain, crc32.MakeTable(crc32.Castagnoli)) != said {
				return false
			}
		}
		at = value + size
	}
	return true
}
