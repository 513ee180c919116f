package provider

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evergate/internal/attempt"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient makes a client of an upstream at base, closed with the test.
func newClient(t testing.TB, base string, change func(*Options), dial DialFunc) *Client {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Name: "up", Type: "openai-compatible", BaseURL: u, AuthHeader: "Authorization", AuthPrefix: "Bearer ",
		Credentials: []Credential{{Name: "default", Value: "sk-test-operator-0001"}}, ConnectTimeout: 5 * time.Second,
	}
	if change != nil {
		change(&o)
	}
	c, err := New(o, dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// outgoing is a request whose releases are counted.
func outgoing(body string) (*attempt.Outgoing, *atomic.Int32) {
	var released atomic.Int32
	return &attempt.Outgoing{
		Path: "/chat/completions", Body: []byte(body), Header: http.Header{},
		Release: func() { released.Add(1) },
	}, &released
}

// readAll reads and closes a response's body.
func readAll(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually waits for something that another goroutine of the transport does at once.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within 5 s: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

func has(list []string, s string) bool {
	for _, v := range list {
		if strings.Contains(v, s) {
			return true
		}
	}
	return false
}
