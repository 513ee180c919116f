package mock_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

// overHTTP2 is a bench that speaks HTTP/2 without TLS.
func overHTTP2(t *testing.T, s mock.Script) *bench {
	t.Helper()
	n := testkit.NewNet()
	p := mock.New(s)
	n.Serve(t, "mock", p, func(s *http.Server) {
		s.Protocols = new(http.Protocols)
		s.Protocols.SetUnencryptedHTTP2(true)
	})
	client := n.Client(t)
	tr := client.Transport.(*http.Transport)
	tr.Protocols = new(http.Protocols)
	tr.Protocols.SetUnencryptedHTTP2(true)
	return &bench{Provider: p, net: n, client: client}
}

func readAll(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func endsWith(s, end string) bool { return strings.HasSuffix(s, end) }

// message is the message of an error body.
func message(t *testing.T, body []byte) string {
	t.Helper()
	var e struct{ Error struct{ Message string } }
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e.Error.Message
}
