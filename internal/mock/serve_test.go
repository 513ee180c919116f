package mock_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"evergate/internal/mock"
)

// Over real TCP: an answer, a real reset, and an end that waits for nobody.
func TestServe(t *testing.T) {
	p := mock.New(mock.Script{})
	ctx, stop := context.WithCancel(t.Context())
	listening, ended := make(chan *mock.Server, 1), make(chan error, 1)
	go func() { ended <- mock.Serve(ctx, "127.0.0.1:0", p, func(s *mock.Server) { listening <- s }) }()
	s := <-listening

	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	do := func(model string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(chat(model, true)))
		if err != nil {
			t.Fatal(err)
		}
		return (&http.Client{Transport: tr}).Do(req)
	}
	if err := readAll(do("m")); err != nil {
		t.Error(err)
	}
	for _, model := range []string{"mock-reset", "mock-reset-headers", "mock-reset-stream"} {
		if err := readAll(do(model)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", model, err)
		}
	}
	resp, err := do("mock-silent")
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	if readAll(resp, nil) == nil {
		t.Error("the hanging stream ended well")
	}
}

func TestServeOnATakenAddress(t *testing.T) {
	s, err := mock.Listen(t.Context(), "127.0.0.1:0", mock.New(mock.Script{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := mock.Serve(t.Context(), s.Addr(), http.NotFoundHandler(), nil); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
}

// Bodies of a megabyte go through whole, and a request is read to its end before it is answered.
func TestLargeBodies(t *testing.T) {
	run(t, mock.Script{}, func(t *testing.T, b *bench) {
		text := strings.Repeat("x", 1<<20)
		_, body := b.ask(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`, mock.FaultHeader, "chunks=1000; chunk_size=1000")
		if bytes.Count(body, []byte("x")) < 100 || len(body) < 1000*1000 {
			t.Errorf("an answer of %d bytes", len(body))
		}
	})
}
