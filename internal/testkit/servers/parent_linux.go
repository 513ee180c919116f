package servers

import "syscall"

// dieWithParent has the kernel end a server whose test is gone, one that was killed or timed out.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
