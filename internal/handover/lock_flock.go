//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package handover

import (
	"errors"
	"os"
	"syscall"
)

// hold locks a file for as long as it is open. It does not where the file system knows no locks.
func hold(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// forsaken says that nobody holds a file that could be held.
func forsaken(path string) bool {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil
		}
	}
}
