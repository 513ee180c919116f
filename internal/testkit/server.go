package testkit

import (
	"io"
	"log"
	"net/http"
	"testing"
	"time"
)

// Serve runs a real http.Server with h on a name of the network until the test ends; it is returned for a test that
// ends it sooner. Options change it before it starts, to speak HTTP/2 for one. In a bubble the test must let its handlers
// end.
func (n *Net) Serve(t testing.TB, name string, h http.Handler, options ...func(*http.Server)) *http.Server {
	t.Helper()
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	for _, set := range options {
		set(s)
	}
	l := n.Listen(name)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return s
}

// Client is a client on the network with a transport of its own, closed when the test ends.
func (n *Net) Client(t testing.TB) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: n.DialContext, MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
