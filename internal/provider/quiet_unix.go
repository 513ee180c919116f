//go:build unix

package provider

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// canPoll says whether quiet can tell.
const canPoll = true

// quiet says whether a socket has nothing to read, no end either.
func quiet(raw syscall.RawConn) bool {
	silent := false
	err := raw.Control(func(fd uintptr) {
		p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		n, err := unix.Poll(p[:], 0)
		silent = err == nil && n == 0
	})
	return err == nil && silent
}
