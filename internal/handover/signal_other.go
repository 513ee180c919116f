//go:build !unix

package handover

import "syscall"

// Signal is one that nobody sends here.
const Signal = syscall.Signal(-1)

// ask would ask a process to hand over to a new one.
func ask(int) error { return ErrNotSupported }

func shieldInherited() {}
