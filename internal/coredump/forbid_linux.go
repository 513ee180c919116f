package coredump

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// forbid does three things, since each has a gap. The limit is not asked about cores that go to a program (core_pattern with a pipe, as systemd and
// Ubuntu have it). A process that is not dumpable gives no core at all, but root may make one of it with a debugger, which leaves out what
// the filter does not name; it can be set as long as the process is dumpable, so it comes first.
func forbid() error {
	var filter error
	if already, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || already != 0 {
		filter = os.WriteFile("/proc/self/coredump_filter", []byte("0"), 0) // no file is made there
	}
	var limit unix.Rlimit
	size := unix.Getrlimit(unix.RLIMIT_CORE, &limit)
	if size == nil && limit.Cur != 0 {
		limit.Cur = 0 // and Max stays, for a program that is started from here and wants one
		size = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
	dumpable := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	return errors.Join(named("coredump_filter", filter), named("RLIMIT_CORE", size), named("PR_SET_DUMPABLE", dumpable))
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
