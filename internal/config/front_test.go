package config

import (
	"crypto/tls"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFront(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
server:
  listen: 127.0.0.1:8443
  tls: { cert_file: a.crt, key_file: a.key, client_ca_file: ca.pem, client_auth: optional, min_version: 1.3 }
  proxy_protocol: [10.0.0.0/24, "::ffff:10.0.1.0/120"]
  trusted_proxies: [192.0.2.7, "2001:db8::/64"]
  forwarded_header: forwarded
  header_timeout: 5s
  read_timeout: 30s
  idle_timeout: 1m
  max_header: 16KiB
  max_connections: 1000
  max_connections_per_address: 10
  cors: { origins: ["https://app.example", "http://localhost:3000"], headers: [X-Team], max_age: 1h }
admin: { listen: "127.0.0.1:9443", token: t, tls: { cert_file: b.crt, key_file: b.key } }
auth: { keys: [{ name: a, value: k }] }
providers: { openai: { type: openai, api_key: sk-1, private: true }, ollama: { type: ollama } }
`, nil)
	f := c.Server.Front
	if want := (TLS{CertFile: "a.crt", KeyFile: "a.key", ClientCAFile: "ca.pem", ClientOptional: true, MinVersion: tls.VersionTLS13}); !c.Server.TLS.Equal(want) {
		t.Errorf("server.tls = %+v", c.Server.TLS)
	}
	if want := (TLS{CertFile: "b.crt", KeyFile: "b.key", MinVersion: tls.VersionTLS12}); !c.Admin.TLS.Equal(want) {
		t.Errorf("admin.tls = %+v", c.Admin.TLS)
	}
	if !slices.Equal(f.ProxyProtocol, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.0.1.0/24")}) ||
		!slices.Equal(f.TrustedProxies, []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/64")}) || f.ForwardedHeader != Forwarded {
		t.Errorf("%+v", f)
	}
	if f.HeaderTimeout != 5*time.Second || f.ReadTimeout != 30*time.Second || f.IdleTimeout != time.Minute || f.MaxHeader != 16<<10 || f.MaxConnections != 1000 || f.MaxPerAddress != 10 {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(f.CORS.Origins, []string{"https://app.example", "http://localhost:3000"}) || !slices.Equal(f.CORS.Headers, []string{"x-team"}) || f.CORS.MaxAge != time.Hour {
		t.Errorf("%+v", f.CORS)
	}
	if c.Auth.FailedLimit != defaultFailedLimit || c.Server.PublicURL() != "https://127.0.0.1:8443" {
		t.Errorf("failed_limit %d, at %s", c.Auth.FailedLimit, c.Server.PublicURL())
	}
	if !c.Providers[0].Options.Private || !c.Providers[1].Options.Private {
		t.Error("a provider is not private")
	}
	if got := c.Server.TLS.Problem("key_file", "is wrong").String(); got != "evergate.yaml:4:38: server.tls.key_file: is wrong" {
		t.Error(got)
	}
}

func TestFrontProblems(t *testing.T) {
	t.Parallel()
	const rest = "\nproviders: { openai: { type: openai, api_key: sk-1 } }\n"
	for name, c := range map[string]struct{ text, says string }{
		"no key":                  {"server: { tls: { cert_file: a } }", "server.tls: has no key_file; add key_file: …"},
		"nothing":                 {"server: { tls: {} }", "server.tls: has no cert_file; add cert_file: …"},
		"client_auth alone":       {"server: { tls: { cert_file: a, key_file: b, client_auth: require } }", "server.tls.client_auth: has no effect without client_ca_file"},
		"an old version":          {"server: { tls: { cert_file: a, key_file: b, min_version: 1.1 } }", "must be 1.2 or 1.3"},
		"admin.tls alone":         {"admin: { tls: { cert_file: a, key_file: b } }", "admin.tls: is for a listener of its own, but admin.listen is not set"},
		"a header alone":          {"server: { forwarded_header: forwarded }", "server.forwarded_header: has no effect without trusted_proxies"},
		"everybody is a proxy":    {"server: { trusted_proxies: [0.0.0.0/0] }", "is every address there is"},
		"everybody is a balancer": {`server: { proxy_protocol: ["::/0"] }`, "is every address there is"},
		"bits too many":           {"server: { trusted_proxies: [10.0.0.1/8] }", "has bits beyond its length; did you mean 10.0.0.0/8?"},
		"a name":                  {"server: { trusted_proxies: [proxy.example] }", "must be a network such as 10.0.0.0/8, or an address"},
		"no origin":               {"server: { cors: {} }", "server.cors: names no origin"},
		"an origin with the port that nobody writes": {`server: { cors: { origins: ["https://app.example:443"] } }`, "names the port that browsers leave out, so that no page would be let in; did you mean https://app.example?"},
		"an origin with a path":                      {`server: { cors: { origins: ["https://App.example/"] } }`, "must be scheme, host and port alone, in small letters; did you mean https://app.example?"},
		"no scheme":                                  {`server: { cors: { origins: [app.example] } }`, "is not an origin such as https://app.example.com"},
		"every page without keys":                    {`server: { cors: { origins: ["*"] } }`, "is * while auth.mode is none"},
		"every page and one":                         {`server: { cors: { origins: ["*", "https://app.example"] } }` + "\nauth: { keys: [{ name: a, value: k }] }", "has * beside others"},
		"a tiny head":                                {"server: { max_header: 1KiB }", "must be from 4KiB to 1MiB"},
		"no time for heads":                          {"server: { header_timeout: 0 }", "is too short; the least is 100ms"},
		"a limit below nothing":                      {"server: { max_connections: -1 }", "must be a whole number"},
	} {
		_, err := Parse("evergate.yaml", []byte(c.text+rest), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// A password of a proxy is in nothing that is shown.
func TestProxyPassword(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `providers: { openai: { type: openai, api_key: sk-1, proxy: "http://gateway:hush-hush@proxy.example:3128" } }`, nil)
	if strings.Contains(c.Text+c.Effective(), "hush") {
		t.Errorf("%s\n%s", c.Text, c.Effective())
	}
	_, err := Parse("evergate.yaml", []byte(`providers: { openai: { type: openai, api_key: sk-1, proxy: "ftp://gateway:hush-hush@proxy.example:3128" } }`), func(string) (string, bool) { return "", false })
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}
