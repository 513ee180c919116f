package servers

import "syscall"

// DieWithParent has the kernel end a program whose test is gone, one that was killed or timed out.
func DieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
