package provider

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/testkit"
)

// A name that leads into a private network is no upstream unless the configuration says so: not to the client in clear text, not over TLS, and not to
// those that vendors ask for tokens with. The public words hold no address.
func TestPrivateUpstreams(t *testing.T) { //nolint:paralleltest // it changes the resolver of all
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	before := net.DefaultResolver
	net.DefaultResolver = testkit.Resolver(map[string][]string{"api.example.com": {"127.0.0.1"}, "imds.example.com": {"169.254.169.254"}, "vllm.internal": {"127.0.0.1"}})
	defer func() { net.DefaultResolver = before }()
	for _, c := range []struct {
		base    string
		private bool
		served  bool
	}{
		{"http://api.example.com:" + port + "/v1", false, false},
		{"https://api.example.com:" + port + "/v1", false, false},
		{"http://api.example.com:" + port + "/v1", true, true},
		{"http://vllm.internal:" + port + "/v1", false, true},
		{"http://imds.example.com/v1", true, false},
		{s.URL + "/v1", false, true},
	} {
		asked.Store(0)
		client := newClient(t, c.base, func(o *Options) { o.Private = c.private }, nil)
		out, _ := outgoing(`{"model":"m"}`)
		resp, f := client.Send(t.Context(), out)
		if resp != nil {
			_ = resp.Body.Close()
		}
		switch {
		case (f == nil) != c.served || (asked.Load() > 0) != c.served:
			t.Errorf("%s, private %t: %v", c.base, c.private, f)
		case f != nil && (f.Class != fault.Connect || !f.Unsent || strings.Contains(f.Message, "127.0.0.1") || strings.Contains(f.Message, "169.254") || !strings.Contains(f.Cause.Error(), "the name leads to ")):
			t.Errorf("%s: class %v, %q: %v", c.base, f.Class, f.Message, f.Cause)
		}
	}
	client, err := NewHTTPClient(&Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	resp, err := client.Get("http://api.example.com:" + port + "/token")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || asked.Load() > 0 {
		t.Errorf("a token endpoint: %v", err)
	}
}
