package provider

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readable says whether a read of the socket would not block.
func readable(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return err != syscall.EAGAIN
}

// closeWait is the kernel's number for a connection that the peer has ended.
const closeWait = 8

// tcpState is the kernel's number for a connection's state, 0 if it is closed at our end.
func tcpState(c syscall.Conn) uint8 {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var state uint8
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			state = info.State
		}
	})
	return state
}
