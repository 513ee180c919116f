//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package handover

import "os"

func hold(*os.File) {}

func forsaken(string) bool { return false }
