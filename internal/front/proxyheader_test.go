package front

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"strings"
	"testing"
)

// binaryOf makes a header of version 2.
func binaryOf(command, family byte, about string) string {
	return binaryMark + string([]byte{command, family}) + string(binary.BigEndian.AppendUint16(nil, uint16(len(about)))) + about
}

const (
	four = "\xc0\x00\x02\x01\xc0\x00\x02\x02\xdc\x04\x01\xbb" // 192.0.2.1:56324 to 192.0.2.2:443
	six  = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02" + "\xdc\x04\x01\xbb"
)

// checked is a header of version 2 with its checksum.
func checked() string {
	h := []byte(binaryOf(0x21, 0x11, four+"\x04\x00\x01x"+"\x03\x00\x04\x00\x00\x00\x00"))
	binary.BigEndian.PutUint32(h[len(h)-4:], crc32.Checksum(h, crc32.MakeTable(crc32.Castagnoli)))
	return string(h)
}

func TestProxyHeader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		header string
		client string // empty: none
		wrong  bool
	}{
		"1, IPv4":                    {"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "192.0.2.1:56324", false},
		"1, IPv6":                    {"PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n", "[2001:db8::1]:56324", false},
		"1, the longest":             {"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n", "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", false},
		"1, unknown":                 {"PROXY UNKNOWN\r\n", "", false},
		"1, unknown and more":        {"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "", false},
		"1, the wrong family":        {"PROXY TCP6 192.0.2.1 192.0.2.2 56324 443\r\n", "", true},
		"1, no address":              {"PROXY TCP4 localhost 192.0.2.2 56324 443\r\n", "", true},
		"1, a zone":                  {"PROXY TCP6 fe80::1%eth0 2001:db8::2 56324 443\r\n", "", true},
		"1, a port too high":         {"PROXY TCP4 192.0.2.1 192.0.2.2 65536 443\r\n", "", true},
		"1, a port with a zero":      {"PROXY TCP4 192.0.2.1 192.0.2.2 0443 443\r\n", "", true},
		"1, two spaces":              {"PROXY TCP4  192.0.2.1 192.0.2.2 56324 443\r\n", "", true},
		"1, no return":               {"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\n" + long, "", true},
		"1, too long":                {"PROXY UNKNOWN " + long + "\r\n", "", true},
		"1, small letters":           {"proxy TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "", true},
		"1, UDP":                     {"PROXY UDP4 192.0.2.1 192.0.2.2 56324 443\r\n", "", true},
		"2, IPv4":                    {binaryOf(0x21, 0x11, four), "192.0.2.1:56324", false},
		"2, IPv6":                    {binaryOf(0x21, 0x21, six), "[2001:db8::1]:56324", false},
		"2, the balancer's own":      {binaryOf(0x20, 0x00, ""), "", false},
		"2, its own with an address": {binaryOf(0x20, 0x11, four), "", false},
		"2, a Unix socket":           {binaryOf(0x21, 0x31, strings.Repeat("\x00", 216)), "", false},
		"2, with fields":             {binaryOf(0x21, 0x11, four+"\x01\x00\x02h2\xea\x00\x00"), "192.0.2.1:56324", false},
		"2, with a checksum":         {checked(), "192.0.2.1:56324", false},
		"2, a wrong checksum":        {checked()[:len(checked())-1] + "!", "", true},
		"2, a field cut off":         {binaryOf(0x21, 0x11, four+"\x01\x00\x09h2"), "", true},
		"2, addresses cut off":       {binaryOf(0x21, 0x21, four), "", true},
		"2, another version":         {binaryOf(0x31, 0x11, four), "", true},
		"2, another command":         {binaryOf(0x22, 0x11, four), "", true},
		"2, too long":                {binaryOf(0x21, 0x11, four+strings.Repeat("\x04\x00\x00", 2000)), "", true},
		"none":                       {"GET / HTTP/1.1\r\n\r\n", "", true},
		"TLS":                        {"\x16\x03\x01\x02\x00", "", true},
		"an empty line first":        {"\r\nPROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rest = "GET /"
			client, n, err := proxyHeader([]byte(c.header + rest))
			if c.wrong {
				if !errors.Is(err, errHeader) {
					t.Errorf("%v, %v", client, err)
				}
				return
			}
			if err != nil || n != len(c.header) {
				t.Fatalf("%d of %d bytes: %v", n, len(c.header), err)
			}
			if said := client.String(); c.client != "" && said != c.client || c.client == "" && client != (netip.AddrPort{}) {
				t.Errorf("client %s", said)
			}
			for i := range len(c.header) { // as it comes, piece by piece
				if _, _, err := proxyHeader([]byte(c.header[:i])); !errors.Is(err, errShort) {
					t.Errorf("after %d bytes: %v", i, err)
				}
			}
		})
	}
}

// What is read never goes beyond what is there, and a header that is whole is the same whatever follows it.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"))
	f.Add([]byte(checked()))
	f.Add([]byte(binaryOf(0x21, 0x21, six)))
	f.Fuzz(func(t *testing.T, b []byte) {
		client, n, err := proxyHeader(b)
		if err != nil {
			if n != 0 || client.IsValid() {
				t.Fatalf("%v with %v", err, client)
			}
			return
		}
		if n == 0 || n > len(b) {
			t.Fatalf("%d of %d bytes", n, len(b))
		}
		again, m, err := proxyHeader(b[:n])
		if err != nil || m != n || again != client {
			t.Fatalf("alone: %v %d %v, with more: %v %d", again, m, err, client, n)
		}
		for i := range n {
			if _, _, err := proxyHeader(b[:i]); !errors.Is(err, errShort) {
				t.Fatalf("%d of %d bytes: %v", i, n, err)
			}
		}
	})
}
