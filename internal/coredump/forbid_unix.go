//go:build unix && !linux

package coredump

import "golang.org/x/sys/unix"

// forbid sets the limit of a core's size, which is all that these systems have in common.
func forbid() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	limit.Cur = 0
	return unix.Setrlimit(unix.RLIMIT_CORE, &limit)
}
