package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever is asked of a gateway while it starts, and nobody listens yet, a SIGTERM among it is not lost.
func TestSignalsWhileItStarts(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // a store that says nothing: the gateway waits for it a moment
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	asked := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			asked <- conn
		}
	}()
	c := program(t, "serve", "-c", "evergate.yaml", "--listen", freeAddress(t), "--pid-file", "pid")
	config := "providers: { a: { type: openai-compatible, base_url: \"http://127.0.0.1:1/v1\", models: [m] } }\nstate: { url: \"redis://" + mute.Addr().String() + "\" }\n"
	if err := os.WriteFile(filepath.Join(c.Dir, "evergate.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case conn := <-asked:
		defer conn.Close()
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("it asks for no store")
	}
	for range 12 { // two at once are one to the kernel
		_ = c.Process.Signal(syscall.SIGHUP)
		<-time.After(2 * time.Millisecond)
	}
	if code := stop(t, c, ended); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
