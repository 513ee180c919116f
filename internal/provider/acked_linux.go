package provider

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// acked asks the kernel how many bytes the peer of a TCP connection has acknowledged.
func acked(raw syscall.RawConn) (int64, bool) {
	var n int64
	ok := false
	err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n, ok = int64(info.Bytes_acked), true //nolint:gosec // a connection carries less than 2^63 bytes
		}
	})
	return n, ok && err == nil
}
