package provider

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evergate/internal/fault"
)

// An answer that changes the protocol, which nobody asked for, is none; its body is the connection, which may never end, and which no
// deadline of the attempt would end either.
func TestUnaskedSwitch(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		<-over
	})
	secure, clear := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	defer secure.Close()
	defer clear.Close()
	defer close(over)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Client{
		"TLS":   newClient(t, secure.URL, func(o *Options) { o.TLS.CAFile = ca }, nil),
		"plain": newClient(t, clear.URL, nil, nil),
	} {
		for what, ask := range map[string]func() *fault.Fault{
			"a request": func() *fault.Fault {
				out, _ := outgoing(`{"model":"m"}`)
				resp, f := c.Send(t.Context(), out)
				if f == nil {
					_, _ = io.ReadAll(resp.Body)
				}
				return f
			},
			"a token": func() *fault.Fault {
				aside, err := NewHTTPClient(&c.options, nil)
				if err != nil {
					t.Error(err)
					return nil
				}
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.options.BaseURL.String(), nil)
				resp, err := aside.Do(req)
				if err == nil {
					_, _ = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				f := (*fault.Fault)(nil)
				_ = errors.As(err, &f)
				return f
			},
			"the list": func() *fault.Fault { _, f := c.Models(t.Context()); return f },
		} {
			came := make(chan *fault.Fault, 1)
			go func() { came <- ask() }()
			select {
			case f := <-came:
				if f == nil || f.Class != fault.Invalid {
					t.Errorf("%s, %s: %v", name, what, f)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s, %s: it waits for ever", name, what)
			}
		}
	}
}
