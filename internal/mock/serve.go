package mock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a handler that listens.
type Server struct {
	http *http.Server
	ln   net.Listener
	done chan error
}

// Listen starts to serve h on a TCP address such as "127.0.0.1:0". Close it.
func Listen(ctx context.Context, addr string, h http.Handler) (*Server, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{http: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, ln: ln, done: make(chan error, 1)}
	go func() { s.done <- s.http.Serve(ln) }()
	return s, nil
}

// Addr is where it listens, such as 127.0.0.1:41001.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL is the base URL for a client, with the version segment.
func (s *Server) URL() string { return "http://" + s.Addr() + "/v1" }

// Close stops at once: open exchanges are broken off, hanging ones included.
func (s *Server) Close() error { return s.http.Close() }

// Serve serves h on addr until ctx is done, then stops at once. Ready, if not nil, is told the server once it listens.
func Serve(ctx context.Context, addr string, h http.Handler, ready func(*Server)) error {
	s, err := Listen(ctx, addr, h)
	if err != nil {
		return err
	}
	if ready != nil {
		ready(s)
	}
	var closing error
	select {
	case <-ctx.Done():
		closing = s.Close()
		err = <-s.done
	case err = <-s.done:
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return closing
}
