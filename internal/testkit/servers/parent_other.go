//go:build !linux

package servers

import "syscall"

// DieWithParent does nothing here.
func DieWithParent(*syscall.SysProcAttr) {}
