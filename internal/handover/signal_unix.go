//go:build unix

package handover

import (
	"os"
	"syscall"
)

// Signal asks a process to hand over to a new one.
const Signal = syscall.SIGUSR2

// ask sends Signal to a process.
func ask(pid int) error { return syscall.Kill(pid, Signal) }

// shieldInherited keeps the two pipes to the process before from what this one starts; tableflip does it for the listeners.
func shieldInherited() {
	if os.Getenv(inheritVariable) != "" {
		syscall.CloseOnExec(3)
		syscall.CloseOnExec(4)
	}
}
