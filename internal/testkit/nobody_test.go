package testkit

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestNobodyListens(t *testing.T) {
	address := Nobody(t)
	c, err := net.Dial("tcp", address)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		if c != nil {
			_ = c.Close()
		}
		t.Errorf("%v", err)
	}
	if l, err := net.Listen("tcp", address); err == nil {
		_ = l.Close()
		t.Error("somebody may listen there")
	}
}
