package reach

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"evergate/internal/testkit"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{ // public, private, never
		"8.8.8.8": "public", "1.1.1.1": "public", "2606:4700:4700::1111": "public", "2a00:1450:4001:830::200e": "public", "::ffff:8.8.8.8": "public", "64:ff9b::808:808": "public",
		"127.0.0.1": "private", "127.9.9.9": "private", "::1": "private", "::ffff:127.0.0.1": "private", "64:ff9b::7f00:1": "private", "2002:7f00:1::": "private",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fc00::1": "private", "fd12:3456::1": "private",
		"169.254.1.1": "private", "fe80::1": "private", "fe80::1%eth0": "private", "100.64.0.1": "private", "198.18.0.1": "private", "192.0.0.8": "private",
		"0.0.0.0": "private", "0.1.2.3": "private", "::": "private", "255.255.255.255": "private", "240.0.0.1": "private", "224.0.0.1": "private", "ff02::1": "private",
		"192.0.2.1": "private", "198.51.100.1": "private", "203.0.113.1": "private", "2001:db8::1": "private", "fec0::1": "private", "::10.0.0.1": "private", "2001:0:5ef5:79fd::1": "private",
		"172.32.0.1": "public", "172.15.0.1": "public", "100.128.0.1": "public", "11.0.0.1": "public",
		"169.254.169.254": "never", "::ffff:169.254.169.254": "never", "64:ff9b::a9fe:a9fe": "never", "2002:a9fe:a9fe::1": "never", "169.254.170.2": "never", "169.254.170.23": "never",
		"fd00:ec2::254": "never", "fd00:ec2::23": "never", "fd20:ce::254": "never", "100.100.100.200": "never", "168.63.129.16": "never", "192.0.0.192": "never",
	} {
		got := "public"
		if Refused(netip.MustParseAddr(addr), false) != "" {
			got = "private"
		}
		if Refused(netip.MustParseAddr(addr), true) != "" {
			got = "never"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
	}
}

// What a name leads to is looked at where the connection is made: no answer of the DNS leads to a private address that nobody named.
func TestNames(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dns := map[string][]string{
		"api.example.com": {"127.0.0.1"}, "mixed.example.com": {"127.0.0.1", "10.255.255.1"}, "mapped.example.com": {"::ffff:127.0.0.1"}, "gpu.internal": {"127.0.0.1"},
		"vllm": {"127.0.0.1"}, "metadata.internal": {"169.254.169.254"}, "imds.example.com": {"169.254.169.254"}, "proxy.example.com": {"127.0.0.1"},
	}
	d := &net.Dialer{Resolver: testkit.Resolver(dns), Timeout: 5 * time.Second}
	for _, c := range []struct {
		host    string
		private bool
		refused bool
	}{
		{"api.example.com", false, true},
		{"api.example.com", true, false},
		{"mixed.example.com", false, true},
		{"mapped.example.com", false, true},
		{"gpu.internal", false, false},
		{"metadata.internal", false, true},
		{"imds.example.com", true, true},
		{"imds.example.com", false, true},
		{"proxy.example.com", false, false},
		{"PROXY.example.com", false, false},
		{"localhost", false, false},
		{"127.0.0.1", false, false},
	} {
		dial := With(d, Options{Private: c.private, Trusted: []string{"proxy.example.com"}})
		conn, err := dial(t.Context(), "tcp", net.JoinHostPort(c.host, port))
		if conn != nil {
			_ = conn.Close()
		}
		var refused *RefusedError
		if errors.As(err, &refused) != c.refused || !c.refused && err != nil {
			t.Errorf("%s, private %t: %v", c.host, c.private, err)
		}
		if c.refused && strings.Contains(err.Error(), "private: true") == (c.private || strings.Contains(c.host, "imds") || strings.Contains(c.host, "metadata")) {
			t.Errorf("%s, private %t: %v", c.host, c.private, err)
		}
	}
}

// Where hosts come from elsewhere, an address is no better than a name.
func TestForeign(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, c := range []struct {
		address string
		o       Options
		refused bool
	}{
		{"127.0.0.1:" + port, Options{Foreign: true}, true},
		{"localhost:" + port, Options{Foreign: true}, true},
		{"127.0.0.1:" + port, Options{Foreign: true, Private: true}, false},
		{"169.254.169.254:80", Options{Foreign: true, Private: true}, true},
		{"[::ffff:169.254.169.254]:80", Options{Foreign: true, Private: true}, true},
		{"[fd00:ec2::254]:80", Options{Foreign: true, Private: true}, true},
	} {
		conn, err := With(&net.Dialer{Timeout: 5 * time.Second}, c.o)(t.Context(), "tcp", c.address)
		if conn != nil {
			_ = conn.Close()
		}
		var refused *RefusedError
		if errors.As(err, &refused) != c.refused {
			t.Errorf("%s, %+v: %v", c.address, c.o, err)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "::1": true, "10.1.2.3": true, "fd00::1": true, "169.254.1.1": true, "vllm": true,
		"gpu-box.local": true, "gpu.lan": true, "x.internal": true, "x.internal.": true, "x.home.arpa": true,
		"api.openai.com": false, "8.8.8.8": false, "localhost.example.com": false, "internal.example.com": false, "127.0.0.1.nip.io": false, "": false,
	} {
		if got := Near(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

func TestEnvironmentProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "")
	}
	if got := EnvironmentProxies(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	t.Setenv("HTTP_PROXY", "http://user:secret@Proxy.corp.example:3128")
	t.Setenv("https_proxy", "other.corp.example:3128")
	if got := strings.Join(EnvironmentProxies(), " "); got != "proxy.corp.example other.corp.example" {
		t.Errorf("%s", got)
	}
}
