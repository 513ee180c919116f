package provider

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readable says whether a read of the socket would not block.
func readable(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err != syscall.EAGAIN //nolint:errorlint // an errno
}

// ended4 says whether the kernel knows of the peer's end.
func ended4(c *gatedConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	if raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		const established = 1
		ended = err == nil && info.State != established
	}) != nil {
		return true // closed at our end
	}
	return ended
}
