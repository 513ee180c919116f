//go:build !unix

package provider

import "syscall"

// canPoll says whether quiet can tell.
const canPoll = false

func quiet(syscall.RawConn) bool { return true }
