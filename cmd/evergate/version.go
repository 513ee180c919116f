package main

import (
	"fmt"
	"runtime"
)

type versionCmd struct{}

func (versionCmd) Run(*cli) error {
	fmt.Printf("evergate %s (commit %s, %s, %s/%s)\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
